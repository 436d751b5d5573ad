#include "tests/crash/open_store.h"

#include "store/sqlite/sqlite_store.h"

namespace semel::crash {

Result<std::unique_ptr<store::Store>> open_store(const std::string& url, bool migrate) {
  if (url.starts_with("sqlite:")) {
    store::sqlite::SqliteOptions options;
    options.path = url.substr(7);
    options.checkpoint_frames = 200;  // often enough to be killed inside one
    return store::sqlite::open_sqlite(options);
  }
  (void)migrate;
  return make_error(ErrorCode::Unsupported, "store " + url);
}

}  // namespace semel::crash
