// Calls that wait for an answer. A call to a node that dies stays unknown: its answer, if one comes, is not believed.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "tests/sim/node.h"

namespace semel::sim {

class Calls {
 public:
  explicit Calls(Surroundings& world) : world_(world) {}

  std::uint64_t open(SimNode& node, const std::string& what) {
    const std::uint64_t call = next_++;
    open_[call] = node.index();
    world_.history.line(world_.clock.now(), node.index(), "call " + what + " #" + std::to_string(call));
    return call;
  }
  // False: it was given up.
  bool close(std::uint64_t call) { return open_.erase(call) != 0; }
  void node_died(int index) {
    const auto given_up = std::erase_if(open_, [index](const auto& entry) { return entry.second == index; });
    if (given_up > 0) world_.goals.hit("call left unanswered", given_up);
  }
  std::size_t unanswered() const { return open_.size(); }

 private:
  Surroundings& world_;
  std::map<std::uint64_t, int> open_;  // call -> node
  std::uint64_t next_ = 0;
};

}  // namespace semel::sim
