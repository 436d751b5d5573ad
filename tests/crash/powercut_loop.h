// Work, power cut, recovery, check; over and over on one store.
//
// The loop remembers what the store acknowledged. After each cut the files a disk could hold are opened by an
// undisturbed SQLite and compared: nothing acknowledged may be missing, the batch in flight must be there wholly or not
// at all, and every invariant between the tables must hold.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/uuid.h"
#include "core/operations.h"
#include "store/port.h"
#include "testing/powercut_vfs.h"

namespace semel::powercut {

struct Report {
  int cuts = 0;
  int cuts_in_checkpoint = 0;
  int cuts_at_open = 0;
  int cuts_at_close = 0;
  std::map<std::string, int> cuts_by_call;  // "write wal", "sync db", ...
  std::int64_t acknowledged = 0;
  int in_flight_kept = 0;
  int in_flight_dropped = 0;
  std::vector<std::string> broken;  // what the checks found
};
std::string to_string(const Report& report);

class Loop {
 public:
  Loop(std::uint64_t seed, bool lying_disk) : random_(seed), ids_(random_), lying_disk_(lying_disk) {}

  // Runs until `cuts` cuts happened or a check failed.
  Report run(int cuts);

 private:
  struct Task {
    ExecutionId id;
    std::int32_t claimed_version = 0;  // 0: not known to be claimed
    std::string result;                // acknowledged
  };

  void start_over();
  // One life of the store, from open to cut.
  void live();
  void arm(testing::PowerCutDisk& disk);
  void work(store::Store& store, testing::PowerCutDisk& disk, int steps);
  bool step(store::Store& store);
  bool commit(store::Store& store, std::vector<core::Operation> operations, store::Batch& batch);
  bool enqueue_some(store::Store& store);
  bool claim_some(store::Store& store);
  bool complete_some(store::Store& store);
  void note_cut(const testing::PowerCutDisk& disk);

  void check(const std::string& folder);
  void check_acknowledged(const std::map<ExecutionId, core::Execution>& rows);
  void settle_in_flight(const std::map<ExecutionId, core::Execution>& rows);
  void broken(const std::string& what);

  base::SeededRandom random_;
  base::IdSource ids_;
  const bool lying_disk_;
  Report report_;

  std::string folder_;
  std::string last_cut_ = "none yet";
  core::LaneId lane_{};
  SessionId session_;
  int next_number_ = 0;
  std::map<std::string, Task> tasks_;
  // The batch whose answer the cut swallowed.
  std::vector<std::pair<std::string, ExecutionId>> enqueueing_;
  std::vector<std::pair<std::string, std::string>> completing_;
};

}  // namespace semel::powercut
