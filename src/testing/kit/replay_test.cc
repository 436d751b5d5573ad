// Histories of yesterday against the code of today.
#include <gtest/gtest.h>

#include "semel/semel.h"
#include "semel/testing.h"

namespace semel::testing {
namespace {

using namespace std::chrono_literals;

const auto work = task("work", [](const int& n) { return n + 1; });

Workflow<int> before(WorkflowContext& ctx, int n) {
  auto local = ctx.run("local", [](int value) { return value * 2; }, n);
  auto step = ctx.execute(work, co_await local);
  const int done = co_await step;
  auto nap = ctx.sleep(24h);
  co_await nap;
  co_return done;
}

// The step has another name, and the history says so.
Workflow<int> renamed(WorkflowContext& ctx, int n) {
  auto local = ctx.run("local", [](int value) { return value * 2; }, n);
  auto step = ctx.execute<int>("labour", co_await local);
  const int done = co_await step;
  auto nap = ctx.sleep(24h);
  co_await nap;
  co_return done;
}

Workflow<int> patched_in(WorkflowContext& ctx, int n) {
  auto local = ctx.run("local", [](int value) { return value * 2; }, n);
  auto step = ctx.execute(work, co_await local);
  int done = co_await step;
  if (ctx.patched("twice")) {
    auto again = ctx.execute(work, done);
    done = co_await again;
  }
  auto nap = ctx.sleep(24h);
  co_await nap;
  co_return done;
}

std::string history_of_a_run(bool finished) {
  TestEngine kit;
  const auto type = workflow("job", before);
  auto worker = kit->start_worker(WorkerOptions().add(type).add(work)).value();
  auto handle = kit->start(type, "j-1", 20).value();
  kit.advance(finished ? 48h : 1h);
  return kit->export_history(handle.run_id()).value();
}

TEST(Replay, TheSameCodeFitsItsHistory) {
  EXPECT_TRUE(replay(workflow("job", before), history_of_a_run(true)));
  EXPECT_TRUE(replay(workflow("job", before), history_of_a_run(false)));
}

TEST(Replay, AChangedStepIsRefusedWithItsPlace) {
  const auto replayed = replay(workflow("job", renamed), history_of_a_run(false));
  ASSERT_FALSE(replayed);
  EXPECT_EQ(replayed.error().code, ErrorCode::NondeterminismError);
  EXPECT_NE(replayed.error().message.find("step_scheduled #2 'work'"), std::string::npos) << replayed.error().message;
  EXPECT_NE(replayed.error().message.find("'labour'"), std::string::npos) << replayed.error().message;
}

TEST(Replay, APatchLetsTheOldRunPass) {
  EXPECT_TRUE(replay(workflow("job", patched_in), history_of_a_run(false)));
  EXPECT_TRUE(replay(workflow("job", patched_in), history_of_a_run(true)));
}

TEST(Replay, AnotherWorkflowsHistoryAndOtherTextsAreRefused) {
  EXPECT_EQ(replay(workflow("other", before), history_of_a_run(true)).error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(replay(workflow("job", before), "{}").error().code, ErrorCode::InvalidArgument);
}

}  // namespace
}  // namespace semel::testing
