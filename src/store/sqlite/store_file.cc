// Who may use a store file, and what a refused one is told.
#include "store/sqlite/store_file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/clock.h"
#include "base/duration.h"
#include "base/text.h"

namespace semel::store::sqlite {
namespace {

using open_files::Outcome;
using open_files::Taken;

std::string read_text(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  char text[512];
  const ssize_t size = pread(file, text, sizeof text, 0);
  close(file);
  return size > 0 ? std::string(text, static_cast<std::size_t>(size)) : std::string();
}

// Best effort: the text informs people, the lock protects.
void write_text(const std::string& path, const std::string& text) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) return;
  [[maybe_unused]] const ssize_t written = pwrite(file, text.data(), text.size(), 0);
  close(file);
}

std::string note_path(const std::string& path) { return path + "-owner"; }

std::string note_of_owner(const std::string& reach) {
  return "pid " + std::to_string(getpid()) + " (" + program_invocation_short_name + ") since " +
         base::format_instant(base::wall_now()) + (reach.empty() ? "" : ", " + reach) + "\n";
}

std::string absolute(const std::string& path) {
  char resolved[PATH_MAX];
  return realpath(path.c_str(), resolved) != nullptr ? std::string(resolved) : path;
}

Error busy(const std::string& path, Outcome outcome) {
  if (outcome == Outcome::owned_here) {
    return make_error(ErrorCode::StoreBusy, "sqlite:" + path +
                                                ": this process has it open already; use that engine, or shut it down "
                                                "and repeat");
  }
  std::string owner = read_text(note_path(absolute(path)));
  while (!owner.empty() && owner.back() == '\n') owner.pop_back();
  if (owner.empty()) owner = "unknown";
  return make_error(ErrorCode::StoreBusy, "sqlite:" + path + " is owned by another process (" +
                                              base::printable(owner, 400) +
                                              "); reach that process, or stop it and repeat");
}

Error inherited(const std::string& path) {
  return make_error(ErrorCode::Unsupported, "sqlite:" + path +
                                                " was open when this process was forked, and its locks belong to the "
                                                "parent; open it after exec");
}

Error refused(const std::string& path, int error) {
  const std::string why = path + ": " + std::strerror(error);
  switch (error) {
    case ENOENT:
      return make_error(ErrorCode::StoreNotFound, why);
    case EACCES:
    case EROFS:
    case EPERM:
      return make_error(ErrorCode::StoreReadOnly, why + "; the file and its folder must be writable");
    case ENOSPC:
    case EDQUOT:
      return make_error(ErrorCode::StoreFull, why + "; free space and repeat");
    case ENOLCK:
    case EINVAL:
    case EOPNOTSUPP:
      return make_error(ErrorCode::Unsupported, why + ": it cannot be locked; use a local disk");
    default:
      return make_error(ErrorCode::StoreUnavailable, why);
  }
}

}  // namespace

Result<StoreFile> StoreFile::read(const std::string& path) {
  const Taken taken = open_files::use(path);
  if (taken.outcome == Outcome::inherited) return inherited(path);
  if (taken.outcome != Outcome::done) return refused(path, taken.error);
  return StoreFile(absolute(path), taken.id, false);
}

Result<StoreFile> StoreFile::own(const std::string& path, const std::string& reach, Duration wait) {
  const std::int64_t give_up = base::steady_micros() + wait.count();
  Taken taken = open_files::own(path);
  while (taken.outcome == Outcome::owned_here || taken.outcome == Outcome::owned_there) {
    if (base::steady_micros() >= give_up) return busy(path, taken.outcome);
    constexpr int kMillisecondsBetweenTries = 10;
    poll(nullptr, 0, kMillisecondsBetweenTries);
    taken = open_files::own(path);
  }
  if (taken.outcome == Outcome::inherited) return inherited(path);
  if (taken.outcome != Outcome::done) return refused(path, taken.error);
  StoreFile file(absolute(path), taken.id, true);
  // The last owner may have put another file here, as a restore does.
  if (!file.is_in_place()) return own(path, reach, Duration{give_up - base::steady_micros()});
  if (auto names = file.check_names(); !names) return names.error();
  file.follows_crash_ = !read_text(note_path(file.path_)).empty();
  file.note_ = note_of_owner(reach);
  write_text(note_path(file.path_), file.note_);
  return file;
}

StoreFile::StoreFile(StoreFile&& other) noexcept
    : path_(std::move(other.path_)),
      id_(other.id_),
      owned_(other.owned_),
      held_(std::exchange(other.held_, false)),
      follows_crash_(other.follows_crash_),
      note_(std::move(other.note_)) {}

StoreFile::~StoreFile() {
  if (!held_) return;
  if (!note_.empty() && read_text(note_path(path_)) == note_) write_text(note_path(path_), "");
  open_files::release(id_, owned_);
}

Result<void> StoreFile::check_names() const {
  struct stat about{};
  if (stat(path_.c_str(), &about) != 0 || about.st_nlink <= 1) return {};
  return make_error(ErrorCode::Unsupported,
                    "sqlite:" + path_ + " has " + std::to_string(about.st_nlink) +
                        " names (hard links), and what is acknowledged under one is not seen under the others; keep "
                        "one of them, and copy a store with semel backup");
}

bool StoreFile::is_in_place() const {
  const auto there = file_id(path_);
  if (there == id_) return true;
  if (!there && errno != ENOENT && errno != ENOTDIR) return true;  // it cannot be looked at now: nothing is known
  return there && owned_ && there == open_files::id_now(id_);
}

}  // namespace semel::store::sqlite
