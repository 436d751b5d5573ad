// D1, D2, C1, C2, C3 on SQLite: one id is one execution, one delivery wins, a terminal row never changes.
#include <gtest/gtest.h>

#include <csignal>

#include "base/clock.h"
#include "tests/crash/process.h"
#include "tests/crash/scratch.h"
#include "tests/crash/sql.h"
#include "tests/crash/together.h"

namespace semel::crash {
namespace {

constexpr int kThreads = 64;
constexpr int kRounds = 20;

long executions_named(Sql& sql, const std::string& prefix) {
  return sql.number("SELECT count(*) FROM execution WHERE identity LIKE '" + prefix + "-%'");
}

class Once : public ::testing::TestWithParam<std::size_t> {
 protected:
  Once() {
    open_runtime(scratch_.store(), 1);
    sql_ = open_sql(scratch_.store());
  }
  Scratch scratch_;
  std::unique_ptr<Sql> sql_;
};

TEST_P(Once, SixtyFourThreadsEnqueueingOneIdMakeOneExecution) {
  const auto runtime = open_runtime(scratch_.store(), GetParam());
  Tally tally;
  enqueue_together(*runtime, "id", kThreads, kRounds, [&](const std::string& line) { tally.add(line); });
  EXPECT_EQ("", tally.once("id", kRounds, "created", kThreads - 1));
  EXPECT_EQ(kRounds, executions_named(*sql_, "id"));
}

// The proof that the primary key does it: without it the same test finds more than one.
TEST_P(Once, WithoutThePrimaryKeyOfIdentityTheTestFails) {
  sql_->run(
      "CREATE TABLE bare AS SELECT * FROM identity; DROP TABLE identity; ALTER TABLE bare RENAME TO identity;"
      "CREATE INDEX identity_expires ON identity (expires_at) WHERE expires_at IS NOT NULL;");
  const auto runtime = open_runtime(scratch_.store(), GetParam());
  Tally tally;
  enqueue_together(*runtime, "id", kThreads, kRounds, [&](const std::string& line) { tally.add(line); });
  EXPECT_NE("", tally.once("id", kRounds, "created", kThreads - 1));
  EXPECT_GT(executions_named(*sql_, "id"), kRounds);
}

// D1
TEST_P(Once, OneOfSixtyFourDeliveriesIsClaimedAndNoneGoesBackToQueued) {
  watch(*sql_);
  const auto runtime = open_runtime(scratch_.store(), GetParam());
  enqueue_together(*runtime, "job", 1, kRounds, [](const std::string&) {});
  Tally tally;
  deliver_together(*runtime, "job", kThreads, kRounds, [&](const std::string& line) { tally.add(line); });
  EXPECT_EQ("", tally.once("job", kRounds, "claimed", kThreads - 1));
  EXPECT_EQ(kRounds, sql_->number("SELECT count(*) FROM execution WHERE status = 4 AND attempt = 1"));
  EXPECT_EQ(0, returns_to_queued(*sql_));
  EXPECT_EQ(0, changes_of_terminal_rows(*sql_));
}

INSTANTIATE_TEST_SUITE_P(BatchSize, Once, ::testing::Values(1, 1000));

// D2
TEST(TerminalRow, IsByteIdenticalAfterAThousandLateDeliveries) {
  Scratch scratch;
  const auto runtime = open_runtime(scratch.store(), 1000);
  const auto sql = open_sql(scratch.store());
  watch(*sql);
  enqueue_together(*runtime, "job", 1, 1, [](const std::string&) {});
  deliver_together(*runtime, "job", 1, 1, [](const std::string&) {});
  const auto before = executions(*sql);
  ASSERT_EQ(1u, before.size());
  ASSERT_EQ(4, before[0].status);
  Tally tally;
  for (int i = 0; i < 16; ++i)
    deliver_together(*runtime, "job", kThreads, 1,
                     [&](const std::string& line) { EXPECT_EQ("job-0 no-op-terminal", line); });
  const auto task = runtime->engine().get_task("default", "job-0").value();
  for (const auto& told : late_writes(*runtime, task.execution.id, task.execution.version - 2))
    EXPECT_EQ("LeaseLost", told);
  (void)runtime->wait<core::CancelAnswer>(
      [&](auto done) { runtime->engine().cancel("default", task.execution.id, std::move(done)); });
  EXPECT_EQ(before[0].bytes, executions(*sql).at(0).bytes);
  EXPECT_EQ(0, changes_of_terminal_rows(*sql));
}

// C1, C2, C3, K2: the whole process stands still past the lease; a second worker finishes first.
TEST(Zombie, StoppedWorkerIsRefusedAfterItResumes) {
  Scratch scratch;
  enqueue_together(*open_runtime(scratch.store(), 1), "job", 1, 1, [](const std::string&) {});
  Process peer("crash_peer", {"hold-beside", scratch.store()});
  peer.expect_line("claimed");
  peer.stop();
  const auto sql = open_sql(scratch.store());
  base::SystemClock clock;
  const auto expires = from_micros(sql->number("SELECT lease_expires_at FROM execution"));
  ASSERT_TRUE(wait_until([&] { return clock.now() > expires; }));
  peer.resume();
  peer.go();
  peer.expect_line("finished");
  const auto before = executions(*sql);
  ASSERT_EQ("\"second\"", before.at(0).result);
  peer.go();
  EXPECT_EQ("late LeaseLost LeaseLost LeaseLost LeaseLost", peer.expect_line("late"));
  EXPECT_EQ(before[0].bytes, executions(*sql).at(0).bytes);
  peer.go();
  EXPECT_EQ(0, peer.wait());
}

// While the second worker still holds the claim, the first one's version ends nothing either.
TEST(Zombie, StaleVersionIsRefusedWhileAnotherHoldsTheClaim) {
  Scratch scratch;
  const auto runtime = open_runtime(scratch.store(), 1000);
  enqueue_together(*runtime, "job", 1, 1, [](const std::string&) {});
  const auto first = claim_one(*runtime, "first", std::chrono::seconds(1));
  const auto second = claim_one(*runtime, "second", std::chrono::seconds(30));
  ASSERT_EQ(first.execution.id, second.execution.id);
  const auto sql = open_sql(scratch.store());
  const auto before = executions(*sql);
  for (const auto& told : late_writes(*runtime, first.execution.id, first.execution.version))
    EXPECT_EQ("LeaseLost", told);
  EXPECT_EQ(before.at(0).bytes, executions(*sql).at(0).bytes);
}

}  // namespace
}  // namespace semel::crash
