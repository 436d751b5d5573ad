#include "store/sqlite/checkpoints.h"

#include "base/failpoint.h"

namespace semel::store::sqlite {
namespace {
constexpr std::int64_t kFrameBytes = 4096 + 24;
}

Checkpoints::Checkpoints(Connection& db, std::string path, int frames, std::int64_t wal_limit_bytes, base::LogSink& log)
    : db_(db),
      path_(std::move(path)),
      frames_(frames),
      limit_frames_(wal_limit_bytes / kFrameBytes),
      log_(log),
      next_try_(frames) {}

void Checkpoints::after_commit() {
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

void Checkpoints::fold_all() { db_.checkpoint(true); }

}  // namespace semel::store::sqlite
