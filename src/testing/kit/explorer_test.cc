// The crash explorer: sound workflows pass everywhere, broken ones are told by name.
#include "semel/explorer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "semel/saga.h"
#include "semel/semel.h"

namespace semel::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::Test;

// ---- a sound one ----------------------------------------------------------------------------------------------------

// The world outside: answers duplicates by their key.
struct Bank {
  std::set<std::string> keys;
  int charges = 0;
  void charge(const std::string& key) {
    if (keys.insert(key).second) ++charges;
  }
};
Bank bank;

const auto ship = task("ship", [](TaskContext& context, const int& order) {
  bank.charge("shipping " + context.idempotency_key());
  return order + 1;
});

Workflow<int> nested(WorkflowContext& ctx, int n) {
  auto half = ctx.run("half", [](int value) { return value / 2; }, n);
  auto shipped = ctx.execute(ship, co_await half);
  co_return co_await shipped;
}
const auto nested_workflow = workflow("nested", nested);

int charge(int order, std::string key) {
  bank.charge(key);
  return order * 2;
}

Workflow<int> order(WorkflowContext& ctx, int n) {
  ctx.set_state(std::string("new"));
  auto charged = ctx.run("charge", charge, n, ctx.idempotency_key());
  const int paid = co_await charged;
  ctx.set_state(std::string("paid"));
  auto shipped = ctx.execute(ship, n);
  auto child = ctx.child(nested_workflow, paid);
  const auto both = all(shipped, child);
  const auto [first, second] = co_await both;
  auto nap = ctx.sleep(24h);
  co_await nap;
  if (n > 0) {
    auto next = ctx.continue_as_new(n - 1);
    co_return co_await next;
  }
  co_return paid + first + second;
}
const auto order_workflow = workflow("order", order);

TEST(CrashExplorer, ASoundWorkflowPassesEveryPlace) {
  CrashExplorer explorer(order_workflow, 1);
  explorer.worker(WorkerOptions().add(nested_workflow).add(ship))
      .setup([](TestEngine&) { bank = {}; })
      .observe("charges", [](TestEngine&) { return std::to_string(bank.charges); })
      .repeatable("half");
  const auto report = explorer.run();
  EXPECT_TRUE(report.ok()) << report;
  EXPECT_TRUE(report.warnings.empty()) << report;
  EXPECT_EQ(report.visited, report.points);
  EXPECT_GT(report.points, 60) << report;
  EXPECT_EQ(report.outcome, "succeeded 2");
}

TEST(CrashExplorer, ASampleIsChosenByItsSeed) {
  CrashExplorer explorer(order_workflow, 0);
  explorer.worker(WorkerOptions().add(nested_workflow).add(ship)).limit(5).seed(7).repeatable("half");
  const auto report = explorer.run();
  EXPECT_TRUE(report.ok()) << report;
  EXPECT_EQ(report.visited, 5);
  EXPECT_NE(report.text().find("5 (seed 7)"), std::string::npos) << report;
  EXPECT_EQ(explorer.only(3).run().visited, 1);
}

// ---- broken ones ----------------------------------------------------------------------------------------------------

int counter = 0;

Workflow<int> counts(WorkflowContext& ctx) {
  auto counted = ctx.run("count", [] { return ++counter; });
  co_return co_await counted;
}
const auto counts_workflow = workflow("counts", counts);

bool names(const CrashReport& report, const std::string& name) {
  return std::ranges::any_of(report.differences, [&](const CrashDifference& one) {
    return std::ranges::any_of(one.facts,
                               [&](const CrashFact& fact) { return fact.what.find(name) != fact.what.npos; });
  });
}

TEST(CrashExplorer, ABodyThatIsNotIdempotentIsNamed) {
  const auto report = CrashExplorer(counts_workflow).setup([](TestEngine&) { counter = 0; }).run();
  ASSERT_FALSE(report.ok()) << report;
  EXPECT_TRUE(names(report, "'count' #1")) << report;
  EXPECT_NE(report.differences[0].where.find("'count' ran, before it was recorded"), std::string::npos) << report;
  EXPECT_EQ(report.differences[0].facts[0].what, "outcome");
  EXPECT_EQ(report.differences[0].facts[0].actual, "succeeded 2");
  ASSERT_EQ(report.warnings.size(), 1u);
  EXPECT_EQ(report.warnings[0].name, "count");
  EXPECT_EQ(report.warnings[0].most, 2);
}

TEST(CrashExplorer, VariablesThatOutliveAWorldAreFoundWithoutACrash) {
  const auto report = CrashExplorer(counts_workflow).run();
  ASSERT_EQ(report.differences.size(), 1u) << report;
  EXPECT_EQ(report.differences[0].point, 0);
  EXPECT_EQ(report.visited, 0);
  EXPECT_TRUE(names(report, "'count' #1")) << report;
}

// Whatever is read outside the context, real time or chance, is another value when the code runs again.
int coin = 0;
const auto heads = task("heads", [] { return 1; });
const auto tails = task("tails", [] { return 1; });

Workflow<int> tosses(WorkflowContext& ctx) {
  const bool up = ++coin % 2 == 1;
  auto thrown = ctx.execute(up ? heads : tails);
  auto nap = ctx.sleep(1h);
  co_await nap;
  co_return co_await thrown;
}
const auto tosses_workflow = workflow("tosses", tosses);

// W5
TEST(CrashExplorer, CodeThatGoesAnotherWayIsToldWithTheStep) {
  CrashExplorer explorer(tosses_workflow);
  explorer.worker(WorkerOptions().add(heads).add(tails)).setup([](TestEngine&) { coin = 0; });
  const auto report = explorer.run();
  ASSERT_FALSE(report.ok()) << report;
  const auto refused = std::ranges::find_if(report.differences, [](const CrashDifference& one) {
    return one.facts[0].actual.find("NondeterminismError") != std::string::npos;
  });
  ASSERT_NE(refused, report.differences.end()) << report;
  EXPECT_NE(refused->facts[0].actual.find("step_scheduled #1 'heads'"), std::string::npos) << report;
  EXPECT_NE(refused->facts[0].actual.find("'tails'"), std::string::npos) << report;
}

int effects = 0;
const auto mails = task("mail", [] { ++effects; });

Workflow<void> never_reads(WorkflowContext& ctx) {
  auto body = ctx.run("note", [] { ++effects; });
  co_await body;
  auto sent = ctx.execute(mails);
  co_await sent;
}
const auto never_reads_workflow = workflow("never_reads", never_reads);

TEST(CrashExplorer, AFunctionThatNeverReadsItsKeyIsAWarning) {
  const auto report = CrashExplorer(never_reads_workflow).worker(WorkerOptions().add(mails)).run();
  EXPECT_TRUE(report.ok()) << report;
  ASSERT_EQ(report.warnings.size(), 2u) << report;
  EXPECT_EQ(report.warnings[0].name, "note");
  EXPECT_FALSE(report.warnings[0].task);
  EXPECT_EQ(report.warnings[1].name, "mail");
  EXPECT_TRUE(report.warnings[1].task);
  EXPECT_NE(report.text().find("mail  task     up to 2 times, in 1 world"), std::string::npos) << report;
}

TEST(CrashExplorer, WhatTheWorldSeesTwiceIsADifferenceWhenItIsObserved) {
  CrashExplorer explorer(never_reads_workflow);
  explorer.worker(WorkerOptions().add(mails)).setup([](TestEngine&) { effects = 0; });
  explorer.observe("effects", [](TestEngine&) { return std::to_string(effects); });
  const auto report = explorer.run();
  EXPECT_FALSE(report.ok());
  EXPECT_TRUE(names(report, "effects")) << report;
}

Workflow<void> waits(WorkflowContext& ctx) {
  auto never = ctx.signal("never");
  co_await never;
}

TEST(CrashExplorer, AWorkflowThatNeverEndsIsTold) {
  const auto report = CrashExplorer(workflow("waits", waits)).run();
  ASSERT_EQ(report.differences.size(), 1u) << report;
  EXPECT_NE(report.text().find("waits for something that never comes"), std::string::npos) << report;
}

// A key that the workflow hands to a step counts as read.
const auto mail_with_key = task("mail", [](const std::string& key) { bank.charge(key); });
Workflow<void> hands_over(WorkflowContext& ctx) {
  auto sent = ctx.execute(mail_with_key, ctx.idempotency_key());
  co_await sent;
}

TEST(CrashExplorer, AKeyThatIsHandedOverCounts) {
  const auto report =
      CrashExplorer(workflow("hands_over", hands_over)).worker(WorkerOptions().add(mail_with_key)).run();
  EXPECT_TRUE(report.ok()) << report;
  EXPECT_TRUE(report.warnings.empty()) << report;
}

TEST(CrashExplorer, StubsAreNotBlamed) {
  CrashExplorer explorer(never_reads_workflow);
  explorer.setup([](TestEngine& kit) { kit.stub(mails, [] {}); }).repeatable("note");
  const auto report = explorer.run();
  EXPECT_TRUE(report.ok()) << report;
  EXPECT_TRUE(report.warnings.empty()) << report;
}

TEST(CrashExplorer, TheReportReadsWell) {
  const auto report = CrashExplorer(counts_workflow).setup([](TestEngine&) { counter = 0; }).run();
  EXPECT_EQ(report.text(), R"(crash explorer: counts
  without a crash  succeeded 1
  crash points     9: 3 turns, 1 body of ctx.run, 0 attempts of tasks
  visited          all
  same outcome     6
  DIFFERENT        3

  point 3, after 'count' ran, before it was recorded (ctx.run #1 of run 1)
    outcome              expected  succeeded 1
                         actual    succeeded 2
    'count' #1 of run 1  expected  completed 1
                         actual    completed 2
    the same at  4, 5

  warning: ran more than once for one call and never read the idempotency key
    count  ctx.run  up to 2 times, in 3 worlds
    What it does to the world may happen twice. Hand ctx.idempotency_key() to what it calls, or tell the
    explorer that it is repeatable.
)");
}

}  // namespace
}  // namespace semel::testing
