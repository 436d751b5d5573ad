// Step stubs, and the idempotency keys of calls.
#include <gtest/gtest.h>

#include "semel/semel.h"
#include "semel/testing.h"

namespace semel::testing {
namespace {

using namespace std::chrono_literals;

const TaskRef<int, int> charge("charge");  // its code is elsewhere

Workflow<int> pays(WorkflowContext& ctx, int amount) {
  auto first = ctx.execute(charge, amount);
  auto second = ctx.execute(charge, co_await first);
  co_return co_await second;
}
const auto pays_workflow = workflow("pays", pays);

TEST(Stub, AnswersATaskThatNoWorkerKnows) {
  TestEngine kit;
  kit.stub(charge, [](const int& amount) { return amount + 1; });
  auto worker = kit->start_worker(WorkerOptions().add(pays_workflow)).value();
  auto handle = kit->start(pays_workflow, "p-1", 40).value();
  EXPECT_EQ(handle.result().value(), 42);
  EXPECT_EQ(kit.calls("charge"), 2);
  EXPECT_TRUE(kit.verify().empty());
}

TEST(Stub, ReplacesTheRealFunctionAlsoInARunningWorker) {
  TestEngine kit;
  const auto real = task("charge", [](const int&) { return -1; });
  auto worker = kit->start_worker(WorkerOptions().add(real)).value();
  EXPECT_EQ(kit->enqueue(real, 1).value().result().value(), -1);
  kit.stub("charge", [](TaskContext& context, const int& n) { return n * 10 + context.attempt(); });
  EXPECT_EQ(kit->enqueue(real, 1).value().result().value(), 11);
  kit.stub(real, [] { return 5; });
  EXPECT_EQ(kit->enqueue(real, 1).value().result().value(), 5);
}

TEST(Stub, FailuresAreRetriedLikeAnyAttempt) {
  TestEngine kit;
  int calls = 0;
  kit.stub(charge, [&](const int& amount) {
    if (++calls == 1) throw TaskError("Declined", "try later");
    return amount;
  });
  kit.crash_next("charge");
  auto worker = kit->start_worker(WorkerOptions().add(pays_workflow)).value();
  auto handle = kit->start(pays_workflow, "p-1", 7).value();
  kit.advance(10min);
  EXPECT_EQ(handle.result().value(), 7);
  EXPECT_EQ(kit.calls("charge"), 3);
}

// ---- keys -----------------------------------------------------------------------------------------------------------

Workflow<std::vector<std::string>> keys(WorkflowContext& ctx) {
  const auto same = [](std::string key) { return key; };
  const std::string unused = ctx.idempotency_key();
  auto first = ctx.run("first", same, ctx.idempotency_key());
  auto second = ctx.run("second", same, ctx.idempotency_key());
  auto nap = ctx.sleep(1h);
  co_await nap;
  auto third = ctx.run("third", same, ctx.idempotency_key());
  co_return std::vector<std::string>{unused, co_await first, co_await second, co_await third};
}

TEST(IdempotencyKey, IsTheRunAndTheNumberOfTheNextCall) {
  TestEngine kit;
  const auto keys_workflow = workflow("keys", keys);
  auto worker = kit->start_worker(WorkerOptions().add(keys_workflow)).value();
  auto handle = kit->start(keys_workflow, "k-1").value();
  kit.advance(2h);
  const std::string run = handle.run_id().to_string();
  EXPECT_EQ(handle.result().value(), (std::vector<std::string>{run + ":1", run + ":1", run + ":2", run + ":4"}));
}

}  // namespace
}  // namespace semel::testing
