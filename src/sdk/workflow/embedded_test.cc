// Workflows on real threads and a real store: what handles do, what goes wrong and what happens then.
#include <gtest/gtest.h>

#include <stdlib.h>

#include <atomic>
#include <filesystem>
#include <mutex>

#include "semel/semel.h"

namespace semel {
namespace {

using namespace std::chrono_literals;

class Folder {
 public:
  Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "semel-runs.XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string url() const { return "sqlite:" + (path_ / "app.db").string(); }

 private:
  std::filesystem::path path_;
};

struct Approval {
  std::string by;
};
SEMEL_FIELDS(Approval, by)

const auto double_it = task("double", [](const int& n) { return 2 * n; });
const auto fails = task("fails", [](const int&) -> int { throw NonRetryable("Broken", "it never works"); });

Workflow<int> mixed(WorkflowContext& ctx, int n) {
  auto local = ctx.run("plus", [](int value) { return value + 1; }, n);
  const int more = co_await local;
  auto step = ctx.execute(double_it, more);
  auto nap = ctx.sleep(5ms);
  co_await nap;
  co_return co_await step;
}
const auto mixed_workflow = workflow("mixed", mixed);

Workflow<std::string> approval(WorkflowContext& ctx) {
  int votes = 0;
  ctx.on_query("votes", [&votes] { return votes; });
  ctx.on_update("vote", [&votes](int weight) {
    if (weight < 0) throw TaskError("BadWeight", "negative");
    return votes += weight;
  });
  ctx.set_state(std::string("waiting"));
  auto asked = ctx.signal<Approval>("approve");
  const Approval answer = co_await asked;
  ctx.set_state(std::string("approved"));
  co_return answer.by;
}
const auto approval_workflow = workflow("approval", approval);

Workflow<int> fails_in_step(WorkflowContext& ctx) {
  auto step = ctx.execute(fails, 1);
  try {
    co_return co_await step;
  } catch (const TaskFailed& failed) {
    co_return failed.error_name() == "Broken" ? -1 : -2;
  }
}
const auto fails_in_step_workflow = workflow("fails_in_step", fails_in_step);

Workflow<int> bad_step(WorkflowContext& ctx) {
  auto step = ctx.execute<int>("", 1);
  try {
    co_return co_await step;
  } catch (const TaskFailed& failed) {
    co_return failed.error_name() == "InvalidArgument" ? 7 : 8;
  }
}
const auto bad_step_workflow = workflow("bad_step", bad_step);

struct NotAnException {};
Workflow<int> throws_strange(WorkflowContext& ctx) {
  auto local = ctx.run("nothing", [] {});
  co_await local;
  throw NotAnException{};
}
const auto throws_strange_workflow = workflow("throws_strange", throws_strange);

Workflow<std::string> too_large(WorkflowContext& ctx) {
  auto big = ctx.run("big", [] { return std::string(600 * 1024, 'x'); });
  try {
    co_await big;
  } catch (const TaskFailed& failed) {
    co_return failed.error_name();
  }
  co_return "fits";
}
const auto too_large_workflow = workflow("too_large", too_large);

std::atomic<int> flaky_runs{0};
Workflow<int> flaky(WorkflowContext& ctx) {
  auto local = ctx.run("count", [] { return ++flaky_runs; });
  const int count = co_await local;
  if (count < 3) throw TaskError("TooEarly", "try again");
  co_return count;
}
const auto flaky_workflow = workflow("flaky", flaky);

Workflow<int> rounds(WorkflowContext& ctx, int n) {
  auto more = ctx.signal<int>("more");
  const int value = co_await more;
  if (n == 0) co_return value;
  auto next = ctx.continue_as_new(n - 1);
  co_return co_await next;
}
const auto rounds_workflow = workflow("rounds", rounds);

Workflow<int> countdown(WorkflowContext& ctx, int n) {
  if (n == 0) co_return 7;
  auto next = ctx.continue_as_new(n - 1);
  co_return co_await next;
}
const auto countdown_workflow = workflow("countdown", countdown);

std::atomic<int> cleaned{0};
Workflow<int> cleans_up(WorkflowContext& ctx) {
  std::exception_ptr stopped;
  try {
    auto nap = ctx.sleep(1h);
    co_await nap;
  } catch (const Cancelled&) {
    stopped = std::current_exception();  // no co_await in a handler
  }
  if (!stopped) co_return 1;
  CancelShield shield(ctx);
  auto clean = ctx.run("clean", [] { ++cleaned; });
  co_await clean;
  std::rethrow_exception(stopped);
}
const auto cleans_up_workflow = workflow("cleans_up", cleans_up);

void wait_until_suspended(const RawHandle& run) {
  while (run.status().value() != Status::suspended) (void)run.wait(2ms);
}

class EmbeddedRuns : public ::testing::Test {
 protected:
  EmbeddedRuns() : engine_(Engine::open(file_.url()).value()) {
    worker_.emplace(engine_
                        .start_worker(WorkerOptions()
                                          .add(double_it)
                                          .add(fails)
                                          .add(mixed_workflow)
                                          .add(approval_workflow)
                                          .add(fails_in_step_workflow)
                                          .add(bad_step_workflow)
                                          .add(throws_strange_workflow)
                                          .add(too_large_workflow)
                                          .add(flaky_workflow)
                                          .add(rounds_workflow)
                                          .add(countdown_workflow)
                                          .add(cleans_up_workflow))
                        .value());
  }
  Folder file_;
  Engine engine_;
  std::optional<Worker> worker_;
};

TEST_F(EmbeddedRuns, AResultIsFoundAtTheEndOfALongChain) {
  auto handle = engine_.start(countdown_workflow, "long", 150).value();
  EXPECT_EQ(handle.result().value(), 7);
  EXPECT_EQ(handle.result().value(), 7) << "asked again when the whole chain is there";
}

TEST_F(EmbeddedRuns, TheRunsOfAChainStayOnTheirQueue) {
  worker_->stop();
  const WorkerOptions options = WorkerOptions().add(countdown_workflow).add(flaky_workflow).queues({"payments"});
  auto worker = engine_.start_worker(options).value();
  const auto options_of_runs = StartOptions().queue("payments").timeout(60s);
  EXPECT_EQ(engine_.start(countdown_workflow, "c", 2, options_of_runs).value().result().value(), 7);
  flaky_runs = 0;
  const auto retry = RetryPolicy().initial_interval(1ms).jitter(0);
  const auto retried = engine_.start(flaky_workflow, "f", StartOptions(options_of_runs).max_attempts(3).retry(retry));
  EXPECT_EQ(retried.value().result().value(), 3);
}

TEST_F(EmbeddedRuns, ManyRunsOfStepsLocalsAndSleepsEndWell) {
  std::vector<WorkflowHandle<int>> handles;
  for (int i = 0; i < 50; ++i) handles.push_back(engine_.start(mixed_workflow, "m-" + std::to_string(i), i).value());
  for (int i = 0; i < 50; ++i) EXPECT_EQ(handles[i].result().value(), 2 * (i + 1));
  EXPECT_FALSE(engine_.start(mixed_workflow, "m-3", 3).value().created());
}

TEST_F(EmbeddedRuns, SignalsQueriesUpdatesAndState) {
  auto run = engine_.start(approval_workflow, "a").value();
  EXPECT_EQ(run.update<int>("vote", 2, UpdateOptions().id("u-1")).value(), 2);
  EXPECT_EQ(run.update<int>("vote", 2, UpdateOptions().id("u-1")).value(), 2) << "asked again, not done again";
  EXPECT_EQ(run.update<int>("vote", 3).value(), 5);
  EXPECT_EQ(run.update<int>("vote", -1).error().code, ErrorCode::TaskFailed);
  EXPECT_EQ(run.update<int>("no-such", 1).error().code, ErrorCode::TaskFailed);
  EXPECT_EQ(run.query<int>("votes").value(), 5);
  EXPECT_EQ(run.query<int>("no-such").error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(run.state<std::string>().value(), "waiting");
  EXPECT_TRUE(run.signal("approve", Approval{"ann"}, "click-1").value());
  EXPECT_EQ(run.result().value(), "ann");
  EXPECT_FALSE(run.signal("approve", Approval{"bob"}, "click-1").value()) << "told before, answered";  // W16
  EXPECT_EQ(run.signal("approve", Approval{"bob"}, "click-2").error().code, ErrorCode::WorkflowAlreadyCompleted);
  EXPECT_EQ(run.state<std::string>().value(), "approved");
  EXPECT_EQ(run.query<int>("votes").error().code, ErrorCode::InvalidTransition);
}

TEST_F(EmbeddedRuns, AQueryOfARunThatLeftMemoryIsAnsweredByReplay) {
  auto run = engine_.start(approval_workflow, "a").value();
  EXPECT_EQ(run.update<int>("vote", 4).value(), 4);
  worker_->stop();
  EXPECT_EQ(run.query<int>("votes").value(), 4);
}

TEST_F(EmbeddedRuns, SignalWithStartNeverFindsNobody) {
  for (int i = 0; i < 2; ++i) {
    auto run = engine_.signal_with_start(approval_workflow, "s", None{}, "approve", Approval{"eve"}, "d-1");
    if (i == 0) EXPECT_EQ(run.value().result().value(), "eve");
    else EXPECT_FALSE(run.value().created()) << "the same dedupe id";
  }
}

TEST_F(EmbeddedRuns, FailuresOfStepsAndRunsAreTyped) {
  EXPECT_EQ(engine_.start(fails_in_step_workflow, "f").value().result().value(), -1);
  EXPECT_EQ(engine_.start(bad_step_workflow, "b").value().result().value(), 7);
  // W12
  EXPECT_EQ(engine_.start(too_large_workflow, "l").value().result().value(), "PayloadTooLarge");
  // W14: other runs are untouched.
  auto strange = engine_.start(throws_strange_workflow, "t").value();
  EXPECT_EQ(strange.result().error().code, ErrorCode::TaskFailed);
  EXPECT_EQ(strange.execution().value().error->name, "UnknownException");
  EXPECT_EQ(engine_.start(mixed_workflow, "m", 1).value().result().value(), 4);
}

TEST_F(EmbeddedRuns, AFailedWorkflowIsRunAgainAsAWholeWhenAskedTo) {
  flaky_runs = 0;
  auto run = engine_
                 .start(flaky_workflow, "f",
                        StartOptions().max_attempts(5).retry(RetryPolicy().initial_interval(1ms).jitter(0)))
                 .value();
  EXPECT_EQ(run.result().value(), 3);
  EXPECT_EQ(engine_.find(flaky_workflow, "f").value().execution().value().attempt, 3);
  flaky_runs = 0;
  EXPECT_EQ(engine_.start(flaky_workflow, "g").value().result().error().code, ErrorCode::TaskFailed);
  EXPECT_EQ(flaky_runs.load(), 1);
}

TEST_F(EmbeddedRuns, ContinuedRunsKeepTheSignalsNobodyReadYet) {
  auto run = engine_.start(rounds_workflow, "r", 3, StartOptions().priority(7).max_attempts(4)).value();
  for (int i = 1; i <= 4; ++i) run.signal("more", i).value();
  EXPECT_EQ(run.result().value(), 4);
  const auto last = engine_.find(rounds_workflow, "r").value();
  EXPECT_NE(last.run_id(), run.run_id());
  EXPECT_EQ(last.execution().value().priority, 7) << "what the start chose holds for the whole chain";
  EXPECT_EQ(last.execution().value().max_attempts, 4);
}

TEST_F(EmbeddedRuns, CancelLetsTheCodeCleanUpAndTerminateDoesNot) {
  cleaned = 0;
  auto first = engine_.start(cleans_up_workflow, "c").value();
  wait_until_suspended(first);
  first.cancel().value();
  EXPECT_EQ(first.result().error().code, ErrorCode::Cancelled);
  EXPECT_EQ(cleaned.load(), 1);
  auto second = engine_.start(cleans_up_workflow, "d").value();
  wait_until_suspended(second);
  EXPECT_EQ(second.terminate().value(), Status::cancelled);
  EXPECT_EQ(second.result().error().code, ErrorCode::Cancelled);
  EXPECT_EQ(cleaned.load(), 1);
}

TEST_F(EmbeddedRuns, ARunOutlivesItsProcessAndGoesOnFromItsHistory) {
  auto run = engine_.start(approval_workflow, "a").value();
  EXPECT_EQ(run.update<int>("vote", 4).value(), 4);
  engine_.shutdown();
  auto again = Engine::open(file_.url()).value();
  auto worker = again.start_worker(WorkerOptions().add(approval_workflow)).value();
  auto found = again.find(approval_workflow, "a").value();
  EXPECT_EQ(found.update<int>("vote", 1).value(), 5);
  found.signal("approve", Approval{"ann"}).value();
  EXPECT_EQ(found.result().value(), "ann");
}

// Neither JSON nor the plain text: whatever passes unsealed does not decode.
class Backwards final : public PayloadCodec {
 public:
  std::string encode(std::string_view plain) const override { return "#" + std::string(plain.rbegin(), plain.rend()); }
  Result<std::string> decode(std::string_view stored) const override {
    if (!stored.starts_with("#")) return make_error(ErrorCode::InvalidArgument, "not sealed");
    return std::string(stored.rbegin(), stored.rend() - 1);
  }
  bool deterministic() const override { return true; }
};

TEST(SealedRuns, WhatARunLearnsAndSaysIsSealedInTheStore) {
  Folder file;
  const auto options = Options().codec(std::make_shared<const Backwards>());
  {
    auto engine = Engine::open(file.url(), options).value();
    auto worker =
        engine.start_worker(WorkerOptions().add(approval_workflow).add(mixed_workflow).add(double_it)).value();
    EXPECT_EQ(engine.start(mixed_workflow, "m", 4).value().result().value(), 10);
    auto run = engine.start(approval_workflow, "a").value();
    EXPECT_EQ(run.update<int>("vote", 4).value(), 4);
    EXPECT_EQ(run.state<std::string>().value(), "waiting");
  }
  auto engine = Engine::open(file.url(), options).value();
  auto worker = engine.start_worker(WorkerOptions().add(approval_workflow)).value();
  auto run = engine.find(approval_workflow, "a").value();
  run.signal("approve", Approval{"secret-name"}).value();
  EXPECT_EQ(run.result().value(), "secret-name");
  EXPECT_EQ(engine.export_history(run.run_id()).value().find("secret-name"), std::string::npos);
}

TEST_F(EmbeddedRuns, TwoWorkflowsOfOneNameAreRefused) {
  EXPECT_EQ(engine_.start_worker(WorkerOptions().add(mixed_workflow).add(mixed_workflow)).error().code,
            ErrorCode::InvalidArgument);  // W6
}

// ---- code that changed ----------------------------------------------------------------------------------------------

Workflow<int> version_one(WorkflowContext& ctx) {
  auto first = ctx.run("first", [] { return 1; });
  co_await first;
  auto go = ctx.signal<int>("go");
  co_return co_await go;
}
Workflow<int> version_two(WorkflowContext& ctx) {
  auto other = ctx.run("other", [] { return 1; });
  co_await other;
  auto go = ctx.signal<int>("go");
  co_return co_await go;
}

// W4
TEST(ChangedCode, ParksTheRunAndGoesOnAfterTheRollback) {
  Folder file;
  const std::string url = file.url();
  {
    auto engine = Engine::open(url).value();
    auto worker = engine.start_worker(WorkerOptions().add(workflow("changes", version_one))).value();
    auto run = engine.start(workflow("changes", version_one), "c").value();
    wait_until_suspended(run);
  }
  {
    auto engine = Engine::open(url).value();
    auto worker = engine.start_worker(WorkerOptions().add(workflow("changes", version_two))).value();
    auto run = engine.find(workflow("changes", version_two), "c").value();
    run.signal("go", 5).value();
    while (worker.metrics().runs_parked == 0) (void)run.wait(2ms);
    wait_until_suspended(run);
    EXPECT_EQ(run.execution().value().error->name, "NondeterminismError");
    EXPECT_EQ(worker.metrics().runs_parked, 1u) << "it is not tried again and again";
  }
  auto engine = Engine::open(url).value();
  auto worker = engine.start_worker(WorkerOptions().add(workflow("changes", version_one))).value();
  auto run = engine.find(workflow("changes", version_one), "c").value();
  engine.resume(run.run_id()).value();
  EXPECT_EQ(run.result().value(), 5);
}

// W15
std::atomic<bool> let_go{false};
Workflow<int> blocks(WorkflowContext& ctx) {
  let_go.wait(false);
  auto local = ctx.run("one", [] { return 1; });
  co_return co_await local;
}

TEST(BlockingCode, IsNamedAndDoesNotHoldUpOthers) {
  Folder file;
  std::mutex mutex;
  std::string told;
  auto engine =
      Engine::open(file.url(), Options().log([&](LogLevel, std::string_view message, std::span<const LogField> fields) {
        const std::lock_guard lock(mutex);
        told += std::string(message) + "\n";
        for (const auto& field : fields) told += std::string(field.value) + "\n";
      })).value();
  auto worker =
      engine.start_worker(WorkerOptions().add(workflow("blocks", blocks)).add(mixed_workflow).add(double_it)).value();
  let_go = false;
  auto stuck = engine.start(workflow("blocks", blocks), "b").value();
  EXPECT_EQ(engine.start(mixed_workflow, "m", 1).value().result().value(), 4);
  while (worker.metrics().workflows_stuck == 0) (void)stuck.wait(10ms);
  {
    const std::lock_guard lock(mutex);
    EXPECT_NE(told.find("blocks"), std::string::npos) << told;
  }
  let_go = true;
  let_go.notify_all();
  EXPECT_EQ(stuck.result().value(), 1);
}

}  // namespace
}  // namespace semel
