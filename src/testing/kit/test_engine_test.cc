// The test kit: time, faults and determinism.
#include <gtest/gtest.h>

#include "semel/semel.h"
#include "semel/testing.h"

namespace semel::testing {
namespace {

using namespace std::chrono_literals;

TEST(TestKit, EnqueueNeverRunsAHandler) {
  TestEngine kit;
  const auto count = task("count", [] { return 1; });
  auto worker = kit->start_worker(WorkerOptions().add(count)).value();
  kit->enqueue(count).value();
  EXPECT_EQ(kit.calls("count"), 0);
  EXPECT_EQ(kit.run_until_idle(), 1);
}

TEST(TestKit, RetriesHappenAtTheirOwnInstants) {
  TestEngine kit;
  std::vector<Duration> at;
  const Instant start = kit.now();
  const auto fails = task("fails", [&] {
    at.push_back(kit.now() - start);
    throw std::runtime_error("no");
  });
  auto worker = kit->start_worker(WorkerOptions().add(fails)).value();
  kit->enqueue(fails, EnqueueOptions().max_attempts(4).retry(RetryPolicy().initial_interval(10s).jitter(0))).value();
  kit.advance(std::chrono::hours(24 * 30));
  EXPECT_EQ(at, (std::vector<Duration>{0s, 10s, 30s, 70s}));
  EXPECT_EQ(kit.now() - start, Duration(std::chrono::hours(24 * 30)));
}

TEST(TestKit, CrashedWorkerLosesItsOutcomeAndTheTaskRunsAgainAfterTheLease) {
  TestEngine kit;
  const auto work = task("work", [](const int& n) { return n; });
  auto worker = kit->start_worker(WorkerOptions().add(work).lease(60s)).value();
  const auto handle = kit->enqueue(work, 3).value();
  kit.crash_next("work");
  kit.run_until_idle();
  EXPECT_EQ(kit.calls("work"), 1);
  kit.advance(55s);
  EXPECT_EQ(handle.status().value(), Status::claimed);
  kit.advance(10s);
  EXPECT_EQ(handle.result().value(), 3);
  EXPECT_EQ(kit.calls("work"), 2);
  EXPECT_EQ(handle.execution().value().attempt, 2);
  EXPECT_TRUE(kit.verify().empty());
}

TEST(TestKit, LastAttemptLostToACrashEndsWithLeaseLost) {  // D15
  TestEngine kit;
  const auto work = task("work", [](const int& n) { return n; });
  auto worker = kit->start_worker(WorkerOptions().add(work)).value();
  const auto handle = kit->enqueue(work, 3, EnqueueOptions().max_attempts(1)).value();
  kit.crash_next("work", TestEngine::Crash::before_function);
  kit.advance(5min);
  EXPECT_EQ(kit.calls("work"), 0);
  EXPECT_EQ(handle.execution().value().error->name, "LeaseLost");
}

TEST(TestKit, InjectedFailuresSkipTheFunction) {
  TestEngine kit;
  const auto work = task("work", [](const int& n) { return n; });
  auto worker = kit->start_worker(WorkerOptions().add(work)).value();
  const auto handle = kit->enqueue(work, 3).value();
  kit.fail_next("work", 2, "Flaky");
  kit.advance(1min);
  EXPECT_EQ(handle.result().value(), 3);
  EXPECT_EQ(kit.calls("work"), 1);
  kit.fail_next("work", 1, "Fatal", false);
  EXPECT_EQ(kit->enqueue(work, 3).value().result().error().code, ErrorCode::TaskFailed);
}

TEST(TestKit, RateLimitIsHonouredInManualTime) {
  TestEngine kit;
  std::vector<Duration> at;
  const Instant start = kit.now();
  const auto work = task("work", [&] { at.push_back(std::chrono::floor<std::chrono::seconds>(kit.now() - start)); });
  kit->set_queue("slow", QueueOptions().rate_limit(1, 10s)).value();
  auto worker = kit->start_worker(WorkerOptions().add(work)).value();
  for (int i = 0; i < 3; ++i) kit->enqueue(work, EnqueueOptions().queue("slow")).value();
  kit.advance(5min);
  EXPECT_EQ(at, (std::vector<Duration>{0s, 10s, 20s}));
}

TEST(TestKit, PausedQueueWaitsUntilItIsResumed) {
  TestEngine kit;
  const auto work = task("work", [] { return 1; });
  auto worker = kit->start_worker(WorkerOptions().add(work)).value();
  kit->enqueue(work, EnqueueOptions().queue("q")).value();
  kit->pause_queue("q").value();
  kit.advance(1h);
  EXPECT_EQ(kit.calls("work"), 0);
  kit->resume_queue("q").value();
  kit.advance(2s);
  EXPECT_EQ(kit.calls("work"), 1);
}

TEST(TestKit, RetentionRemovesFinishedTasks) {
  TestEngine kit;
  const auto work = task("work", [] { return 1; });
  auto worker = kit->start_worker(WorkerOptions().add(work)).value();
  const auto options = EnqueueOptions().task_id("w");
  kit->enqueue(work, options).value().result().value();
  kit.advance(std::chrono::hours(24 * 8));
  EXPECT_TRUE(kit.executions().empty());
  EXPECT_TRUE(kit->enqueue(work, options).value().created());
}

TEST(TestKit, AdvanceToNextFindsTheNextEvent) {
  TestEngine kit;
  const Instant start = kit.now();
  const auto work = task("work", [] { return 1; });
  auto worker = kit->start_worker(WorkerOptions().add(work)).value();
  EXPECT_FALSE(kit.advance_to_next());
  kit->enqueue(work, EnqueueOptions().delay(3h)).value();
  EXPECT_TRUE(kit.advance_to_next());
  EXPECT_EQ(kit.now() - start, Duration(3h));
  EXPECT_EQ(kit.calls("work"), 1);
}

std::string story(std::uint64_t seed) {
  TestEngine kit(TestOptions().seed(seed));
  const auto work = task("work", [](TaskContext& context, const int& n) {
    if (context.attempt() < n) throw std::runtime_error("again");
    return n;
  });
  auto worker = kit->start_worker(WorkerOptions().add(work)).value();
  for (int i = 1; i <= 3; ++i) kit->enqueue(work, i, EnqueueOptions().task_id("t" + std::to_string(i))).value();
  kit.crash_next("work");
  kit.advance(10min);
  return kit.snapshot();
}

TEST(TestKit, SameSeedSameStory) {
  EXPECT_EQ(story(7), story(7));
  EXPECT_NE(story(7), story(8));
}

}  // namespace
}  // namespace semel::testing
