#include "store/sqlite/backup.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "store/sqlite/errors.h"
#include "store/sqlite/migrate.h"
#include "store/sqlite/owner_lock.h"
#include "store/sqlite/sqlite_store.h"

namespace semel::store::sqlite {
namespace {

namespace fs = std::filesystem;

Error file_error(const std::string& path) {
  const auto code = errno == ENOSPC ? ErrorCode::StoreFull : ErrorCode::StoreUnavailable;
  return make_error(code, path + ": " + std::strerror(errno));
}

Result<void> sync_path(const std::string& path, int flags) {
  const int file = open(path.c_str(), flags | O_CLOEXEC);
  if (file < 0) return file_error(path);
  const bool synced = fsync(file) == 0;
  Result<void> out = synced ? Result<void>{} : Result<void>{file_error(path)};
  close(file);
  return out;
}

std::string folder_of(const std::string& path) {
  const std::string folder = fs::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

// Durable under its new name once it returned.
Result<void> move_into_place(const std::string& from, const std::string& to) {
  if (auto synced = sync_path(from, O_RDONLY); !synced) return synced;
  if (rename(from.c_str(), to.c_str()) != 0) return file_error(to);
  return sync_path(folder_of(to), O_RDONLY | O_DIRECTORY);
}

void copy_pages(Connection& from, Connection& to) {
  sqlite3_backup* backup = sqlite3_backup_init(to.raw(), "main", from.raw(), "main");
  if (backup == nullptr) throw SqliteFailure{sqlite3_extended_errcode(to.raw()), sqlite3_errmsg(to.raw())};
  const int stepped = sqlite3_backup_step(backup, -1);
  const int finished = sqlite3_backup_finish(backup);
  if (stepped != SQLITE_DONE) throw SqliteFailure{stepped, sqlite3_errstr(stepped)};
  if (finished != SQLITE_OK) throw SqliteFailure{finished, sqlite3_errstr(finished)};
}

void remove_with_companions(const std::string& path) {
  std::error_code ignored;
  for (const char* suffix : {"", "-wal", "-shm", "-journal"}) fs::remove(path + suffix, ignored);
}

Result<void> copy_to(Connection& from, const std::string& to) {
  try {
    Connection copy(to, Access::create, "");
    copy.execute("PRAGMA synchronous = FULL");
    copy_pages(from, copy);
    // One file without companions, whatever the source's mode; it becomes WAL again when it is opened.
    copy.execute("PRAGMA journal_mode = DELETE");
  } catch (const SqliteFailure& failure) {
    return to_error(failure, to);
  }
  return {};
}

Result<void> check_backup(Connection& backup, const std::string& path) {
  const Result<SchemaState> state = read_schema(backup, path);
  if (!state) return state.error();
  if (state->empty) return make_error(ErrorCode::StoreCorrupt, path + " holds no store");
  if (auto fits = check_schema(*state, schema_steps().back().number, path); !fits) return fits;
  const std::string verdict = backup.text("PRAGMA integrity_check(1)");
  if (verdict == "ok") return {};
  return make_error(ErrorCode::StoreCorrupt, path + " is damaged: " + verdict);
}

// Folds the old file's WAL into it, as far as the old file lets us: a WAL left behind would be replayed over the new
// one.
void retire_wal(const std::string& path) {
  try {
    Connection old(path, Access::read_write, "");
    old.checkpoint(true);
  } catch (const SqliteFailure&) {
  }
  std::error_code ignored;
  fs::remove(path + "-wal", ignored);
  fs::remove(path + "-shm", ignored);
}

Result<void> missing(const std::string& path) {
  if (fs::exists(path)) return {};
  return make_error(ErrorCode::StoreNotFound, path + " does not exist");
}

}  // namespace

Result<void> backup_connection(Connection& from, const std::string& to) {
  const std::string partial = to + ".partial";
  remove_with_companions(partial);
  if (auto copied = copy_to(from, partial); !copied) {
    remove_with_companions(partial);
    return copied;
  }
  return move_into_place(partial, to);
}

Result<void> sqlite_backup(const std::string& from, const std::string& to) {
  if (auto there = missing(from); !there) return there;
  if (fs::exists(to))
    return make_error(ErrorCode::InvalidArgument, to + " exists already; name a new file for the backup");
  try {
    Connection source(from, Access::read_only, "");
    source.never_checkpoint();
    const Result<SchemaState> state = read_schema(source, from);
    if (!state) return state.error();
    return backup_connection(source, to);
  } catch (const SqliteFailure& failure) {
    return to_error(failure, from);
  }
}

Result<void> sqlite_restore(const std::string& from, const std::string& to) {
  if (auto there = missing(from); !there) return there;
  auto owner = OwnerLock::take(to, "restoring a backup", SqliteOptions{}.owner_wait);
  if (!owner) return owner.error();
  try {
    Connection backup(from, Access::read_only, "");
    backup.never_checkpoint();
    if (auto sound = check_backup(backup, from); !sound) return sound;
    const std::string partial = to + ".partial";
    remove_with_companions(partial);
    if (auto copied = copy_to(backup, partial); !copied) return copied;
    if (fs::exists(to)) {
      retire_wal(to);
      // The old file stays under another name: a restore never destroys data.
      const std::string kept = to + ".replaced";
      std::error_code ignored;
      fs::remove(kept, ignored);
      if (link(to.c_str(), kept.c_str()) != 0) return file_error(kept);
    }
    return move_into_place(partial, to);
  } catch (const SqliteFailure& failure) {
    return to_error(failure, from);
  }
}

}  // namespace semel::store::sqlite
