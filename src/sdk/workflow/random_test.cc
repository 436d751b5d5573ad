// Workflows that do whatever chance tells them, in a world that answers in any order, killed after every event.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sdk/workflow/test_driver.h"
#include "semel/workflow.h"

namespace semel::sdk {
namespace {

struct Bag {
  std::vector<Future<int>> futures;
  std::vector<Spawned<int>> parts;
  int sum = 0;
};

Part<int> wander(WorkflowContext& ctx, int depth, int length);

Part<int> one_act(WorkflowContext& ctx, int depth, std::shared_ptr<Bag> bag) {
  auto& open = bag->futures;
  const auto pick = [&] { return open[ctx.random() % open.size()]; };
  const int act = static_cast<int>(ctx.random() % 16);
  if (act == 0) co_return co_await ctx.execute<int>("good");
  if (act == 1) co_return co_await ctx.execute<int>("bad");
  if (act == 2) open.push_back(ctx.execute<int>("good", 0, StepOptions().wait_for_end(ctx.random() % 2 == 0)));
  if (act == 3) open.push_back(ctx.child<int>("good"));
  if (act == 4) open.push_back(ctx.signal<int>("number"));
  if (act == 5) co_await ctx.sleep(Duration(ctx.random() % 100'000'000));
  if (act == 6) co_return co_await ctx.run("local", [](int n) { return n % 100 + 1; }, bag->sum);
  if (act == 7 && depth > 0) co_return co_await wander(ctx, depth - 1, 4);
  if (act == 8 && depth > 0) bag->parts.push_back(ctx.spawn(wander(ctx, depth - 1, 4)));
  if (act == 9 && !bag->parts.empty()) co_return co_await bag->parts.back();
  if (act == 10) {
    const CancelShield shield(ctx);
    co_return co_await ctx.execute<int>("good");
  }
  if (act == 11) ctx.patched("p" + std::to_string(ctx.random() % 4)) ? ctx.set_state(bag->sum) : void();
  if (open.empty()) co_return 1;
  if (act == 12) co_return static_cast<int>(co_await any(open));
  if (act == 13) co_return (co_await all(open)).back();
  if (act == 14) co_return co_await with_timeout(pick(), kSecond * 30);
  if (act == 15) pick().cancel();
  co_return 0;
}

Part<int> wander(WorkflowContext& ctx, int depth, int length) {
  auto bag = std::make_shared<Bag>();
  for (int i = 0; i < length; ++i) {
    try {
      bag->sum += co_await one_act(ctx, depth, bag);
    } catch (const TaskFailed&) {
      bag->sum += 1'000;
    } catch (const TimedOut&) {
      bag->sum += 10'000;
    } catch (const Cancelled&) {
      bag->sum += 100'000;
    }
  }
  co_return bag->sum;
}

Workflow<int> wanders(WorkflowContext& ctx) { co_return co_await wander(ctx, 2, 12); }

TEST(RandomWorkflow, ComesToTheSameEndFromEveryBoundary) {
  std::size_t events = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Scenario scenario{"random", workflow("scenario", wanders).starter()};
    scenario.seed = seed * 0x9e3779b97f4a7c15u;
    scenario.answers["bad"] = {EventKind::step_failed, R"({"name":"Bad","message":"no"})"};
    for (int i = 0; i < 6; ++i) scenario.messages.push_back({0, signal("number", std::to_string(i))});
    scenario.messages.push_back({0, cancel_request()});
    const History whole = run_live(scenario);
    ASSERT_TRUE(core::is_closing(whole.back().kind)) << testing::PrintToString(whole);
    survives_every_crash(scenario, whole);
    if (testing::Test::HasFailure()) return;
    events += whole.size();
  }
  EXPECT_GT(events, 3000u);
}

}  // namespace
}  // namespace semel::sdk
