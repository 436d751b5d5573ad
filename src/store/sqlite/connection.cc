#include "store/sqlite/connection.h"

#include <sqlite3.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "base/clock.h"

namespace semel::store::sqlite {
namespace {

// A file that could not be made or made longer for want of room says so only in the system's error number.
bool is_want_of_room(sqlite3* db, int code) {
  if (code != SQLITE_CANTOPEN && code != SQLITE_IOERR_SHMOPEN && code != SQLITE_IOERR_SHMMAP) return false;
  const int error = sqlite3_system_errno(db);
  return error == ENOSPC || error == EDQUOT;
}

SqliteFailure failure_of(sqlite3* db, int code) {
  if (db == nullptr || sqlite3_extended_errcode(db) == SQLITE_OK) return {code, sqlite3_errstr(code)};
  const int extended = sqlite3_extended_errcode(db);
  return {is_want_of_room(db, extended) ? SQLITE_FULL : extended, sqlite3_errmsg(db)};
}

[[noreturn]] void fail(sqlite3* db, int code) { throw failure_of(db, code); }

void require(sqlite3* db, int code) {
  if (code != SQLITE_OK) fail(db, code);
}

}  // namespace

Statement::Statement(sqlite3* db, std::string_view sql) : db_(db) {
  require(db_, sqlite3_prepare_v3(db_, sql.data(), static_cast<int>(sql.size()), SQLITE_PREPARE_PERSISTENT, &statement_,
                                  nullptr));
}

Statement::~Statement() { sqlite3_finalize(statement_); }

bool Statement::step() {
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) {
    sqlite3_reset(statement_);
    return false;
  }
  const SqliteFailure failure = failure_of(db_, code);
  sqlite3_reset(statement_);
  throw failure;
}

int Statement::run() {
  if (step()) reset();
  return sqlite3_changes(db_);
}

void Statement::reset() { sqlite3_reset(statement_); }

bool Statement::is_null(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }
std::int64_t Statement::integer(int column) const { return sqlite3_column_int64(statement_, column); }
std::string_view Statement::bytes(int column) const {
  const void* data = sqlite3_column_blob(statement_, column);
  return {static_cast<const char*>(data), static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}
int Statement::column_count() const { return sqlite3_column_count(statement_); }
std::string_view Statement::column_name(int column) const { return sqlite3_column_name(statement_, column); }

void Statement::copy_exactly(int column, std::uint8_t* to, std::size_t size) const {
  const std::string_view from = bytes(column);
  if (from.size() != size) {
    throw SqliteFailure{SQLITE_CORRUPT, "column " + std::string(column_name(column)) + " has " +
                                            std::to_string(from.size()) + " bytes instead of " + std::to_string(size)};
  }
  std::memcpy(to, from.data(), size);
}

void Statement::put_null() { require(db_, sqlite3_bind_null(statement_, position_)); }
void Statement::put_integer(std::int64_t value) { require(db_, sqlite3_bind_int64(statement_, position_, value)); }
void Statement::put_text(std::string_view text) {
  // A null pointer would bind NULL; an empty text is not NULL.
  const char* data = text.data() == nullptr ? "" : text.data();
  require(db_, sqlite3_bind_text64(statement_, position_, data, text.size(), SQLITE_STATIC, SQLITE_UTF8));
}
void Statement::put_blob(const void* data, std::size_t size) {
  require(db_, sqlite3_bind_blob64(statement_, position_, data == nullptr ? "" : data, size, SQLITE_STATIC));
}
void Statement::put(const Blob& value) {
  if (value.data) {
    put_blob(value.data->data(), value.data->size());
  } else {
    put_null();
  }
}

Connection::Connection(const std::string& path, Access access, const std::string& vfs) {
  int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  flags |= access == Access::read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE;
  if (access == Access::create) flags |= SQLITE_OPEN_CREATE;
  const int code = sqlite3_open_v2(path.c_str(), &db_, flags, vfs.empty() ? nullptr : vfs.c_str());
  if (code != SQLITE_OK) {
    const SqliteFailure failure = failure_of(db_, code);
    sqlite3_close_v2(db_);
    throw failure;
  }
  constexpr int kInstructionsBetweenLooks = 2000;
  sqlite3_progress_handler(
      db_, kInstructionsBetweenLooks,
      [](void* self) {
        const std::int64_t deadline = static_cast<Connection*>(self)->deadline_micros_;
        return deadline != 0 && base::steady_micros() > deadline ? 1 : 0;
      },
      this);
  // Takes the place of SQLite's automatic checkpoints.
  sqlite3_wal_hook(
      db_,
      [](void* self, sqlite3*, const char*, int frames) {
        static_cast<Connection*>(self)->wal_frames_ = frames;
        return SQLITE_OK;
      },
      this);
}

std::int64_t Connection::extend_wal(std::int64_t bytes) {
  sqlite3_file* file = nullptr;
  if (sqlite3_file_control(db_, "main", SQLITE_FCNTL_JOURNAL_POINTER, static_cast<void*>(&file)) != SQLITE_OK ||
      file == nullptr || file->pMethods == nullptr)
    return 0;
  sqlite3_int64 length = 0;
  if (file->pMethods->xFileSize(file, &length) != SQLITE_OK) return 0;
  // Zeros are no frames: recovery stops at the first whose salt and checksum do not fit.
  const std::vector<char> zeros(64 * 1024, 0);
  sqlite3_int64 at = length;
  while (at < bytes) {
    const auto size = static_cast<int>(std::min<sqlite3_int64>(bytes - at, static_cast<sqlite3_int64>(zeros.size())));
    if (file->pMethods->xWrite(file, zeros.data(), size, at) != SQLITE_OK) return length;
    at += size;
  }
  if (at > length && file->pMethods->xSync(file, SQLITE_SYNC_NORMAL) != SQLITE_OK) return length;
  return at;
}

Connection::~Connection() {
  statements_.clear();
  for_many_.clear();
  sqlite3_close_v2(db_);
}

void Connection::execute(const char* sql) { require(db_, sqlite3_exec(db_, sql, nullptr, nullptr, nullptr)); }

std::int64_t Connection::integer(std::string_view sql) {
  Statement statement(db_, sql);
  return statement.step() ? statement.integer(0) : 0;
}

std::string Connection::text(std::string_view sql) {
  Statement statement(db_, sql);
  return statement.step() ? std::string(statement.bytes(0)) : std::string();
}

Statement& Connection::prepared(std::string_view name) {
  const auto it = statements_.find(name);
  if (it != statements_.end()) return *it->second;
  return *statements_.emplace(name, std::make_unique<Statement>(db_, statement_text(name))).first->second;
}

Statement& Connection::prepared_for_many(std::string_view name) {
  const auto it = for_many_.find(name);
  if (it != for_many_.end()) return *it->second;
  constexpr std::string_view kBefore = "VALUES";
  std::string sql(statement_text(name));
  const std::string row = sql.substr(sql.rfind(kBefore) + kBefore.size());
  for (std::size_t i = 1; i < kRowsAtOnce; ++i) sql += "," + row;
  return *for_many_.emplace(name, std::make_unique<Statement>(db_, sql)).first->second;
}

void Connection::wait_for_locks(int milliseconds) {
  busy_milliseconds_ = milliseconds;
  busy_timeout(milliseconds);
}
void Connection::busy_timeout(int milliseconds) { require(db_, sqlite3_busy_timeout(db_, milliseconds)); }

void Connection::never_checkpoint() {
  require(db_, sqlite3_db_config(db_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr));
}

Connection::Checkpointed Connection::checkpoint(bool truncate) {
  // A batch is waiting behind this: readers get a moment to leave, no more.
  constexpr int kPatienceMilliseconds = 100;
  if (truncate) busy_timeout(kPatienceMilliseconds);
  Checkpointed out;
  const int mode = truncate ? SQLITE_CHECKPOINT_TRUNCATE : SQLITE_CHECKPOINT_PASSIVE;
  const int code = sqlite3_wal_checkpoint_v2(db_, nullptr, mode, &out.log_frames, &out.moved_frames);
  if (truncate) busy_timeout(busy_milliseconds_);
  out.busy = (code & 0xff) == SQLITE_BUSY;
  if (code != SQLITE_OK && !out.busy) fail(db_, code);
  return out;
}

bool Connection::in_transaction() const { return sqlite3_get_autocommit(db_) == 0; }

bool Connection::is_reading() const {
  if (in_transaction()) return true;
  for (sqlite3_stmt* one = sqlite3_next_stmt(db_, nullptr); one != nullptr; one = sqlite3_next_stmt(db_, one)) {
    if (sqlite3_stmt_busy(one) != 0) return true;
  }
  return false;
}

std::string_view library_version() { return sqlite3_libversion(); }
int library_version_number() { return sqlite3_libversion_number(); }

}  // namespace semel::store::sqlite
