#include "engine/engine.h"

#include <gtest/gtest.h>

#include "engine/request_json.h"
#include "store/memory/memory_store.h"
#include "testing/engine_node.h"

namespace semel::engine {
namespace {

struct EngineWorld {
  Result<EnqueueOutcome> enqueue(EnqueueRequest request) { return node.enqueue(std::move(request)); }
  EnqueueRequest task(std::string id, std::string args = "{}") {
    EnqueueRequest request;
    request.name = "charge";
    if (!id.empty()) request.task_id = std::move(id);
    request.args = std::move(args);
    return request;
  }
  std::vector<store::ExecutionView> claim(int max = 10, std::string worker = "w") {
    ClaimRequest request;
    request.worker = std::move(worker);
    request.max = max;
    auto views = node.get<std::vector<store::ExecutionView>>([&](auto done) { node.engine.claim(request, done); });
    EXPECT_TRUE(views.ok()) << views.error().message;
    return *views;
  }
  Result<core::EndAnswer> complete(const store::ExecutionView& view, std::string result = "1") {
    return node.get<core::EndAnswer>(
        [&](auto done) { node.engine.complete({view.execution.id, view.execution.version, result}, done); });
  }
  Result<core::EndAnswer> fail(const store::ExecutionView& view, std::string name = "Oops") {
    return node.get<core::EndAnswer>([&](auto done) {
      FailRequest request;
      request.execution = view.execution.id;
      request.version = view.execution.version;
      request.error_name = name;
      node.engine.fail(request, done);
    });
  }
  Result<core::Lane> queue(std::string name, core::LaneConfig config) {
    return node.get<core::Lane>([&](auto done) { node.engine.queue_set("default", name, config, done); });
  }
  void run_clock(Duration by) {
    const Instant end = clock.now() + by;
    while (clock.now() < end) {
      node.clockwork.step(clock.now());
      node.settle();
      node.engine.step(clock.now());
      clock.advance(Duration{100'000});
      monotonic.advance(Duration{100'000});
    }
  }

  testing::ManualClock clock;
  testing::ManualMonotonic monotonic;
  store::memory::MemoryStore store{clock};
  testing::EngineNode node{store, clock, monotonic};
};

TEST(Enqueue, SecondCallWithTheSameIdIsAnsweredNotExecuted) {
  EngineWorld world;
  auto first = world.enqueue(world.task("pay-1"));
  ASSERT_TRUE(first.ok()) << first.error().message;
  EXPECT_TRUE(first->created);
  auto second = world.enqueue(world.task("pay-1"));
  ASSERT_TRUE(second.ok());
  EXPECT_FALSE(second->created);
  EXPECT_EQ(second->execution_id, first->execution_id);
  EXPECT_EQ(second->task_id, "pay-1");
}

TEST(Enqueue, StoredResultAnswersTheLateDuplicate) {
  EngineWorld world;
  world.enqueue(world.task("pay-1")).value();
  auto tasks = world.claim();
  ASSERT_EQ(tasks.size(), 1u);
  EXPECT_EQ(tasks[0].queue, "default");
  EXPECT_EQ(tasks[0].tenant, "default");
  ASSERT_TRUE(world.complete(tasks[0], "{\"ok\": 1}").ok());
  auto again = world.enqueue(world.task("pay-1"));
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->result, "{\"ok\": 1}");
  EXPECT_EQ(again->status, Status::succeeded);
}

// D6, D14
TEST(Enqueue, OtherArgsUnderOneIdAreRefusedButOtherSpellingIsNot) {
  EngineWorld world;
  world.enqueue(world.task("a", R"({"x":1,"y":[1.0]})")).value();
  EXPECT_TRUE(world.enqueue(world.task("a", R"({ "y": [1e0], "x": 1 })")).ok());
  auto other = world.enqueue(world.task("a", R"({"x":2})"));
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().code, ErrorCode::FingerprintMismatch);
}

// D12
TEST(Enqueue, BadFieldsAreNamedAndChangeNothing) {
  EngineWorld world;
  const auto refused = [&](auto change, const char* field) {
    auto request = world.task("id");
    change(request);
    auto answer = world.enqueue(request);
    ASSERT_FALSE(answer.ok()) << field;
    EXPECT_NE(answer.error().message.find(field), std::string::npos) << answer.error().message;
  };
  refused([](auto& r) { r.task_id = ""; }, "task_id");
  refused([](auto& r) { r.task_id = std::string(256, 'x'); }, "task_id");
  refused([](auto& r) { r.task_id = std::string("a\0b", 3); }, "task_id");
  refused([](auto& r) { r.name = ""; }, "name");
  refused([](auto& r) { r.queue = "a\nb"; }, "queue");
  refused([](auto& r) { r.priority = 40000; }, "priority");
  refused([](auto& r) { r.max_attempts = 0; }, "max_attempts");
  refused([](auto& r) { r.timeout = Duration{-1}; }, "timeout");
  refused(
      [](auto& r) {
        r.delay = Duration{1};
        r.scheduled_at = Instant{};
      },
      "delay");
  refused([](auto& r) { r.on_duplicate = OnDuplicate::replace; }, "on_duplicate");
  refused([](auto& r) { r.args = "{\"a\":1,\"a\":2}"; }, "");
  refused([](auto& r) { r.args = "{"; }, "");
  refused([](auto& r) { r.args = "\"" + std::string(600'000, 'x') + "\""; }, "args");
  refused(
      [](auto& r) {
        r.idempotency_key = "k";
        r.idempotency_key_ttl_seconds = 0;
      },
      "idempotency_key_ttl_seconds");
  refused([](auto& r) { r.tenant = "nobody"; }, "nobody");
  EXPECT_TRUE(world.store.execution_list({})->empty());
}

// D10
TEST(EnqueueBatch, OutcomesComeInOrderWithDuplicatesInsideAndOutside) {
  EngineWorld world;
  auto outside = world.enqueue(world.task("b")).value();
  std::vector<EnqueueRequest> batch = {world.task("a"), world.task("b"), world.task("a"), world.task("bad", "{"),
                                       world.task("")};
  batch[4].queue = "other";
  auto outcomes = world.node.get<std::vector<Result<EnqueueOutcome>>>(
      [&](auto done) { world.node.engine.enqueue_batch(batch, done); });
  ASSERT_TRUE(outcomes.ok());
  ASSERT_EQ(outcomes->size(), 5u);
  EXPECT_TRUE((*outcomes)[0]->created);
  EXPECT_FALSE((*outcomes)[1]->created);
  EXPECT_EQ((*outcomes)[1]->execution_id, outside.execution_id);
  EXPECT_FALSE((*outcomes)[2]->created);
  EXPECT_EQ((*outcomes)[2]->execution_id, (*outcomes)[0]->execution_id);
  EXPECT_FALSE((*outcomes)[3].ok());
  EXPECT_TRUE((*outcomes)[4]->created);
  EXPECT_EQ(world.store.execution_list({})->size(), 3u);
}

TEST(EnqueueBatch, TooManyItemsAreRefused) {
  EngineWorld world;
  auto outcomes = world.node.get<std::vector<Result<EnqueueOutcome>>>(
      [&](auto done) { world.node.engine.enqueue_batch(std::vector<EnqueueRequest>(1001, world.task("")), done); });
  ASSERT_FALSE(outcomes.ok());
  EXPECT_EQ(outcomes.error().code, ErrorCode::PayloadTooLarge);
}

TEST(Unique, OneExecutionPerArgsAndPeriod) {
  EngineWorld world;
  auto request = world.task("");
  request.unique = UniqueBy{true, Duration{3'600'000'000}};
  const auto first = world.enqueue(request).value();
  EXPECT_TRUE(first.created);
  EXPECT_EQ(first.task_id.substr(0, 7), "unique-");
  EXPECT_EQ(first.task_id.size(), 7u + 64u);
  EXPECT_FALSE(world.enqueue(request).value().created);
  auto other_args = request;
  other_args.args = "[1]";
  EXPECT_TRUE(world.enqueue(other_args).value().created);
  world.clock.advance(Duration{3'600'000'000});
  EXPECT_TRUE(world.enqueue(request).value().created);
}

// C1
TEST(Holder, StaleVersionIsRefusedAndTheRowStays) {
  EngineWorld world;
  world.enqueue(world.task("a")).value();
  const auto first = world.claim().at(0);
  world.run_clock(Duration{40'000'000});
  const auto second = world.claim();
  ASSERT_EQ(second.size(), 1u);
  auto zombie = world.complete(first, "\"zombie\"");
  ASSERT_FALSE(zombie.ok());
  EXPECT_EQ(zombie.error().code, ErrorCode::LeaseLost);
  ASSERT_TRUE(world.complete(second[0], "\"good\"").ok());
  EXPECT_EQ(world.node.engine.get_task("default", "a")->execution.result, "\"good\"");
}

// D4
TEST(Holder, RepeatedCompletionAnswersExisting) {
  EngineWorld world;
  world.enqueue(world.task("a")).value();
  const auto task = world.claim().at(0);
  EXPECT_FALSE(world.complete(task)->existing);
  EXPECT_TRUE(world.complete(task)->existing);
  EXPECT_EQ(world.complete(task, "2").error().code, ErrorCode::FingerprintMismatch);
}

TEST(Holder, InvalidResultIsRefused) {
  EngineWorld world;
  world.enqueue(world.task("a")).value();
  const auto task = world.claim().at(0);
  EXPECT_EQ(world.complete(task, "{").error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(world.complete(task, "\"" + std::string(600'000, 'x') + "\"").error().code, ErrorCode::PayloadTooLarge);
}

// D16
TEST(Holder, HugeErrorTextIsCutAndTheTaskEndsNormally) {
  EngineWorld world;
  auto request = world.task("a");
  request.max_attempts = 1;
  world.enqueue(request).value();
  const auto task = world.claim().at(0);
  auto ended = world.node.get<core::EndAnswer>([&](auto done) {
    FailRequest fail;
    fail.execution = task.execution.id;
    fail.version = task.execution.version;
    fail.error_message = std::string(5'000'000, '\xff');
    fail.error_details = "not json";
    world.node.engine.fail(fail, done);
  });
  ASSERT_TRUE(ended.ok());
  EXPECT_EQ(ended->status, Status::failed);
  EXPECT_LT(world.node.engine.get_task("default", "a")->execution.error->size(), 80'000u);
}

// D1, D2
TEST(Deliver, OneOfManyWinsAndTheTerminalRowIsUntouched) {
  EngineWorld world;
  world.enqueue(world.task("job")).value();
  int won = 0;
  std::optional<store::ExecutionView> holder;
  const auto deliver = [&](std::string worker) {
    return world.node.get<DeliverOutcome>([&](auto done) {
      DeliverRequest request;
      request.job_id = "job";
      request.worker = std::move(worker);
      world.node.engine.deliver(request, done);
    });
  };
  for (int i = 0; i < 64; ++i) {
    auto outcome = deliver("w" + std::to_string(i));
    ASSERT_TRUE(outcome.ok()) << outcome.error().message;
    if (outcome->outcome == core::DeliveryOutcome::claimed) {
      ++won;
      holder = outcome->execution;
    }
  }
  EXPECT_EQ(won, 1);
  ASSERT_TRUE(world.complete(*holder).ok());
  const auto before = world.node.engine.get_task("default", "job")->execution;
  for (int i = 0; i < 100; ++i) EXPECT_EQ(deliver("late")->outcome, core::DeliveryOutcome::no_op_terminal);
  EXPECT_EQ(world.node.engine.get_task("default", "job")->execution, before);
}

TEST(Deliver, UnknownJobAndNotReadyAreErrors) {
  EngineWorld world;
  DeliverRequest request;
  request.job_id = "nothing";
  request.worker = "w";
  const auto deliver = [&] {
    return world.node.get<DeliverOutcome>([&](auto done) { world.node.engine.deliver(request, done); });
  };
  EXPECT_EQ(deliver().error().code, ErrorCode::JobNotFound);
  auto later = world.task("later");
  later.delay = Duration{60'000'000};
  world.enqueue(later).value();
  request.job_id = "later";
  EXPECT_EQ(deliver().error().code, ErrorCode::NotReady);
}

TEST(Claim, WaitingPollIsAnsweredWhenWorkArrivesOrItsTimeIsOver) {
  EngineWorld world;
  std::vector<std::size_t> answers;
  ClaimRequest request;
  request.worker = "w";
  request.wait = Duration{10'000'000};
  const auto poll = [&] {
    world.node.engine.claim(request,
                            [&](Result<std::vector<store::ExecutionView>> views) { answers.push_back(views->size()); });
  };
  poll();
  world.run_clock(Duration{2'000'000});
  EXPECT_TRUE(answers.empty());
  world.enqueue(world.task("a")).value();
  world.run_clock(Duration{1'000'000});
  EXPECT_EQ(answers, std::vector<std::size_t>{1});
  poll();
  world.run_clock(Duration{11'000'000});
  EXPECT_EQ(answers, (std::vector<std::size_t>{1, 0}));
}

// W21
TEST(WaitResult, IsAnsweredAtTheEndOrAtTheDeadline) {
  EngineWorld world;
  const auto id = world.enqueue(world.task("a")).value().execution_id;
  std::vector<Status> seen;
  const auto wait = [&](Duration patience) {
    world.node.engine.wait_result("default", id, world.clock.now() + patience,
                                  [&](Result<store::ExecutionView> view) { seen.push_back(view->execution.status); });
  };
  wait(Duration{1'000'000});
  world.run_clock(Duration{2'000'000});
  EXPECT_EQ(seen, std::vector<Status>{Status::queued});
  wait(Duration{60'000'000});
  const auto task = world.claim().at(0);
  world.complete(task).value();
  world.node.engine.step(world.clock.now());
  EXPECT_EQ(seen, (std::vector<Status>{Status::queued, Status::succeeded}));
  wait(Duration{60'000'000});
  world.node.engine.step(world.clock.now());
  EXPECT_EQ(seen.size(), 3u) << "what ended before is answered by the next step";
}

TEST(Bulk, DryRunNamesAndTheRealOneChanges) {
  EngineWorld world;
  for (int i = 0; i < 5; ++i) world.enqueue(world.task("t" + std::to_string(i))).value();
  BulkRequest request;
  request.filter.limit = 3;
  request.dry_run = true;
  const auto bulk = [&] { return world.node.get<BulkPage>([&](auto done) { world.node.engine.bulk(request, done); }); };
  auto page = bulk();
  ASSERT_TRUE(page.ok());
  EXPECT_EQ(page->items.size(), 3u);
  EXPECT_TRUE(page->next);
  EXPECT_EQ(world.store.execution_list({.statuses = {Status::cancelled}})->size(), 0u);
  request.dry_run = false;
  request.filter.limit = 100;
  EXPECT_EQ(bulk()->items.size(), 5u);
  EXPECT_EQ(world.store.execution_list({.statuses = {Status::cancelled}})->size(), 5u);
  EXPECT_TRUE(bulk()->items.empty());
}

TEST(Explain, SaysWhyATaskDoesNotRun) {
  EngineWorld world;
  const auto reason = [&](const char* id) {
    auto explained = world.node.engine.explain("default", id);
    EXPECT_TRUE(explained.ok()) << explained.error().message;
    return explained->reason;
  };
  world.enqueue(world.task("ready")).value();
  EXPECT_EQ(reason("ready"), WaitReason::ready);
  auto later = world.task("later");
  later.delay = Duration{60'000'000};
  world.enqueue(later).value();
  EXPECT_EQ(reason("later"), WaitReason::not_due);
  world.fail(world.claim().at(0), "Flaky").value();
  EXPECT_EQ(reason("ready"), WaitReason::backoff);
  EXPECT_NE(world.node.engine.explain("default", "ready")->summary.find("Flaky"), std::string::npos);
  world.queue("held", {.paused = true}).value();
  auto held = world.task("held");
  held.queue = "held";
  world.enqueue(held).value();
  EXPECT_EQ(reason("held"), WaitReason::queue_paused);
  world.queue("keyed", {.concurrency_per_key = 1}).value();
  for (const char* id : {"k1", "k2"}) {
    auto keyed = world.task(id);
    keyed.queue = "keyed";
    keyed.concurrency_key = "customer";
    world.enqueue(keyed).value();
  }
  EXPECT_EQ(reason("k2"), WaitReason::concurrency_key);
}

TEST(Explain, CountsDuplicatesAndNamesTheWinner) {
  EngineWorld world;
  const auto first = world.enqueue(world.task("a")).value();
  for (int i = 0; i < 3; ++i) world.enqueue(world.task("a")).value();
  EXPECT_FALSE(world.enqueue(world.task("a", "[9]")).ok());
  world.run_clock(Duration{1'000'000});
  const auto explained = world.node.engine.explain("default", "a").value();
  ASSERT_EQ(explained.duplicates.size(), 1u);
  EXPECT_EQ(explained.duplicates[0].counts.size(), 2u);
  ASSERT_EQ(explained.duplicates[0].recent.size(), 4u);
  EXPECT_EQ(explained.duplicates[0].recent[0].winner, first.execution_id);
  EXPECT_NE(explained.summary.find("4 duplicates"), std::string::npos) << explained.summary;
}

TEST(RequestJson, ReadsEveryFieldAndNamesUnknownOnes) {
  auto request = enqueue_request_from_json(
      R"({"name":"n","queue":"q","args":{ "a": 1.0 },"task_id":"t","priority":5,"delay":"5s","timeout":"1m",)"
      R"("attempt_timeout":"10s","max_attempts":7,"retry":{"initial_interval":"2s","factor":3,"non_retryable":["X"]},)"
      R"("concurrency_key":"c","on_duplicate":"reject","reuse":"never","match_args":false,"idempotency_key":"k",)"
      R"("idempotency_key_ttl_seconds":60})");
  ASSERT_TRUE(request.ok()) << request.error().message;
  EXPECT_EQ(request->args, "{ \"a\": 1.0 }");
  EXPECT_EQ(request->delay, Duration{5'000'000});
  EXPECT_EQ(request->retry.factor, 3);
  EXPECT_EQ(request->reuse, Reuse::never);
  EXPECT_NE(enqueue_request_from_json(R"({"nmae":"x"})").error().message.find("nmae"), std::string::npos);
  EXPECT_NE(enqueue_request_from_json(R"({"priority":"x"})").error().message.find("priority"), std::string::npos);
  EXPECT_FALSE(enqueue_request_from_json("[]").ok());
}

}  // namespace
}  // namespace semel::engine
