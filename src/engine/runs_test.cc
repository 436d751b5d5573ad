// Runs as operators and callers see them: started, signalled, ended from outside, read.
#include <gtest/gtest.h>

#include "engine/engine.h"
#include "store/memory/memory_store.h"
#include "testing/engine_node.h"
#include "testing/fault_store.h"
#include "testing/temp_sqlite.h"

namespace semel::engine {
namespace {

class RunsTest : public ::testing::Test {
 protected:
  static EnqueueRequest workflow(std::string id) {
    EnqueueRequest request;
    request.kind = Kind::workflow;
    request.name = "checkout";
    request.task_id = std::move(id);
    request.args = R"({"order":7})";
    return request;
  }
  ExecutionId start(const std::string& id) { return node.enqueue(workflow(id)).value().execution_id; }
  static SignalRequest approve(const std::string& id) {
    SignalRequest request;
    request.workflow_id = id;
    request.name = "approve";
    request.data = R"({"by":"kim"})";
    return request;
  }
  Result<core::SignalAnswer> signal(const SignalRequest& request) {
    return node.get<core::SignalAnswer>([&](auto done) { node.engine.signal(request, done); });
  }
  Result<core::CancelAnswer> terminate(ExecutionId id) {
    return node.get<core::CancelAnswer>([&](auto done) { node.engine.terminate("default", id, done); });
  }
  // The run's owner records `count` results of local steps of `bytes` each, one append per step.
  void record(ExecutionId id, int count, std::size_t bytes = 8) {
    core::TaskClaim claim;
    claim.id = node.env.next_id<ClaimId>();
    claim.session =
        *node.get<SessionId>([&](auto done) { node.engine.session_open("w", std::chrono::hours(1), done); });
    claim.worker = "w";
    claim.lease = std::chrono::hours(1);
    claim.lanes = {{store.execution_get(core::kDefaultTenant, id)->value().execution.lane, 1, false}};
    claim.pool = core::Pool::runs;
    submit(claim);
    for (int i = 1; i <= count; ++i) {
      clock.advance(Duration{1000});
      core::RunAdvance advance{id, 2, i, {}, false};
      core::Event event;
      event.kind = core::EventKind::local_completed;
      event.command = i;
      event.data = "\"" + std::string(bytes, 'x') + "\"";
      advance.entries.push_back({{}, event, {}});
      submit(advance);
    }
  }
  void submit(core::Operation operation) {
    const auto answer = node.get<core::Answer>([&](auto done) {
      node.writer.submit(std::move(operation), [done](core::Answer given) { done(std::move(given)); });
    });
    const auto* error = std::get_if<Error>(&answer.value());
    EXPECT_EQ(error, nullptr) << error->message;
  }

  testing::ManualClock clock;
  testing::ManualMonotonic monotonic;
  store::memory::MemoryStore store{clock};
  testing::EngineNode node{store, clock, monotonic};
};

TEST_F(RunsTest, AStartedRunIsReadByItsIdAndByItsWorkflowId) {
  auto request = workflow("order-7");
  request.memo = R"({ "note": "vip" })";
  request.attributes = R"({"tier":"gold","amount":12})";
  const auto started = node.enqueue(request).value();
  EXPECT_TRUE(started.created);
  const RunView run = node.engine.run_get("default", "order-7").value();
  EXPECT_EQ(run.execution.execution.id, started.execution_id);
  EXPECT_EQ(run.run.memo, R"({ "note": "vip" })");
  EXPECT_EQ(run.run.attributes, R"({"tier":"gold","amount":12})");
  EXPECT_EQ(run.run.events, 1);
  EXPECT_EQ(run.unread_count, 0);
  EXPECT_EQ(node.engine.run_get("default", started.execution_id.to_string())->run, run.run);
}

TEST_F(RunsTest, MemoAndAttributesAreCheckedAtTheDoor) {
  const auto refused = [&](auto change, const std::string& names, ErrorCode code = ErrorCode::InvalidArgument) {
    auto request = workflow("w");
    change(request);
    const auto answer = node.enqueue(request);
    ASSERT_FALSE(answer.ok()) << names;
    EXPECT_EQ(answer.error().code, code);
    EXPECT_NE(answer.error().message.find(names), std::string::npos) << answer.error().message;
  };
  refused([](auto& r) { r.memo = "{"; }, "memo");
  refused([](auto& r) { r.memo = "[1]"; }, "memo must be a JSON object, not array");
  refused([](auto& r) { r.attributes = "7"; }, "attributes must be a JSON object");
  refused([](auto& r) { r.attributes = R"({"a":1,"deep":{}})"; }, R"("deep" must be a string, number)");
  refused([](auto& r) { r.attributes = R"({"a":1,"a":2})"; }, "attributes");
  refused([](auto& r) { r.memo = R"({"a":")" + std::string(600'000, 'x') + "\"}"; }, "memo",
          ErrorCode::PayloadTooLarge);
  std::string many = "{\"k\":0";
  for (int i = 1; i <= 100; ++i) many += ",\"k" + std::to_string(i) + "\":0";
  refused([&](auto& r) { r.attributes = many + "}"; }, "at most 100 members, got 101");
  refused([](auto& r) { r.kind = Kind::task, r.memo = "{}"; }, "memo is for workflows");
  refused([](auto& r) { r.kind = Kind::task, r.attributes = "{}"; }, "attributes is for workflows");
  EXPECT_TRUE(store.execution_list({})->empty());
}

TEST_F(RunsTest, ASignalIsMailAndItsRepeatIsAnswered) {
  const ExecutionId id = start("order-7");
  auto request = approve("order-7");
  request.dedupe_id = "d-1";
  const auto first = signal(request).value();
  EXPECT_TRUE(first.created);
  EXPECT_EQ(first.run, id);
  EXPECT_FALSE(signal(request).value().created);
  EXPECT_EQ(node.engine.run_get("default", "order-7")->unread_count, 1);
  request = approve("");
  request.execution = id;
  request.encoding = core::Encoding::opaque;
  request.data = "\xff";
  EXPECT_TRUE(signal(request).value().created);
  EXPECT_EQ(node.engine.run_get("default", "order-7")->unread_count, 2);
}

// D4: the commit happened and nobody heard of it. Asked again, the caller would be counted twice.
TEST(Runs, ASignalWithoutADedupeIdIsAnsweredAfterALostCommit) {
  testing::ManualClock clock;
  testing::ManualMonotonic monotonic;
  const auto sqlite = testing::make_temp_sqlite_store(&clock);
  testing::FaultStore store(*sqlite);
  testing::EngineNode node(store, clock, monotonic);
  EnqueueRequest start;
  start.kind = Kind::workflow;
  start.name = "checkout";
  start.task_id = "order-7";
  node.enqueue(start).value();
  SignalRequest approve;
  approve.workflow_id = "order-7";
  approve.name = "approve";
  const auto told = [&](const std::function<void(Callback<core::SignalAnswer>)>& call) {
    store.push(testing::Fault::lost_after);
    std::optional<Result<core::SignalAnswer>> answer;
    call([&](Result<core::SignalAnswer> given) { answer.emplace(std::move(given)); });
    for (int i = 0; i < 10 && !answer; ++i, clock.advance(std::chrono::seconds(1))) node.settle();
    ASSERT_TRUE(answer);
    ASSERT_TRUE(answer->ok()) << answer->error().message;
    EXPECT_TRUE((*answer)->created);
  };
  told([&](auto done) { node.engine.signal(approve, done); });
  EXPECT_EQ(node.engine.run_get("default", "order-7")->unread_count, 1);
  told([&](auto done) { node.engine.signal_with_start(approve, start, done); });
  EXPECT_EQ(node.engine.run_get("default", "order-7")->unread_count, 2) << "another call is another signal";
  const ExecutionId run = node.engine.run_get("default", "order-7")->execution.execution.id;
  const auto mail = store.mail_list({&run, 1}).value();
  EXPECT_EQ(core::decode_event(mail.at(0).event)->id, "") << "the code sees the ids that callers gave";
}

TEST_F(RunsTest, SignalsAreCheckedAtTheDoor) {
  start("order-7");
  const auto refused = [&](auto change, const std::string& names, ErrorCode code = ErrorCode::InvalidArgument) {
    auto request = approve("order-7");
    change(request);
    const auto answer = signal(request);
    ASSERT_FALSE(answer.ok()) << names;
    EXPECT_EQ(answer.error().code, code);
    EXPECT_NE(answer.error().message.find(names), std::string::npos) << answer.error().message;
  };
  refused([](auto& r) { r.name = ""; }, "signal name");
  refused([](auto& r) { r.workflow_id = "a\nb"; }, "workflow_id");
  refused([](auto& r) { r.dedupe_id = ""; }, "dedupe_id");
  refused([](auto& r) { r.data = "{"; }, "data");
  refused([](auto& r) { r.data = "\"" + std::string(600'000, 'x') + "\""; }, "data", ErrorCode::PayloadTooLarge);
  refused([](auto& r) { r.tenant = "nobody"; }, "nobody", ErrorCode::TenantNotFound);
  refused([](auto& r) { r.workflow_id = "nobody"; }, "", ErrorCode::ExecutionNotFound);
  EXPECT_EQ(node.engine.run_get("default", "order-7")->unread_count, 0);
}

TEST_F(RunsTest, ATerminatedRunTakesNoSignals) {
  const ExecutionId id = start("order-7");
  EXPECT_EQ(terminate(id)->status, Status::cancelled);
  EXPECT_EQ(terminate(id)->status, Status::cancelled) << "a repeat changes nothing";
  EXPECT_EQ(signal(approve("order-7")).error().code, ErrorCode::WorkflowAlreadyCompleted);
  const auto events = node.engine.history("default", id).value();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[1].event.kind, core::EventKind::run_terminated);
}

TEST_F(RunsTest, ATaskIsNoRun) {
  EnqueueRequest task;
  task.name = "charge";
  const ExecutionId id = node.enqueue(task)->execution_id;
  EXPECT_EQ(node.engine.run_get("default", id.to_string()).error().code, ErrorCode::ExecutionNotFound);
  EXPECT_EQ(node.engine.history("default", id).error().code, ErrorCode::ExecutionNotFound);
  EXPECT_EQ(terminate(id).error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(node.engine.run_get("default", "nobody").error().code, ErrorCode::ExecutionNotFound);
}

TEST_F(RunsTest, RunsAreListedByTheirAttributes) {
  const auto tagged = [&](const std::string& id, const std::string& attributes) {
    auto request = workflow(id);
    request.attributes = attributes;
    return node.enqueue(request).value().execution_id;
  };
  const ExecutionId first = tagged("a", R"({"tier":"gold","amount":12})");
  start("plain");
  const ExecutionId second = tagged("b", R"({"amount":12.0,"tier":"gold","more":null})");
  tagged("c", R"({"tier":"lead","amount":12})");
  const auto list = [&](const std::string& attributes, store::ExecutionFilter filter = {}) {
    return node.engine.run_list("default", filter, attributes).value();
  };
  const auto ids = [](const RunPage& page) {
    std::vector<ExecutionId> out;
    for (const auto& view : page.runs) out.push_back(view.execution.id);
    return out;
  };
  EXPECT_EQ(ids(list(R"({"tier":"gold","amount":1.2e1})")), (std::vector{second, first}));
  EXPECT_EQ(ids(list(R"({"more":null})")), std::vector{second});
  EXPECT_EQ(list("{}").runs.size(), 4u);
  EXPECT_FALSE(list("{}").next.has_value());
  store::ExecutionFilter filter;
  filter.limit = 1;
  RunPage page = list(R"({"tier":"gold"})", filter);
  EXPECT_EQ(ids(page), std::vector{second});
  filter.before = page.next;
  page = list(R"({"tier":"gold"})", filter);
  EXPECT_EQ(ids(page), std::vector{first});
  EXPECT_FALSE(page.next.has_value());
  EXPECT_EQ(node.engine.run_list("default", {}, "[").error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(node.engine.run_list("default", {}, "7").error().code, ErrorCode::InvalidArgument);
}

TEST_F(RunsTest, HistoryIsReadOverAllPagesFromAnywhere) {
  const ExecutionId id = start("order-7");
  record(id, 40, 500'000);  // three pages
  const auto events = node.engine.history("default", id).value();
  ASSERT_EQ(events.size(), 41u);
  for (std::size_t i = 0; i < events.size(); ++i) {
    EXPECT_EQ(events[i].seq, static_cast<std::int32_t>(i) + 1);
    EXPECT_EQ(events[i].event.command, static_cast<std::int32_t>(i));
    EXPECT_EQ(events[i].at, events[0].at + Duration{1000} * static_cast<int>(i));
  }
  const auto later = node.engine.history("default", id, 39).value();
  EXPECT_EQ(later, std::vector(events.begin() + 39, events.end()));
  EXPECT_TRUE(node.engine.history("default", id, 41)->empty());
  EXPECT_TRUE(node.engine.history("default", id, INT32_MAX)->empty());
}

}  // namespace
}  // namespace semel::engine
