// What a cancelled run still does, and what it does not.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sdk/workflow/test_driver.h"
#include "semel/workflow.h"

namespace semel::sdk {
namespace {

using namespace std::chrono_literals;

Workflow<int> many_things(WorkflowContext& ctx) {
  auto step = ctx.execute<int>("step");
  auto child = ctx.child<int>("child");
  auto sleep = ctx.sleep(1h);
  auto local = ctx.run("local", [] { return 1; });
  co_await any(step, child, sleep, local, ctx.signal<int>("s"));
  co_return 1;
}

TEST(Cancel, TakesBackEverythingThatIsUnderWay) {
  Driver driver(scenario(many_things), {});
  driver.learn(cancel_request(), kStart + 1s);
  const std::vector<std::string> expected = {
      "run_started",      "step_scheduled 1",        "child_started 2",          "timer_started 3",
      "cancel_requested", "step_cancel_requested 1", "child_cancel_requested 2", "timer_cancelled 3",
      "run_cancelled"};
  EXPECT_EQ(words(driver.history()), expected);
}

Part<void> shielded_sleep(WorkflowContext& ctx) {
  CancelShield shield(ctx);
  co_await ctx.sleep(1h);
}
Part<void> plain_sleep(WorkflowContext& ctx) { co_await ctx.sleep(1h); }
Workflow<int> waits_for_a_shielded_part(WorkflowContext& ctx) {
  auto part = ctx.spawn(shielded_sleep(ctx));
  try {
    co_await part;
  } catch (const Cancelled&) {
    co_return 2;
  }
  co_return 1;
}

TEST(Cancel, WaitsForTheCleanUpOfAPart) {
  Driver driver(scenario(waits_for_a_shielded_part), {});
  driver.learn(cancel_request(), kStart + 1s);
  EXPECT_TRUE(driver.machine().waiting());
  driver.learn(timer_fired(1), kStart + 1h);
  EXPECT_EQ(driver.history().back().data, "1");
}

Workflow<int> shields_an_older_call(WorkflowContext& ctx) {
  auto sleep = ctx.sleep(1h);
  CancelShield shield(ctx);
  co_await sleep;
  co_return ctx.cancel_requested() ? 1 : 2;
}

TEST(Cancel, AShieldHoldsForCallsMadeBeforeIt) {
  Driver driver(scenario(shields_an_older_call), {});
  driver.learn(cancel_request(), kStart + 1s);
  driver.learn(timer_fired(1), kStart + 1h);
  EXPECT_EQ(driver.history().back().data, "1");
}

Workflow<int> gives_up_a_part(WorkflowContext& ctx) {
  auto part = ctx.spawn(shielded_sleep(ctx));
  auto slow = ctx.execute<int>("slow");
  try {
    co_await with_timeout(slow, 1s);
  } catch (const TimedOut&) {
    part.cancel();
  }
  try {
    co_await slow;
  } catch (const Cancelled&) {
    co_return 1;
  }
  co_return 2;
}

TEST(Cancel, WhatIsLateIsCancelled) {
  Driver driver(scenario(gives_up_a_part), {});
  driver.learn(timer_fired(3), kStart + 1s);
  EXPECT_EQ(driver.history().back().data, "1");
  EXPECT_EQ(words(driver.history())[5], "step_cancel_requested 2");
}

Workflow<std::string> knows_how_it_ended(WorkflowContext& ctx) {
  std::string out;
  out += std::to_string(co_await ctx.run("local", [] { return 5; }));
  try {
    co_await ctx.run("not run any more", [] { return 6; });
  } catch (const Cancelled&) {
    out += " cancelled";
  }
  co_return out;
}

TEST(Cancel, LetsALocalRunComeToItsEnd) {
  const Scenario what = scenario(knows_how_it_ended);
  Machine machine(what.starter, run_info(what));
  ASSERT_TRUE(machine.replay(History{}));
  auto locals = machine.take_locals();
  History history = {machine.learn(cancel_request(), kStart + 1s)};
  EXPECT_TRUE(machine.waiting());
  EXPECT_TRUE(machine.take_commands().empty());
  Driver driver(what, history);  // after a crash it is run again
  driver.run();
  EXPECT_EQ(driver.history().back().data, "\"5 cancelled\"");
  machine.learn(locals.at(0).body(), kStart + 2s);
  EXPECT_EQ(machine.take_commands().at(0).event.data, "\"5 cancelled\"");
}

Workflow<int> waits_for_the_end(WorkflowContext& ctx) {
  auto step = ctx.execute<int>("slow", 1, StepOptions().wait_for_end(true));
  bool cancelled = false;
  try {
    co_await ctx.sleep(1h);
  } catch (const Cancelled&) {
    cancelled = true;
  }
  co_return cancelled ? co_await step : -1;
}

TEST(Cancel, WaitsForTheEndOfAStepThatAsksForIt) {
  Driver driver(scenario(waits_for_the_end), {});
  driver.learn(cancel_request(), kStart + 1s);
  EXPECT_EQ(words(driver.history()).at(4), "step_cancel_requested 1");
  EXPECT_TRUE(driver.machine().waiting());
  Event done = input(EventKind::step_completed, {}, "7");
  done.command = 1;
  driver.learn(done, kStart + 2s);
  EXPECT_EQ(driver.history().back().kind, EventKind::run_completed);
  EXPECT_EQ(driver.history().back().data, "7");
}

Workflow<int> cancelled_by_nobody(WorkflowContext& ctx) { co_return co_await ctx.execute<int>("a"); }

TEST(Cancel, AStepThatWasCancelledElsewhereFailsTheRun) {
  Scenario what = scenario(cancelled_by_nobody);
  what.answers["a"] = {EventKind::step_cancelled};
  const History history = run_live(what);
  EXPECT_EQ(history.back().kind, EventKind::run_failed);
  EXPECT_EQ(history.back().data, R"({"name":"Cancelled","message":"step 'a' was cancelled"})");
}

Workflow<std::string> asks_again(WorkflowContext& ctx) {
  bool late = false;
  try {
    co_await with_timeout(ctx.signal<std::string>("name"), 1s);
  } catch (const TimedOut&) {
    late = true;
  }
  co_return late ? co_await ctx.signal<std::string>("name") : "in time";
}

TEST(Cancel, ACallThatWasGivenUpTakesNoSignal) {
  Driver driver(scenario(asks_again), {});
  driver.learn(timer_fired(2), kStart + 1s);
  driver.learn(signal("name", "\"here\""), kStart + 2s);
  EXPECT_EQ(driver.history().back().kind, EventKind::run_completed);
  EXPECT_EQ(driver.history().back().data, "\"here\"");
}

Workflow<std::string> after_the_request(WorkflowContext& ctx) {
  std::string out;
  auto step = ctx.execute<int>("slow", 1, StepOptions().wait_for_end(true));
  try {
    co_await ctx.sleep(1h);
  } catch (const Cancelled&) {
    out += "sleep ";
  }
  auto part = ctx.spawn(shielded_sleep(ctx));
  auto open_part = ctx.spawn(plain_sleep(ctx));
  try {
    co_await open_part;
  } catch (const Cancelled&) {
    out += "part ";
  }
  try {
    co_await with_timeout(step, 1s);
  } catch (const Cancelled&) {
    out += "timeout ";
  }
  step.cancel();
  const CancelShield shield(ctx);
  co_await part;
  co_return out + (ctx.cancel_requested() ? "requested" : "");
}

TEST(Cancel, HoldsForWhatIsStartedAfterwards) {
  Driver driver(scenario(after_the_request), {});
  driver.learn(cancel_request(), kStart + 1s);
  EXPECT_EQ(words(driver.history()),
            (std::vector<std::string>{"run_started", "step_scheduled 1", "timer_started 2", "cancel_requested",
                                      "step_cancel_requested 1", "timer_cancelled 2", "timer_started 3"}));
  driver.learn(timer_fired(3), kStart + 1h);
  EXPECT_EQ(driver.history().back().data, "\"sleep part timeout requested\"");
}

Workflow<int> takes_updates_in_a_shield(WorkflowContext& ctx) {
  ctx.on_update("sleep", [](WorkflowContext& c) { return plain_sleep(c); });
  const CancelShield shield(ctx);
  co_await ctx.signal("done");
  co_return 1;
}

TEST(Cancel, HoldsForUpdatesThatComeAfterwards) {
  Driver driver(scenario(takes_updates_in_a_shield), {});
  driver.learn(cancel_request(), kStart + 1s);
  driver.learn(input(EventKind::update_received, "sleep", "null", "u"), kStart + 2s);
  EXPECT_EQ(driver.history().back().kind, EventKind::update_rejected);
  EXPECT_EQ(driver.history().back().id, "u");
}

}  // namespace
}  // namespace semel::sdk
