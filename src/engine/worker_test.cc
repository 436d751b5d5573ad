#include "engine/worker.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "store/memory/memory_store.h"
#include "testing/engine_node.h"
#include "testing/fault_store.h"

namespace semel::engine {
namespace {

using testing::Fault;

// Handlers run when the test says so.
class HandExecutor final : public Executor {
 public:
  void start(std::vector<RunRef> runs) override {
    for (auto& run : runs) queue.push_back(std::move(run));
  }
  std::vector<RunRef> take_unstarted() override { return std::exchange(queue, {}); }
  std::vector<RunRef> queue;
};

struct WorkerWorld {
  explicit WorkerWorld(WorkerOptions options = {}) {
    table.add("work", [](engine::Run&) { return HandlerOutcome::success("1"); });
    table.seal();
    worker = std::make_unique<Worker>(node.engine, table, executor, options);
    node.published = [this](const store::Wakes& wakes) { worker->note_wakes(wakes); };
  }
  ~WorkerWorld() { node.published = nullptr; }

  ExecutionId enqueue(std::string name = "work", std::string queue = "default", std::string tenant = "default") {
    EnqueueRequest request;
    request.name = std::move(name);
    request.queue = std::move(queue);
    request.tenant = std::move(tenant);
    auto outcome = node.enqueue(request);
    EXPECT_TRUE(outcome.ok()) << outcome.error().message;
    return outcome->execution_id;
  }
  // Everything that is due now, without time passing.
  void settle() {
    for (int i = 0; i < 20; ++i) {
      worker->step(clock.now());
      node.settle();
    }
  }
  void pass(Duration by, bool heartbeats = true) {
    const Instant end = clock.now() + by;
    while (clock.now() < end) {
      clock.advance(Duration{100'000});
      monotonic.advance(Duration{100'000});
      if (heartbeats) worker->heartbeat(clock.now());
      worker->poll(clock.now());
      node.clockwork.step(clock.now());
      settle();
    }
  }
  RunRef begin_next() {
    EXPECT_FALSE(executor.queue.empty());
    RunRef run = executor.queue.front();
    executor.queue.erase(executor.queue.begin());
    EXPECT_TRUE(worker->begin(*run, clock.now()));
    return run;
  }
  void run_all() {
    while (!executor.queue.empty()) {
      auto run = begin_next();
      auto outcome = table.call(*run);
      worker->finish(run, std::move(outcome));
    }
    settle();
  }
  core::Execution row(ExecutionId id) { return store.execution_get(core::kDefaultTenant, id)->value().execution; }

  testing::ManualClock clock;
  testing::ManualMonotonic monotonic;
  store::memory::MemoryStore memory{clock};
  testing::FaultStore store{memory};
  testing::EngineNode node{store, clock, monotonic};
  HandlerTable table;
  HandExecutor executor;
  std::unique_ptr<Worker> worker;
};

// F3, X15
TEST(Worker, GivesItsSessionUpWhenTheStoreHasAnotherHistory) {
  WorkerWorld world({.slots = 1});
  world.settle();
  const auto first = world.enqueue();
  const auto second = world.enqueue();
  world.pass(Duration{1'000'000});
  const RunRef run = world.begin_next();
  world.store.turns = 1;
  world.pass(Duration{1'000'000});
  EXPECT_EQ(run->stop_reason(), StopReason::lease_lost);
  world.worker->finish(run, HandlerOutcome::success("1"));
  world.pass(Duration{1'000'000});
  EXPECT_FALSE(world.row(first).result) << "what was claimed in another history is not completed in this one";
  EXPECT_EQ(world.worker->stats().succeeded, 0u);
  EXPECT_EQ(world.worker->stats().unconfirmed, 0u);
  world.pass(Duration{40'000'000});
  world.run_all();
  world.pass(Duration{5'000'000});
  world.run_all();
  EXPECT_EQ(world.row(second).status, Status::succeeded) << "it goes on under a new one";
}

TEST(Worker, AnIdleWorkerClaimsWhatIsJustBeingEnqueued) {
  WorkerWorld world;
  world.node.ride = [&](const auto& lanes) { return world.worker->ride(lanes, world.clock.now()); };
  world.enqueue();  // makes the lane known
  world.settle();
  world.run_all();
  const auto before = world.node.writer.stats().commits;
  const auto id = world.enqueue();
  EXPECT_EQ(world.node.writer.stats().commits, before + 1);
  EXPECT_EQ(world.row(id).status, Status::claimed);
  ASSERT_EQ(world.executor.queue.size(), 1u);
  world.run_all();
  EXPECT_EQ(world.row(id).status, Status::succeeded);
  EXPECT_TRUE(world.memory.verify()->empty());
}

TEST(Worker, ABusyWorkerClaimsInTurn) {
  WorkerWorld world({.slots = 1, .max_prefetch = 0});
  world.node.ride = [&](const auto& lanes) { return world.worker->ride(lanes, world.clock.now()); };
  world.enqueue();
  world.settle();
  ASSERT_EQ(world.executor.queue.size(), 1u);
  const auto later = world.enqueue();
  EXPECT_EQ(world.row(later).status, Status::queued);
}

TEST(Worker, RunsWhatItClaimsAndRecordsTheOutcome) {
  WorkerWorld world;
  world.settle();
  const auto id = world.enqueue();
  world.settle();
  world.run_all();
  EXPECT_EQ(world.row(id).status, Status::succeeded);
  EXPECT_EQ(world.row(id).result, "1");
  EXPECT_TRUE(world.worker->drained());
}

TEST(Worker, ClaimsNoMoreThanItsSlotsWhileHandlersTakeLong) {
  WorkerWorld world({.slots = 3});
  world.settle();
  for (int i = 0; i < 10; ++i) world.enqueue();
  world.settle();
  EXPECT_EQ(world.executor.queue.size(), 3u);
  auto run = world.begin_next();
  world.clock.advance(Duration{5'000'000});
  world.worker->finish(run, HandlerOutcome::success());
  world.settle();
  EXPECT_EQ(world.executor.queue.size(), 3u);
}

TEST(Worker, ShortHandlersAreClaimedAhead) {
  WorkerWorld world({.slots = 2});
  world.settle();
  for (int i = 0; i < 200; ++i) world.enqueue();
  world.settle();
  world.run_all();
  EXPECT_GT(world.worker->stats().claimed, 100u);
}

TEST(Worker, SlotIsFreeOnlyWhenTheOutcomeIsDurable) {
  WorkerWorld world({.slots = 2});
  world.settle();
  for (int i = 0; i < 4; ++i) world.enqueue();
  world.settle();
  ASSERT_EQ(world.executor.queue.size(), 2u);
  auto run = world.begin_next();
  world.worker->finish(run, HandlerOutcome::success());
  world.worker->step(world.clock.now());
  EXPECT_EQ(world.executor.queue.size(), 1u);
  EXPECT_EQ(world.worker->stats().unconfirmed, 1u);
  world.settle();
  EXPECT_EQ(world.executor.queue.size(), 2u);
}

TEST(Worker, UnregisteredNameIsReleasedWithItsAttemptAndAReason) {
  WorkerWorld world;
  world.settle();
  const auto id = world.enqueue("unknown");
  world.settle();
  EXPECT_EQ(world.row(id).status, Status::queued);
  EXPECT_EQ(world.row(id).attempt, 0);
  EXPECT_EQ(world.node.engine.explain("default", id.to_string())->reason, WaitReason::no_handler);
  EXPECT_EQ(world.worker->stats().no_handler, 1u);
}

// C7
TEST(Worker, LongHandlerKeepsItsLeaseByHeartbeatsAndIsMarkedRunning) {
  WorkerWorld world({.lease = Duration{3'000'000}});
  world.settle();
  const auto id = world.enqueue();
  world.settle();
  auto run = world.begin_next();
  world.pass(Duration{20'000'000});
  EXPECT_EQ(world.row(id).status, Status::running);
  EXPECT_EQ(world.row(id).attempt, 1);
  world.worker->finish(run, HandlerOutcome::success("2"));
  world.settle();
  EXPECT_EQ(world.row(id).result, "2");
}

// K2, C1: the process stood still longer than its lease.
TEST(Worker, ExpiredSessionStopsHandlersAndNothingOfItIsStarted) {
  WorkerWorld world({.slots = 2, .lease = Duration{2'000'000}});
  world.settle();
  world.enqueue();
  world.enqueue();
  world.settle();
  auto running = world.begin_next();
  world.clock.advance(Duration{5'000'000});
  world.monotonic.advance(Duration{5'000'000});
  auto unstarted = world.executor.queue.front();
  EXPECT_FALSE(world.worker->begin(*unstarted, world.clock.now()));
  world.executor.queue.clear();
  world.worker->heartbeat(world.clock.now());
  EXPECT_EQ(running->stop_reason(), StopReason::lease_lost);
  world.pass(Duration{3'000'000});
  world.worker->finish(running, HandlerOutcome::success("\"late\""));
  world.settle();
  EXPECT_NE(world.row(running->task.execution.id).result, "\"late\"");
}

// Its lease record is all that leads back to a claimed row: it must outlive the worker's interest in it.
TEST(Worker, ClaimThatCouldNotStartInTimeComesBackWhenItsSessionIsOver) {
  WorkerWorld world({.slots = 1});
  world.settle();
  const auto id = world.enqueue();
  world.settle();
  ASSERT_EQ(world.executor.queue.size(), 1u);
  const RunRef late = std::exchange(world.executor.queue, {}).front();
  world.clock.advance(Duration{31'000'000});
  world.monotonic.advance(Duration{31'000'000});
  EXPECT_FALSE(world.worker->begin(*late, world.clock.now()));
  world.enqueue();
  world.settle();
  world.run_all();
  EXPECT_EQ(world.store.verify().value(), std::vector<std::string>{});
  for (int i = 0; i < 20; ++i) {
    world.pass(Duration{500'000});
    world.run_all();
  }
  EXPECT_EQ(world.row(id).status, Status::succeeded);
  EXPECT_EQ(world.row(id).attempt, 2);
}

TEST(Worker, CancelReachesTheHandlerWithTheHeartbeat) {
  WorkerWorld world({.lease = Duration{3'000'000}});
  world.settle();
  const auto id = world.enqueue();
  world.settle();
  auto run = world.begin_next();
  world.store.push(Fault::lost_wakes);
  auto cancelled =
      world.node.get<core::CancelAnswer>([&](auto done) { world.node.engine.cancel("default", id, done); });
  ASSERT_TRUE(cancelled.ok());
  EXPECT_TRUE(cancelled->requested);
  EXPECT_FALSE(run->stop_requested());
  world.pass(Duration{2'000'000});
  EXPECT_TRUE(run->cancel_requested());
  HandlerOutcome outcome;
  outcome.kind = HandlerOutcome::Kind::cancelled;
  world.worker->finish(run, outcome);
  world.settle();
  EXPECT_EQ(world.row(id).status, Status::cancelled);
}

TEST(Worker, ProgressIsStoredAndHandedToTheNextAttempt) {
  WorkerWorld world({.lease = Duration{3'000'000}});
  world.settle();
  const auto id = world.enqueue();
  world.settle();
  auto run = world.begin_next();
  run->set_progress("{\"at\":7}");
  world.pass(Duration{2'000'000});
  EXPECT_EQ(world.row(id).progress, "{\"at\":7}");
  world.worker->finish(run, HandlerOutcome::failure("Oops", "again"));
  world.pass(Duration{3'000'000});
  ASSERT_EQ(world.executor.queue.size(), 1u);
  EXPECT_EQ(world.executor.queue[0]->task.execution.progress, "{\"at\":7}");
  EXPECT_EQ(world.executor.queue[0]->task.execution.attempt, 2);
}

// D24
TEST(Worker, DrainGivesUnstartedWorkBackAtOnceWithoutBurningAttempts) {
  WorkerWorld world({.slots = 3});
  world.settle();
  std::vector<ExecutionId> ids;
  for (int i = 0; i < 3; ++i) ids.push_back(world.enqueue());
  world.settle();
  auto run = world.begin_next();
  world.worker->drain();
  world.settle();
  int queued = 0;
  for (const auto& id : ids)
    if (world.row(id).status == Status::queued) {
      ++queued;
      EXPECT_EQ(world.row(id).attempt, 0);
    }
  EXPECT_EQ(queued, 2);
  world.worker->finish(run, HandlerOutcome::success());
  world.settle();
  EXPECT_TRUE(world.worker->drained());
  world.worker->close_session();
  world.settle();
  EXPECT_TRUE(world.worker->closed());
}

// D15: neighbours of a poison task are not dragged along.
TEST(Worker, TaskThatTookAWorkerDownIsClaimedAlone) {
  WorkerWorld world({.slots = 4, .lease = Duration{2'000'000}});
  world.settle();
  const auto poison = world.enqueue();
  world.settle();
  world.begin_next();
  world.clock.advance(Duration{10'000'000});  // the process is gone; another one takes over
  world.monotonic.advance(Duration{10'000'000});
  world.executor.queue.clear();
  WorkerOptions options;
  options.slots = 4;
  world.worker = std::make_unique<Worker>(world.node.engine, world.table, world.executor, options);
  world.settle();
  std::vector<ExecutionId> others;
  world.pass(Duration{1'000'000});
  ASSERT_EQ(world.executor.queue.size(), 1u);
  EXPECT_EQ(world.executor.queue[0]->task.execution.id, poison);
  for (int i = 0; i < 3; ++i) others.push_back(world.enqueue());
  world.pass(Duration{1'000'000});
  EXPECT_EQ(world.executor.queue.size(), 1u);  // nothing beside it
  world.run_all();
  world.pass(Duration{1'000'000});
  world.run_all();
  for (const auto& id : others) EXPECT_EQ(world.row(id).status, Status::succeeded);
}

TEST(Worker, TaskThatMustRunAloneIsFoundWithoutAPoll) {
  WorkerWorld world({.slots = 4, .lease = Duration{2'000'000}});
  world.settle();
  const auto poison = world.enqueue();
  world.settle();
  world.begin_next();
  world.executor.queue.clear();
  world.worker = std::make_unique<Worker>(world.node.engine, world.table, world.executor, WorkerOptions{});
  WorkerOptions elsewhere;
  elsewhere.queues = {"elsewhere"};
  HandExecutor other_executor;
  Worker other(world.node.engine, world.table, other_executor, elsewhere);
  world.node.published = [&](const store::Wakes& wakes) {
    world.worker->note_wakes(wakes);
    other.note_wakes(wakes);
  };
  world.settle();
  world.clock.advance(Duration{10'000'000});
  world.monotonic.advance(Duration{10'000'000});
  world.node.clockwork.step(world.clock.now());
  world.settle();
  ASSERT_EQ(world.executor.queue.size(), 1u);
  EXPECT_EQ(world.executor.queue[0]->task.execution.id, poison);
  world.run_all();
  EXPECT_EQ(world.row(poison).status, Status::succeeded);
  EXPECT_TRUE(other_executor.queue.empty());
  world.node.published = nullptr;
}

// D22
TEST(Worker, LostWakeUpCostsOnlyThePollInterval) {
  WorkerWorld world;
  world.settle();
  world.enqueue();
  world.settle();
  world.run_all();
  world.store.push(Fault::lost_wakes);
  const auto id = world.enqueue();
  world.settle();
  EXPECT_TRUE(world.executor.queue.empty());
  world.pass(Duration{500'000});
  world.run_all();
  EXPECT_EQ(world.row(id).status, Status::succeeded);
}

TEST(Worker, OutcomeIsRepeatedUntilTheStoreTakesIt) {
  WorkerWorld world;
  world.settle();
  const auto id = world.enqueue();
  world.settle();
  auto run = world.begin_next();
  world.store.push(Fault::unavailable);
  world.store.push(Fault::full);
  world.worker->finish(run, HandlerOutcome::success("5"));
  world.settle();
  EXPECT_NE(world.row(id).status, Status::succeeded);
  world.pass(Duration{2'000'000});
  EXPECT_EQ(world.row(id).result, "5");
  EXPECT_EQ(world.row(id).attempt, 1);
}

TEST(Worker, PausedQueueIsLeftAloneUntilItIsResumed) {
  WorkerWorld world;
  world.settle();
  world.node.get<core::Lane>([&](auto done) { world.node.engine.queue_pause("default", "default", true, done); })
      .value();
  const auto id = world.enqueue();
  world.pass(Duration{2'000'000});
  EXPECT_TRUE(world.executor.queue.empty());
  world.node.get<core::Lane>([&](auto done) { world.node.engine.queue_pause("default", "default", false, done); })
      .value();
  world.pass(Duration{1'000'000});
  world.run_all();
  EXPECT_EQ(world.row(id).status, Status::succeeded);
}

TEST(Worker, RateLimitIsKeptAndTheLaneAskedAgainInTime) {
  WorkerWorld world({.slots = 50});
  world.settle();
  core::LaneConfig config;
  config.rate_limit = core::RateLimit{10, Duration{1'000'000}};
  world.node.get<core::Lane>([&](auto done) { world.node.engine.queue_set("default", "default", config, done); })
      .value();
  for (int i = 0; i < 40; ++i) world.enqueue();
  world.settle();
  EXPECT_EQ(world.worker->stats().claimed, 10u);
  for (int i = 0; i < 20; ++i) {
    world.pass(Duration{100'000});
    world.run_all();
  }
  EXPECT_GE(world.worker->stats().claimed, 28u);
  EXPECT_LE(world.worker->stats().claimed, 31u);
}

// D19
TEST(Worker, FloodOfOneTenantLeavesTheOthersTheirShare) {
  WorkerWorld world({.slots = 10});
  world.settle();
  for (const char* tenant : {"loud", "quiet"})
    world.node.get<core::TenantAnswer>([&](auto done) { world.node.engine.tenant_create(tenant, done); }).value();
  for (int i = 0; i < 500; ++i) world.enqueue("work", "q" + std::to_string(i % 5), "loud");
  for (int i = 0; i < 5; ++i) world.enqueue("work", "q", "quiet");
  world.settle();
  int rounds = 0;
  const auto quiet_left = [&] {
    const auto tenant = *world.node.engine.tenant("quiet");
    return world.store.execution_list({.tenant = tenant, .statuses = {Status::queued, Status::claimed}})->size();
  };
  while (quiet_left() > 0 && rounds < 50) {
    ++rounds;
    auto batch = std::exchange(world.executor.queue, {});
    for (auto& run : batch) {
      world.worker->begin(*run, world.clock.now());
      world.clock.advance(Duration{10'000});
      world.worker->finish(run, HandlerOutcome::success());
    }
    world.settle();
  }
  EXPECT_LE(rounds, 4);
}

TEST(Handler, MiddlewareWrapsFromTheOutsideIn) {
  HandlerTable table;
  std::string trace;
  table.add("work", [&](engine::Run&) {
    trace += "handler ";
    return HandlerOutcome::success();
  });
  for (const char* name : {"outer ", "inner "})
    table.use([&trace, name](engine::Run& run, const Handler& next) {
      trace += name;
      return next(run);
    });
  table.seal();
  engine::Run run;
  run.task.execution.name = "work";
  EXPECT_EQ(table.call(run).kind, HandlerOutcome::Kind::succeeded);
  EXPECT_EQ(trace, "outer inner handler ");
}

// W14 for plain tasks
TEST(Handler, WhateverIsThrownIsAFailedAttempt) {
  HandlerTable table;
  table.add("std", [](engine::Run&) -> HandlerOutcome { throw std::runtime_error("bad"); });
  table.add("int", [](engine::Run&) -> HandlerOutcome { throw 42; });
  engine::Run run;
  run.task.execution.name = "std";
  EXPECT_EQ(table.call(run).error_message, "bad");
  run.task.execution.name = "int";
  EXPECT_EQ(table.call(run).error_name, "UnknownException");
}

}  // namespace
}  // namespace semel::engine
