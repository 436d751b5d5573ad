// When the WAL is folded into the database file. Only the writer's connection does it, between two batches.
#pragma once

#include <cstdint>
#include <string>

#include "base/log.h"
#include "store/sqlite/connection.h"

namespace semel::store::sqlite {

class Checkpoints {
 public:
  Checkpoints(Connection& db, std::string path, int frames, std::int64_t wal_limit_bytes, base::LogSink& log);

  // After each commit. Most calls do nothing. Throws SqliteFailure.
  void after_commit();
  // Folds everything and empties the WAL file, as far as readers allow.
  void fold_all();

 private:
  void passive();
  void cut_back();

  Connection& db_;
  const std::string path_;
  const int frames_;
  const std::int64_t limit_frames_;
  base::LogSink& log_;
  int next_try_;  // a reader may hold part of the WAL: do not try again at every commit
  bool alarmed_ = false;
};

}  // namespace semel::store::sqlite
