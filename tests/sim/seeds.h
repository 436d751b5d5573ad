// Many worlds, one after another. SEMEL_SEED=n runs one of them and prints its history; SEMEL_FIRST_SEED and
// SEMEL_SEEDS choose others; with SEMEL_LONG there are more.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/sim/world.h"

namespace semel::sim {

struct SeedPlan {
  Traffic traffic = Traffic::tasks;
  StoreFactory store = memory_store;
  std::uint64_t count = 0;
  std::uint64_t count_long = 0;
  std::vector<std::string> goals;  // each must happen in some world, if there are enough of them
};

Report run_seed(std::uint64_t seed, const SeedPlan& plan);
// Every world keeps every promise, has at least 300 operations and 3 faults; one that does not fails again, bit for
// bit.
void expect_promises(const SeedPlan& plan);

}  // namespace semel::sim
