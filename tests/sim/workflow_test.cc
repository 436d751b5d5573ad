// L2: deterministic simulation over workflows, with tasks beside them. What is checked, by case: W1, W2, W3, W4, W7,
// W9, W10, W13, W16, W19, F1, F2 (tests/sim/run_checks.h).
#include <gtest/gtest.h>

#include "testing/temp_sqlite.h"
#include "tests/sim/seeds.h"

namespace semel::sim {
namespace {

std::unique_ptr<store::Store> sqlite_store(base::Clock& clock) { return testing::make_temp_sqlite_store(&clock); }

TEST(WorkflowSimulation, EverySeedKeepsEveryPromise) {
  expect_promises({.traffic = Traffic::workflows, .count = 2'000, .count_long = 50'000, .goals = wanted_run_goals()});
}

TEST(WorkflowSimulation, SqliteSeedsKeepEveryPromise) {
  expect_promises(
      {.traffic = Traffic::workflows, .store = sqlite_store, .count = 40, .count_long = 1'000, .goals = {}});
}

TEST(WorkflowSimulation, OneSeedIsOneHistory) {
  const SeedPlan plan{.traffic = Traffic::workflows};
  for (const std::uint64_t seed : {11u, 12u, 13u}) EXPECT_EQ(run_seed(seed, plan).hash, run_seed(seed, plan).hash);
  EXPECT_NE(run_seed(11, plan).hash, run_seed(12, plan).hash);
}

}  // namespace
}  // namespace semel::sim
