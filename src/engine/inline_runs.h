// Runs whose handler is on the caller's own thread (`deliver`): their leases are renewed here.
#pragma once

#include <mutex>
#include <unordered_map>

#include "engine/engine.h"
#include "engine/handler.h"

namespace semel::engine {

class InlineRuns {
 public:
  explicit InlineRuns(Engine& engine) : engine_(engine) {}

  void add(RunRef run, Duration lease, Instant now);
  void remove(const Run& run);
  void stop_all();
  // Heartbeats what is due; returns when it wants to be called again.
  Instant step(Instant now);

 private:
  struct Entry {
    RunRef run;
    Duration lease{};
    Instant next_beat{};
  };
  Engine& engine_;
  std::mutex mutex_;
  std::unordered_map<ExecutionId, Entry> runs_;
};

}  // namespace semel::engine
