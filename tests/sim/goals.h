// Things that must happen sometimes: a simulation that never meets them proves nothing about them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace semel::sim {

class Goals {
 public:
  void hit(const std::string& name, std::uint64_t times = 1) { counts_[name] += times; }
  void add(const Goals& other) {
    for (const auto& [name, count] : other.counts_) counts_[name] += count;
  }
  const std::map<std::string, std::uint64_t>& counts() const { return counts_; }
  std::vector<std::string> missing(const std::vector<std::string>& wanted) const;

 private:
  std::map<std::string, std::uint64_t> counts_;
};

// All of them; the test fails when one was never hit over all seeds.
const std::vector<std::string>& wanted_goals();      // of worlds of tasks
const std::vector<std::string>& wanted_run_goals();  // of worlds with workflows

}  // namespace semel::sim
