#include "store/sqlite/errors.h"

#include <sqlite3.h>

namespace semel::store::sqlite {
namespace {

int primary(const SqliteFailure& failure) { return failure.code & 0xff; }

struct Meaning {
  Applied::Kind kind;
  ErrorCode code;
  const char* words;
};

Meaning meaning(const SqliteFailure& failure) {
  using Kind = Applied::Kind;
  switch (primary(failure)) {
    case SQLITE_FULL:
      return {Kind::unavailable, ErrorCode::StoreFull, "the disk is full; free space and repeat, nothing was written"};
    case SQLITE_IOERR:
      // The shared index of the WAL could not grow: that is how a full disk looks before anything was written.
      if (failure.code == SQLITE_IOERR_SHMSIZE) {
        return {Kind::unavailable, ErrorCode::StoreFull,
                "the disk is full; free space and repeat, nothing was written"};
      }
      return {Kind::fatal, ErrorCode::StoreUnavailable, "I/O error; stop, check the disk, then start again"};
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return {Kind::fatal, ErrorCode::StoreCorrupt, "the file is damaged; keep it and restore a backup"};
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return {Kind::unavailable, ErrorCode::StoreReadOnly,
              "cannot be written; check the permissions of the file and its folder"};
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:
      return {Kind::retry, ErrorCode::StoreBusy, "another program holds the file's write lock"};
    case SQLITE_CONSTRAINT:
    case SQLITE_TOOBIG:
    case SQLITE_MISMATCH:
      return {Kind::halve, ErrorCode::Internal, "a row was refused"};
    case SQLITE_NOMEM:
      return {Kind::unavailable, ErrorCode::Overloaded, "out of memory"};
    case SQLITE_INTERRUPT:
      return {Kind::retry, ErrorCode::TimedOut, "the read took too long; narrow the filter"};
    case SQLITE_CANTOPEN:
      return {Kind::unavailable, ErrorCode::StoreUnavailable, "cannot be opened; check the path and its permissions"};
    default:
      return {Kind::halve, ErrorCode::Internal, "unexpected answer of SQLite"};
  }
}

}  // namespace

Error to_error(const SqliteFailure& failure, const std::string& path) {
  const Meaning m = meaning(failure);
  return make_error(m.code, "sqlite:" + path + ": " + m.words + " (" + failure.message + ", code " +
                                std::to_string(failure.code) + ")");
}

batch::TablesError to_tables_error(const SqliteFailure& failure, const std::string& path) {
  batch::TablesError out{meaning(failure).kind, to_error(failure, path)};
  // A failed sync may still have reached the disk: only a repeat after the restart tells.
  if (primary(failure) == SQLITE_IOERR && out.kind == Applied::Kind::fatal) out.error.code = ErrorCode::UnknownCommit;
  return out;
}

bool is_full(const SqliteFailure& failure) { return meaning(failure).code == ErrorCode::StoreFull; }
bool is_corrupt(const SqliteFailure& failure) {
  const int code = primary(failure);
  if (is_full(failure)) return false;
  return code == SQLITE_CORRUPT || code == SQLITE_NOTADB || code == SQLITE_IOERR;
}

}  // namespace semel::store::sqlite
