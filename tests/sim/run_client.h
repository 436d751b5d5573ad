// Callers of workflows: they start, signal, cancel, terminate, redrive and read them, often twice.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tests/sim/calls.h"

namespace semel::sim {

class RunClient {
 public:
  RunClient(Surroundings& world, Calls& calls) : world_(world), calls_(calls) {}
  // One random operation against this node. Throws what the node throws.
  void act(SimNode& node);

 private:
  struct Signal {
    std::string identity, name, dedupe;
  };
  engine::EnqueueRequest random_start();
  void start(SimNode& node);
  void started(std::uint64_t call, const Result<engine::EnqueueOutcome>& outcome);
  void signal(SimNode& node);
  void signalled(const std::string& text, const core::Answer& answer);
  void end(SimNode& node, bool terminate);
  void resume(SimNode& node);
  void redrive(SimNode& node);
  void read(SimNode& node);
  std::optional<ExecutionId> some_run();
  std::string some_identity() { return "wf-" + std::to_string(world_.random.below(12)); }

  Surroundings& world_;
  Calls& calls_;
  std::vector<ExecutionId> seen_;
  std::vector<Signal> sent_;  // with a dedupe id: some are sent again
  std::uint64_t next_text_ = 0;
};

}  // namespace semel::sim
