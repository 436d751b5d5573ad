// Callers of the simulated world: every call is recorded, every answer checked. A call to a node that dies stays
// unknown.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/sim/node.h"

namespace semel::sim {

class Client {
 public:
  explicit Client(Surroundings& world) : world_(world) {}

  // One random operation against this node. Throws what the node throws.
  void act(SimNode& node);
  // The node is gone: what it had not answered stays unknown.
  void node_died(int index);
  void cancel_leftovers(SimNode& node);  // before the end: what nobody can finish
  std::size_t unanswered() const { return open_.size(); }
  std::uint64_t answered() const { return answered_; }

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

  std::uint64_t open(SimNode& node, const char* what);
  bool close(std::uint64_t call);  // false: it was given up
  void enqueue_done(std::uint64_t history_call, const std::string& id, const Result<engine::EnqueueOutcome>& outcome);
  void end_done(const Result<core::EndAnswer>& answer);
  std::optional<ExecutionId> some_execution();

  Surroundings& world_;
  std::map<std::uint64_t, int> open_;  // call -> node
  std::uint64_t next_call_ = 0;
  std::uint64_t answered_ = 0;
  std::uint64_t next_token_ = 1;
  std::vector<Held> held_;
  std::vector<ExecutionId> seen_;
  std::set<std::string> failed_ids_;
};

}  // namespace semel::sim
