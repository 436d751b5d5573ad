// The store files that this process has open, and the lock on those it writes.
//
// SQLite locks a file with POSIX record locks, and the kernel drops all of those that a process has on a file as soon
// as the process closes any descriptor of it. So each file has one descriptor of ours here, opened before SQLite's
// connections and closed after the last of them, and files are compared by stat alone. Our own lock is of the other
// kind (open file description), on a byte that SQLite never touches: it holds for the file under all of its names.
//
// fork(): the child closes its copies, so that a lock ends with the process that took it. The library's state of these
// files came along, but its locks did not: the child must not open them before exec.
#pragma once

#include <sys/types.h>

#include <compare>
#include <cstdint>
#include <optional>
#include <string>

namespace semel::store::sqlite {

// A file under whatever name.
struct FileId {
  dev_t device = 0;
  ino_t inode = 0;
  auto operator<=>(const FileId&) const = default;
};

// By stat, following symbolic links; none, with errno set: it cannot be looked at.
std::optional<FileId> file_id(const std::string& path);

// All functions are thread-safe and do not wait.
namespace open_files {

enum class Outcome : std::uint8_t {
  done,
  owned_here,   // this process owns it already
  owned_there,  // another process does
  inherited,    // it was open when this process was forked
  failed,       // see errno
};

struct Taken {
  Outcome outcome = Outcome::failed;
  FileId id;
  int error = 0;
};

// Counts one more use, for reading.
Taken use(const std::string& path);
// The same with the lock; creates the file.
Taken own(const std::string& path);
// Ends what use() or own() began.
void release(const FileId& id, bool owned);
// What the descriptor says now: some file systems number their files anew. Precondition: owned.
std::optional<FileId> id_now(const FileId& id);

}  // namespace open_files
}  // namespace semel::store::sqlite
