// When to fold the WAL, and how long its file is made.
#include "store/sqlite/checkpoints.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <filesystem>
#include <limits>

#include "base/failpoint.h"
#include "store/sqlite/errors.h"

namespace semel::store::sqlite {
namespace {

constexpr std::int64_t kFrameBytes = 4096 + 24;
constexpr int kFramesBetweenLooks = 64;

// Bytes that may still be written beside `path`.
std::int64_t room_on_disk(const std::string& folder) {
  struct statvfs about{};
  if (statvfs(folder.c_str(), &about) != 0) return std::numeric_limits<std::int64_t>::max();
  return static_cast<std::int64_t>(about.f_bavail) * static_cast<std::int64_t>(about.f_frsize);
}

}  // namespace

Checkpoints::Checkpoints(Connection& db, const SqliteOptions& options, base::LogSink& log)
    : db_(db),
      path_(options.path),
      folder_(std::filesystem::path(options.path).parent_path()),
      frames_(options.checkpoint_frames),
      limit_frames_(options.wal_limit_bytes / kFrameBytes),
      step_bytes_(options.wal_step_bytes),
      log_(log),
      next_try_(options.checkpoint_frames) {
  extend();
}

// Until the WAL has been folded for the first time it grows; from then on it overwrites itself.
void Checkpoints::extend() {
  const std::int64_t used = db_.wal_frames() * kFrameBytes;
  if (step_bytes_ <= 0 || used + step_bytes_ / 8 <= wal_bytes_ || used >= (frames_ + frames_ / 8) * kFrameBytes) return;
  if (room_on_disk(folder_) < 8 * step_bytes_) {
    wal_bytes_ = used + step_bytes_;  // what is left is needed: look again after as much
    return;
  }
  const std::int64_t length = db_.extend_wal((used / step_bytes_ + 1) * step_bytes_ + step_bytes_ / 8);
  wal_bytes_ = std::max(length, used + step_bytes_);  // after a failure, not before every commit again
}

// Folding may need as much room as the WAL holds. Left until the disk is full, it could never be done.
bool Checkpoints::is_tight(int frames) {
  if (frames < next_look_) {
    if (frames + kFramesBetweenLooks < next_look_) next_look_ = 0;  // the WAL started again from its beginning
    return false;
  }
  next_look_ = frames + kFramesBetweenLooks;
  return room_on_disk(folder_) < frames * kFrameBytes;
}

void Checkpoints::after_commit() {
  extend();
  const int frames = db_.wal_frames();
  if (is_tight(frames)) return cut_back();
  if (frames < frames_) {
    // The WAL started again from its beginning.
    next_try_ = frames_;
    alarmed_ = false;
    return;
  }
  if (frames < next_try_) return;
  SEMEL_FP("sqlite.checkpoint.before");
  if (frames >= limit_frames_) {
    cut_back();
  } else {
    passive();
  }
  SEMEL_FP("sqlite.checkpoint.after");
}

void Checkpoints::passive() {
  db_.checkpoint(false);
  // Folded wholly, the WAL starts again at the next commit, unless a reader stands in it just then: it goes on growing,
  // and a checkpoint per commit would sync the file each time.
  next_try_ = db_.wal_frames() + frames_ / 4;
}

void Checkpoints::cut_back() {
  const int frames = db_.wal_frames();
  const auto done = db_.checkpoint(true);
  if (!done.busy) {
    wal_bytes_ = 0;  // the file was cut to nothing
    next_try_ = frames_;
    return;
  }
  next_try_ = frames + frames_;
  if (alarmed_) return;
  alarmed_ = true;
  log_.write(base::LogLevel::error,
             "the WAL cannot shrink: a reader has been holding it; close long-running readers of the file",
             {{"store", path_}, {"wal_bytes", frames * kFrameBytes}});
}

bool Checkpoints::make_room() {
  try {
    const auto done = db_.checkpoint(true);
    wal_bytes_ = 0;
    return !done.busy;
  } catch (const SqliteFailure& failure) {
    if (!is_full(failure)) throw;
    return false;
  }
}

void Checkpoints::fold_all() {
  db_.checkpoint(true);
  wal_bytes_ = 0;
}

}  // namespace semel::store::sqlite
