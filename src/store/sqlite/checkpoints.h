// When the WAL is folded into the database file. Only the writer's connection does it, between two batches.
#pragma once

#include <cstdint>
#include <string>

#include "base/log.h"
#include "store/sqlite/connection.h"
#include "store/sqlite/sqlite_store.h"

namespace semel::store::sqlite {

class Checkpoints {
 public:
  Checkpoints(Connection& db, const SqliteOptions& options, base::LogSink& log);

  // After each commit. Most calls do nothing. Throws SqliteFailure.
  void after_commit();
  // Folds everything and empties the WAL file, as far as readers allow.
  void fold_all();
  // As `fold_all`; false: not everything could be folded. Does not throw for want of room.
  bool make_room();

 private:
  void extend();
  bool is_tight(int frames);
  void passive();
  void cut_back();

  Connection& db_;
  const std::string path_;
  const std::string folder_;
  const int frames_;
  const std::int64_t limit_frames_;
  const std::int64_t step_bytes_;
  base::LogSink& log_;
  std::int64_t wal_bytes_ = 0;  // length of the WAL file, as far as it was made longer ahead of need
  int next_try_;                // a reader may hold part of the WAL: do not try again at every commit
  int next_look_ = 0;           // at the room on the disk
  bool alarmed_ = false;
};

}  // namespace semel::store::sqlite
