// The public API in memory and under the test kit: what each call promises.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "semel/semel.h"
#include "semel/testing.h"

namespace semel {
namespace {

using namespace std::chrono_literals;
using testing::TestEngine;

struct Order {
  std::string id;
  std::int64_t cents = 0;
};
SEMEL_FIELDS(Order, id, cents)

const auto kCharge = task("charge", [](const Order& order) { return order.cents * 2; });
const TaskRef<std::int64_t, std::string> kWrongArgument("charge");

TEST(Enqueue, TaskIsRunAndItsResultIsTyped) {
  TestEngine kit;
  auto worker = kit->start_worker(WorkerOptions().add(kCharge)).value();
  const auto handle = kit->enqueue(kCharge, Order{"o-1", 21}).value();
  EXPECT_TRUE(handle.created());
  EXPECT_EQ(handle.task_id(), handle.execution_id().to_string());
  EXPECT_EQ(handle.status().value(), Status::queued);
  EXPECT_EQ(handle.result().value(), 42);
  EXPECT_EQ(kit.calls("charge"), 1);
  EXPECT_EQ(worker.metrics().succeeded, 1u);
}

TEST(Enqueue, DuplicateIsAnsweredWithTheFirstExecution) {
  TestEngine kit;
  auto worker = kit->start_worker(WorkerOptions().add(kCharge)).value();
  const auto options = EnqueueOptions().task_id("pay-1");
  const auto first = kit->enqueue(kCharge, Order{"o-1", 1}, options).value();
  const auto second = kit->enqueue(kCharge, Order{"o-1", 1}, options).value();
  EXPECT_FALSE(second.created());
  EXPECT_EQ(first.execution_id(), second.execution_id());
  kit.run_until_idle();
  EXPECT_EQ(kit->enqueue(kCharge, Order{"o-1", 1}, options).value().result().value(), 2);
  EXPECT_EQ(kit.calls("charge"), 1);
  EXPECT_EQ(kit->enqueue(kCharge, Order{"o-1", 2}, options).error().code, ErrorCode::FingerprintMismatch);
  EXPECT_TRUE(kit->enqueue(kCharge, Order{"o-1", 2}, EnqueueOptions(options).match_args(false)).ok());
}

TEST(Enqueue, BadOptionsAreRefusedAndNameTheField) {  // D12, C9
  TestEngine kit;
  const auto message = [&](const EnqueueOptions& options) {
    const auto result = kit->enqueue(kCharge, Order{}, options);
    EXPECT_FALSE(result.ok());
    return result.ok() ? std::string() : result.error().message;
  };
  EXPECT_NE(message(EnqueueOptions().task_id("")).find("task_id"), std::string::npos);
  EXPECT_NE(message(EnqueueOptions().task_id(std::string(256, 'a'))).find("task_id"), std::string::npos);
  EXPECT_NE(message(EnqueueOptions().task_id("a\nb")).find("task_id"), std::string::npos);
  EXPECT_NE(message(EnqueueOptions().priority(-1)).find("priority"), std::string::npos);
  EXPECT_NE(message(EnqueueOptions().delay(-1s)).find("delay"), std::string::npos);
  EXPECT_NE(message(EnqueueOptions().timeout(0s)).find("timeout"), std::string::npos);
  EXPECT_NE(message(EnqueueOptions().idempotency_key("k").idempotency_key_ttl(1us)).find("ttl"), std::string::npos);
  EXPECT_NE(message(EnqueueOptions().tenant("nobody")).find("nobody"), std::string::npos);
  EXPECT_TRUE(kit.executions().empty());
}

TEST(Enqueue, ValueWithoutJsonFormIsRefused) {
  TestEngine kit;
  const auto result = kit->enqueue(kCharge, Order{"\xff", 1});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().message, "member 'id' is not UTF-8");
}

TEST(Enqueue, AsyncFormCallsBackOnceDurable) {
  TestEngine kit;
  auto worker = kit->start_worker(WorkerOptions().add(kCharge)).value();
  std::vector<std::string> seen;
  kit->enqueue_async(kCharge, Order{"o-1", 5}, EnqueueOptions().task_id("a"), [&](Result<Handle<std::int64_t>> handle) {
    seen.push_back("created " + std::to_string(handle.value().created()));
    handle.value().on_done(
        [&](Result<std::int64_t> result) { seen.push_back("result " + std::to_string(result.value())); });
  });
  EXPECT_TRUE(seen.empty());
  kit.run_until_idle();
  EXPECT_EQ(seen, (std::vector<std::string>{"created 1", "result 10"}));
}

TEST(Enqueue, BatchAnswersEachItem) {  // D10
  TestEngine kit;
  const auto handles = kit->enqueue_batch(kCharge, {Order{"a", 1}, Order{"b", 2}, Order{"a", 1}},
                                          [](const Order& order) { return EnqueueOptions().task_id(order.id); })
                           .value();
  ASSERT_EQ(handles.size(), 3u);
  EXPECT_TRUE(handles[0].value().created());
  EXPECT_TRUE(handles[1].value().created());
  EXPECT_FALSE(handles[2].value().created());
}

TEST(Enqueue, OneBadItemDoesNotStopTheBatch) {
  TestEngine kit;
  const auto handles =
      kit->enqueue_batch(kCharge, {Order{"\xff", 1}, Order{"b", 2}}, [](const Order&) { return EnqueueOptions(); })
          .value();
  ASSERT_EQ(handles.size(), 2u);
  EXPECT_EQ(handles[0].error().code, ErrorCode::InvalidArgument);
  EXPECT_TRUE(handles[1].value().created());
}

TEST(Enqueue, GroupRunsItsCompletionOnceAllMembersEnded) {
  TestEngine kit;
  const auto sum = task("sum", [](const std::string& name) { return "sum of " + name; });
  const auto group = kit->create_group(2, sum, "both").value();
  auto worker = kit->start_worker(WorkerOptions().add(kCharge).add(sum)).value();
  EXPECT_EQ(group.completion.status().error().code, ErrorCode::ExecutionNotFound);
  kit->enqueue(kCharge, Order{"a", 1}, EnqueueOptions().group(group.id)).value();
  kit.run_until_idle();
  EXPECT_EQ(kit.calls("sum"), 0);
  kit->enqueue(kCharge, Order{"b", 1}, EnqueueOptions().group(group.id)).value();
  kit.run_until_idle();
  EXPECT_EQ(kit.calls("sum"), 1);
  EXPECT_EQ(group.completion.result().value(), "sum of both");
  EXPECT_FALSE(kit->enqueue(kCharge, Order{"c", 1}, EnqueueOptions().group(group.id)).ok());
}

TEST(Handle, WaitingForNothingAnswersNotReadyInTheKit) {
  TestEngine kit;
  const auto handle = kit->enqueue(kCharge, Order{"a", 1}).value();
  EXPECT_EQ(handle.result().error().code, ErrorCode::NotReady);
}

TEST(Handle, EndsOtherThanSuccessAreTypedErrors) {
  TestEngine kit;
  const auto bad = task("bad", [](TaskContext&, const int& how) -> int {
    if (how == 0) throw NonRetryable("Broken", "no way");
    throw std::runtime_error("try again");
  });
  auto worker = kit->start_worker(WorkerOptions().add(bad)).value();
  const auto broken = kit->enqueue(bad, 0).value();
  EXPECT_EQ(broken.result().error().code, ErrorCode::TaskFailed);
  try {
    broken.get();
    FAIL();
  } catch (const TaskFailed& failed) {
    EXPECT_EQ(failed.error_name(), "Broken");
    EXPECT_NE(failed.error().message.find("no way"), std::string::npos);
  }
  const auto cancelled = kit->enqueue(bad, 1, EnqueueOptions().delay(1h)).value();
  EXPECT_EQ(cancelled.cancel().value(), Status::cancelled);
  EXPECT_THROW(cancelled.get(), Cancelled);
  const auto late = kit->enqueue(bad, 1, EnqueueOptions().delay(1h).timeout(1min)).value();
  kit.advance(2min);
  EXPECT_THROW(late.get(), TimedOut);
  kit->set_queue("dead", QueueOptions().dead_letter(true)).value();
  const auto dead = kit->enqueue(bad, 1, EnqueueOptions().queue("dead").max_attempts(2)).value();
  kit.advance(1h);
  EXPECT_EQ(dead.result().error().code, ErrorCode::TaskDeadLettered);
  EXPECT_EQ(dead.execution().value().attempt, 2);
}

TEST(Handle, AnotherTypeThanTheTaskReturnsIsADecodeError) {
  TestEngine kit;
  auto worker = kit->start_worker(WorkerOptions().add(kCharge)).value();
  kit->enqueue(kCharge, Order{"a", 1}, EnqueueOptions().task_id("x")).value().result().value();
  const TaskRef<Order, Order> other("charge");
  EXPECT_EQ(kit->find(other, "x").value().result().error().code, ErrorCode::DecodeFailed);
  EXPECT_EQ(kit->find(TaskRef<int, int>("refund"), "x").error().code, ErrorCode::InvalidArgument);
}

TEST(Handler, ArgumentsThatCannotBeReadAreRetriedThenDeadLettered) {  // D17
  TestEngine kit;
  auto worker = kit->start_worker(WorkerOptions().add(kCharge)).value();
  kit->set_queue("q", QueueOptions().dead_letter(true)).value();
  const auto handle = kit->enqueue(kWrongArgument, "text", EnqueueOptions().queue("q")).value();
  kit.run_until_idle();
  EXPECT_EQ(handle.status().value(), Status::queued);
  kit.advance(1min);
  const auto row = handle.execution().value();
  EXPECT_EQ(row.status, Status::dead_lettered);
  EXPECT_EQ(row.attempt, 3);
  EXPECT_EQ(row.error->name, "DecodeFailed");
  EXPECT_EQ(row.error->message, "args: the value: expected object, found string");
}

TEST(Handler, AnyErrorTextEndsTheTaskNormally) {  // D16
  TestEngine kit;
  const auto shout = task("shout", [](const int& how) {
    if (how == 0) throw NonRetryable(std::string("bad \xff bytes \x01"));
    if (how == 1) throw NonRetryable(std::string(1 << 20, 'x'));
    throw 7;
  });
  auto worker = kit->start_worker(WorkerOptions().add(shout)).value();
  const auto bad = kit->enqueue(shout, 0).value();
  const auto huge = kit->enqueue(shout, 1).value();
  const auto odd = kit->enqueue(shout, 2, EnqueueOptions().max_attempts(1)).value();
  kit.run_until_idle();
  EXPECT_NE(bad.execution().value().error->message.find("bytes"), std::string::npos);
  EXPECT_LE(huge.execution().value().error->message.size(), 64u * 1024);
  EXPECT_EQ(odd.execution().value().error->name, "UnknownException");
  for (const auto& row : kit.executions()) EXPECT_EQ(row.status, Status::failed);
}

TEST(Handler, ResultReturnMayFailTheAttempt) {
  TestEngine kit;
  int calls = 0;
  const auto flaky = task("flaky", [&]() -> Result<int> {
    if (++calls < 3) return make_error(ErrorCode::StoreUnavailable, "down");
    return 7;
  });
  auto worker = kit->start_worker(WorkerOptions().add(flaky)).value();
  const auto handle = kit->enqueue(flaky).value();
  kit.advance(1min);
  EXPECT_EQ(handle.result().value(), 7);
  EXPECT_EQ(calls, 3);
}

TEST(Handler, RetryAfterChoosesTheNextInstant) {
  TestEngine kit;
  std::vector<Instant> at;
  const auto later = task("later", [&](TaskContext& context) {
    at.push_back(kit.now());
    if (context.attempt() == 1) throw RetryAfter(1h);
    if (context.attempt() == 2) {
      context.retry_after(2h);
      throw std::runtime_error("not yet");
    }
  });
  auto worker = kit->start_worker(WorkerOptions().add(later)).value();
  const auto handle = kit->enqueue(later).value();
  kit.advance(24h);
  EXPECT_TRUE(handle.result().ok());
  ASSERT_EQ(at.size(), 3u);
  EXPECT_EQ(at[1] - at[0], Duration(1h));
  EXPECT_EQ(at[2] - at[1], Duration(2h));
}

TEST(Handler, KeyIsTheSameInEveryAttemptAndDetailsReachTheNext) {
  TestEngine kit;
  std::set<std::string> keys;
  std::vector<std::optional<int>> details;
  const auto work = task("work", [&](TaskContext& context) {
    keys.insert(context.idempotency_key());
    keys.insert(context.idempotency_key("mail"));
    details.push_back(context.last_heartbeat<int>());
    context.heartbeat(context.attempt() * 10);
    if (!context.is_last_attempt()) throw std::runtime_error("again");
  });
  auto worker = kit->start_worker(WorkerOptions().add(work)).value();
  const auto handle = kit->enqueue(work).value();
  kit.advance(1h);
  EXPECT_TRUE(handle.result().ok());
  EXPECT_EQ(keys.size(), 2u);
  EXPECT_TRUE(keys.contains(handle.execution_id().to_string()));
  EXPECT_EQ(details, (std::vector<std::optional<int>>{std::nullopt, 10, 20}));
}

TEST(Handler, MiddlewareWrapsFromTheOutsideIn) {
  TestEngine kit;
  std::vector<std::string> seen;
  const auto named = [&](std::string name) {
    return [&seen, name](TaskContext&, const Next& next) {
      seen.push_back(name + " in");
      auto outcome = next();
      seen.push_back(name + (outcome.ok() ? " ok" : " " + outcome.failure.name));
      return outcome;
    };
  };
  const auto throws = task("throws", [] { throw NonRetryable("Bang", "x"); });
  auto worker = kit->start_worker(WorkerOptions().add(throws).use(named("outer")).use(named("inner"))).value();
  kit->enqueue(throws).value();
  kit.run_until_idle();
  EXPECT_EQ(seen, (std::vector<std::string>{"outer in", "inner in", "inner Bang", "outer Bang"}));
}

TEST(Handler, EnqueuesFollowUpsFromInside) {
  TestEngine kit;
  const auto parent = task("parent", [&](const int& n) {
    return kit->enqueue(kCharge, Order{"child", n}, EnqueueOptions().task_id("child")).value().result().value();
  });
  auto worker = kit->start_worker(WorkerOptions().add(parent).add(kCharge)).value();
  EXPECT_EQ(kit->enqueue(parent, 4).value().result().value(), 8);
}

TEST(Worker, BadOptionsAreRefused) {
  TestEngine kit;
  EXPECT_EQ(kit->start_worker(WorkerOptions()).error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(kit->start_worker(WorkerOptions().add(kCharge).concurrency(0)).error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(kit->start_worker(WorkerOptions().add(kCharge).lease(1ms)).error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(kit->start_worker(WorkerOptions().add(kCharge).tenants({"nobody"})).error().code,
            ErrorCode::TenantNotFound);
}

TEST(Deliver, RunsTheJobOnceAndAnswersEveryDelivery) {  // D2
  TestEngine kit;
  kit->enqueue(kCharge, Order{"o", 3}, EnqueueOptions().task_id("job")).value();
  const auto first = kit->deliver("job", "consumer", kCharge).value();
  EXPECT_EQ(first.outcome, DeliveryOutcome::claimed);
  EXPECT_EQ(first.execution.status, Status::succeeded);
  EXPECT_EQ(first.execution.result->bytes, "6");
  const auto second = kit->deliver("job", "consumer", kCharge).value();
  EXPECT_EQ(second.outcome, DeliveryOutcome::no_op_terminal);
  EXPECT_EQ(second.execution.version, first.execution.version);
  EXPECT_EQ(kit.calls("charge"), 1);
  EXPECT_EQ(kit->deliver("other", "consumer", kCharge).error().code, ErrorCode::JobNotFound);
}

TEST(Deliver, AnotherTasksFunctionGivesTheClaimBack) {
  TestEngine kit;
  kit->enqueue(kCharge, Order{"o", 3}, EnqueueOptions().task_id("job")).value();
  const auto refund = task("refund", [](const Order&) { return 0; });
  EXPECT_EQ(kit->deliver("job", "consumer", refund).error().code, ErrorCode::InvalidArgument);
  const auto row = kit->get_task("job").value();
  EXPECT_EQ(row.status, Status::queued);
  EXPECT_EQ(row.attempt, 0);
}

class Reverse : public PayloadCodec {
 public:
  std::string encode(std::string_view plain) const override { return "~" + std::string(plain.rbegin(), plain.rend()); }
  Result<std::string> decode(std::string_view stored) const override {
    if (!stored.starts_with("~")) return make_error(ErrorCode::DecodeFailed, "not ours");
    return std::string(stored.rbegin(), stored.rend() - 1);
  }
  bool deterministic() const override { return true; }
};

TEST(Codec, StoreSeesOnlySealedBytes) {
  TestEngine kit(testing::TestOptions().engine(Options().codec(std::make_shared<Reverse>())));
  auto worker = kit->start_worker(WorkerOptions().add(kCharge)).value();
  const auto options = EnqueueOptions().task_id("x");
  const auto handle = kit->enqueue(kCharge, Order{"o", 3}, options).value();
  EXPECT_EQ(handle.result().value(), 6);
  EXPECT_EQ(handle.execution().value().args.bytes, R"({"id":"o","cents":3})");
  EXPECT_EQ(kit.snapshot().find("\"cents\""), std::string::npos);
  EXPECT_FALSE(kit->enqueue(kCharge, Order{"o", 3}, options).value().created());
  EXPECT_EQ(kit->enqueue(kCharge, Order{"o", 4}, options).error().code, ErrorCode::FingerprintMismatch);
}

TEST(Bytes, TravelUnread) {
  TestEngine kit;
  const auto echo = task("echo", [](const Bytes& bytes) { return Bytes{bytes.data + "\xff"}; });
  auto worker = kit->start_worker(WorkerOptions().add(echo)).value();
  EXPECT_EQ(kit->enqueue(echo, Bytes{std::string("\0\x80", 2)}).value().result().value().data,
            std::string("\0\x80\xff", 3));
}

TEST(Shutdown, HandlesAnswerShuttingDownAfterwards) {
  std::optional<Handle<std::int64_t>> handle;
  {
    TestEngine kit;
    handle = kit->enqueue(kCharge, Order{"o", 3}).value();
    kit->shutdown();
    EXPECT_EQ(kit->enqueue(kCharge, Order{"o", 3}).error().code, ErrorCode::ShuttingDown);
  }
  EXPECT_EQ(handle->status().error().code, ErrorCode::ShuttingDown);
  EXPECT_EQ(handle->result().error().code, ErrorCode::ShuttingDown);
}

TEST(Open, UnknownStoresAreRefusedWithTheAcceptedForms) {
  const auto message = [](std::string_view url) { return Engine::open(url).error().message; };
  EXPECT_EQ(message("mysql://x"), "store: \"mysql://x\" is not one of: sqlite:PATH, memory:");
  EXPECT_NE(message("app.db").find("sqlite:PATH"), std::string::npos);
  EXPECT_NE(message("sqlite:").find("sqlite:app.db"), std::string::npos);
  EXPECT_NE(message("sqlite://app.db").find("sqlite:app.db"), std::string::npos);
  EXPECT_NE(message("postgres://localhost/x").find("semel::postgres::backend()"), std::string::npos);
  EXPECT_EQ(Engine::open("sqlite:/no/such/folder/app.db").error().code, ErrorCode::StoreNotFound);
  EXPECT_EQ(Engine::open("memory:", Options().tenant("nobody")).error().code, ErrorCode::TenantNotFound);
  EXPECT_EQ(Engine::open("memory:", Options().max_batch(0)).error().code, ErrorCode::InvalidArgument);
}

}  // namespace
}  // namespace semel
