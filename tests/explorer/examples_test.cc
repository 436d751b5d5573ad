// The workflows of the examples, crashed at every place.
#include <gtest/gtest.h>

#include <cstdlib>

#include "examples/10_order.h"
#include "examples/11_fan_out.h"
#include "examples/12_approval.h"
#include "examples/13_subscription.h"
#include "examples/14_migration.h"
#include "semel/explorer.h"

namespace semel::testing {
namespace {

using namespace std::chrono_literals;

// All places up to 500; above that a sample, or all of them on request.
template <class Explorer>
CrashReport explore(Explorer explorer) {
  if (std::getenv("SEMEL_LONG") != nullptr) explorer.all();
  return explorer.run();
}

// ---- order ----------------------------------------------------------------------------------------------------------

CrashExplorer<shop::Receipt, shop::Order> of_order(shop::Order order) {
  CrashExplorer explorer(shop::process_workflow, std::move(order));
  explorer.worker(shop::worker())
      .setup([](TestEngine&) { shop::world = {{{"lamp", 1}, {"piano", 1}}}; })
      .observe("balance", [](TestEngine&) { return std::to_string(shop::world.balance); })
      .observe("lamps", [](TestEngine&) { return std::to_string(shop::world.stock["lamp"]); })
      .observe("pianos", [](TestEngine&) { return std::to_string(shop::world.stock["piano"]); })
      .observe("parcels", [](TestEngine&) { return std::to_string(shop::world.parcels); });
  return explorer;
}

TEST(ExploredExamples, OrderThatIsShipped) {
  const auto report = explore(of_order({"order-1", "lamp", 4200}));
  EXPECT_TRUE(report.ok()) << report;
  EXPECT_TRUE(report.warnings.empty()) << report;
  EXPECT_EQ(report.outcome, R"(succeeded {"shipped":true,"text":"parcel of order-1"})");
}

TEST(ExploredExamples, OrderThatIsUndone) {
  const auto report = explore(of_order({"order-2", "piano", 900000}));
  EXPECT_TRUE(report.ok()) << report;
  EXPECT_TRUE(report.warnings.empty()) << report;
  EXPECT_EQ(report.outcome, R"(succeeded {"shipped":false,"text":"TooHeavy"})");
}

// ---- fan-out --------------------------------------------------------------------------------------------------------

TEST(ExploredExamples, FanOutOfAThousandSteps) {
  CrashExplorer explorer(thumbnails::album_workflow, 1000);
  explorer.worker(WorkerOptions().add(thumbnails::resize)).repeatable("resize");
  const auto report = explore(std::move(explorer));
  EXPECT_TRUE(report.ok()) << report;
  EXPECT_EQ(report.outcome, "succeeded 2997");
  EXPECT_EQ(report.attempts, 1000);
  EXPECT_GE(report.visited, 500);
}

// ---- approval -------------------------------------------------------------------------------------------------------

TEST(ExploredExamples, ApprovalThatComes) {
  CrashExplorer explorer(expenses::approve_workflow, {"ada", 340});
  explorer.worker(expenses::worker()).repeatable("ask_boss").repeatable("pay");
  explorer.script([](TestEngine& kit, WorkflowHandle<std::string>& run) {
    kit.advance(48h);
    run.signal("decision", expenses::Decision{true, "eve"}, "click-1").value();
    run.signal("decision", expenses::Decision{true, "eve"}, "click-1").value();
  });
  const auto report = explore(std::move(explorer));
  EXPECT_TRUE(report.ok()) << report;
  EXPECT_EQ(report.outcome, R"(succeeded "approved by eve")");
}

TEST(ExploredExamples, ApprovalThatNeverComes) {
  CrashExplorer explorer(expenses::approve_workflow, {"bob", 900000});
  explorer.worker(expenses::worker()).repeatable("ask_boss");
  const auto report = explore(std::move(explorer));
  EXPECT_TRUE(report.ok()) << report;
  EXPECT_EQ(report.outcome, R"(succeeded "nobody answered")");
}

// ---- subscription ---------------------------------------------------------------------------------------------------

TEST(ExploredExamples, SubscriptionOverSeveralRuns) {
  CrashExplorer explorer(billing::subscribe_workflow, {"ada", 15, 990, 0});
  explorer.setup([](TestEngine&) { billing::ledger = {}; });
  explorer.observe("billed", [](TestEngine&) { return std::to_string(billing::ledger.cents); });
  const auto report = explore(std::move(explorer));
  EXPECT_TRUE(report.ok()) << report;
  EXPECT_TRUE(report.warnings.empty()) << report;
  EXPECT_EQ(report.outcome, "succeeded 14850");
}

// ---- migration ------------------------------------------------------------------------------------------------------

// The code is replaced after a day; whichever worker dies, the run goes on the way it began.
TEST(ExploredExamples, MigrationOfARunThatIsUnderWay) {
  std::optional<Worker> old_worker;
  CrashExplorer explorer(migration::v1, "lamp");
  explorer.setup(
      [&](TestEngine& kit) { old_worker = kit->start_worker(migration::tasks().add(migration::v1)).value(); });
  explorer.script([&](TestEngine& kit, WorkflowHandle<std::string>&) {
    kit.advance(24h);
    old_worker->stop();
    kit->start_worker(migration::tasks().add(migration::v2)).value();
  });
  for (const char* name : {"pack", "insure", "send"}) explorer.repeatable(name);
  const auto report = explore(std::move(explorer));
  EXPECT_TRUE(report.ok()) << report;
  EXPECT_EQ(report.outcome, R"(succeeded "sent lamp")");
}

TEST(ExploredExamples, MigrationOfANewRun) {
  CrashExplorer explorer(migration::v2, "vase");
  explorer.worker(migration::tasks());
  for (const char* name : {"pack", "insure", "send"}) explorer.repeatable(name);
  const auto report = explore(std::move(explorer));
  EXPECT_TRUE(report.ok()) << report;
  EXPECT_EQ(report.outcome, R"(succeeded "insured vase, sent vase")");
}

}  // namespace
}  // namespace semel::testing
