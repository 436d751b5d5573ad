// Copies of a store, and a store put back from one.
#include "store/sqlite/backup.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "base/failpoint.h"
#include "store/sqlite/errors.h"
#include "store/sqlite/migrate.h"
#include "store/sqlite/sqlite_store.h"
#include "store/sqlite/store_file.h"

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

// The generation tells whoever remembers something of this store that its history is another one now.
Result<std::int64_t> bump_generation(const std::string& path) {
  try {
    Connection copy(path, Access::read_write, "");
    copy.execute("PRAGMA synchronous = FULL");
    copy.execute(
        "INSERT INTO meta VALUES ('generation', 2) ON CONFLICT (name) DO UPDATE SET value = value + 1;"
        "DELETE FROM meta WHERE name IN ('clock_step_at', 'clock_step_by')");
    return copy.integer("SELECT value FROM meta WHERE name = 'generation'");
  } catch (const SqliteFailure& failure) {
    return to_error(failure, path);
  }
}

// Folds the WAL into the old file and proves it: out of WAL mode there is none, and that takes a moment at which nobody
// else has the file open. A damaged file cannot be folded.
Result<void> fold_wal(const std::string& path) {
  try {
    constexpr int kPatienceMilliseconds = 5000;
    Connection old(path, Access::read_write, "");
    old.wait_for_locks(kPatienceMilliseconds);
    old.execute("PRAGMA synchronous = FULL");
    if (const std::string mode = old.text("PRAGMA journal_mode = DELETE"); mode != "delete")
      return make_error(ErrorCode::StoreBusy, "sqlite:" + path + " is being read; end its readers and repeat");
  } catch (const SqliteFailure& failure) {
    return to_error(failure, path);
  }
  if (fs::exists(path + "-wal"))
    return make_error(ErrorCode::StoreBusy, path + "-wal could not be folded in; end its readers and repeat");
  return {};
}

// A name that nothing has: PATH.WORD-1, -2, ...
std::string free_name(const std::string& path, const char* word) {
  for (int number = 1;; ++number) {
    std::string name = path + "." + word + "-" + std::to_string(number);
    if (!fs::exists(name) && !fs::exists(name + "-wal")) return name;
  }
}

Result<void> move_to_new_name(const std::string& from, const std::string& to) {
  if (renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) != 0) return file_error(to);
  return {};
}

// What a damaged store acknowledged stays together: its WAL goes where the file will go.
Result<void> set_wal_aside(const std::string& path, const std::string& kept) {
  if (fs::exists(path + "-wal")) {
    if (auto moved = move_to_new_name(path + "-wal", kept + "-wal"); !moved) return moved;
  }
  std::error_code ignored;
  fs::remove(path + "-shm", ignored);
  return sync_path(folder_of(path), O_RDONLY | O_DIRECTORY);
}

// At one instant `path` is the new file and `staged` the old one; then the old one gets the name it keeps. A crash
// between leaves the old one under the name of the new one, which no restore uses again.
Result<void> exchange(const std::string& staged, const std::string& path, const std::string& kept) {
  if (auto synced = sync_path(staged, O_RDONLY); !synced) return synced;
  SEMEL_FP("sqlite.restore.before_exchange");
  if (renameat2(AT_FDCWD, staged.c_str(), AT_FDCWD, path.c_str(), RENAME_EXCHANGE) == 0) {
    SEMEL_FP("sqlite.restore.after_exchange");
    if (auto moved = move_to_new_name(staged, kept); !moved) return moved;
  } else if (errno == EINVAL || errno == ENOSYS) {
    // This file system cannot exchange: for a moment the old file has two names.
    if (link(path.c_str(), kept.c_str()) != 0) return file_error(kept);
    if (rename(staged.c_str(), path.c_str()) != 0) return file_error(path);
  } else {
    return file_error(path);
  }
  return sync_path(folder_of(path), O_RDONLY | O_DIRECTORY);
}

Result<void> replace(const std::string& staged, const std::string& path, Restored& out) {
  std::error_code ignored;
  if (fs::file_size(path, ignored) == 0) return move_into_place(staged, path);
  out.kept = free_name(path, "replaced");
  if (auto folded = fold_wal(path); !folded) {
    if (folded.error().code != ErrorCode::StoreCorrupt) return folded;
    if (auto aside = set_wal_aside(path, *out.kept); !aside) return aside;
  }
  SEMEL_FP("sqlite.restore.after_fold");
  return exchange(staged, path, *out.kept);
}

Result<void> copy_checked(const std::string& from, const std::string& staged, Restored& out) {
  const Result<StoreFile> use = StoreFile::read(from);
  if (!use) return use.error();
  try {
    Connection backup(use->path(), Access::read_only, "");
    backup.never_checkpoint();
    if (auto sound = check_backup(backup, from); !sound) return sound;
    if (const std::int64_t at = backup.integer("SELECT value FROM meta WHERE name = 'clock_at'"); at != 0)
      out.as_of = from_micros(at);
    return copy_to(backup, staged);
  } catch (const SqliteFailure& failure) {
    return to_error(failure, from);
  }
}

Result<Restored> restore_owned(const std::string& from, const StoreFile& file) {
  Restored out;
  const std::string staged = free_name(file.path(), "restoring");
  Result<void> done = copy_checked(from, staged, out);
  if (done) {
    const auto generation = bump_generation(staged);
    if (generation) out.generation = *generation;
    done = generation ? replace(staged, file.path(), out) : Result<void>(generation.error());
  }
  if (done) return out;
  // After the exchange that is the name of the old store.
  if (file.is_in_place()) remove_with_companions(staged);
  return done.error();
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
    const Result<StoreFile> use = StoreFile::read(from);
    if (!use) return use.error();
    if (auto names = use->check_names(); !names) return names.error();
    Connection source(use->path(), Access::read_only, "");
    source.never_checkpoint();
    const Result<SchemaState> state = read_schema(source, from);
    if (!state) return state.error();
    if (state->empty) return make_error(ErrorCode::StoreNotFound, from + " is an empty file and holds no store");
    return backup_connection(source, to);
  } catch (const SqliteFailure& failure) {
    return to_error(failure, from);
  }
}

Result<Restored> sqlite_restore(const std::string& from, const std::string& to) {
  if (auto there = missing(from); !there) return there.error();
  Result<StoreFile> file = StoreFile::own(to, "restoring a backup", SqliteOptions{}.owner_wait);
  if (!file) return file.error();
  return restore_owned(from, *file);
}

}  // namespace semel::store::sqlite
