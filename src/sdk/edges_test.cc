// Where the system has no threads, where callbacks throw, and where a call would wait for itself.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <atomic>
#include <filesystem>
#include <future>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>

#include "base/failpoint.h"
#include "semel/semel.h"
#include "semel/testing.h"
#include "semel/workflow.h"

namespace semel {
namespace {

using namespace std::chrono_literals;

const auto kDouble = task("double", [](const int& n) { return n * 2; });

Workflow<int> twice(WorkflowContext& ctx, int n) {
  auto local = ctx.run("twice", [](int value) { return 2 * value; }, n);
  co_return co_await local;
}
const auto twice_workflow = workflow("twice", twice);

class Edges : public ::testing::Test {
 protected:
  Edges() {
    std::string pattern = (std::filesystem::temp_directory_path() / "semel-edges.XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  ~Edges() override {
    base::set_failpoint_hook(nullptr);
    std::filesystem::remove_all(folder_);
  }
  std::string url() const { return "sqlite:" + (folder_ / "app.db").string(); }
  Options logging() {
    return Options().log([this](LogLevel level, std::string_view message, std::span<const LogField> fields) {
      const std::lock_guard lock(mutex_);
      if (level != LogLevel::error) return;
      errors_ += std::string(message);
      for (const LogField& field : fields) errors_ += " " + std::string(field.key) + "=" + std::string(field.value);
      errors_ += "\n";
    });
  }
  std::string errors() {
    const std::lock_guard lock(mutex_);
    return errors_;
  }
  std::filesystem::path folder_;
  std::mutex mutex_;
  std::string errors_;
};

std::size_t threads_of_this_process() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return static_cast<std::size_t>(std::distance(begin(tasks), end(tasks)));
}

// The thread of this number is not to be had, and none after it.
void no_threads_from(int number) {
  const auto left = std::make_shared<std::atomic<int>>(number);
  base::set_failpoint_hook([left](std::string_view point) {
    if (point == "thread.start" && left->fetch_sub(1) <= 1)
      throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
  });
}

// F11, X12
TEST_F(Edges, WhicheverThreadIsMissingItIsAnAnswerAndNothingIsLeftBehind) {
  std::thread([] {}).join();  // a sanitizer starts a thread of its own beside the first one
  const std::size_t before = threads_of_this_process();
  int refused_opens = 0, refused_workers = 0;
  for (int number = 1;; ++number) {
    ASSERT_LT(number, 100);
    no_threads_from(number);
    auto engine = Engine::open(url());
    if (!engine) {
      ++refused_opens;
      EXPECT_EQ(engine.error().code, ErrorCode::Overloaded);
      EXPECT_NE(engine.error().message.find("ulimit -u"), std::string::npos) << engine.error().message;
      EXPECT_EQ(threads_of_this_process(), before) << "at thread " << number;
      continue;
    }
    const std::size_t opened = threads_of_this_process();
    auto worker = engine->start_worker(WorkerOptions().add(kDouble).add(twice_workflow));
    if (!worker) {
      ++refused_workers;
      EXPECT_EQ(worker.error().code, ErrorCode::Overloaded);
      EXPECT_EQ(threads_of_this_process(), opened) << "at thread " << number;
      EXPECT_TRUE(engine->enqueue(kDouble, number).ok()) << "the engine goes on without it";
      continue;
    }
    EXPECT_EQ(engine->enqueue(kDouble, 21).value().result().value(), 42);
    EXPECT_EQ(engine->start(twice_workflow, "once", 4).value().result().value(), 8);
    break;
  }
  EXPECT_GE(refused_opens, 4);
  EXPECT_GE(refused_workers, 10);
}

// F11
TEST_F(Edges, ACallbackThatThrowsIsLoggedAndTheNextOneRuns) {
  Engine engine = Engine::open(url(), logging()).value();
  std::promise<void> next;
  engine.enqueue_async(kDouble, 1, {}, [](Result<Handle<int>>) { throw std::runtime_error("it broke"); });
  engine.enqueue_async(kDouble, 2, {}, [](Result<Handle<int>>) { throw 7; });
  engine.enqueue_async(kDouble, 3, {}, [&](Result<Handle<int>>) { next.set_value(); });
  next.get_future().wait();
  EXPECT_NE(errors().find("a callback threw; what it had left to do is lost error=it broke"), std::string::npos);
  EXPECT_NE(errors().find("error=no std::exception"), std::string::npos);
  auto worker = engine.start_worker(WorkerOptions().add(kDouble)).value();
  std::promise<void> done;
  engine.enqueue(kDouble, 4).value().on_done([](Result<int>) { throw std::runtime_error("at the end"); });
  engine.enqueue(kDouble, 5).value().on_done([&](Result<int>) { done.set_value(); });
  done.get_future().wait();
}

// F11
TEST_F(Edges, ACallbackThatThrowsOnTheEnginesThreadIsLogged) {
  const auto on_the_spot = [](std::function<void()> call) {
    call();
    throw std::runtime_error("the loop is closed");
  };
  Engine engine = Engine::open(url(), logging().callbacks(on_the_spot)).value();
  engine.enqueue_async(kDouble, 1, {}, [](Result<Handle<int>>) { throw std::runtime_error("it broke"); });
  EXPECT_TRUE(engine.enqueue(kDouble, 2).ok());
  engine.shutdown();
  EXPECT_NE(errors().find("error=it broke"), std::string::npos);
  EXPECT_NE(errors().find("error=the loop is closed"), std::string::npos);
}

// F11
TEST_F(Edges, ALogFunctionThatThrowsEndsNothing) {
  const auto throws = [](LogLevel, std::string_view, std::span<const LogField>) { throw std::runtime_error("no log"); };
  Engine engine = Engine::open(url(), Options().log(throws)).value();
  const auto fails = task("fails", [](TaskContext& context) { context.log(LogLevel::info, "hello", {}); });
  auto worker = engine.start_worker(WorkerOptions().add(fails)).value();
  engine.enqueue(fails).value().get();
}

// F11
TEST_F(Edges, ACallThatWaitsInsideTheFunctionOfEnqueueWithinIsRefused) {
  Engine engine = Engine::open(url()).value();
  Error inner;
  const auto within = engine.enqueue_within(
      [&](sqlite3*) -> Result<void> {
        auto handle = engine.enqueue(kDouble, 1, EnqueueOptions().task_id("inner"));
        if (handle) return {};
        inner = handle.error();
        return inner;
      },
      kDouble, 2, EnqueueOptions().task_id("outer"));
  ASSERT_FALSE(within.ok());
  EXPECT_EQ(inner.code, ErrorCode::Unsupported);
  EXPECT_NE(inner.message.find("enqueue_within"), std::string::npos) << inner.message;
  EXPECT_EQ(within.error().message, inner.message);
  EXPECT_EQ(engine.get_task("outer").error().code, ErrorCode::ExecutionNotFound);
}

// F11: whoever runs the function, the caller's own thread or the writer's.
TEST_F(Edges, AsynchronousCallsAndOtherEnginesAreUsableInsideTheFunctionOfEnqueueWithin) {
  Engine engine = Engine::open(url()).value();
  Engine other = Engine::open("memory:").value();
  std::promise<void> later;
  std::vector<std::thread> threads;
  std::atomic<int> refused{0};
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      (void)engine
          .enqueue_within(
              [&](sqlite3*) -> Result<void> {
                if (!engine.enqueue(kDouble, 1).ok()) ++refused;
                if (!other.enqueue(kDouble, 1).ok()) return make_error(ErrorCode::Internal, "the other engine");
                return {};
              },
              kDouble, 2)
          .value();
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(refused, 8);
  const auto within = engine.enqueue_within(
      [&](sqlite3*) -> Result<void> {
        engine.enqueue_async(kDouble, 3, {}, [&](Result<Handle<int>> handle) {
          (void)handle.value();
          later.set_value();
        });
        return {};
      },
      kDouble, 2);
  EXPECT_TRUE(within.ok());
  later.get_future().wait();
}

// F11
TEST_F(Edges, ACallThatWaitsInsideACallbackOnTheEnginesThreadIsRefused) {
  std::promise<ErrorCode> inner;
  std::optional<Worker> worker;
  Engine engine = Engine::open(url(), logging().callbacks([](const std::function<void()>& call) { call(); })).value();
  worker = engine.start_worker(WorkerOptions().add(kDouble)).value();
  engine.enqueue_async(kDouble, 1, {}, [&](Result<Handle<int>> handle) {
    const auto waited = engine.enqueue(kDouble, 2);
    engine.shutdown();
    worker->stop();
    inner.set_value(waited ? ErrorCode::Internal : waited.error().code);
    (void)handle.value().on_done([](Result<int>) {});
  });
  EXPECT_EQ(inner.get_future().get(), ErrorCode::Unsupported);
  EXPECT_NE(errors().find("nothing is stopped"), std::string::npos);
  EXPECT_EQ(engine.enqueue(kDouble, 4).value().result().value(), 8) << "neither engine nor worker was stopped";
}

// ---- small promises -------------------------------------------------------------------------------------------------

// F19
TEST(Limits, HeartbeatDetailsAreBoundedAsResultsAre) {
  testing::TestEngine kit;
  const auto tells = task("tells", [](TaskContext& context, const int& size) {
    context.heartbeat(std::string(static_cast<std::size_t>(size), 'x'));
    throw TaskError("Later", "so that the details are kept");
  });
  auto worker = kit->start_worker(WorkerOptions().add(tells)).value();
  const auto once = EnqueueOptions().max_attempts(1);
  const auto fits = kit->enqueue(tells, 512 * 1024 - 2, once).value();
  const auto too_large = kit->enqueue(tells, 512 * 1024 - 1, once).value();
  kit.run_until_idle();
  EXPECT_EQ(kit->get(fits.execution_id()).value().error->name, "Later");
  EXPECT_EQ(kit->get(fits.execution_id()).value().progress->size(), 512u * 1024);
  const Execution refused = kit->get(too_large.execution_id()).value();
  EXPECT_EQ(refused.error->name, "PayloadTooLarge");
  EXPECT_NE(refused.error->message.find("heartbeat details"), std::string::npos);
  EXPECT_FALSE(refused.progress.has_value());
}

// F19
TEST(Limits, ARawHandlerWhoseResultIsNoJsonFailsTheAttemptByName) {
  testing::TestEngine kit;
  auto worker =
      kit->start_worker(WorkerOptions().add("raw", [](TaskContext&) { return Payload{Encoding::json, "{\"open\":"}; }))
          .value();
  const auto handle = kit->enqueue(TaskRef<int, int>("raw"), 1).value();
  kit.run_until_idle();
  const Execution row = kit->get(handle.execution_id()).value();
  EXPECT_EQ(row.status, Status::failed);
  EXPECT_EQ(row.error->name, "InvalidResult");
  EXPECT_FALSE(row.result.has_value());
}

// F19
TEST(Limits, DelaysThatAHandlerChoosesAreBounded) {
  testing::TestEngine kit;
  const auto later = task("later", [](const std::int64_t& micros) { throw RetryAfter(Duration{micros}); });
  auto worker = kit->start_worker(WorkerOptions().add(later)).value();
  const auto far = kit->enqueue(later, INT64_MAX).value();
  const auto past = kit->enqueue(later, INT64_MIN, EnqueueOptions().max_attempts(2)).value();
  kit.run_until_idle();
  EXPECT_EQ(kit->get(far.execution_id()).value().scheduled_at, kit.now() + 24h * 3650);
  EXPECT_EQ(kit->get(past.execution_id()).value().status, Status::failed) << "the second attempt came at once";
}

// F19
TEST(Limits, AFunctionAddedTwiceAndAnEmptyListOfTenantsAreRefusedByName) {
  testing::TestEngine kit;
  const auto twice = kit->start_worker(WorkerOptions().add(kDouble).add(kDouble));
  ASSERT_FALSE(twice.ok());
  EXPECT_EQ(twice.error().code, ErrorCode::InvalidArgument);
  EXPECT_NE(twice.error().message.find("'double' was added twice"), std::string::npos) << twice.error().message;
  const auto nobody = kit->start_worker(WorkerOptions().add(kDouble).tenants({}));
  ASSERT_FALSE(nobody.ok());
  EXPECT_EQ(nobody.error().code, ErrorCode::InvalidArgument);
  EXPECT_NE(nobody.error().message.find("tenants"), std::string::npos) << nobody.error().message;
}

}  // namespace
}  // namespace semel
