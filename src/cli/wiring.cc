#include "cli/wiring.h"

#include "base/clock.h"
#include "base/duration.h"
#include "base/text.h"
#include "cli/settings.h"
#include "store/postgres/postgres_store.h"
#include "store/sqlite/connection.h"
#include "store/sqlite/sqlite_store.h"

namespace semel::cli {
namespace {

constexpr int kSafeCheckpointVersion = 3051003;

Error sqlite_only(const std::string& tool) {
  return make_error(ErrorCode::Unsupported, "this verb is for SQLite stores; use " + tool + " for PostgreSQL");
}

}  // namespace

Result<StoreUrl> parse_store_url(const std::string& url) {
  constexpr std::string_view kSqlite = "sqlite:";
  if (url.starts_with(kSqlite)) {
    std::string path = url.substr(kSqlite.size());
    if (path.starts_with("///")) path.erase(0, 2);
    if (!path.empty() && !path.starts_with("//")) return StoreUrl{Backend::sqlite, path};
    return make_error(ErrorCode::InvalidArgument, "store: " + base::printable(url, 200) +
                                                      " names no file; write sqlite:PATH, e.g. sqlite:semel.db");
  }
  if (url.starts_with("postgres://") || url.starts_with("postgresql://")) return StoreUrl{Backend::postgres, url};
  return make_error(ErrorCode::InvalidArgument, "store: " + base::printable(without_password(url), 200) +
                                                    " is neither sqlite:PATH nor postgres://USER@HOST/DATABASE");
}

Result<std::unique_ptr<store::Store>> open_store(const std::string& url, const OpenOptions& options) {
  auto parsed = parse_store_url(url);
  if (!parsed) return parsed.error();
  if (parsed->backend == Backend::sqlite) {
    store::sqlite::SqliteOptions sqlite;
    sqlite.path = parsed->target;
    sqlite.read_only = options.read_only;
    sqlite.reach = options.reach;
    sqlite.log = options.log;
    return store::sqlite::open_sqlite(sqlite);
  }
  store::postgres::PgOptions postgres;
  postgres.url = parsed->target;
  postgres.migrate = options.migrate;
  postgres.unsafe = options.unsafe;
  if (options.log != nullptr) postgres.log = options.log;
  return store::postgres::open_postgres(postgres);
}

Result<void> backup_store(const std::string& url, const std::string& to) {
  auto parsed = parse_store_url(url);
  if (!parsed) return parsed.error();
  if (parsed->backend != Backend::sqlite) return sqlite_only("pg_dump --schema=semel");
  return store::sqlite::sqlite_backup(parsed->target, to);
}

Result<RestoredStore> restore_store(const std::string& from, const std::string& url) {
  auto parsed = parse_store_url(url);
  if (!parsed) return parsed.error();
  if (parsed->backend != Backend::sqlite) return sqlite_only("psql or pg_restore");
  auto restored = store::sqlite::sqlite_restore(from, parsed->target);
  if (!restored) return restored.error();
  return RestoredStore{restored->kept, restored->as_of, restored->generation};
}

std::optional<std::string> recent_clock_step(const StoreUrl& url) {
  if (url.backend != Backend::sqlite) return std::nullopt;
  const auto step = store::sqlite::sqlite_clock_step(url.target);
  if (!step || !*step || base::wall_now() - (*step)->noticed_at > std::chrono::hours(24)) return std::nullopt;
  const auto by = std::chrono::round<std::chrono::seconds>((*step)->by);
  return "this machine's clock was set " + std::string(by.count() < 0 ? "back" : "forward") + " by " +
         base::format_duration(by.count() < 0 ? -by : by) + " while the store was closed, noticed at " +
         base::format_instant((*step)->noticed_at) + "; leases and due times were moved along";
}

LibraryVersions library_versions() {
  return {std::string(store::sqlite::library_version()),
          store::sqlite::library_version_number() < kSafeCheckpointVersion};
}

}  // namespace semel::cli
