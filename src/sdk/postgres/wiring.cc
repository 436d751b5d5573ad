// PostgreSQL by URL, for programs that link semel::postgres.
#include <memory>
#include <utility>

#include "sdk/backend.h"
#include "semel/postgres.h"
#include "store/postgres/postgres_store.h"

namespace semel::postgres {
namespace {

class PostgresBackend final : public sdk::Backend {
 public:
  explicit PostgresBackend(BackendOptions options) : options_(options) {}

  std::vector<std::string_view> schemes() const override { return {"postgres", "postgresql"}; }
  std::string_view form() const override { return "postgres://USER@HOST/DATABASE"; }
  Result<sdk::OpenedStore> open(std::string_view url, const sdk::OpenParams& params) const override {
    store::postgres::PgOptions options;
    options.url = std::string(url);
    options.migrate = options_.migrate().value_or(false);
    options.unsafe = options_.unsafe().value_or(false);
    options.log = params.log;
    auto opened = store::postgres::open_postgres(options);
    if (!opened) return std::move(opened).error();
    return sdk::OpenedStore{nullptr, *std::move(opened)};
  }

 private:
  BackendOptions options_;
};

}  // namespace

BackendRef backend(const BackendOptions& options) { return std::make_shared<const PostgresBackend>(options); }

}  // namespace semel::postgres
