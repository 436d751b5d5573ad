#include "engine/inline_runs.h"

#include "engine/in_history.h"

#include <algorithm>
#include <vector>

namespace semel::engine {

void InlineRuns::add(RunRef run, Duration lease, Instant now) {
  std::lock_guard lock(mutex_);
  const ExecutionId id = run->task.execution.id;
  runs_[id] = Entry{std::move(run), lease, add_saturated(now, lease / 3)};
}

void InlineRuns::remove(const Run& run) {
  std::lock_guard lock(mutex_);
  const auto it = runs_.find(run.task.execution.id);
  if (it != runs_.end() && it->second.run.get() == &run) runs_.erase(it);
}

void InlineRuns::stop_all() {
  std::lock_guard lock(mutex_);
  for (auto& [id, entry] : runs_) entry.run->request_stop(StopReason::shutdown);
}

Instant InlineRuns::step(Instant now) {
  std::vector<std::pair<RunRef, Duration>> due;
  Instant next = kEndOfTime;
  {
    std::lock_guard lock(mutex_);
    for (auto& [id, entry] : runs_) {
      if (entry.run->history != engine_.env().store.history()) entry.run->request_stop(StopReason::lease_lost);
      if (now >= entry.next_beat) {
        entry.next_beat = add_saturated(now, entry.lease / 3);
        due.emplace_back(entry.run, entry.lease);
      }
      next = std::min(next, entry.next_beat);
    }
  }
  for (auto& [run, lease] : due) {
    const auto& row = run->task.execution;
    const InHistory in(run->history);
    engine_.writer().submit_internal(core::TaskHeartbeat{row.id, row.version, lease, run->take_progress()},
                                     [run = run](core::Answer answer) {
                                       const auto* beat = std::get_if<core::HeartbeatAnswer>(&answer);
                                       if (beat != nullptr && beat->cancel_requested)
                                         run->request_stop(StopReason::cancelled);
                                       const auto* error = std::get_if<Error>(&answer);
                                       if (error != nullptr && error->code == ErrorCode::LeaseLost)
                                         run->request_stop(StopReason::lease_lost);
                                     });
  }
  return next;
}

}  // namespace semel::engine
