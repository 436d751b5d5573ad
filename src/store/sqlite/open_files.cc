// One table for the process, guarded by a mutex that fork() waits for.
#include "store/sqlite/open_files.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <map>
#include <mutex>
#include <vector>

#include "base/mutant.h"

namespace semel::store::sqlite {
namespace {

using open_files::Outcome;
using open_files::Taken;

// Far beyond the bytes that SQLite locks (512 from 2^30 on) and beyond any content.
constexpr off_t kLockByte = off_t{1} << 62;
constexpr off_t kSqliteLockBytes = off_t{1} << 30;
constexpr off_t kSqliteLockLength = 512;

struct OpenFile {
  std::vector<int> descriptors;  // the first carries the lock
  int uses = 0;
  bool owned = false;
  bool inherited = false;
};

struct Table {
  std::mutex mutex;
  std::map<FileId, OpenFile> files;
};

void before_fork();
void after_fork_in_parent();
void after_fork_in_child();

// Never destroyed: stores may be closed while the process ends.
Table& table() {
  static Table& table = []() -> Table& {
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
    return *new Table;
  }();
  return table;
}

void before_fork() { table().mutex.lock(); }
void after_fork_in_parent() { table().mutex.unlock(); }
void after_fork_in_child() {
  for (auto& [id, file] : table().files) {
    for (const int descriptor : file.descriptors) close(descriptor);
    file.descriptors.clear();
    file.inherited = file.inherited || file.uses > 0;
  }
  table().mutex.unlock();
}

struct flock range(short type, off_t start, off_t length) {
  struct flock lock{};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = start;
  lock.l_len = length;
  return lock;
}

// A bug to be found: every name of the file has a lock of its own.
off_t lock_byte(const std::string& path) {
  if (!SEMEL_MUTANT("lock-by-path")) return kLockByte;
  return kLockByte + static_cast<off_t>(std::hash<std::string>{}(path) >> 8);
}

// Somebody, perhaps a connection of this program that is not ours, has SQLite's locks on it.
bool is_locked_by_sqlite(int descriptor) {
  auto lock = range(F_WRLCK, kSqliteLockBytes, kSqliteLockLength);
  return fcntl(descriptor, F_OFD_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
}

// Closes what nobody uses, unless that could drop the locks of a connection that is not ours: then at a later call.
void close_unused(Table& t) {
  for (auto it = t.files.begin(); it != t.files.end();) {
    const OpenFile& file = it->second;
    const bool in_use =
        file.uses > 0 || file.inherited || (!file.descriptors.empty() && is_locked_by_sqlite(file.descriptors.front()));
    if (in_use) {
      ++it;
      continue;
    }
    for (const int descriptor : file.descriptors) close(descriptor);
    it = t.files.erase(it);
  }
}

// The file at `path`, with a descriptor. Tried again when another file takes its place meanwhile.
Taken with_descriptor(Table& t, const std::string& path) {
  constexpr int kTries = 100;
  for (int tried = 0; tried < kTries; ++tried) {
    if (const auto id = file_id(path)) {
      const auto known = t.files.find(*id);
      if (known != t.files.end() && known->second.inherited) return {Outcome::inherited, *id, 0};
      if (known != t.files.end() && !known->second.descriptors.empty()) return {Outcome::done, *id, 0};
    }
    const int descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (descriptor < 0) return {Outcome::failed, {}, errno};
    struct stat about{};
    if (fstat(descriptor, &about) != 0) {
      const int error = errno;
      close(descriptor);
      return {Outcome::failed, {}, error};
    }
    const FileId id{about.st_dev, about.st_ino};
    t.files[id].descriptors.push_back(descriptor);
    if (t.files[id].inherited) return {Outcome::inherited, id, 0};
    if (file_id(path) == id) return {Outcome::done, id, 0};
  }
  return {Outcome::failed, {}, EAGAIN};
}

Taken lock(Table& t, const FileId& id, off_t byte) {
  OpenFile& file = t.files[id];
  if (file.owned) return {Outcome::owned_here, id, 0};
  auto wanted = range(F_WRLCK, byte, 1);
  if (fcntl(file.descriptors.front(), F_OFD_SETLK, &wanted) != 0) {
    const bool busy = errno == EAGAIN || errno == EACCES || errno == EINTR;
    return {busy ? Outcome::owned_there : Outcome::failed, id, errno};
  }
  file.owned = true;
  ++file.uses;
  return {Outcome::done, id, 0};
}

}  // namespace

std::optional<FileId> file_id(const std::string& path) {
  struct stat about{};
  if (stat(path.c_str(), &about) != 0) return std::nullopt;
  return FileId{about.st_dev, about.st_ino};
}

namespace open_files {

Taken use(const std::string& path) {
  Table& t = table();
  const std::lock_guard guard(t.mutex);
  const auto id = file_id(path);
  if (!id) return {Outcome::failed, {}, errno};
  OpenFile& file = t.files[*id];
  if (file.inherited) return {Outcome::inherited, *id, 0};
  ++file.uses;
  return {Outcome::done, *id, 0};
}

Taken own(const std::string& path) {
  Table& t = table();
  const std::lock_guard guard(t.mutex);
  Taken taken = with_descriptor(t, path);
  if (taken.outcome == Outcome::done) taken = lock(t, taken.id, lock_byte(path));
  close_unused(t);
  return taken;
}

void release(const FileId& id, bool owned) {
  Table& t = table();
  const std::lock_guard guard(t.mutex);
  OpenFile& file = t.files[id];
  if (owned) {
    auto all = range(F_UNLCK, kLockByte, 0);
    fcntl(file.descriptors.front(), F_OFD_SETLK, &all);
    file.owned = false;
  }
  --file.uses;
  close_unused(t);
}

std::optional<FileId> id_now(const FileId& id) {
  Table& t = table();
  const std::lock_guard guard(t.mutex);
  struct stat about{};
  const auto known = t.files.find(id);
  if (known == t.files.end() || known->second.descriptors.empty()) return std::nullopt;
  if (fstat(known->second.descriptors.front(), &about) != 0) return std::nullopt;
  return FileId{about.st_dev, about.st_ino};
}

}  // namespace open_files
}  // namespace semel::store::sqlite
