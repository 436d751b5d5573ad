// Scenarios as data: each runs live, then once more from every prefix of its history. W2: what is recorded is not done
// again. W6: steps of one name are told apart by their number. W7: what won a race wins again. W10: cancellation during
// compensation. W14: exceptions that are none of std's.
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

struct Order {
  std::string id;
  int cents = 0;
};
SEMEL_FIELDS(Order, id, cents)

const TaskRef<int, Order> kCharge("charge");
const TaskRef<int> kPing("ping");

int doubled(int n) { return 2 * n; }

Workflow<int> nothing(WorkflowContext&) { co_return 7; }
Workflow<void> nothing_at_all(WorkflowContext&) { co_return; }
Workflow<Order> echo(WorkflowContext&, Order order) { co_return order; }
Workflow<int> one_step(WorkflowContext& ctx, Order order) { co_return co_await ctx.execute(kCharge, order); }

Workflow<int> steps_in_a_row(WorkflowContext& ctx) {
  int sum = 0;
  for (int i = 0; i < 5; ++i) sum += co_await ctx.execute<int>("add", i);
  co_return sum;
}

Workflow<int> local_then_step(WorkflowContext& ctx, int n) {
  const int two = co_await ctx.run("double", doubled, n);
  const int ping = co_await ctx.execute(kPing);
  co_return two * 100 + ping;
}

Workflow<std::string> locals_side_by_side(WorkflowContext& ctx) {
  auto a = ctx.run("a", [] { return std::string("a"); });
  auto b = ctx.run("b", [](std::string text) { return text; }, std::string("b"));
  co_return co_await b + co_await a;
}

Workflow<int> local_fails(WorkflowContext& ctx) {
  try {
    co_await ctx.run("bad", []() -> int { throw TaskError("Broken", "no"); });
  } catch (const TaskFailed& error) {
    co_return error.error_name() == "Broken" ? 1 : 2;
  }
  co_return 3;
}

Workflow<int> sleeps(WorkflowContext& ctx) {
  const Instant before = ctx.now();
  co_await ctx.sleep(24h);
  co_await ctx.sleep_until(before + 48h);
  co_return static_cast<int>((ctx.now() - before) / 1h);
}

Workflow<int> step_fails(WorkflowContext& ctx) { co_return co_await ctx.execute<int>("fails"); }

Workflow<std::string> catches_everything(WorkflowContext& ctx) {
  std::string seen;
  for (const char* name : {"fails", "times_out", "cancelled"}) {
    try {
      co_await ctx.execute<int>(name);
    } catch (const TaskFailed& error) {
      seen += error.error_name() + " ";
    } catch (const TimedOut&) {
      seen += "TimedOut ";
    } catch (const Cancelled&) {
      seen += "Cancelled ";
    }
  }
  co_return seen;
}

Workflow<std::vector<int>> fan_out(WorkflowContext& ctx, int count) {
  std::vector<Future<int>> steps;
  steps.reserve(count);
  for (int i = 0; i < count; ++i) steps.push_back(ctx.execute<int>("part", i));
  co_return co_await all(steps);
}

Workflow<int> both(WorkflowContext& ctx) {
  auto step = ctx.execute<int>("slow");
  auto sleep = ctx.sleep(1s);
  auto local = ctx.run("double", doubled, 4);
  const auto values = co_await all(step, sleep, local);
  co_return std::get<0>(values) * 100 + std::get<2>(values);
}

Workflow<int> first_failure(WorkflowContext& ctx) {
  auto slow = ctx.execute<int>("slow");
  auto bad = ctx.execute<int>("fails");
  try {
    co_await all(slow, bad);
  } catch (const TaskFailed&) {
    slow.cancel();
    co_return 1;
  }
  co_return 2;
}

Workflow<std::string> race(WorkflowContext& ctx) {
  auto step = ctx.execute<int>("slow");
  auto approved = ctx.signal<std::string>("approve");
  auto late = ctx.sleep(1h);
  switch (co_await any(step, approved, late)) {
    case 0:
      co_return "step";
    case 1:
      late.cancel();
      co_return co_await approved;
    default:
      co_return "late";
  }
}

Workflow<int> in_time(WorkflowContext& ctx) { co_return co_await with_timeout(ctx.execute<int>("quick"), 1min); }

Workflow<std::string> too_late(WorkflowContext& ctx) {
  try {
    co_await with_timeout(ctx.signal<int>("never"), 1min);
  } catch (const TimedOut&) {
    co_return "timed out";
  }
  co_return "in time";
}

Workflow<int> signals_in_order(WorkflowContext& ctx) {
  int value = 0;
  for (int i = 0; i < 3; ++i) value = value * 10 + co_await ctx.signal<int>("digit");
  co_return value;
}

Part<int> twice(WorkflowContext& ctx, std::string task) {
  const int first = co_await ctx.execute<int>(task);
  co_return first + co_await ctx.execute<int>(task);
}
Part<int> at_once(WorkflowContext&, int n) { co_return n; }
Part<void> fails_inside(WorkflowContext& ctx) {
  co_await ctx.sleep(1s);
  throw std::runtime_error("inside");
}

Workflow<int> parts(WorkflowContext& ctx) {
  int sum = co_await at_once(ctx, 1000) + co_await twice(ctx, "a");
  try {
    co_await fails_inside(ctx);
  } catch (const std::runtime_error&) {
    sum += 100;
  }
  co_return sum;
}

Workflow<int> spawned(WorkflowContext& ctx) {
  auto a = ctx.spawn(twice(ctx, "a"));
  auto b = ctx.spawn(twice(ctx, "b"));
  auto bad = ctx.spawn(fails_inside(ctx));
  const auto values = co_await all(a, b);
  int failures = 0;
  try {
    co_await bad;
  } catch (const std::runtime_error&) {
    ++failures;
  }
  co_return std::get<0>(values) * 100 + std::get<1>(values) * 10 + failures;
}

Workflow<int> children(WorkflowContext& ctx) {
  auto named = ctx.child<int>("sub", 1, ChildOptions().workflow_id("mine"));
  auto unnamed = ctx.child(WorkflowRef<int, int>("sub"), 2);
  const int sum = co_await named + co_await unnamed;
  try {
    co_await ctx.child<int>("bad");
  } catch (const TaskFailed&) {
    co_return sum;
  }
  co_return -1;
}

Workflow<std::string> chance(WorkflowContext& ctx) {
  const auto first = ctx.random();
  const auto id = ctx.uuid();
  co_await ctx.sleep(1s);
  co_return std::to_string(first % 1000) + " " + std::to_string(ctx.random() % 1000) + " " + id + " " + ctx.uuid();
}

Workflow<int> counts_down(WorkflowContext& ctx, int n) {
  co_await ctx.sleep(1s);
  if (n > 0) co_return co_await ctx.continue_as_new(n - 1);
  co_return 0;
}

Workflow<void> tells(WorkflowContext& ctx) {
  ctx.set_state(std::string("asking"));
  ctx.send_signal("other", "hello", 5);
  co_await ctx.execute<int>("a");
  ctx.set_state(std::string("done"));
}

Workflow<int> waits_for_cancel(WorkflowContext& ctx) {
  auto step = ctx.execute<int>("slow");
  auto beside = ctx.child<int>("slow");
  co_await ctx.signal<int>("never");
  co_return co_await step + co_await beside;
}

Workflow<int> cleans_up(WorkflowContext& ctx) {
  bool cancelled = false;
  try {
    co_await with_timeout(all(ctx.execute<int>("slow"), ctx.signal<int>("never")), 1h);
  } catch (const Cancelled&) {
    cancelled = true;
  }
  if (!cancelled) co_return 0;
  {
    CancelShield shield(ctx);
    co_await ctx.execute<int>("tidy");
    co_await ctx.sleep(1s);
  }
  co_await ctx.execute<int>("never_asked_for");
  co_return 1;
}

Workflow<int> goes_on_after_cancel(WorkflowContext& ctx) {
  try {
    co_await ctx.sleep(1h);
  } catch (const Cancelled&) {
    co_return ctx.cancel_requested() ? 1 : 2;
  }
  co_return 3;
}

Workflow<std::string> trip(WorkflowContext& ctx) {
  Saga saga(ctx);
  std::string failure;
  try {
    for (const char* what : {"flight", "hotel", "car"}) {
      const int booking = co_await ctx.execute<int>(what);
      saga.add([booking](WorkflowContext& c) { return c.execute<int>("undo", booking); });
    }
    co_await ctx.execute<int>("fails");
  } catch (const std::exception& error) {
    failure = "undone";
  }
  co_await saga.compensate();
  co_await saga.compensate();
  co_return failure;
}

Workflow<int> patched(WorkflowContext& ctx) {
  int sum = co_await ctx.execute<int>("a");
  if (ctx.patched("extra")) sum += 100 * co_await ctx.execute<int>("extra");
  sum += co_await ctx.execute<int>("b");
  if (ctx.patched("extra")) sum += 10000;
  co_return sum;
}

Workflow<int> with_updates(WorkflowContext& ctx) {
  auto total = std::make_shared<int>(0);
  ctx.on_update("add", [total](int n) {
    if (n < 0) throw TaskError("Negative", "no");
    return *total += n;
  });
  ctx.on_update("ask", [](WorkflowContext& c, std::string task) { return twice(c, std::move(task)); });
  co_await ctx.signal("done");
  co_return *total;
}

Workflow<int> odd_throw(WorkflowContext& ctx) {
  co_await ctx.sleep(1s);
  throw 42;
}

template <class F>
WorkflowStarter starter(F function) {
  return workflow("scenario", function).starter();
}

const Answer kFails{EventKind::step_failed, R"({"name":"CardDeclined","message":"no money"})"};

std::vector<Scenario> scenarios() {
  using K = EventKind;
  return {
      {"Nothing", starter(nothing), "null", K::run_completed, "7"},
      {"NothingAtAll", starter(nothing_at_all), "null", K::run_completed, "null"},
      {"Echo", starter(echo), R"({"id":"o-1","cents":5})", K::run_completed, R"({"id":"o-1","cents":5})"},
      {"ArgumentsOfAnotherType", starter(echo), "17", K::run_failed},
      {"OneStep", starter(one_step), R"({"id":"o-1","cents":5})", K::run_completed, "1"},
      {"StepsInARow", starter(steps_in_a_row), "null", K::run_completed, "15"},
      {"LocalThenStep", starter(local_then_step), "21", K::run_completed, "4202"},
      {"LocalsSideBySide", starter(locals_side_by_side), "null", K::run_completed, "\"ba\""},
      {"LocalFails", starter(local_fails), "null", K::run_completed, "1"},
      {"Sleeps", starter(sleeps), "null", K::run_completed, "48"},
      {"StepFails",
       starter(step_fails),
       "null",
       K::run_failed,
       R"({"name":"CardDeclined","message":"step 'fails' failed: CardDeclined: no money"})",
       {{"fails", kFails}}},
      {"CatchesEverything",
       starter(catches_everything),
       "null",
       K::run_completed,
       "\"CardDeclined TimedOut Cancelled \"",
       {{"fails", kFails}, {"times_out", {K::step_timed_out}}, {"cancelled", {K::step_cancelled}}}},
      {"FanOut", starter(fan_out), "4", K::run_completed, "[1,2,3,4]"},
      {"FanOutOfNothing", starter(fan_out), "0", K::run_completed, "[]"},
      {"Both", starter(both), "null", K::run_completed, "108", {}, {}, {"slow"}},
      {"FirstFailure", starter(first_failure), "null", K::run_completed, "1", {{"fails", kFails}}, {}, {"slow"}},
      {"RaceWonByTheStep", starter(race), "null", K::run_completed, "\"step\""},
      {"RaceWonByTheSignal",
       starter(race),
       "null",
       K::run_completed,
       "\"yes\"",
       {},
       {{0, signal("approve", "\"yes\"")}}},
      {"InTime", starter(in_time), "null", K::run_completed, "1"},
      {"TooLate", starter(too_late), "null", K::run_completed, "\"timed out\""},
      {"SignalsInOrder",
       starter(signals_in_order),
       "null",
       K::run_completed,
       "123",
       {},
       {{0, signal("digit", "1")}, {0, signal("other", "9")}, {0, signal("digit", "2")}, {0, signal("digit", "3")}}},
      {"Parts", starter(parts), "null", K::run_completed, "1103"},
      {"Spawned", starter(spawned), "null", K::run_completed, "571"},
      {"Children", starter(children), "null", K::run_completed, "3", {{"bad", kFails}}},
      {"Chance", starter(chance), "null", K::run_completed, ""},
      {"ContinuesAsNew", starter(counts_down), "3", K::run_continued, "2"},
      {"ContinuesNoMore", starter(counts_down), "0", K::run_completed, "0"},
      {"Tells", starter(tells), "null", K::run_completed, "null"},
      {"CancelledWhileItWaits",
       starter(waits_for_cancel),
       "null",
       K::run_cancelled,
       "",
       {},
       {{0, cancel_request()}},
       {"slow"}},
      {"CleansUpAfterCancel", starter(cleans_up), "null", K::run_cancelled, "", {}, {{0, cancel_request()}}, {"slow"}},
      {"GoesOnAfterCancel", starter(goes_on_after_cancel), "null", K::run_completed, "1", {}, {{0, cancel_request()}}},
      {"Saga", starter(trip), "null", K::run_completed, "\"undone\"", {{"fails", kFails}}},
      {"SagaAfterCancel", starter(trip), "null", K::run_completed, "\"undone\"", {}, {{2, cancel_request()}}},
      {"Patched", starter(patched), "null", K::run_completed, "10204"},
      {"Updates",
       starter(with_updates),
       "null",
       K::run_completed,
       "5",
       {},
       {{0, input(K::update_received, "add", "5", "u1")},
        {1, input(K::update_received, "ask", "\"a\"", "u2")},
        {2, input(K::update_received, "add", "-1", "u3")},
        {3, input(K::update_received, "unknown", "1", "u4")},
        {9, signal("done", "null")}}},
      {"ThrowsANumber", starter(odd_throw), "null", K::run_failed,
       R"({"name":"UnknownException","message":"something was thrown that is not a std::exception"})"},
  };
}

class Replay : public testing::TestWithParam<Scenario> {};

TEST_P(Replay, EndsAsItShould) {
  const History history = run_live(GetParam());
  ASSERT_EQ(history.back().kind, GetParam().end) << testing::PrintToString(history);
  if (!GetParam().data.empty()) EXPECT_EQ(history.back().data, GetParam().data);
}

TEST_P(Replay, ComesToTheSameEndFromEveryBoundary) { survives_every_crash(GetParam(), run_live(GetParam())); }

INSTANTIATE_TEST_SUITE_P(Scenarios, Replay, testing::ValuesIn(scenarios()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace semel::sdk
