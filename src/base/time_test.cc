#include "semel/time.h"

#include <gtest/gtest.h>

namespace semel {
namespace {

// K5, D18
TEST(Instant, AddingNeverWraps) {
  constexpr Instant kSomeDay = from_micros(1'000);
  EXPECT_EQ(add_saturated(kSomeDay, Duration{5}), from_micros(1'005));
  EXPECT_EQ(add_saturated(kSomeDay, Duration{-5}), from_micros(995));
  EXPECT_EQ(add_saturated(kSomeDay, Duration{-1'001}), Instant{});
  EXPECT_EQ(add_saturated(kSomeDay, Duration::min()), Instant{});
  EXPECT_EQ(add_saturated(kSomeDay, Duration::max()), kEndOfTime);
  EXPECT_EQ(add_saturated(kEndOfTime, Duration::max()), kEndOfTime);
  EXPECT_EQ(add_saturated(kEndOfTime, Duration{-1}), from_micros(to_micros(kEndOfTime) - 1));
}

}  // namespace
}  // namespace semel
