// C6: handlers that use up every reading connection cost nobody a lease.
#include <gtest/gtest.h>

#include "tests/crash/scratch.h"
#include "tests/crash/sql.h"
#include "tests/crash/together.h"

namespace semel::crash {
namespace {

TEST(BusyReadersSqlite, HandlersThatReadAllTheTimeLoseNoLease) {
  Scratch scratch;
  const auto runtime = open_runtime(scratch.store(), 1000);
  EXPECT_EQ(8, read_past_the_lease(*runtime, 8));
  EXPECT_EQ(0, open_sql(scratch.store())->number("SELECT count(*) FROM execution WHERE attempt <> 1 OR status <> 4"));
}

}  // namespace
}  // namespace semel::crash
