// End to end with threads and a SQLite file: what survives, what shutdown waits for, where callbacks run.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <atomic>
#include <filesystem>
#include <future>
#include <mutex>
#include <thread>

#include "semel/semel.h"

namespace semel {
namespace {

using namespace std::chrono_literals;

const auto kDouble = task("double", [](const std::int64_t& n) { return n * 2; });

class Embedded : public ::testing::Test {
 protected:
  Embedded() {
    std::string pattern = (std::filesystem::temp_directory_path() / "semel-sdk.XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  ~Embedded() override { std::filesystem::remove_all(folder_); }
  Engine open(const Options& options = {}) {
    return Engine::open("sqlite:" + (folder_ / "app.db").string(), options).value();
  }
  std::filesystem::path folder_;
};

TEST_F(Embedded, AcknowledgedTaskSurvivesReopening) {
  ExecutionId id;
  {
    Engine engine = open();
    id = engine.enqueue(kDouble, 21, EnqueueOptions().task_id("a")).value().execution_id();
  }
  Engine engine = open();
  auto worker = engine.start_worker(WorkerOptions().add(kDouble)).value();
  const auto handle = engine.find(kDouble, "a").value();
  EXPECT_EQ(handle.execution_id(), id);
  EXPECT_EQ(handle.result().value(), 42);
  EXPECT_FALSE(engine.enqueue(kDouble, 21, EnqueueOptions().task_id("a")).value().created());
}

TEST_F(Embedded, OneIdFromManyThreadsIsOneExecution) {
  Engine engine = open();
  std::atomic<int> created{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 16; ++i) {
    threads.emplace_back([&] {
      const auto handle = engine.enqueue(kDouble, 1, EnqueueOptions().task_id("same")).value();
      if (handle.created()) ++created;
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(created, 1);
}

TEST_F(Embedded, ShutdownWaitsForRunningHandlersAndRecordsThem) {
  std::promise<void> started, go_on;
  const auto slow = task("slow", [&] {
    started.set_value();
    go_on.get_future().wait();
    return 7;
  });
  {
    Engine engine = open();
    auto worker = engine.start_worker(WorkerOptions().add(slow)).value();
    engine.enqueue(slow, EnqueueOptions().task_id("s")).value();
    started.get_future().wait();
    std::thread stopper([&] { engine.shutdown(30s); });
    go_on.set_value();
    stopper.join();
    EXPECT_EQ(engine.enqueue(slow).error().code, ErrorCode::ShuttingDown);
    EXPECT_EQ(worker.metrics().succeeded, 1u);
  }
  EXPECT_EQ(open().get_task("s").value().status, Status::succeeded);
}

TEST_F(Embedded, ShutdownWaitsForDeliveries) {
  std::promise<void> started, go_on;
  const auto slow = task("slow", [&] {
    started.set_value();
    go_on.get_future().wait();
    return 7;
  });
  Engine engine = open();
  engine.enqueue(slow, EnqueueOptions().task_id("job")).value();
  std::thread consumer([&] {
    const auto delivery = engine.deliver("job", "consumer", slow);
    EXPECT_EQ(delivery.value().execution.status, Status::succeeded);
  });
  started.get_future().wait();
  std::thread stopper([&] { engine.shutdown(30s); });
  go_on.set_value();
  consumer.join();
  stopper.join();
}

TEST_F(Embedded, StoppedHandlerGivesItsAttemptBack) {  // D24
  std::promise<void> started;
  const auto patient = task("patient", [&](TaskContext& context) {
    std::promise<void> stop;
    context.on_stop([&] { stop.set_value(); });
    started.set_value();
    stop.get_future().wait();
    EXPECT_EQ(context.stop_reason(), StopReason::shutdown);
    context.throw_if_stopped();
  });
  {
    Engine engine = open();
    auto worker = engine.start_worker(WorkerOptions().add(patient)).value();
    engine.enqueue(patient, EnqueueOptions().task_id("p")).value();
    started.get_future().wait();
    engine.shutdown(60ms);
  }
  const auto row = open().get_task("p").value();
  EXPECT_EQ(row.status, Status::queued);
  EXPECT_EQ(row.attempt, 0);
}

TEST_F(Embedded, ResultForAnswersNotReadyWhenItIsNotOver) {
  Engine engine = open();
  const auto handle = engine.enqueue(kDouble, 1, EnqueueOptions().delay(1h)).value();
  const auto early = handle.result_for(5ms);
  ASSERT_FALSE(early.ok());
  EXPECT_EQ(early.error().code, ErrorCode::NotReady);
  EXPECT_NE(early.error().message.find("still queued"), std::string::npos);
}

TEST_F(Embedded, CallbacksMayUseTheEngine) {
  Engine engine = open();
  auto worker = engine.start_worker(WorkerOptions().add(kDouble)).value();
  std::promise<std::int64_t> answer;
  engine.enqueue_async(kDouble, 5, {}, [&](Result<Handle<std::int64_t>> handle) {
    const auto second = engine.enqueue(kDouble, handle.value().result().value()).value();
    second.on_done([&](Result<std::int64_t> result) { answer.set_value(result.value()); });
  });
  EXPECT_EQ(answer.get_future().get(), 20);
}

TEST_F(Embedded, CallbacksRunWhereTheProgramWants) {
  std::mutex mutex;
  std::vector<std::function<void()>> posted;
  std::promise<void> arrived;
  Engine engine = open(Options().callbacks([&](std::function<void()> call) {
    const std::lock_guard lock(mutex);
    posted.push_back(std::move(call));
    arrived.set_value();
  }));
  std::thread::id where;
  engine.enqueue_async(kDouble, 5, {}, [&](Result<Handle<std::int64_t>>) { where = std::this_thread::get_id(); });
  arrived.get_future().wait();
  posted.front()();
  EXPECT_EQ(where, std::this_thread::get_id());
}

TEST_F(Embedded, HandlerLogLinesCarryTheTask) {
  std::mutex mutex;
  std::string line;
  const auto talk = task("talk", [](TaskContext& context) { context.log(LogLevel::info, "hello", {{"to", "world"}}); });
  Engine engine = open(Options().log([&](LogLevel, std::string_view message, std::span<const LogField> fields) {
    const std::lock_guard lock(mutex);
    if (message != "hello") return;
    for (const LogField& field : fields) {
      if (field.key != "execution_id") line += std::string(field.key) + "=" + std::string(field.value) + " ";
    }
  }));
  auto worker = engine.start_worker(WorkerOptions().add(talk)).value();
  engine.enqueue(talk, EnqueueOptions().task_id("t-1")).value().get();
  const std::lock_guard lock(mutex);
  EXPECT_EQ(line, "task=talk task_id=t-1 attempt=1 to=world ");
}

TEST_F(Embedded, TransactionIsUndoneWhenItsFunctionThrows) {
  Engine engine = open();
  const auto thrown = engine.enqueue_within([](sqlite3*) -> Result<void> { throw std::runtime_error("no"); }, kDouble,
                                            1, EnqueueOptions().task_id("x"));
  ASSERT_FALSE(thrown.ok());
  EXPECT_NE(thrown.error().message.find("no"), std::string::npos);
  EXPECT_EQ(engine.get_task("x").error().code, ErrorCode::ExecutionNotFound);
  EXPECT_TRUE(engine.enqueue_within([](sqlite3*) { return Result<void>(); }, kDouble, 1).ok());
}

TEST_F(Embedded, MetricsCountWhatHappened) {
  Engine engine = open();
  auto worker = engine.start_worker(WorkerOptions().add(kDouble)).value();
  engine.enqueue(kDouble, 1).value().result().value();
  worker.stop();
  const auto metrics = engine.metrics();
  EXPECT_GE(metrics.commits, 2u);
  EXPECT_EQ(metrics.workers.claimed, 1u);
  EXPECT_EQ(metrics.workers.succeeded, 1u);
}

TEST_F(Embedded, ExplainCountsDuplicates) {
  Engine engine = open();
  for (int i = 0; i < 3; ++i) engine.enqueue(kDouble, 1, EnqueueOptions().task_id("e").delay(1h)).value();
  const auto explained = engine.explain("e").value();
  EXPECT_EQ(explained.waits_for, "not_due");
  EXPECT_TRUE(explained.execution.has_value());
  EXPECT_FALSE(explained.summary.empty());
}

}  // namespace
}  // namespace semel
