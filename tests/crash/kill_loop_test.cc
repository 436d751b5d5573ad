// X1, D4, W2: nothing acknowledged is lost and nothing ends twice, wherever the process dies.
#include <gtest/gtest.h>

#include <cstdio>

#include "testing/seeded_random.h"
#include "tests/crash/failpoints.h"
#include "tests/crash/kill_loop.h"
#include "tests/crash/open_store.h"
#include "tests/crash/scratch.h"
#include "tests/crash/sql.h"

namespace semel::crash {
namespace {

TEST(KillLoop, SqliteLosesNothingAndEndsNothingTwice) {
  Scratch scratch;
  ASSERT_TRUE(open_store(scratch.store(), true).ok());
  watch(*open_sql(scratch.store()));
  LoopOptions options;
  options.store = scratch.store();
  options.seed = testing::test_seed(1);
  options.kills = static_cast<int>(scaled(120));
  options.acknowledged = scaled(30'000);
  options.failpoints = failpoints_of({"writer.", "clockwork.", "worker.", "sqlite."});
  std::erase_if(options.failpoints, [](const auto& name) {
    return name.starts_with("sqlite.migrate.") || name.starts_with("sqlite.restore.");
  });
  const LoopReport report = run_kill_loop(options);
  std::printf("%s", to_text(report).c_str());
  EXPECT_TRUE(report.violations.empty());
  EXPECT_GE(report.kills, options.kills);
  EXPECT_GE(report.checked, options.acknowledged);
  EXPECT_GE(report.kills_in_flight * 10, report.kills * 9);
  for (const auto& point : options.failpoints) EXPECT_GT(report.killed_at.count(point), 0u) << point;
  auto store = open_store(scratch.store(), false);
  ASSERT_TRUE(store.ok()) << store.error().message;
  EXPECT_EQ(std::vector<std::string>{}, (*store)->verify().value());
}

}  // namespace
}  // namespace semel::crash
