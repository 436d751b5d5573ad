// What an operator is told about a run: why it does not go on, where it went.
#include "engine/explain_run.h"

#include <gtest/gtest.h>

#include "base/duration.h"
#include "core/fingerprint.h"
#include "engine/engine.h"
#include "store/memory/memory_store.h"
#include "testing/engine_node.h"

namespace semel::engine {
namespace {

using core::EventKind;

core::Event event(EventKind kind, std::int32_t command, std::string name = {}, std::string data = {}) {
  core::Event out;
  out.kind = kind;
  out.command = command;
  out.name = std::move(name);
  out.data = std::move(data);
  return out;
}

class ExplainRun : public ::testing::Test {
 protected:
  static EnqueueRequest request(std::string id, Kind kind = Kind::workflow) {
    EnqueueRequest out;
    out.kind = kind;
    out.name = "checkout";
    out.task_id = std::move(id);
    return out;
  }
  ExecutionId start(const std::string& id) { return node.enqueue(request(id)).value().execution_id; }
  core::Execution row(ExecutionId id) { return store.execution_get(core::kDefaultTenant, id)->value().execution; }
  Explanation explain(std::string_view id, std::optional<Kind> kind = {}) {
    return node.engine.explain("default", id, kind).value();
  }
  static bool says(const Explanation& told, const std::string& words) {
    return told.summary.find(words) != std::string::npos;
  }

  template <class Op>
  auto submit(Op operation) {
    using Wanted = typename core::AnswerOf<Op>::type;
    const auto answer = node.get<core::Answer>([&](auto done) {
      node.writer.submit(std::move(operation), [done](core::Answer given) { done(std::move(given)); });
    });
    if (const auto* error = std::get_if<Error>(&answer.value())) ADD_FAILURE() << error->message;
    return std::get<Wanted>(answer.value());
  }
  // Claims the run for worker `w`, whose session lasts a minute.
  void own(ExecutionId id) {
    const Duration lease = std::chrono::minutes(1);
    core::TaskClaim claim;
    claim.id = node.env.next_id<ClaimId>();
    claim.session = *node.get<SessionId>([&](auto done) { node.engine.session_open("w", lease, done); });
    claim.worker = "w";
    claim.lease = lease;
    claim.lanes = {{row(id).lane, 1, false}};
    claim.pool = core::Pool::runs;
    submit(claim);
    ASSERT_EQ(row(id).session, claim.session);
  }
  core::RunAdvance advance_of(ExecutionId id, bool waits = true) {
    return core::RunAdvance{id, row(id).version, store.run_get(id).value()->events, {}, waits};
  }
  void record(ExecutionId id, const std::vector<core::Event>& events, bool waits = true) {
    core::RunAdvance advance = advance_of(id, waits);
    for (const auto& one : events) advance.entries.push_back({{}, one, {}});
    submit(advance);
  }
  // A step or child under an id of its own, or one that is there.
  core::RunAdvance::Entry starting(ExecutionId parent, std::int32_t command, Kind kind, const std::string& id) {
    core::TaskEnqueue start;
    start.id = node.env.next_id<ExecutionId>();
    start.lane = row(parent).lane;
    start.kind = kind;
    start.name = kind == Kind::task ? "charge" : "ship";
    start.identity = id;
    start.args = "null";
    start.fingerprint = core::fingerprint_of(start.name, start.args).value();
    start.parent = core::TaskEnqueue::Parent{parent, *row(parent).identity, command};
    core::Event asked =
        event(kind == Kind::task ? EventKind::step_scheduled : EventKind::child_started, command, start.name);
    asked.id = id;
    asked.execution = start.id;
    return {{}, asked, start};
  }
  void release(ExecutionId id) {
    core::TaskRelease op;
    op.execution = id;
    op.version = row(id).version;
    submit(op);
  }

  testing::ManualClock clock;
  testing::ManualMonotonic monotonic;
  store::memory::MemoryStore store{clock};
  testing::EngineNode node{store, clock, monotonic};
};

TEST_F(ExplainRun, AQueuedRunWaitsForAWorkerAndIsFoundByEitherId) {
  const ExecutionId id = start("order-7");
  for (const std::string& text : {std::string("order-7"), id.to_string()}) {
    const Explanation told = explain(text);
    EXPECT_EQ(told.reason, WaitReason::ready);
    ASSERT_TRUE(told.run);
    EXPECT_EQ(told.run->open_count, 0);
    EXPECT_EQ(told.summary,
              "run " + id.to_string() + " of workflow \"order-7\" is queued: ready, no worker has claimed it yet");
  }
  auto later = request("later");
  later.delay = std::chrono::hours(1);
  node.enqueue(later).value();
  EXPECT_EQ(explain("later").reason, WaitReason::not_due);
}

TEST_F(ExplainRun, AnIdOfATaskAndOfAWorkflowMustSayWhichIsMeant) {
  const ExecutionId run = start("both");
  const ExecutionId task = node.enqueue(request("both", Kind::task)).value().execution_id;
  const auto unclear = node.engine.explain("default", "both");
  ASSERT_FALSE(unclear.ok());
  EXPECT_EQ(unclear.error().code, ErrorCode::InvalidArgument);
  EXPECT_NE(unclear.error().message.find("is a task_id and a workflow_id"), std::string::npos);
  EXPECT_NE(unclear.error().to_json().find(task.to_string()), std::string::npos);
  EXPECT_NE(unclear.error().to_json().find(run.to_string()), std::string::npos);
  EXPECT_EQ(explain("both", Kind::task).execution->execution.id, task);
  EXPECT_EQ(explain("both", Kind::workflow).execution->execution.id, run);
  EXPECT_EQ(explain(run.to_string()).execution->execution.id, run);
  EXPECT_FALSE(explain(task.to_string()).run);
  EXPECT_EQ(node.engine.explain("default", "nobody").error().code, ErrorCode::ExecutionNotFound);
}

TEST_F(ExplainRun, AnOwnedRunNamesItsOwnerAndSaysWhenThatIsLost) {
  const ExecutionId id = start("order-7");
  own(id);
  Explanation told = explain("order-7");
  EXPECT_EQ(told.reason, WaitReason::none);
  EXPECT_TRUE(says(told, "is running; owned by session " + row(id).session->to_string() + " of worker \"w\""))
      << told.summary;
  EXPECT_FALSE(told.run->owner_lost);
  clock.advance(std::chrono::minutes(2));
  told = explain("order-7");
  EXPECT_TRUE(told.run->owner_lost);
  EXPECT_TRUE(says(told, "stopped renewing")) << told.summary;
}

TEST_F(ExplainRun, ARunThatWaitsNamesWhatItStartedAndHowThatStands) {
  const ExecutionId id = start("order-7");
  const ExecutionId taken = node.enqueue([] {
                                  auto other = request("pay-0", Kind::task);
                                  other.name = "charge";
                                  other.delay = std::chrono::hours(1);
                                  return other;
                                }())
                                .value()
                                .execution_id;
  own(id);
  core::Event timer = event(EventKind::timer_started, 1);
  timer.at = add_saturated(clock.now(), std::chrono::hours(72));
  core::RunAdvance advance = advance_of(id);
  advance.entries.push_back({{}, timer, {}});
  advance.entries.push_back(starting(id, 2, Kind::task, "pay-7"));
  advance.entries.push_back(starting(id, 3, Kind::task, "pay-0"));
  advance.entries.push_back(starting(id, 4, Kind::workflow, "ship-7"));
  advance.entries.push_back({{}, event(EventKind::local_completed, 5, "price", "42"), {}});
  submit(advance);
  Explanation told = explain("order-7");
  EXPECT_EQ(told.reason, WaitReason::outcomes);
  ASSERT_EQ(told.run->open_count, 4);
  const auto& open = told.run->open;
  EXPECT_EQ(open[0].due_at, timer.at);
  EXPECT_EQ(open[1].id, "pay-7");
  EXPECT_EQ(open[1].status, Status::queued);
  EXPECT_EQ(open[2].execution, taken) << "it attached to the task that had the id";
  EXPECT_EQ(open[2].status, Status::queued);
  EXPECT_EQ(noun_of(open[3].kind), "child");
  EXPECT_TRUE(says(told, "is suspended: waits for 1 timer due " + base::format_instant(timer.at) +
                             ", 2 steps, 1 child; owned by session"))
      << told.summary;

  const auto cancelled = node.get<core::CancelAnswer>(
      [&](auto done) { node.engine.cancel("default", *open[1].execution, std::move(done)); });
  ASSERT_TRUE(cancelled.ok());
  told = explain("order-7");
  EXPECT_EQ(told.run->open_count, 3) << "what lies in the mailbox is over";
  EXPECT_EQ(told.run->unread_count, 1);
  EXPECT_EQ(told.reason, WaitReason::none) << "its owner is about to read it";
}

TEST_F(ExplainRun, NothingOpenMeansThatOnlySignalsCanWakeIt) {
  const ExecutionId id = start("order-7");
  own(id);
  record(id, {event(EventKind::timer_started, 1), event(EventKind::timer_cancelled, 1)});
  release(id);
  const Explanation told = explain("order-7");
  EXPECT_EQ(told.reason, WaitReason::signals);
  EXPECT_FALSE(told.run->session);
  EXPECT_TRUE(told.summary.ends_with("is suspended: waits for signals only, nothing that it started is open"))
      << told.summary;
  SignalRequest approve;
  approve.workflow_id = "order-7";
  approve.name = "approve";
  ASSERT_TRUE(node.get<core::SignalAnswer>([&](auto done) { node.engine.signal(approve, done); }).ok());
  EXPECT_EQ(explain("order-7").reason, WaitReason::ready);
  EXPECT_EQ(explain("order-7").run->unread_count, 1);
}

TEST_F(ExplainRun, AParkedRunSaysWhereCodeAndHistoryPart) {
  const ExecutionId id = start("order-7");
  own(id);
  core::RunAdvance advance = advance_of(id, false);
  advance.entries.push_back(
      {{},
       event(
           EventKind::run_parked, 0, "",
           R"({"name":"NondeterminismError","message":"m","details":{"run":"r","seq":5,"expected":"step a","actual":"the code asked for step b"}})"),
       {}});
  advance.park_for = std::chrono::minutes(10);
  submit(advance);
  const Explanation told = explain("order-7");
  EXPECT_EQ(told.reason, WaitReason::parked);
  ASSERT_TRUE(told.run->parked_at);
  EXPECT_EQ(told.run->parked_at->seq, 5);
  EXPECT_EQ(told.run->parked_at->expected, "step a");
  EXPECT_EQ(told.run->parked_at->actual, "the code asked for step b");
  const Instant next = add_saturated(clock.now(), std::chrono::minutes(10));
  EXPECT_EQ(told.not_before, next);
  EXPECT_TRUE(
      says(told, "parked, its code does not fit its history at event 5; tried again at " + base::format_instant(next)))
      << told.summary;
}

TEST_F(ExplainRun, AClosedRunSaysWhereTheWorkflowWentOn) {
  const ExecutionId id = start("order-7");
  own(id);
  core::RunAdvance advance = advance_of(id, false);
  auto next = starting(id, 0, Kind::workflow, "order-7");
  next.start->parent.reset();
  next.event.kind = EventKind::run_continued;
  advance.entries.push_back(next);
  submit(advance);
  const ExecutionId second = next.start->id;
  const Explanation first = explain(id.to_string());
  EXPECT_TRUE(first.summary.ends_with("is succeeded: continued as " + second.to_string())) << first.summary;
  const Explanation newest = explain("order-7");
  EXPECT_EQ(newest.execution->execution.id, second);
  ASSERT_EQ(newest.chain.size(), 1u);
  EXPECT_EQ(newest.chain[0].execution.id, id);

  ASSERT_TRUE(node.get<core::CancelAnswer>([&](auto done) { node.engine.terminate("default", second, done); }).ok());
  EXPECT_TRUE(says(explain("order-7"), "is cancelled: terminated")) << explain("order-7").summary;
}

TEST_F(ExplainRun, ARetriedRunSaysWhichAttemptItWas) {
  auto twice = request("order-7");
  twice.max_attempts = 2;
  const ExecutionId id = node.enqueue(twice).value().execution_id;
  own(id);
  core::RunAdvance advance = advance_of(id, false);
  auto next = starting(id, 0, Kind::workflow, "order-7");
  next.start->parent.reset();
  next.start->delay = std::chrono::seconds(5);
  next.event = event(EventKind::run_failed, 0, "", R"({"name":"Boom","message":"m"})");
  next.event.execution = next.start->id;
  advance.entries.push_back(next);
  submit(advance);
  EXPECT_TRUE(
      says(explain(id.to_string()), "is failed: retried as " + next.start->id.to_string() + " (attempt 1 of 2)"))
      << explain(id.to_string()).summary;
  EXPECT_EQ(explain("order-7").reason, WaitReason::backoff);
}

TEST_F(ExplainRun, DuplicatesOfAWorkflowAreCounted) {
  start("order-7");
  for (int i = 0; i < 3; ++i) start("order-7");
  clock.advance(std::chrono::seconds(1));
  node.settle();
  const Explanation told = explain("order-7");
  ASSERT_EQ(told.duplicates.size(), 1u);
  EXPECT_EQ(told.duplicates[0].space, core::Space::workflow);
  EXPECT_TRUE(says(told, "3 duplicates answered")) << told.summary;
}

}  // namespace
}  // namespace semel::engine
