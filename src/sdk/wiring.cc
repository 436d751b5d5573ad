// The one place where URLs become stores. PostgreSQL is not named here: it is added by Options::backend, so that a
// program which does not ask for it does not link libpq.
#include <algorithm>

#include "base/text.h"
#include "sdk/backend.h"
#include "store/memory/memory_store.h"
#include "store/sqlite/sqlite_store.h"

namespace semel::sdk {
namespace {

class MemoryBackend final : public Backend {
 public:
  std::vector<std::string_view> schemes() const override { return {"memory"}; }
  std::string_view form() const override { return "memory:"; }
  Result<OpenedStore> open(std::string_view url, const OpenParams&) const override {
    if (url != "memory:") {
      return make_error(ErrorCode::InvalidArgument, "store: " + base::printable(url) + " is not 'memory:'");
    }
    auto clock = std::make_shared<base::SystemClock>();
    return OpenedStore{clock, std::make_unique<store::memory::MemoryStore>(*clock)};
  }
};

class SqliteBackend final : public Backend {
 public:
  std::vector<std::string_view> schemes() const override { return {"sqlite"}; }
  std::string_view form() const override { return "sqlite:PATH"; }
  Result<OpenedStore> open(std::string_view url, const OpenParams& params) const override {
    const std::string_view path = url.substr(url.find(':') + 1);
    const bool host = path.starts_with("//") && !path.starts_with("///");
    if (path.empty() || host) {
      return make_error(ErrorCode::InvalidArgument,
                        "store: " + base::printable(url) + " names no file: write sqlite:PATH, e.g. sqlite:app.db");
    }
    store::sqlite::SqliteOptions options;
    options.path = std::string(path);
    options.read_only = params.read_only;
    options.reach = params.reach;
    options.log = params.log;
    auto opened = store::sqlite::open_sqlite(options);
    if (!opened) return std::move(opened).error();
    return OpenedStore{nullptr, *std::move(opened)};
  }
};

bool takes(const Backend& backend, std::string_view scheme) {
  const auto schemes = backend.schemes();
  return std::ranges::find(schemes, scheme) != schemes.end();
}

Error unknown_scheme(std::string_view url, std::span<const Backend* const> known) {
  std::string forms;
  for (const Backend* backend : known) {
    if (!forms.empty()) forms += ", ";
    forms += backend->form();
  }
  // A URL may carry a password: what follows the scheme is shown only when it cannot.
  const bool secret = url.find('@') != std::string_view::npos;
  const std::string shown = secret ? std::string(url.substr(0, url.find(':') + 1)) + "..." : std::string(url);
  std::string message = "store: " + base::printable(shown) + " is not one of: " + forms;
  if (url.starts_with("postgres")) message += "; for PostgreSQL add Options().backend(semel::postgres::backend())";
  return make_error(ErrorCode::InvalidArgument, std::move(message));
}

}  // namespace

Result<OpenedStore> open_store(std::string_view url, const OpenParams& params, std::span<const BackendRef> extra) {
  const SqliteBackend sqlite;
  const MemoryBackend memory;
  std::vector<const Backend*> known = {&sqlite, &memory};
  for (const BackendRef& backend : extra) known.push_back(backend.get());
  const std::size_t colon = url.find(':');
  if (colon != std::string_view::npos) {
    for (const Backend* backend : known) {
      if (takes(*backend, url.substr(0, colon))) return backend->open(url, params);
    }
  }
  return unknown_scheme(url, known);
}

}  // namespace semel::sdk
