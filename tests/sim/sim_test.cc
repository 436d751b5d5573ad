// L2: deterministic simulation over tasks.
#include <gtest/gtest.h>

#include "testing/temp_sqlite.h"
#include "tests/sim/seeds.h"

namespace semel::sim {
namespace {

std::unique_ptr<store::Store> sqlite_store(base::Clock& clock) { return testing::make_temp_sqlite_store(&clock); }

TEST(Simulation, EverySeedKeepsEveryPromise) {
  expect_promises({.count = 300, .count_long = 10'000, .goals = wanted_goals()});
}

// The same worlds over SQLite: there core's decisions and the batch executor are what is tested.
TEST(Simulation, SqliteSeedsKeepEveryPromise) {
  expect_promises({.store = sqlite_store, .count = 160, .count_long = 1'000, .goals = {}});
}

TEST(Simulation, OneSeedIsOneHistory) {
  for (const std::uint64_t seed : {11u, 12u, 13u}) {
    const Report first = run_seed(seed, {});
    const Report second = run_seed(seed, {});
    EXPECT_EQ(first.hash, second.hash) << "seed " << seed;
    EXPECT_EQ(first.operations, second.operations);
  }
  EXPECT_NE(run_seed(11, {}).hash, run_seed(12, {}).hash);
}

}  // namespace
}  // namespace semel::sim
