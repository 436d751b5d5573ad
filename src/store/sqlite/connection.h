// The one door to the SQLite library: a connection with its prepared statements.
//
// Everything here throws SqliteFailure; it is caught at the edge of this folder and never leaves it. A connection is
// used by one thread at a time.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>

#include "core/fingerprint.h"
#include "semel/id.h"
#include "semel/time.h"

struct sqlite3;
struct sqlite3_stmt;

namespace semel::store::sqlite {

// An error of the library: its extended result code and its words.
struct SqliteFailure {
  int code = 0;
  std::string message;
};

// Marks bytes that are data and not text; none binds NULL.
struct Blob {
  explicit Blob(std::string_view bytes) : data(bytes) {}
  explicit Blob(const std::string& bytes) : data(bytes) {}
  explicit Blob(const std::optional<std::string>& bytes) {
    if (bytes) data = *bytes;
  }
  std::optional<std::string_view> data;
};

// A prepared statement. Text and blobs are bound without a copy: they must live until the statement is reset.
class Statement {
 public:
  Statement(sqlite3* db, std::string_view sql);
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  // Binds the values to ?1, ?2, ...
  template <class... Values>
  Statement& bind(const Values&... values) {
    position_ = 0;
    (add(values), ...);
    return *this;
  }
  // Binds one more value after those bound so far.
  template <class Value>
  Statement& add(const Value& value) {
    ++position_;
    put(value);
    return *this;
  }

  // True: a row is there. False: done, and the statement is reset.
  bool step();
  // For statements without rows. Returns how many rows changed.
  int run();
  void reset();

  bool is_null(int column) const;
  std::int64_t integer(int column) const;
  std::string_view bytes(int column) const;  // valid until the next step
  int column_count() const;
  std::string_view column_name(int column) const;

  template <class T>
  void get(int column, T& out) const {
    if constexpr (std::is_same_v<T, bool>) {
      out = integer(column) != 0;
    } else if constexpr (std::is_enum_v<T> || std::is_integral_v<T>) {
      out = static_cast<T>(integer(column));
    } else if constexpr (std::is_same_v<T, Instant>) {
      out = from_micros(integer(column));
    } else if constexpr (std::is_same_v<T, Duration>) {
      out = Duration{integer(column)};
    } else if constexpr (std::is_same_v<T, std::string>) {
      out = bytes(column);
    } else {
      get_bytes(column, out);
    }
  }
  template <class T>
  void get(int column, std::optional<T>& out) const {
    if (is_null(column)) {
      out.reset();
    } else {
      get(column, out.emplace());
    }
  }

 private:
  template <class Value>
  void put(const Value& value) {
    if constexpr (std::is_same_v<Value, Instant>) {
      put_integer(to_micros(value));
    } else if constexpr (std::is_same_v<Value, Duration>) {
      put_integer(value.count());
    } else if constexpr (std::is_enum_v<Value> || std::is_integral_v<Value>) {
      put_integer(static_cast<std::int64_t>(value));
    } else if constexpr (requires { value.bytes.size(); }) {
      put_blob(value.bytes.data(), value.bytes.size());
    } else {
      put_text(std::string_view(value));
    }
  }
  template <class Value>
  void put(const std::optional<Value>& value) {
    if (value) {
      put(*value);
    } else {
      put_null();
    }
  }
  void put(const Blob& value);
  void put(std::nullopt_t) { put_null(); }

  // Ids and fingerprints: fixed size, anything else is a damaged row.
  template <class T>
  void get_bytes(int column, T& out) const {
    copy_exactly(column, out.bytes.data(), out.bytes.size());
  }
  void copy_exactly(int column, std::uint8_t* to, std::size_t size) const;

  void put_null();
  void put_integer(std::int64_t value);
  void put_text(std::string_view text);
  void put_blob(const void* data, std::size_t size);

  sqlite3* db_;
  sqlite3_stmt* statement_ = nullptr;
  int position_ = 0;
};

enum class Access : std::uint8_t { create, read_write, read_only };

// Never checkpoints by itself: see checkpoint().
class Connection {
 public:
  // `vfs`: name of a registered VFS, empty for the default one.
  Connection(const std::string& path, Access access, const std::string& vfs);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Runs statements that return nothing of interest.
  void execute(const char* sql);
  // First column of the first row.
  std::int64_t integer(std::string_view sql);
  std::string text(std::string_view sql);

  // The statement of that name in sql/*.sql; prepared at first use, kept for the connection's life.
  Statement& prepared(std::string_view name);
  // The same for one that inserts a row (`... VALUES (?, ?)`), made to insert kRowsAtOnce of them.
  static constexpr std::size_t kRowsAtOnce = 8;
  Statement& prepared_for_many(std::string_view name);

  // How long a statement waits for another connection's lock before SQLITE_BUSY.
  void wait_for_locks(int milliseconds);
  // Statements running at `deadline_micros` (of base::steady_micros) fail with SQLITE_INTERRUPT; 0: no limit.
  void limit_until(std::int64_t deadline_micros) { deadline_micros_ = deadline_micros; }
  // Closing must not checkpoint: only the owner does that.
  void never_checkpoint();
  // Frames in the WAL after the last commit of this connection.
  int wal_frames() const { return wal_frames_; }
  // Fills the WAL file with zeros up to `bytes`, beyond what it holds: a commit that only overwrites syncs twice as
  // fast as one that makes the file longer. Returns the file's length; on any failure the one it had.
  std::int64_t extend_wal(std::int64_t bytes);

  struct Checkpointed {
    int log_frames = 0;
    int moved_frames = 0;
    bool busy = false;
  };
  // PASSIVE, or TRUNCATE which also empties the WAL file.
  Checkpointed checkpoint(bool truncate);

  bool in_transaction() const;
  // A transaction is open or a statement is half-way: the connection holds a snapshot.
  bool is_reading() const;
  sqlite3* raw() { return db_; }

 private:
  void busy_timeout(int milliseconds);

  sqlite3* db_ = nullptr;
  int busy_milliseconds_ = 0;
  std::unordered_map<std::string_view, std::unique_ptr<Statement>> statements_, for_many_;
  std::int64_t deadline_micros_ = 0;
  int wal_frames_ = 0;
};

// Text of a named statement of sql/*.sql, and all their names.
std::string_view statement_text(std::string_view name);
const std::unordered_map<std::string_view, std::string_view>& all_statements();

std::string_view library_version();
int library_version_number();

}  // namespace semel::store::sqlite
