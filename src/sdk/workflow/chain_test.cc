// Signals and updates over all runs of a chain: none is lost, none is counted twice.
#include <gtest/gtest.h>

#include <stdlib.h>

#include <atomic>
#include <filesystem>
#include <map>
#include <mutex>
#include <thread>

#include "semel/semel.h"

namespace semel {
namespace {

using namespace std::chrono_literals;

Workflow<int> drains(WorkflowContext& ctx) {
  int handled = 0;
  for (auto next = ctx.signal<int>("s"); next.ready(); next = ctx.signal<int>("s")) {
    co_await next;
    ++handled;
  }
  co_return handled;
}
const auto drains_workflow = workflow("drains", drains);

Workflow<int> drains_after_go(WorkflowContext& ctx) {
  auto go = ctx.signal<int>("go");
  co_await go;
  int handled = 0;
  for (auto next = ctx.signal<int>("s"); next.ready(); next = ctx.signal<int>("s")) {
    co_await next;
    ++handled;
  }
  auto counted = ctx.run("count", [handled] { return handled; });
  co_return co_await counted;
}
const auto drains_after_go_workflow = workflow("drains_after_go", drains_after_go);

// Every payment is a run of its own.
Workflow<int> till(WorkflowContext& ctx, int total) {
  auto pay = ctx.signal<int>("pay");
  const int amount = co_await pay;
  if (amount == 0) co_return total;
  auto next = ctx.continue_as_new(total + amount);
  co_return co_await next;
}
const auto till_workflow = workflow("till", till);

std::atomic<int> attempts{0}, noted{0};
Workflow<std::string> fails_once(WorkflowContext& ctx) {
  ctx.on_update("note", [](int n) {
    ++noted;
    return n + noted.load();
  });
  auto a = ctx.signal<std::string>("a");
  std::string heard = co_await a;
  auto b = ctx.signal<std::string>("b");
  heard += co_await b;
  auto attempt = ctx.run("attempt", [] { return ++attempts; });
  if (co_await attempt == 1) throw TaskError("Unlucky", "the first time");
  co_return heard;
}
const auto fails_once_workflow = workflow("fails_once", fails_once);

Part<int> tenfold(WorkflowContext& ctx, int n, bool at_once) {
  if (!at_once) {
    auto never = ctx.signal<int>("never");
    co_await never;
  }
  co_return n * 10;
}

// Only the second run answers.
Workflow<int> answers_late(WorkflowContext& ctx, int round) {
  ctx.on_update("ask", [round](WorkflowContext& inner, int n) { return tenfold(inner, n, round == 1); });
  auto next = ctx.signal<int>("next");
  co_await next;
  if (round == 1) co_return 0;
  auto again = ctx.continue_as_new(1);
  co_return co_await again;
}
const auto answers_late_workflow = workflow("answers_late", answers_late);

Workflow<int> counter(WorkflowContext& ctx, int total) {
  ctx.on_update("add", [&total](int n) { return total += n; });
  auto tick = ctx.signal<int>("tick");
  if (co_await tick == 0) co_return total;
  auto next = ctx.continue_as_new(total);
  co_return co_await next;
}
const auto counter_workflow = workflow("counter", counter);

class ChainTest : public ::testing::Test {
 protected:
  ChainTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "semel-chain.XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    engine_.emplace(Engine::open("sqlite:" + (folder_ / "app.db").string()).value());
  }
  ~ChainTest() override {
    worker_.reset();
    engine_.reset();
    std::filesystem::remove_all(folder_);
  }
  void work() {
    worker_.emplace(engine_
                        ->start_worker(WorkerOptions()
                                           .add(drains_workflow)
                                           .add(drains_after_go_workflow)
                                           .add(till_workflow)
                                           .add(fails_once_workflow)
                                           .add(answers_late_workflow)
                                           .add(counter_workflow))
                        .value());
  }
  // `run` is one that goes on meanwhile.
  template <class Condition>
  static bool comes_true(const RawHandle& run, Condition condition) {
    for (int i = 0; i < 2000 && !condition(); ++i) (void)run.wait(5ms);
    return condition();
  }

  std::filesystem::path folder_;
  std::optional<Engine> engine_;
  std::optional<Worker> worker_;
};

// F2
TEST_F(ChainTest, WhatWasSentBeforeTheCodeGoesOnIsThereWhenItLooks) {
  auto at_start = engine_->start(drains_workflow, "d").value();
  auto after_go = engine_->start(drains_after_go_workflow, "g").value();
  after_go.signal("go", 1).value();
  for (int i = 0; i < 3; ++i) {
    at_start.signal("s", i).value();
    after_go.signal("s", i).value();
  }
  work();
  EXPECT_EQ(at_start.result().value(), 3);
  EXPECT_EQ(after_go.result().value(), 3);
}

// F2: the run ends whenever it has nothing to do, and is started again.
TEST_F(ChainTest, EverySignalThatWasAcceptedIsHandled) {
  constexpr int kThreads = 4, kSignals = 100;
  work();
  std::mutex mutex;
  std::map<ExecutionId, WorkflowHandle<int>> runs;
  std::atomic<int> accepted{0};
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t)
      threads.emplace_back([&] {
        for (int i = 0; i < kSignals; ++i) {
          auto run =
              engine_->signal_with_start(drains_workflow, "d", None{}, "s", i, {}, StartOptions().reuse(Reuse::always));
          if (!run) continue;
          ++accepted;
          const std::lock_guard lock(mutex);
          runs.emplace(run->run_id(), *run);
        }
      });
  }
  int handled = 0;
  for (auto& [id, run] : runs) handled += run.result().value();
  EXPECT_EQ(accepted.load(), kThreads * kSignals);
  EXPECT_EQ(handled, accepted.load());
}

// F1
TEST_F(ChainTest, ASignalCountsOnceHoweverOftenTheRunContinued) {
  work();
  auto run = engine_->start(till_workflow, "t", 0).value();
  EXPECT_TRUE(run.signal("pay", 10, "click-1").value());
  ASSERT_TRUE(comes_true(run, [&] { return engine_->find(till_workflow, "t").value().run_id() != run.run_id(); }));
  EXPECT_FALSE(run.signal("pay", 10, "click-1").value());
  EXPECT_TRUE(run.signal("pay", 5, "click-2").value());
  EXPECT_FALSE(run.signal("pay", 5, "click-2").value());
  EXPECT_TRUE(run.signal("pay", 0, "close").value());
  EXPECT_EQ(run.result().value(), 15);
}

// F1
TEST_F(ChainTest, ARetriedRunHearsItsSignalsAgainAndAnswersItsUpdatesOnce) {
  attempts = noted = 0;
  work();
  auto run = engine_
                 ->start(fails_once_workflow, "f",
                         StartOptions().max_attempts(2).retry(RetryPolicy().initial_interval(1ms).jitter(0)))
                 .value();
  EXPECT_TRUE(run.signal("a", std::string("x"), "d-1").value());
  EXPECT_EQ(run.update<int>("note", 10, UpdateOptions().id("u-1")).value(), 11);
  const int before = noted.load();
  EXPECT_TRUE(run.signal("b", std::string("y")).value());
  const auto status = [&] { return engine_->find(fails_once_workflow, "f").value().status().value(); };
  ASSERT_TRUE(comes_true(run, [&] { return status() == Status::succeeded; })) << "the second run waits for a signal";
  EXPECT_EQ(run.result().value(), "xy");
  EXPECT_EQ(attempts.load(), 2);
  EXPECT_FALSE(run.signal("a", std::string("x"), "d-1").value());
  EXPECT_EQ(run.update<int>("note", 10, UpdateOptions().id("u-1")).value(), 11) << "what was recorded";
  EXPECT_EQ(noted.load(), before) << "the second run was not told of it";
}

// F12
TEST_F(ChainTest, AnUpdateIsAnsweredByTheRunInWhichTheWorkflowGoesOn) {
  work();
  auto run = engine_->start(answers_late_workflow, "a", 0).value();
  Result<int> answer = make_error(ErrorCode::Internal, "none");
  std::jthread asks([&] { answer = run.update<int>("ask", 4, UpdateOptions().id("u-1")); });
  ASSERT_TRUE(comes_true(
      run, [&] { return engine_->export_history(run.run_id()).value().find("update_accepted") != std::string::npos; }));
  run.signal("next", 1).value();
  asks.join();
  EXPECT_EQ(answer.value(), 40);
  EXPECT_EQ(run.update<int>("ask", 9, UpdateOptions().id("u-1")).value(), 40) << "what was recorded";
  run.signal("next", 1).value();
  EXPECT_EQ(run.result().value(), 0);
  EXPECT_EQ(run.update<int>("ask", 9, UpdateOptions().id("u-1")).value(), 40);
}

// F12
TEST_F(ChainTest, UpdatesAreExecutedOnceEachWhileTheRunContinues) {
  constexpr int kThreads = 3, kUpdates = 15;
  work();
  auto run = engine_->start(counter_workflow, "c", 0).value();
  std::atomic<int> wrong{0};
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t)
      threads.emplace_back([&, t] {
        for (int i = 0; i < kUpdates; ++i) {
          const auto options = UpdateOptions().id("u-" + std::to_string(t) + "-" + std::to_string(i));
          const auto first = run.update<int>("add", 1, options);
          const auto second = run.update<int>("add", 1, options);
          if (!first || !second || *first != *second) ++wrong;
          run.signal("tick", 1).value();
        }
      });
  }
  EXPECT_EQ(wrong.load(), 0);
  run.signal("tick", 0).value();
  EXPECT_EQ(run.result().value(), kThreads * kUpdates);
}

}  // namespace
}  // namespace semel
