// Opening a store: where it may lie, whose it is, what is done when the disk is full.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <filesystem>

#include "base/mutant.h"
#include "base/text.h"
#include "store/sqlite/ballast.h"
#include "store/sqlite/clock_note.h"
#include "store/sqlite/errors.h"
#include "store/sqlite/migrate.h"
#include "store/sqlite/store.h"

namespace semel::store::sqlite {
namespace {

namespace fs = std::filesystem;

// The first release in which two connections of one file may both checkpoint without harm. Ours never do.
constexpr int kSafeCheckpointVersion = 3051003;

bool is_network_disk(const std::string& folder) {
  constexpr long kNfs = 0x6969, kSmb = 0x517b, kCifs = 0xff534d42, kSmb2 = 0xfe534d42;
  struct statfs info{};
  if (statfs(folder.c_str(), &info) != 0) return false;
  const auto type = static_cast<long>(info.f_type) & 0xffffffffL;
  return type == kNfs || type == kSmb || type == kCifs || type == kSmb2;
}

Result<void> check_place(const SqliteOptions& options) {
  const std::string& path = options.path;
  if (path.empty()) return make_error(ErrorCode::InvalidArgument, "sqlite: the path is empty; write sqlite:semel.db");
  if (path == ":memory:")
    return make_error(ErrorCode::InvalidArgument,
                      "sqlite::memory: is no file, and a store is one; a C++ program keeps one in memory with memory:");
  if (path.find('\0') != std::string::npos)
    return make_error(ErrorCode::InvalidArgument, "sqlite: the path contains a NUL byte");
  std::error_code ignored;
  const std::string parent = fs::path(path).parent_path().string();
  const std::string folder = parent.empty() ? "." : parent;
  const std::string named = base::printable(folder, 300);
  if (!fs::is_directory(folder, ignored)) {
    return make_error(ErrorCode::StoreNotFound,
                      "sqlite:" + path + ": the folder " + named + " does not exist; create it first");
  }
  if (fs::is_directory(path, ignored))
    return make_error(ErrorCode::InvalidArgument, "sqlite:" + path + " is a folder; name a file in it");
  const bool exists = fs::exists(path, ignored);
  if (options.read_only) {
    if (!exists)
      return make_error(ErrorCode::StoreNotFound, "sqlite:" + path + " does not exist; a writing command creates it");
    return {};
  }
  if (access(folder.c_str(), W_OK) != 0 || (exists && access(path.c_str(), W_OK) != 0)) {
    return make_error(ErrorCode::StoreReadOnly,
                      "sqlite:" + path + " cannot be written; the file and its folder must be writable");
  }
  if (is_network_disk(folder)) {
    return make_error(ErrorCode::Unsupported,
                      "sqlite:" + path + " is on a network disk, where locks cannot be trusted; use a local disk");
  }
  return {};
}

// Strangers (a shell, a backup) may hold a lock for a moment, also while they recover the file after a crash.
constexpr int kBusyMilliseconds = 5000;

void prepare_writer(Connection& db, const SqliteOptions& options) {
  db.execute(
      "PRAGMA page_size = 4096; PRAGMA mmap_size = 0; PRAGMA temp_store = MEMORY; PRAGMA foreign_keys = OFF;"
      "PRAGMA cell_size_check = ON; PRAGMA trusted_schema = OFF");
  if (const std::string mode = db.text("PRAGMA journal_mode = WAL"); mode != "wal") {
    throw SqliteFailure{0, "the file system does not support WAL; journal mode stays " + mode};
  }
  db.execute(SEMEL_MUTANT("sync-normal") ? "PRAGMA synchronous = NORMAL" : "PRAGMA synchronous = FULL");
  db.execute(("PRAGMA journal_size_limit = " + std::to_string(options.wal_limit_bytes)).c_str());
  db.execute(("PRAGMA cache_size = -" + std::to_string(options.cache_kib)).c_str());
}

Error no_store(const std::string& path) {
  return make_error(ErrorCode::StoreNotFound,
                    "sqlite:" + path + " is an empty file and holds no store; a writing command makes one");
}

// `options.path` is the file's own from here on.
Result<std::unique_ptr<Store>> open_reader(SqliteOptions options) {
  Result<StoreFile> file = StoreFile::read(options.path);
  if (!file) return file.error();
  if (auto names = file->check_names(); !names) return names.error();
  options.path = file->path();
  Connection probe(options.path, Access::read_only, options.vfs);
  probe.never_checkpoint();
  probe.wait_for_locks(1000);
  const Result<SchemaState> state = read_schema(probe, options.path);
  if (!state) return state.error();
  if (state->empty) return no_store(options.path);
  const int known = schema_steps().back().number;
  if (auto fits = check_schema(*state, known, options.path); !fits) return fits.error();
  if (state->version < known) {
    return make_error(ErrorCode::SchemaTooOld, "sqlite:" + options.path + " has schema " +
                                                   std::to_string(state->version) + ", this binary needs " +
                                                   std::to_string(known) +
                                                   "; open it once for writing (semel migrate)");
  }
  const Duration ahead = ClockNote::ahead_of(probe, base::wall_now(), boot_of(options));
  return std::unique_ptr<Store>(
      std::make_unique<SqliteStore>(options, SqliteStore::Opened{*std::move(file), nullptr, false, ahead}));
}

void warn_of_risks(const StoreFile& file, base::LogSink& log) {
  std::error_code ignored;
  const bool existed = fs::file_size(file.path(), ignored) > 0 && !ignored;
  if (existed && file.follows_crash() && !fs::exists(file.path() + "-wal", ignored)) {
    log.write(base::LogLevel::warn,
              "the last owner did not close the store and its -wal file is gone: unless another program folded it in, "
              "acknowledged writes are missing",
              {{"store", file.path()}});
  }
  if (library_version_number() < kSafeCheckpointVersion) {
    log.write(base::LogLevel::warn,
              "this SQLite can damage a file when two connections checkpoint it; semel never does, other programs must "
              "not write it",
              {{"sqlite", std::string(library_version())}, {"fixed_in", "3.51.3"}});
  }
}

Result<std::unique_ptr<Connection>> open_connection(const SqliteOptions& options) {
  auto db = std::make_unique<Connection>(options.path, Access::create, options.vfs);
  db->wait_for_locks(kBusyMilliseconds);
  // Before anything is written: the file may belong to somebody else, or to the future.
  const Result<SchemaState> state = read_schema(*db, options.path);
  if (!state) return state.error();
  if (auto fits = check_schema(*state, schema_steps().back().number, options.path); !fits) return fits.error();
  prepare_writer(*db, options);
  if (auto migrated = migrate(*db, options.path, schema_steps()); !migrated) return migrated.error();
  return db;
}

Result<std::unique_ptr<Store>> open_writer(SqliteOptions options, bool disk_is_full) {
  Result<StoreFile> file = StoreFile::own(options.path, options.reach, options.owner_wait);
  if (!file) return file.error();
  options.path = file->path();
  warn_of_risks(*file, options.log != nullptr ? *options.log : base::null_log());
  auto db = open_connection(options);
  if (!db) return db.error();
  return std::unique_ptr<Store>(
      std::make_unique<SqliteStore>(options, SqliteStore::Opened{*std::move(file), *std::move(db), disk_is_full, {}}));
}

Result<std::unique_ptr<Store>> open_once(const SqliteOptions& options, bool disk_is_full) {
  try {
    return options.read_only ? open_reader(options) : open_writer(options, disk_is_full);
  } catch (const SqliteFailure& failure) {
    return to_error(failure, options.path);
  }
}

}  // namespace

Result<std::unique_ptr<Store>> open_sqlite(const SqliteOptions& options) {
  if (auto place = check_place(options); !place) return place.error();
  auto opened = open_once(options, false);
  if (opened || opened.error().code != ErrorCode::StoreFull) return opened;
  std::error_code ignored;
  const fs::path real = fs::canonical(options.path, ignored);
  if (ignored || !Ballast(real.string() + "-ballast", 0).release()) return opened;
  return open_once(options, true);
}

Result<std::optional<ClockStep>> sqlite_clock_step(const std::string& path) {
  try {
    const Result<StoreFile> file = StoreFile::read(path);
    if (!file) return file.error();
    Connection db(file->path(), Access::read_only, "");
    db.never_checkpoint();
    return last_clock_step(db);
  } catch (const SqliteFailure& failure) {
    return to_error(failure, path);
  }
}

}  // namespace semel::store::sqlite
