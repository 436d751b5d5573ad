// X11: a crash inside a migration leaves the step done or not begun, and the next open goes on from there.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>

#include "tests/crash/failpoints.h"
#include "tests/crash/open_store.h"
#include "tests/crash/process.h"
#include "tests/crash/scratch.h"
#include "tests/crash/sql.h"
#include "tests/crash/together.h"

namespace semel::crash {
namespace {

bool dies_at(const std::string& point, const std::string& store) {
  Process peer("crash_peer", {"migrate", store}, {"SEMEL_FAILPOINT=" + point});
  const int status = peer.wait();
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

class MigrationCrash : public ::testing::TestWithParam<std::string> {};

TEST_P(MigrationCrash, OfAStoreWithDataIsFinishedByTheNextOpen) {
  Scratch scratch;
  enqueue_together(*open_runtime(scratch.store(), 1), "kept", 1, 3, [](const std::string&) {});
  ASSERT_TRUE(dies_at(GetParam(), scratch.store()));
  EXPECT_EQ(0, Process("crash_peer", {"migrate", scratch.store()}).wait());
  const auto sql = open_sql(scratch.store());
  EXPECT_EQ(0, sql->number("SELECT count(*) FROM later"));
  EXPECT_EQ(3, sql->number("SELECT count(*) FROM execution"));
  EXPECT_EQ("ok", sql->query("PRAGMA integrity_check").at(0).at(0));
  const auto store = open_store(scratch.store(), false);
  ASSERT_TRUE(store.ok()) << store.error().message;
  EXPECT_EQ(std::vector<std::string>{}, (*store)->verify().value());
}

TEST_P(MigrationCrash, OfANewFileIsFinishedByTheNextOpen) {
  Scratch scratch;
  const bool copies = GetParam().find("backup") != std::string::npos;
  EXPECT_EQ(!copies, dies_at(GetParam(), scratch.store()));  // a new file has nothing to copy
  EXPECT_EQ(0, Process("crash_peer", {"migrate", scratch.store()}).wait());
  const auto store = open_store(scratch.store(), false);
  ASSERT_TRUE(store.ok()) << store.error().message;
  EXPECT_EQ(std::vector<std::string>{}, (*store)->verify().value());
}

INSTANTIATE_TEST_SUITE_P(Sqlite, MigrationCrash, ::testing::ValuesIn(failpoints_of({"sqlite.migrate."})),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '.', '_');
                           return name;
                         });

TEST(CrashPoints, EveryOneIsVisitedByAKillLoopOrAMigration) {
  const std::vector<std::string> visited = failpoints_of({"writer.", "clockwork.", "worker.", "sqlite.", "pg."});
  // Where a thread is started nothing is durable: tests take threads away there.
  std::vector<std::string> all = all_failpoints();
  std::erase(all, "thread.start");
  EXPECT_EQ(all, visited);
  EXPECT_GT(visited.size(), 10u);
}

}  // namespace
}  // namespace semel::crash
