// W1, W2: the order example on SQLite, one process, SIGKILL at random moments.
#include "tests/crash/orders.h"

#include <gtest/gtest.h>

#include "tests/crash/scratch.h"

namespace semel::crash {
namespace {

TEST(Orders, EveryChargeIsRecordedOnceHoweverOftenTheProcessDies) {
  Scratch scratch;
  EXPECT_EQ(kill_orders(scratch.store(), scratch.path("effects"), 1, 400, scaled(100)), "");
}

}  // namespace
}  // namespace semel::crash
