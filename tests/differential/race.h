// Two stores, one stream of operations: every answer and every row must be the same.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "store/port.h"

namespace semel::differential {

using MakeStore = std::function<std::unique_ptr<store::Store>(base::Clock&)>;

struct Settings {
  std::uint64_t first_seed = 1;
  std::uint64_t seeds = 1;
  std::uint64_t steps = 500;
  std::size_t max_batch = 1;  // 1: one operation per transaction
  std::vector<std::string> leave_out;
};

// SEMEL_SEED runs that seed only; SEMEL_SEEDS and SEMEL_STEPS replace the numbers; SEMEL_LONG multiplies the seeds
// by 20.
Settings from_environment(Settings settings);

// How often each operation met each outcome.
using Coverage = std::map<std::string, std::uint64_t>;

// Runs all seeds; a difference is a test failure that prints the seed, the step, both answers and the rows that differ.
Coverage race(const Settings& settings, const MakeStore& oracle, const MakeStore& other);

// Prints the counts; fails the test when one of `wanted` was never met.
void require(const Coverage& coverage, const std::vector<std::string>& wanted);

// Every operation that both stores have, and the outcomes that a run must have met to count.
std::vector<std::string> wanted_outcomes();

}  // namespace semel::differential
