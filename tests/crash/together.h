// Many threads do the same thing to the same id at the same moment.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/threads.h"

namespace semel::crash {

// Opens the store with this batch size; ends the test program when that fails.
std::unique_ptr<engine::Runtime> open_runtime(const std::string& url, std::size_t max_batch);

// What a thread was told, as words: "<id> <execution id> created|existing", "<id>
// claimed|already-claimed|no-op-terminal", or "<id> error <message>".
using Told = std::function<void(const std::string&)>;

// `threads` enqueue PREFIX-0, then PREFIX-1, ...; all at once each time.
void enqueue_together(engine::Runtime& runtime, const std::string& prefix, int threads, int rounds, const Told& told);
// The same with deliveries of jobs that exist. The winner's handler succeeds with its own token.
void deliver_together(engine::Runtime& runtime, const std::string& prefix, int threads, int rounds, const Told& told);

// Heartbeat, complete, fail and release with this version; the name of the error of each, or "accepted".
std::vector<std::string> late_writes(engine::Runtime& runtime, ExecutionId id, std::int32_t version);

// Claims one task, waiting for it; throws when there is none.
store::ExecutionView claim_one(engine::Runtime& runtime, const std::string& worker, Duration lease);

// Runs `tasks` handlers at once that read the store for two and a half leases of one second. Answers how many
// succeeded.
int read_past_the_lease(engine::Runtime& runtime, int tasks);

// Counts what all threads of all processes were told.
class Tally {
 public:
  void add(const std::string& line);
  // Every id of PREFIX-0 .. was told `word` exactly once and something else `others` times; empty: yes.
  std::string once(const std::string& prefix, int rounds, const std::string& word, int others) const;

 private:
  std::vector<std::string> lines_;
};

}  // namespace semel::crash
