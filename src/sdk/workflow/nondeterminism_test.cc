// W4: code that changed under a recorded history is refused before it does anything, unless it fits.
#include <gtest/gtest.h>

#include <string>

#include "sdk/workflow/test_driver.h"
#include "semel/workflow.h"

namespace semel::sdk {
namespace {

using namespace std::chrono_literals;

Workflow<int> original(WorkflowContext& ctx) {
  const int a = co_await ctx.execute<int>("a");
  const int b = co_await ctx.run("local", [] { return 10; });
  co_await ctx.sleep(1s);
  co_return a + b + co_await ctx.execute<int>("b");
}

Workflow<int> other_name(WorkflowContext& ctx) {
  const int a = co_await ctx.execute<int>("z");
  const int b = co_await ctx.run("local", [] { return 10; });
  co_await ctx.sleep(1s);
  co_return a + b + co_await ctx.execute<int>("b");
}

Workflow<int> other_local_name(WorkflowContext& ctx) {
  const int a = co_await ctx.execute<int>("a");
  const int b = co_await ctx.run("renamed", [] { return 10; });
  co_await ctx.sleep(1s);
  co_return a + b + co_await ctx.execute<int>("b");
}

Workflow<int> local_became_a_step(WorkflowContext& ctx) {
  const int a = co_await ctx.execute<int>("a");
  const int b = co_await ctx.execute<int>("local");
  co_await ctx.sleep(1s);
  co_return a + b + co_await ctx.execute<int>("b");
}

Workflow<int> added_step(WorkflowContext& ctx) {
  const int a = co_await ctx.execute<int>("a");
  const int b = co_await ctx.run("local", [] { return 10; });
  co_await ctx.execute<int>("new");
  co_await ctx.sleep(1s);
  co_return a + b + co_await ctx.execute<int>("b");
}

Workflow<int> added_beside(WorkflowContext& ctx) {
  auto beside = ctx.execute<int>("new");
  auto step = ctx.execute<int>("a");
  const int a = co_await step;
  const int b = co_await ctx.run("local", [] { return 10; });
  co_await ctx.sleep(1s);
  co_return a + b + co_await ctx.execute<int>("b") + co_await beside;
}

Workflow<int> removed_step(WorkflowContext& ctx) {
  const int a = co_await ctx.execute<int>("a");
  const int b = co_await ctx.run("local", [] { return 10; });
  co_await ctx.sleep(1s);
  co_return a + b;
}

Workflow<int> removed_first(WorkflowContext& ctx) {
  const int b = co_await ctx.run("local", [] { return 10; });
  co_await ctx.sleep(1s);
  co_return b + co_await ctx.execute<int>("b");
}

Workflow<int> other_order(WorkflowContext& ctx) {
  const int a = co_await ctx.execute<int>("a");
  co_await ctx.sleep(1s);
  const int b = co_await ctx.run("local", [] { return 10; });
  co_return a + b + co_await ctx.execute<int>("b");
}

Workflow<int> waits_for_more(WorkflowContext& ctx) {
  const int a = co_await ctx.execute<int>("a");
  const int b = co_await ctx.run("local", [] { return 10; });
  co_await ctx.signal<int>("approval");
  co_await ctx.sleep(1s);
  co_return a + b + co_await ctx.execute<int>("b");
}

Workflow<int> ends_early(WorkflowContext&) { co_return 1; }

struct Change {
  std::string name;
  WorkflowStarter code;
  int seq;
  std::string expected;
  std::string actual;
};
void PrintTo(const Change& change, std::ostream* out) { *out << change.name; }

template <class F>
WorkflowStarter starter(F function) {
  return workflow("scenario", function).starter();
}

// Events: 1 run_started, 2 step_scheduled #1, 3 step_completed, 4 local_completed, 5 timer_started #3, 6 timer_fired,
// 7 step_scheduled #4, 8 step_completed, 9 run_completed.
std::vector<Change> changes() {
  return {
      {"OtherName", starter(other_name), 2, "step_scheduled #1 'a'", "step_scheduled #1 'z'"},
      {"OtherLocalName", starter(other_local_name), 4, "local_completed #2 'local'", "call #2 is local 'renamed'"},
      {"LocalBecameAStep", starter(local_became_a_step), 4, "local_completed #2 'local'", "call #2 is step 'local'"},
      {"AddedStep", starter(added_step), 5, "timer_started #3", "step_scheduled #3 'new'"},
      {"AddedBeside", starter(added_beside), 2, "step_scheduled #1 'a'", "step_scheduled #1 'new'"},
      {"RemovedStep", starter(removed_step), 7, "step_scheduled #4 'b'", "run_completed"},
      {"RemovedFirst", starter(removed_first), 2, "step_scheduled #1 'a'", "the code asked for nothing"},
      {"OtherOrder", starter(other_order), 4, "local_completed #2 'local'", "call #2 is timer ''"},
      {"WaitsForMore", starter(waits_for_more), 5, "timer_started #3", "the code asked for nothing"},
      {"EndsEarly", starter(ends_early), 2, "step_scheduled #1 'a'", "run_completed"},
  };
}

class ChangedCode : public testing::TestWithParam<Change> {};

TEST_P(ChangedCode, IsRefusedWithTheEventItDoesNotFit) {
  const History history = run_live({"original", starter(original)});
  ASSERT_EQ(history.size(), 9u);
  Scenario changed{"changed", GetParam().code};
  Driver driver(changed, history);
  ASSERT_FALSE(driver.replayed());
  const Error& error = driver.replayed().error();
  EXPECT_EQ(error.code, ErrorCode::NondeterminismError);
  ASSERT_EQ(error.details.size(), 4u);
  EXPECT_EQ(error.details[1].name, "seq");
  EXPECT_EQ(error.details[1].json, std::to_string(GetParam().seq)) << error.message;
  EXPECT_EQ(error.details[2].json, "\"" + GetParam().expected + "\"");
  EXPECT_EQ(error.details[3].json, "\"" + GetParam().actual + "\"");
}

TEST_P(ChangedCode, AsksForNothing) {
  const History history = run_live({"original", starter(original)});
  Scenario changed{"changed", GetParam().code};
  Machine machine(changed.starter, run_info(changed));
  ASSERT_FALSE(machine.replay(history));
  EXPECT_TRUE(machine.take_commands().empty());
  EXPECT_TRUE(machine.take_locals().empty());
  EXPECT_FALSE(machine.replay(history.back()));
}

// The run that was refused goes on with the code it had.
TEST_P(ChangedCode, LeavesTheRunAsItWas) {
  const Scenario scenario{"original", starter(original)};
  const History whole = run_live(scenario);
  for (std::size_t cut = 0; cut < whole.size(); ++cut) {
    const History half(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(cut));
    Driver refused(Scenario{"changed", GetParam().code}, half);
    Driver good(scenario, half);
    good.run();
    EXPECT_EQ(good.history(), whole);
  }
}

INSTANTIATE_TEST_SUITE_P(Changes, ChangedCode, testing::ValuesIn(changes()),
                         [](const auto& info) { return info.param.name; });

Workflow<int> counts_calls(WorkflowContext& ctx) {
  auto a = ctx.signal<int>("a");
  co_return co_await a;
}
Workflow<int> counts_one_more(WorkflowContext& ctx) {
  auto a = ctx.signal<int>("a");
  (void)ctx.signal<int>("b");
  co_return co_await a;
}

TEST(Nondeterminism, AnInputComesAfterAsManyCallsAsWhenItWasRecorded) {
  Scenario scenario{"one", starter(counts_calls)};
  scenario.messages = {{0, signal("a", "1")}};
  const History history = run_live(scenario);
  Driver driver(Scenario{"two", starter(counts_one_more)}, history);
  ASSERT_FALSE(driver.replayed());
  EXPECT_EQ(driver.replayed().error().details[1].json, "2");
  EXPECT_EQ(driver.replayed().error().details[3].json, "\"the code has made 2 calls\"");
}

// ---- patches -------------------------------------------------------------------------------------------------------

Workflow<int> patched(WorkflowContext& ctx) {
  const int a = co_await ctx.execute<int>("a");
  const int b = co_await ctx.run("local", [] { return 10; });
  int more = 0;
  if (ctx.patched("more")) more = 1000 * co_await ctx.execute<int>("new");
  co_await ctx.sleep(1s);
  if (ctx.patched("more")) more *= 10;
  co_return a + b + more + co_await ctx.execute<int>("b");
}

TEST(Patch, OldRunsGoTheOldWayFromWhereTheyPassedIt) {
  const Scenario before{"before", starter(original)};
  const Scenario after{"after", starter(patched)};
  const History old_run = run_live(before);
  const History new_run = run_live(after);
  EXPECT_EQ(old_run.back().data, "15");
  EXPECT_EQ(new_run.back().data, "30016");
  for (std::size_t cut = 0; cut <= old_run.size(); ++cut) {
    SCOPED_TRACE(cut);
    const History half(old_run.begin(), old_run.begin() + static_cast<std::ptrdiff_t>(cut));
    Driver driver(after, half);
    ASSERT_TRUE(driver.replayed()) << driver.replayed().error().message;
    driver.run();
    // After event 4, the local's result, the recorded run passed the place.
    EXPECT_EQ(driver.history(), cut <= 4 ? new_run : old_run);
  }
  survives_every_crash(after, new_run);
}

Workflow<int> patch_dropped(WorkflowContext& ctx) {
  const int a = co_await ctx.execute<int>("a");
  const int b = co_await ctx.run("local", [] { return 10; });
  const int more = 10000 * co_await ctx.execute<int>("new");
  co_await ctx.sleep(1s);
  co_return a + b + more + co_await ctx.execute<int>("b");
}

Workflow<int> patch_moved(WorkflowContext& ctx) {
  const int a = co_await ctx.execute<int>("a");
  const int b = co_await ctx.run("local", [] { return 10; });
  auto step = ctx.execute<int>("new");
  const bool more = ctx.patched("more");
  const int n = co_await step;
  co_await ctx.sleep(1s);
  if (!ctx.patched("more")) co_return -1;
  co_return a + b + (more ? 10000 : 0) * n + co_await ctx.execute<int>("b");
}

TEST(Patch, MayBeDroppedOrMoved) {
  const History whole = run_live({"with", starter(patched)});
  for (const auto& code : {starter(patch_dropped), starter(patch_moved)}) {
    for (std::size_t cut = 0; cut <= whole.size(); ++cut) {
      SCOPED_TRACE(cut);
      Driver driver({"without", code}, History(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(cut)));
      ASSERT_TRUE(driver.replayed()) << driver.replayed().error().message;
      driver.run();
      EXPECT_EQ(driver.history().back().data, whole.back().data);
    }
  }
}

}  // namespace
}  // namespace semel::sdk
