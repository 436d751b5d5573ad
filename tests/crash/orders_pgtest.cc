// W1, W2: the order example on PostgreSQL, two worker processes, SIGKILL at random moments.
#include <gtest/gtest.h>

#include "tests/crash/open_store.h"
#include "tests/crash/orders.h"
#include "tests/crash/scratch.h"

namespace semel::crash {
namespace {

TEST(Orders, TwoWorkersThatDieInTurnsRecordEveryChargeOnce) {
  ScratchDatabase database;
  open_store(database.store(), true).value();
  Scratch scratch;
  EXPECT_EQ(kill_orders(database.store(), scratch.path("effects"), 2, 400, scaled(100)), "");
}

}  // namespace
}  // namespace semel::crash
