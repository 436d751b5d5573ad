#include "engine/threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>

#include "base/clock.h"
#include "engine/threads_runs.h"
#include "store/memory/memory_store.h"
#include "testing/fault_store.h"

namespace semel::engine {
namespace {

// Clocks outlive the stores that use them.
base::SystemClock& test_clock() {
  static base::SystemClock clock;
  return clock;
}

std::unique_ptr<store::Store> new_store() { return std::make_unique<store::memory::MemoryStore>(test_clock()); }

EnqueueRequest task(std::string id = "") {
  EnqueueRequest request;
  request.name = "work";
  if (!id.empty()) request.task_id = std::move(id);
  return request;
}

Result<EnqueueOutcome> enqueue(Runtime& runtime, EnqueueRequest request) {
  return runtime.wait<EnqueueOutcome>(
      [&](auto done) { runtime.engine().enqueue(std::move(request), std::move(done)); });
}

Result<store::ExecutionView> result_of(Runtime& runtime, ExecutionId id) {
  return runtime.wait<store::ExecutionView>([&](auto done) {
    runtime.engine().wait_result("default", id, test_clock().now() + Duration{30'000'000}, std::move(done));
  });
}

std::shared_ptr<HandlerTable> table_of(Handler handler) {
  auto table = std::make_shared<HandlerTable>();
  table->add("work", std::move(handler));
  return table;
}

std::unique_ptr<WorkerPool> start_worker(Runtime& runtime, std::shared_ptr<HandlerTable> handlers,
                                         const WorkerOptions& options) {
  return runtime.start_worker(std::move(handlers), options).value();
}

TEST(Runtime, EnqueueRunAndResult) {
  const auto owner = Runtime::open(new_store(), {}).value();
  Runtime& runtime = *owner;
  auto pool = start_worker(
      runtime, table_of([](engine::Run& run) { return HandlerOutcome::success(run.task.payload.args); }), {});
  auto request = task("a");
  request.args = "{\"n\":1}";
  const auto id = enqueue(runtime, request).value().execution_id;
  auto view = result_of(runtime, id);
  ASSERT_TRUE(view.ok()) << view.error().message;
  EXPECT_EQ(view->execution.status, Status::succeeded);
  EXPECT_EQ(view->execution.result, "{\"n\":1}");
  pool->stop();
}

// D8 and the first sentence of the contract: one id, many callers, one execution.
TEST(Runtime, SixtyFourThreadsWithOneIdMakeOneExecution) {
  for (const std::size_t max_batch : {std::size_t{1}, std::size_t{1000}}) {
    RuntimeOptions options;
    options.writer.max_batch = max_batch;
    const auto owner = Runtime::open(new_store(), options).value();
    Runtime& runtime = *owner;
    std::atomic<int> created{0};
    std::vector<std::thread> callers;
    for (int i = 0; i < 64; ++i)
      callers.emplace_back([&] {
        for (int n = 0; n < 20; ++n) created += enqueue(runtime, task("one")).value().created ? 1 : 0;
      });
    for (auto& caller : callers) caller.join();
    EXPECT_EQ(created.load(), 1);
    EXPECT_EQ(runtime.store().execution_list({})->size(), 1u);
  }
}

TEST(Runtime, ManyTasksThroughManyHandlersEachOnce) {
  const auto owner = Runtime::open(new_store(), {}).value();
  Runtime& runtime = *owner;
  std::atomic<int> runs{0};
  std::promise<void> all_ran;
  constexpr int kTasks = 2000;
  WorkerOptions options;
  options.slots = 8;
  auto pool = start_worker(runtime, table_of([&](engine::Run&) {
                             if (runs.fetch_add(1) + 1 == kTasks) all_ran.set_value();
                             return HandlerOutcome::success();
                           }),
                           options);
  const std::vector<EnqueueRequest> batch(1000, task());
  for (int i = 0; i < kTasks / 1000; ++i)
    runtime.wait<std::vector<Result<EnqueueOutcome>>>([&](auto done) { runtime.engine().enqueue_batch(batch, done); })
        .value();
  all_ran.get_future().wait();
  pool->stop();
  EXPECT_EQ(runs.load(), kTasks);
  EXPECT_EQ(pool->stats().succeeded, static_cast<std::uint64_t>(kTasks));
  EXPECT_TRUE(runtime.store().verify()->empty());
}

void enqueue_many(Runtime& runtime, int count) {
  runtime
      .wait<std::vector<Result<EnqueueOutcome>>>([&](auto done) {
        runtime.engine().enqueue_batch(std::vector<EnqueueRequest>(static_cast<std::size_t>(count), task()), done);
      })
      .value();
}

TEST(Runtime, HandlersThatWaitRunInAllSlotsAtOnce) {
  constexpr int kSlots = 40;
  const auto owner = Runtime::open(new_store(), {}).value();
  Runtime& runtime = *owner;
  std::atomic<int> inside{0};
  std::promise<void> all_inside;
  auto all = all_inside.get_future().share();
  WorkerOptions options;
  options.slots = kSlots;
  auto pool = start_worker(runtime, table_of([&, all](engine::Run&) {
                             if (inside.fetch_add(1) + 1 == kSlots) all_inside.set_value();
                             all.wait();
                             return HandlerOutcome::success();
                           }),
                           options);
  enqueue_many(runtime, kSlots);
  EXPECT_EQ(all.wait_for(std::chrono::seconds(30)), std::future_status::ready) << inside.load() << " at once";
  if (inside.load() < kSlots) all_inside.set_value();
  pool->stop();
}

TEST(RunPool, BodiesThatWaitRunAllAtOnceAndLeaveAThreadForWorkflowCode) {
  constexpr int kBodies = 20;
  RunPool pool(kBodies);
  ASSERT_TRUE(pool.start());
  std::atomic<int> inside{0};
  std::promise<void> all_inside, let_go;
  auto released = let_go.get_future().share();
  for (int i = 0; i < kBodies; ++i)
    pool.call([&, released] {
      if (inside.fetch_add(1) + 1 == kBodies) all_inside.set_value();
      released.wait();
    });
  EXPECT_EQ(all_inside.get_future().wait_for(std::chrono::seconds(30)), std::future_status::ready) << inside.load();
  std::promise<void> decided;
  pool.decide([&] { decided.set_value(); });
  EXPECT_EQ(decided.get_future().wait_for(std::chrono::seconds(30)), std::future_status::ready);
  let_go.set_value();
  pool.close();
}

// Short handlers are taken several at a time; the ones behind a handler that waits are given to others.
TEST(Runtime, AHandlerThatWaitsHoldsUpNobodyElse) {
  const auto owner = Runtime::open(new_store(), {}).value();
  Runtime& runtime = *owner;
  std::atomic<int> ran{0};
  std::promise<void> others_ran;
  auto ready = others_ran.get_future().share();
  constexpr int kWarm = 2000, kTasks = 200;
  WorkerOptions options;
  options.slots = kTasks;
  auto pool = start_worker(runtime, table_of([&, ready](engine::Run&) {
                             const int number = ran.fetch_add(1) + 1;
                             if (number == kWarm + 1) ready.wait();
                             if (number == kWarm + kTasks) others_ran.set_value();
                             return HandlerOutcome::success();
                           }),
                           options);
  enqueue_many(runtime, 1000);
  enqueue_many(runtime, 1000);
  while (pool->stats().succeeded < kWarm) std::this_thread::yield();
  enqueue_many(runtime, kTasks);
  EXPECT_EQ(ready.wait_for(std::chrono::seconds(30)), std::future_status::ready) << ran.load() - kWarm << " began";
  if (ran.load() < kWarm + kTasks) others_ran.set_value();
  pool->stop();
  EXPECT_EQ(ran.load(), kWarm + kTasks);
}

// D24
TEST(Runtime, StopLetsHandlersEndAndGivesTheRestBack) {
  const auto owner = Runtime::open(new_store(), {}).value();
  Runtime& runtime = *owner;
  std::promise<void> started, go_on;
  auto released = go_on.get_future().share();
  std::atomic<bool> first{true};
  WorkerOptions options;
  options.slots = 1;
  auto pool = start_worker(runtime, table_of([&, released](engine::Run&) {
                             if (first.exchange(false)) started.set_value();
                             released.wait();
                             return HandlerOutcome::success("\"done\"");
                           }),
                           options);
  const auto id = enqueue(runtime, task("a")).value().execution_id;
  started.get_future().wait();
  const auto other = enqueue(runtime, task("b")).value().execution_id;
  std::thread stopper([&] { pool->stop(); });
  go_on.set_value();
  stopper.join();
  EXPECT_EQ(runtime.engine().get("default", id)->execution.result, "\"done\"");
  const auto row = runtime.engine().get("default", other)->execution;
  EXPECT_TRUE(row.status == Status::queued || row.status == Status::succeeded);
}

TEST(Runtime, HandlerThatNeverEndsIsToldAndThenLeftBehind) {
  std::promise<void> let_go;
  auto gone = let_go.get_future().share();
  std::promise<void> started, ended;
  std::atomic<bool> told{false};
  {
    const auto owner = Runtime::open(new_store(), {}).value();
    Runtime& runtime = *owner;
    auto pool = start_worker(runtime, table_of([&, gone](engine::Run& run) {
                               run.on_stop([&] { told = true; });
                               started.set_value();
                               gone.wait();
                               ended.set_value();
                               return HandlerOutcome::success();
                             }),
                             {});
    enqueue(runtime, task("a")).value();
    started.get_future().wait();
    pool->stop(Duration{60'000});
    EXPECT_TRUE(told.load());
  }
  let_go.set_value();
  ended.get_future().wait();
}

TEST(Runtime, AHandlerThreadThatLooksOutForALoneTaskRunsItAndSleepsAgainWhenNoneComes) {
  const auto memory = new_store();
  auto owned = std::make_unique<testing::FaultStore>(*memory);
  std::atomic<int> told{0};
  std::atomic<std::int64_t> sync_micros{0};
  owned->choose = [&](const store::Batch& batch) {
    if (batch.syncing) {
      ++told;
      batch.syncing();
      for (const auto end = base::steady_micros() + sync_micros; base::steady_micros() < end;)
        std::this_thread::yield();
    }
    return testing::Fault::none;
  };
  const auto owner = Runtime::open(std::move(owned), {}).value();
  Runtime& runtime = *owner;
  std::atomic<int> ran{0};
  WorkerOptions options;
  options.slots = 2;
  auto pool = start_worker(runtime, table_of([&](engine::Run&) {
                             ++ran;
                             return HandlerOutcome::success("1");
                           }),
                           options);
  enqueue(runtime, task()).value();  // makes the lane known
  const auto warmed = enqueue(runtime, task()).value().execution_id;
  ASSERT_TRUE(result_of(runtime, warmed).ok());
  // Shorter than it looks out for, about as long, longer: each task runs once, whoever is awake.
  for (const int micros : {0, 100, 1000, 3000}) {
    sync_micros = micros;
    for (int i = 0; i < 20; ++i) {
      const auto id = enqueue(runtime, task()).value().execution_id;
      auto view = result_of(runtime, id);
      ASSERT_TRUE(view.ok()) << view.error().message;
      EXPECT_EQ(view->execution.status, Status::succeeded);
    }
  }
  EXPECT_GT(told.load(), 0);
  EXPECT_EQ(ran.load(), 82);
  pool->stop();
}

TEST(Runtime, DeliverRunsTheHandlerOnTheCallersThread) {
  const auto owner = Runtime::open(new_store(), {}).value();
  Runtime& runtime = *owner;
  enqueue(runtime, task("job")).value();
  DeliverRequest request;
  request.job_id = "job";
  request.worker = "broker";
  std::thread::id ran_on;
  auto first = runtime.deliver(request, [&](engine::Run&) {
    ran_on = std::this_thread::get_id();
    return HandlerOutcome::success("3");
  });
  ASSERT_TRUE(first.ok()) << first.error().message;
  EXPECT_EQ(first->outcome, core::DeliveryOutcome::claimed);
  EXPECT_EQ(first->execution.execution.status, Status::succeeded);
  EXPECT_EQ(ran_on, std::this_thread::get_id());
  auto second = runtime.deliver(request, [](engine::Run&) { return HandlerOutcome::success("4"); });
  EXPECT_EQ(second->outcome, core::DeliveryOutcome::no_op_terminal);
  EXPECT_EQ(second->execution.execution.result, "3");
}

TEST(Runtime, StoppedRuntimeRefusesAndAnswersWaiters) {
  const auto owner = Runtime::open(new_store(), {}).value();
  Runtime& runtime = *owner;
  const auto id = enqueue(runtime, task("a")).value().execution_id;
  std::promise<ErrorCode> waited;
  runtime.engine().wait_result("default", id, test_clock().now() + Duration{60'000'000},
                               [&](Result<store::ExecutionView> view) { waited.set_value(view.error().code); });
  runtime.stop();
  EXPECT_EQ(waited.get_future().get(), ErrorCode::ShuttingDown);
  EXPECT_EQ(enqueue(runtime, task("b")).error().code, ErrorCode::ShuttingDown);
}

}  // namespace
}  // namespace semel::engine
