// D1, D2, C1, C2, C3, C17 on PostgreSQL with processes of their own.
#include <gtest/gtest.h>

#include "tests/crash/open_store.h"
#include "tests/crash/process.h"
#include "tests/crash/scratch.h"
#include "tests/crash/sql.h"
#include "tests/crash/together.h"

namespace semel::crash {
namespace {

constexpr int kProcesses = 8;
constexpr int kThreads = 8;
constexpr int kRounds = 20;

// All processes open first, then start at once.
Tally run_peers(const std::string& mode, const std::string& store, std::size_t max_batch, const std::string& prefix) {
  std::vector<std::unique_ptr<Process>> peers;
  for (int i = 0; i < kProcesses; ++i)
    peers.push_back(std::make_unique<Process>(
        "crash_peer", std::vector<std::string>{mode, store, std::to_string(max_batch), prefix, std::to_string(kThreads),
                                               std::to_string(kRounds)}));
  for (auto& peer : peers) peer->expect_line("R");
  for (auto& peer : peers) peer->go();
  Tally tally;
  for (auto& peer : peers) {
    bool done = false;
    while (!done) {
      const bool open = peer->read_lines(100'000, [&](const std::string& line) {
        if (line == "done") done = true;
        else tally.add(line);
      });
      if (!open && !done) throw std::runtime_error("a peer died");
    }
    peer->go();
    EXPECT_EQ(0, peer->wait());
  }
  return tally;
}

class OncePg : public ::testing::TestWithParam<std::size_t> {
 protected:
  OncePg() {
    (void)open_store(scratch_.store(), true).value();
    sql_ = open_sql(scratch_.store());
  }
  ScratchDatabase scratch_;
  std::unique_ptr<Sql> sql_;
};

TEST_P(OncePg, EightProcessesOfEightThreadsEnqueueingOneIdMakeOneExecution) {
  const Tally tally = run_peers("enqueue", scratch_.store(), GetParam(), "id");
  EXPECT_EQ("", tally.once("id", kRounds, "created", kProcesses * kThreads - 1));
  EXPECT_EQ(kRounds, sql_->number("SELECT count(*) FROM semel.execution"));
}

TEST_P(OncePg, WithoutThePrimaryKeyOfIdentityTheTestFails) {
  sql_->run("ALTER TABLE semel.identity DROP CONSTRAINT identity_pkey");
  const Tally tally = run_peers("enqueue", scratch_.store(), GetParam(), "id");
  EXPECT_NE("", tally.once("id", kRounds, "created", kProcesses * kThreads - 1));
  EXPECT_GT(sql_->number("SELECT count(*) FROM semel.execution"), kRounds);
}

// D1
TEST_P(OncePg, OneOfSixtyFourDeliveriesIsClaimedAndNoneGoesBackToQueued) {
  watch(*sql_);
  enqueue_together(*open_runtime(scratch_.store(), 1000), "job", 1, kRounds, [](const std::string&) {});
  const Tally tally = run_peers("deliver", scratch_.store(), GetParam(), "job");
  EXPECT_EQ("", tally.once("job", kRounds, "claimed", kProcesses * kThreads - 1));
  EXPECT_EQ(kRounds, sql_->number("SELECT count(*) FROM semel.execution WHERE status = 4 AND attempt = 1"));
  EXPECT_EQ(0, returns_to_queued(*sql_));
  // D2: the same deliveries again, 1,280 of them, find terminal rows.
  const auto before = executions(*sql_, "true ORDER BY id");
  run_peers("deliver", scratch_.store(), GetParam(), "job");
  const auto after = executions(*sql_, "true ORDER BY id");
  ASSERT_EQ(before.size(), after.size());
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_EQ(before[i].bytes, after[i].bytes);
  EXPECT_EQ(0, changes_of_terminal_rows(*sql_));
}

INSTANTIATE_TEST_SUITE_P(BatchSize, OncePg, ::testing::Values(1, 1000));

// C1, C2, C3: a stopped process loses its claim to another process and learns it.
TEST(ZombiePg, StoppedWorkerIsRefusedAfterItResumes) {
  ScratchDatabase scratch;
  const auto runtime = open_runtime(scratch.store(), 1000);
  const auto sql = open_sql(scratch.store());
  enqueue_together(*runtime, "job", 1, 1, [](const std::string&) {});
  Process zombie("crash_peer", {"hold", scratch.store()});
  zombie.expect_line("claimed");
  zombie.stop();
  const auto task = claim_one(*runtime, "second", std::chrono::seconds(30));
  (void)runtime
      ->wait<core::EndAnswer>([&](auto done) {
        runtime->engine().complete({task.execution.id, task.execution.version, "\"second\""}, std::move(done));
      })
      .value();
  const auto before = executions(*sql);
  ASSERT_EQ("\"second\"", before.at(0).result);
  zombie.resume();
  zombie.go();
  EXPECT_EQ("late LeaseLost LeaseLost LeaseLost LeaseLost", zombie.expect_line("late"));
  EXPECT_EQ(before[0].bytes, executions(*sql).at(0).bytes);
  zombie.go();
  EXPECT_EQ(0, zombie.wait());
}

}  // namespace
}  // namespace semel::crash
