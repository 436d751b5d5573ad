#include "store/sqlite/checkpoints.h"

#include <algorithm>

#include "base/failpoint.h"

namespace semel::store::sqlite {
namespace {
constexpr std::int64_t kFrameBytes = 4096 + 24;
}

Checkpoints::Checkpoints(Connection& db, const SqliteOptions& options, base::LogSink& log)
    : db_(db),
      path_(options.path),
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
  const std::int64_t length = db_.extend_wal((used / step_bytes_ + 1) * step_bytes_ + step_bytes_ / 8);
  wal_bytes_ = std::max(length, used + step_bytes_);  // after a failure, not before every commit again
}

void Checkpoints::after_commit() {
  extend();
  const int frames = db_.wal_frames();
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

void Checkpoints::fold_all() {
  db_.checkpoint(true);
  wal_bytes_ = 0;
}

}  // namespace semel::store::sqlite
