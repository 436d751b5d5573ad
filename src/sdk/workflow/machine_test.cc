#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "sdk/workflow/test_driver.h"
#include "semel/saga.h"
#include "semel/workflow.h"

namespace semel::sdk {
namespace {

using namespace std::chrono_literals;

// ---- what the owner of a run sees ----------------------------------------------------------------------------------

Workflow<int> asks(WorkflowContext& ctx) {
  auto step = ctx.execute<int>("charge", std::string("o-1"), StepOptions().task_id("pay-1").queue("payments"));
  auto child = ctx.child<int>("ship", 5);
  auto sleep = ctx.sleep(10s);
  co_await all(step, child, sleep);
  co_return 1;
}

TEST(Machine, CommandsSayWhatTheCodeAskedFor) {
  Driver driver(scenario(asks), {});
  ASSERT_EQ(driver.commands.size(), 3u);
  const Command& step = driver.commands[0];
  EXPECT_EQ(step.event.kind, EventKind::step_scheduled);
  EXPECT_EQ(step.event.command, 1);
  EXPECT_EQ(step.event.name, "charge");
  EXPECT_EQ(step.event.id, "pay-1");
  EXPECT_EQ(step.args->bytes, "\"o-1\"");
  EXPECT_EQ(step.step->queue(), "payments");
  const Command& child = driver.commands[1];
  EXPECT_EQ(child.event.kind, EventKind::child_started);
  EXPECT_EQ(child.event.id, run_info({}).run_id.to_string() + ":2");
  EXPECT_EQ(child.args->bytes, "5");
  EXPECT_EQ(driver.commands[2].event.at, kStart + 10s);
  EXPECT_TRUE(driver.machine().waiting());
  EXPECT_TRUE(driver.machine().take_commands().empty());
}

Workflow<int> reads_the_clock(WorkflowContext& ctx) {
  const Instant before = ctx.now();
  co_await ctx.sleep(10s);
  co_return static_cast<int>((ctx.now() - before) / 1s);
}

TEST(Machine, InputsAreStampedWithNumbersAndTime) {
  Driver driver(scenario(reads_the_clock), {});
  driver.learn(timer_fired(1), kStart + 12s);
  const Event& learned = driver.history()[2];
  EXPECT_EQ(learned.issued, 1);
  EXPECT_EQ(learned.at, kStart + 12s);
  EXPECT_EQ(driver.history().back().data, "12");
  EXPECT_TRUE(driver.machine().closed());
  EXPECT_FALSE(driver.machine().waiting());
}

TEST(Machine, TimeNeverGoesBack) {
  Driver driver(scenario(reads_the_clock), {});
  driver.learn(timer_fired(1), kStart - 12s);
  EXPECT_EQ(driver.history().back().data, "0");
}

TEST(Machine, InputsNobodyWaitsForAreIgnored) {
  Driver driver(scenario(reads_the_clock), {});
  driver.learn(timer_fired(0), kStart);
  driver.learn(timer_fired(9), kStart);
  driver.learn(signal("unheard", "1"), kStart);
  EXPECT_TRUE(driver.machine().waiting());
  driver.learn(timer_fired(1), kStart + 10s);
  const History closed = driver.history();
  driver.learn(timer_fired(1), kStart + 11s);
  EXPECT_EQ(driver.history().size(), closed.size() + 1);
  EXPECT_TRUE(driver.machine().closed());
}

TEST(Machine, AnInputAfterTheEndIsReplayedBeforeTheClosingCommand) {
  Driver driver(scenario(reads_the_clock), {});
  History history(driver.history());
  history.push_back(driver.machine().learn(timer_fired(1), kStart + 10s));
  history.push_back(driver.machine().learn(signal("late", "1"), kStart + 11s));
  const auto commands = driver.machine().take_commands();
  ASSERT_EQ(commands.size(), 1u);
  history.push_back(commands[0].event);
  EXPECT_TRUE(Driver(scenario(reads_the_clock), history).replayed());
}

Workflow<int> two_locals(WorkflowContext& ctx) {
  auto a = ctx.run("a", [] { return 1; });
  auto b = ctx.run("b", [] { return 2; });
  co_return co_await a + co_await b;
}

TEST(Machine, LocalRunsAreHandedOutOnceAndNotWhenTheyAreRecorded) {
  const Scenario what = scenario(two_locals);
  Machine machine(what.starter, run_info(what));
  ASSERT_TRUE(machine.replay(History{}));
  auto locals = machine.take_locals();
  ASSERT_EQ(locals.size(), 2u);
  EXPECT_EQ(locals[1].name, "b");
  EXPECT_TRUE(machine.take_locals().empty());
  const Event done = machine.learn(locals[1].body(), kStart + 1s);
  EXPECT_EQ(done.kind, EventKind::local_completed);
  EXPECT_EQ(done.data, "2");

  Machine again(what.starter, run_info(what));
  ASSERT_TRUE(again.replay(History{done}));
  locals = again.take_locals();
  ASSERT_EQ(locals.size(), 1u);
  EXPECT_EQ(locals[0].name, "a");
}

TEST(Machine, AnEndFromOutsideClosesTheRun) {
  const Scenario what = scenario(reads_the_clock);
  History history = Driver(what, {}).history();
  history.push_back(input(EventKind::run_terminated));
  Driver driver(what, history);
  ASSERT_TRUE(driver.replayed());
  EXPECT_TRUE(driver.machine().closed());
}

Workflow<int> logs(WorkflowContext& ctx) {
  ctx.log(LogLevel::info, "before");
  co_await ctx.sleep(1s);
  ctx.log(LogLevel::info, "after");
  co_return 1;
}

TEST(Machine, LogsAreSilentWhileHistoryIsReplayed) {
  const Scenario what = scenario(logs);
  std::vector<std::string> lines;
  const LogSink sink = [&](LogLevel, std::string_view line, auto) { lines.emplace_back(line); };
  Machine machine(what.starter, run_info(what), sink);
  ASSERT_TRUE(machine.replay(History{}));
  const Event started = machine.take_commands()[0].event;
  EXPECT_EQ(lines, std::vector<std::string>{"before"});
  Machine again(what.starter, run_info(what), sink);
  ASSERT_TRUE(again.replay(History{started}));
  EXPECT_EQ(lines.size(), 1u);
  again.learn(timer_fired(1), kStart + 1s);
  EXPECT_EQ(lines, (std::vector<std::string>{"before", "after"}));
}

Workflow<int> takes_a_signal(WorkflowContext& ctx) {
  co_await ctx.signal("b");
  co_return 1;
}

TEST(Machine, TellsWhichSignalsNobodyTook) {
  Driver driver(scenario(takes_a_signal), {});
  driver.learn(signal("a", "1"), kStart);
  driver.learn(signal("c", "2"), kStart);
  driver.learn(signal("b", "null"), kStart);
  driver.learn(signal("after the end", "3"), kStart);
  const auto unread = driver.machine().unread();
  ASSERT_EQ(unread.size(), 3u);
  EXPECT_EQ(unread[0].name, "a");
  EXPECT_EQ(unread[1].data, "2");
}

Workflow<std::string> listens_in_turns(WorkflowContext& ctx) {
  auto first = ctx.signal<int>("s");
  auto nap = ctx.sleep(1h);
  const auto winner = co_await any(first, nap);
  auto polled = ctx.signal<int>("s");
  const bool there = polled.ready();
  auto go = ctx.signal<int>("go");
  co_await go;
  auto second = ctx.signal<int>("s");
  const int value = co_await second;
  const int late = co_await first;
  co_return std::to_string(winner) + (there ? " there " : " not there ") + std::to_string(value) + " " +
      std::to_string(late);
}

// A signal reaches whoever waits then; an abandoned future that is awaited again takes the one after it.
TEST(Machine, TheLoserOfAnyTakesNoSignal) {
  Driver driver(scenario(listens_in_turns), {});
  driver.learn(timer_fired(2), kStart + 1h);
  driver.learn(signal("s", "7"), kStart + 1h);
  driver.learn(signal("go", "0"), kStart + 1h);
  driver.learn(signal("s", "8"), kStart + 1h);
  EXPECT_TRUE(driver.machine().unread().empty());
  EXPECT_EQ(driver.history().back().kind, EventKind::run_completed);
  EXPECT_EQ(driver.history().back().data, R"("1 not there 7 8")");
}

Workflow<int> counts_what_is_there(WorkflowContext& ctx) {
  int count = 0;
  ctx.on_update("add", [&count](int n) { return count += n; });
  auto next = ctx.signal<int>("s");
  for (int round = 0; round < 2; ++round) {
    for (; next.ready(); next = ctx.signal<int>("s")) count += co_await next;
    if (round == 0) co_await ctx.signal<int>("go");
  }
  co_return count;
}

// F2: inputs that were learned together are replayed together, whatever was recorded with them and after them.
TEST(Machine, WhatLiesReadyIsLearnedAtOnce) {
  const Scenario what = scenario(counts_what_is_there);
  Machine live(what.starter, run_info(what));
  live.expect({});
  live.start();
  History history;
  const auto give = [&](Event event) {
    history.push_back(live.stamp(std::move(event), kStart + 1s));
    live.hand_over(history.back());
  };
  const auto go_on = [&] {
    live.run();
    for (Command& command : live.take_commands()) history.push_back(std::move(command.event));
  };
  give(signal("s", "1"));
  give(input(EventKind::update_received, "add", "100", "u-1"));
  go_on();
  give(signal("s", "10"));
  give(signal("go", "0"));
  give(signal("s", "20"));
  give(input(EventKind::update_received, "add", "1000", "u-2"));
  go_on();
  std::vector<bool> joined;
  for (const Event& event : history)
    if (core::is_input(event.kind)) joined.push_back(event.joined);
  EXPECT_EQ(joined, (std::vector<bool>{true, true, false, false, true, true}));
  EXPECT_EQ(history.back().data, "131");
  EXPECT_EQ(live.unread().size(), 1u) << "the update that came when the code had ended";
  for (std::size_t cut = 0; cut <= history.size(); ++cut) {
    Machine again(what.starter, run_info(what));
    ASSERT_TRUE(again.replay(std::span(history).first(cut))) << cut;
  }
  Machine again(what.starter, run_info(what));
  ASSERT_TRUE(again.replay(std::span(history).first(history.size() - 1)));
  EXPECT_EQ(again.take_commands().back().event.data, "131");
}

// W18
TEST(Machine, RefusesEventsOfALaterVersion) {
  Event unknown;
  unknown.kind = static_cast<EventKind>(77);
  Driver driver(scenario(takes_a_signal), {unknown});
  EXPECT_EQ(driver.replayed().error().code, ErrorCode::Unsupported);
}

struct State {
  std::string name;
  int count = 0;
};
SEMEL_FIELDS(State, name, count)
Workflow<State> continues_with_a_struct(WorkflowContext& ctx, State state) {
  state.count += 1;
  if (state.count < 5) co_return co_await ctx.continue_as_new(state);
  co_return state;
}
Workflow<std::vector<std::string>> continues_with_nothing(WorkflowContext& ctx) {
  co_return co_await ctx.continue_as_new();
}
Workflow<void> continues_from_a_part(WorkflowContext& ctx, std::string text) {
  co_await ctx.continue_as_new(text + "!");
}

TEST(ContinueAsNew, EndsTheRunWithTheArgumentsOfTheNext) {
  EXPECT_EQ(run_live(scenario(continues_with_a_struct, R"({"name":"n","count":1})")).back().data,
            R"({"name":"n","count":2})");
  EXPECT_EQ(run_live(scenario(continues_with_nothing)).back().data, "null");
  const History history = run_live(scenario(continues_from_a_part, "\"a\""));
  EXPECT_EQ(history.back().kind, EventKind::run_continued);
  EXPECT_EQ(history.back().name, "scenario");
  EXPECT_EQ(history.back().data, "\"a!\"");
}

Workflow<std::string> what_failed(WorkflowContext& ctx) {
  std::string out;
  auto bad = ctx.execute<int>("bad");
  auto ok = ctx.execute<int>("ok");
  try {
    co_await with_timeout(all(ok, bad), 1h);
  } catch (const TaskFailed& error) {
    out += error.what();
  }
  try {
    co_await with_timeout(ctx.signal<int>("never"), 1s);
  } catch (const TimedOut& error) {
    out += std::string("; ") + error.what();
  }
  co_return out;
}

TEST(Machine, ErrorsOfGroupsNameTheMember) {
  Scenario what = scenario(what_failed);
  what.answers["bad"] = {EventKind::step_failed, R"({"name":"No","message":"way"})"};
  EXPECT_EQ(run_live(what).back().data, "\"step 'bad' failed: No: way; signal 'never' timed out\"");
}

// ---- sagas ---------------------------------------------------------------------------------------------------------

Workflow<int> undoes(WorkflowContext& ctx) {
  Saga saga(ctx);
  for (int i = 1; i <= 3; ++i) saga.add([i](WorkflowContext& c) { return c.execute<int>("undo" + std::to_string(i)); });
  co_await saga.compensate();
  co_return 1;
}

// W10
TEST(Saga, RunsEveryCompensationInReverseAndThrowsTheFirstFailure) {
  Scenario what = scenario(undoes);
  what.answers["undo3"] = {EventKind::step_failed, R"({"name":"Third","message":"x"})"};
  what.answers["undo1"] = {EventKind::step_failed, R"({"name":"First","message":"x"})"};
  Driver driver(what, {});
  driver.run();
  std::vector<std::string> names;
  names.reserve(driver.commands.size());
  for (const Command& command : driver.commands) names.push_back(command.event.name);
  EXPECT_EQ(names, (std::vector<std::string>{"undo3", "undo2", "undo1", ""}));
  EXPECT_NE(driver.history().back().data.find("\"Third\""), std::string::npos);
}

// ---- queries -------------------------------------------------------------------------------------------------------

Workflow<int> answers(WorkflowContext& ctx) {
  int count = 0;
  ctx.on_query("count", [&count] { return count; });
  ctx.on_query("plus", [&count](int n) { return count + n; });
  ctx.on_query("bad", [&ctx] { ctx.set_state(1); });
  co_await ctx.sleep(1s);
  count = 5;
  co_await ctx.sleep(1s);
  co_return count;
}

TEST(Query, IsAnsweredFromMemoryAndChangesNothing) {
  Driver driver(scenario(answers), {});
  EXPECT_EQ(driver.machine().query("count", "null").value(), "0");
  driver.learn(timer_fired(1), kStart + 1s);
  EXPECT_EQ(driver.machine().query("plus", "10").value(), "15");
  EXPECT_FALSE(driver.machine().query("plus", "\"ten\""));
  EXPECT_FALSE(driver.machine().query("unknown", "null"));
  EXPECT_EQ(driver.machine().query("bad", "null").error().code, ErrorCode::TaskFailed);
  EXPECT_TRUE(driver.machine().take_commands().empty());
  driver.learn(timer_fired(2), kStart + 2s);
  EXPECT_EQ(driver.machine().query("count", "null").error().code, ErrorCode::InvalidTransition);
}

// ---- destruction ---------------------------------------------------------------------------------------------------

int alive = 0;
struct Counted {
  Counted() { ++alive; }
  Counted(const Counted&) { ++alive; }
  ~Counted() { --alive; }
};
struct AsksWhenItGoes {
  WorkflowContext& ctx;
  ~AsksWhenItGoes() { (void)ctx.execute<int>("too late"); }
};

Part<void> inner(WorkflowContext& ctx, Counted) {
  Counted local;
  CancelShield shield(ctx);
  const AsksWhenItGoes asks{ctx};
  co_await ctx.sleep(1h);
  ADD_FAILURE() << "went on";
}
Workflow<void> nested(WorkflowContext& ctx) {
  Counted local;
  (void)ctx.spawn(inner(ctx, Counted()));
  (void)ctx.run("holds", [](const Counted&) {}, Counted());
  const Part<void> never_started = inner(ctx, Counted());
  try {
    co_await inner(ctx, Counted());
  } catch (...) {
    ADD_FAILURE() << "destruction is no exception";
  }
}

// W13
TEST(Destruction, OfAWaitingRunFreesEverythingAndRunsNothing) {
  alive = 0;
  {
    Driver driver(scenario(nested), {});
    EXPECT_TRUE(driver.machine().waiting());
    EXPECT_GT(alive, 3);
  }
  EXPECT_EQ(alive, 0);
}

Part<int> counts(WorkflowContext&, int n) { co_return n; }
Workflow<int> many_parts(WorkflowContext& ctx) {
  int sum = 0;
  for (int i = 0; i < 100000; ++i) sum += co_await counts(ctx, 1);
  co_await ctx.sleep(1s);
  co_return sum;
}

Workflow<int> awaits_twice(WorkflowContext& ctx) {
  auto part = counts(ctx, 1);
  co_await part;
  co_return co_await part;
}

TEST(Part, IsAwaitedOnce) {
  EXPECT_EQ(run_live(scenario(awaits_twice)).back().data, R"({"name":"Exception","message":"a Part is awaited once"})");
}

TEST(Part, ALoopOfPartsNeedsNoStack) { EXPECT_EQ(run_live(scenario(many_parts)).back().data, "100000"); }

}  // namespace
}  // namespace semel::sdk
