// Callers of the simulated world: every call is recorded, every answer checked.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "tests/sim/calls.h"

namespace semel::sim {

class Client {
 public:
  Client(Surroundings& world, Calls& calls) : world_(world), calls_(calls) {}

  // One random operation against this node. Throws what the node throws.
  void act(SimNode& node);
  void cancel_leftovers(SimNode& node);  // before the end: what nobody can finish

 private:
  // A claim held by a worker outside: it may be used late, twice, or never.
  struct Held {
    ExecutionId execution;
    std::int32_t version = 0;
  };
  engine::EnqueueRequest random_request();
  testing::History::Enqueue noted(const engine::EnqueueRequest& request);
  void enqueue(SimNode& node);
  void enqueue_batch(SimNode& node);
  void group(SimNode& node);
  void claim(SimNode& node);
  void deliver(SimNode& node);
  void use_held(SimNode& node);
  void operate(SimNode& node);
  void read(SimNode& node);

  void enqueue_done(std::uint64_t history_call, const std::string& id, const Result<engine::EnqueueOutcome>& outcome);
  void end_done(const Result<core::EndAnswer>& answer);
  std::optional<ExecutionId> some_execution();

  Surroundings& world_;
  Calls& calls_;
  std::uint64_t next_token_ = 1;
  std::vector<Held> held_;
  std::vector<ExecutionId> seen_;
  std::set<std::string> failed_ids_;
};

}  // namespace semel::sim
