// Workflows in the test kit: started, driven, crashed.
#include <gtest/gtest.h>

#include "semel/semel.h"
#include "semel/testing.h"

namespace semel::testing {
namespace {

using namespace std::chrono_literals;

Workflow<int> sums(WorkflowContext& ctx, int n) {
  int sum = 0;
  for (int i = 1; i <= n; ++i) {
    auto part = ctx.run("part", [](int value) { return value; }, i);
    sum += co_await part;
  }
  co_return sum;
}
const auto sums_workflow = workflow("sums", sums);

const auto double_it = task("double", [](const int& n) { return 2 * n; });

Workflow<int> steps(WorkflowContext& ctx, int n) {
  auto first = ctx.execute(double_it, n);
  auto second = ctx.execute(double_it, co_await first);
  auto nap = ctx.sleep(std::chrono::days(30));
  co_await nap;
  co_return co_await second;
}
const auto steps_workflow = workflow("steps", steps);

TEST(WorkflowKit, LocalRunsAreRecordedOneByOne) {
  TestEngine kit;
  auto worker = kit->start_worker(WorkerOptions().add(sums_workflow)).value();
  auto handle = kit->start(sums_workflow, "s-1", 5).value();
  EXPECT_EQ(handle.result().value(), 15);
  EXPECT_TRUE(kit.verify().empty());
}

TEST(WorkflowKit, StepsAreTasksAndAMonthPassesInAMoment) {
  TestEngine kit;
  auto worker = kit->start_worker(WorkerOptions().add(steps_workflow).add(double_it)).value();
  auto handle = kit->start(steps_workflow, "s-1", 5).value();
  kit.run_until_idle();
  EXPECT_EQ(handle.status().value(), Status::suspended);
  kit.advance(std::chrono::days(31));
  EXPECT_EQ(handle.result().value(), 20);
  EXPECT_EQ(kit.calls("double"), 2);
  EXPECT_TRUE(kit.verify().empty());
}

}  // namespace
}  // namespace semel::testing
