#include "store/sqlite/owner_lock.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/clock.h"
#include "base/text.h"

namespace semel::store::sqlite {
namespace {

bool try_lock(int file) {
  struct flock lock{};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return fcntl(file, F_OFD_SETLK, &lock) == 0;
}

std::string read_text(int file) {
  char text[512];
  const ssize_t size = pread(file, text, sizeof text, 0);
  return size > 0 ? std::string(text, static_cast<std::size_t>(size)) : std::string();
}

// Best effort: the text informs people, the lock protects.
void write_text(int file, const std::string& text) {
  if (ftruncate(file, 0) != 0) return;
  [[maybe_unused]] const ssize_t written = pwrite(file, text.data(), text.size(), 0);
}

Error busy(const std::string& database, std::string owner) {
  while (!owner.empty() && owner.back() == '\n') owner.pop_back();
  if (owner.empty()) owner = "unknown";
  return make_error(ErrorCode::StoreBusy, "sqlite:" + database + " is owned by another process (" +
                                              base::printable(owner, 400) +
                                              "); reach that process, or stop it and repeat");
}

}  // namespace

Result<OwnerLock> OwnerLock::take(const std::string& database, const std::string& reach, Duration wait) {
  const std::string path = database + "-owner";
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (file < 0) {
    const auto code =
        errno == EACCES || errno == EROFS || errno == EPERM ? ErrorCode::StoreReadOnly : ErrorCode::StoreUnavailable;
    return make_error(code, path + ": " + std::strerror(errno) + "; the store's folder must be writable");
  }
  const std::int64_t give_up = base::steady_micros() + wait.count();
  while (!try_lock(file)) {
    if (errno != EAGAIN && errno != EACCES && errno != EINTR) {
      Error error = make_error(ErrorCode::Unsupported,
                               path + ": cannot be locked (" + std::strerror(errno) + "); use a local disk");
      close(file);
      return error;
    }
    if (base::steady_micros() >= give_up) {
      Error error = busy(database, read_text(file));
      close(file);
      return error;
    }
    constexpr int kMillisecondsBetweenTries = 10;
    poll(nullptr, 0, kMillisecondsBetweenTries);
  }
  const bool follows_crash = !read_text(file).empty();
  write_text(file, "pid " + std::to_string(getpid()) + (reach.empty() ? "" : ", " + reach) + "\n");
  return OwnerLock(file, follows_crash);
}

OwnerLock::OwnerLock(OwnerLock&& other) noexcept
    : file_(std::exchange(other.file_, -1)), follows_crash_(other.follows_crash_) {}

OwnerLock::~OwnerLock() {
  if (file_ < 0) return;
  write_text(file_, "");
  close(file_);
}

}  // namespace semel::store::sqlite
