#include "tests/crash/open_store.h"

#include "store/postgres/postgres_store.h"
#include "store/sqlite/sqlite_store.h"

namespace semel::crash {

Result<std::unique_ptr<store::Store>> open_store(const std::string& url, bool migrate) {
  if (url.starts_with("sqlite:")) {
    store::sqlite::SqliteOptions options;
    options.path = url.substr(7);
    options.checkpoint_frames = 200;  // often enough to be killed inside one
    return store::sqlite::open_sqlite(options);
  }
  store::postgres::PgOptions options;
  options.url = url;
  options.migrate = migrate;
  return store::postgres::open_postgres(options);
}

}  // namespace semel::crash
