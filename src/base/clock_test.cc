#include "base/clock.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "testing/manual_clock.h"

namespace semel::base {
namespace {

// K1, K4
TEST(SystemClock, NeverGoesBackAndStartsAtWallTime) {
  SystemClock clock;
  EXPECT_LT(std::chrono::abs(clock.now() - wall_now()), std::chrono::minutes(1));
  Instant last = clock.now();
  for (int i = 0; i < 10'000; ++i) {
    const Instant next = clock.now();
    ASSERT_GE(next, last);
    last = next;
  }
}

// K6
TEST(SystemClock, IgnoresTheTimeZoneOfTheEnvironment) {
  SystemClock clock;
  const Instant before = clock.now();
  setenv("TZ", "Pacific/Apia", 1);
  EXPECT_LT(clock.now() - before, std::chrono::minutes(1));
  unsetenv("TZ");
}

TEST(SystemMonotonic, NeverGoesBack) {
  SystemMonotonic monotonic;
  const Duration first = monotonic.now();
  EXPECT_GE(monotonic.now(), first);
}

TEST(ManualClock, MovesOnlyWhenTold) {
  testing::ManualClock clock;
  EXPECT_EQ(clock.now(), testing::kTestStart);
  clock.advance(std::chrono::seconds(5));
  EXPECT_EQ(clock.now(), testing::kTestStart + std::chrono::seconds(5));
  clock.set(testing::kTestStart);
  EXPECT_EQ(clock.now(), testing::kTestStart);
}

}  // namespace
}  // namespace semel::base
