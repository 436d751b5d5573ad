// Workflows that go on in another run: continued as new, or retried.
#pragma once

#include "store/conformance/runs_suite.h"

namespace semel::store::conformance {

class Chains : public Runs {
 protected:
  // The end of a run that goes on in `next`.
  core::RunAdvance going_on(const Execution& held, EventKind kind, const Task& next) {
    core::RunAdvance op = advance_of(held);
    core::Event last = event(kind, 0, kError);
    last.execution = next.id;
    op.entries.push_back({{}, last, next});
    return op;
  }
  // A child of `parent` under this id, claimed.
  Execution child_of(const Execution& parent, std::int32_t command, Task child) {
    child.parent = core::TaskEnqueue::Parent{parent.id, parent.identity.value_or(""), command};
    core::RunAdvance op = advance_of(parent);
    core::Event started = event(EventKind::child_started, command);
    started.execution = child.id;
    op.entries.push_back({{}, started, child});
    run(op);
    return claim_run(lane_);
  }
};

// A claim that stands behind an advance in its batch gets what the advance starts, which never was ready.
TEST_P(Chains, StepsAndTheNextRunAreClaimedInTheBatchThatStartsThem) {
  const Execution held = owned("w");
  const auto answers = apply({with_step(held, 1, task()), claim_request(lane_, 5)});
  const auto steps = expect_answer<core::ClaimAnswer>(answers[1]).tasks;
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0].execution.parent_run, held.id);
  EXPECT_EQ(to_line(steps[0].execution), line(steps[0].execution.id));
  EXPECT_TRUE(claim(5).empty());
  finish(steps[0].execution);
  run(reading(held));

  core::TaskClaim runs = claim_request(lane_, 5);
  runs.pool = core::Pool::runs;
  const Task next = task().as_workflow("w");
  const auto last = apply({going_on(held, EventKind::run_continued, next), runs});
  const auto claimed = expect_answer<core::ClaimAnswer>(last[1]).tasks;
  ASSERT_EQ(claimed.size(), 1u);
  EXPECT_EQ(claimed[0].execution.id, next.id);
  EXPECT_EQ(claimable_runs(), 0u);
  EXPECT_EQ(run(advance_of(claimed[0].execution, {event(EventKind::run_completed, 0, "1")})).status, Status::succeeded);
}

// The one end that its child brought it: what the advance would have done after that is not recorded.
TEST_P(Chains, ARunThatItsOwnChildReplacesEndsOnce) {
  for (const EventKind last : {EventKind::run_completed, EventKind::run_continued, EventKind::timer_started}) {
    SCOPED_TRACE(static_cast<int>(last));
    const Execution held = owned("w" + std::to_string(static_cast<int>(last)));
    Task child = task().as_workflow(*held.identity);
    child.on_duplicate = OnDuplicate::replace;
    child.parent = core::TaskEnqueue::Parent{held.id, *held.identity, 2};
    core::RunAdvance op = advance_of(held, {event(EventKind::timer_started, 1)});
    op.entries[0].event.at = now() + 1h;
    core::Event started = event(EventKind::child_started, 2);
    started.execution = child.id;
    op.entries.push_back({{}, started, child});
    const Task next = task().as_workflow(*held.identity);
    op.entries.push_back({{}, event(last, 3), {}});
    if (last == EventKind::run_continued) op.entries.back().start = next;
    const auto answer = run(op);
    EXPECT_EQ(answer.status, Status::cancelled);
    EXPECT_FALSE(answer.existing);
    EXPECT_EQ(kinds(held.id), (std::vector{EventKind::run_started, EventKind::timer_started, EventKind::child_started,
                                           EventKind::run_terminated}));
    EXPECT_EQ(row(held.id).close_reason, core::CloseReason::terminated);
    EXPECT_EQ(newest(*held.identity, core::Space::workflow), child.id);
    EXPECT_FALSE(exists(next.id));
    const std::string before = snapshot();
    EXPECT_EQ(refused(op), ErrorCode::LeaseLost);
    EXPECT_EQ(snapshot(), before);
    EXPECT_EQ(claim_run(lane_).id, child.id);
  }
}

// A child that replaces somebody else leaves its parent as it is.
TEST_P(Chains, ARunWhoseChildReplacesAnotherRunClosesAsItSaid) {
  const Execution other = owned("other");
  const Execution held = owned("w");
  Task child = task().as_workflow("other");
  child.on_duplicate = OnDuplicate::replace;
  child.parent = core::TaskEnqueue::Parent{held.id, "w", 1};
  core::RunAdvance op = advance_of(held);
  core::Event started = event(EventKind::child_started, 1);
  started.execution = child.id;
  op.entries.push_back({{}, started, child});
  op.entries.push_back({{}, event(EventKind::run_completed, 0, "1"), {}});
  EXPECT_EQ(run(op).status, Status::succeeded);
  EXPECT_TRUE(run(op).existing);
  EXPECT_EQ(kinds(held.id), (std::vector{EventKind::run_started, EventKind::child_started, EventKind::run_completed}));
  EXPECT_EQ(kinds(other.id), (std::vector{EventKind::run_started, EventKind::run_terminated}));
}

TEST_P(Chains, WhatContinuesKeepsItsMemoAndTheSignalsNobodyRead) {
  Task first = task().as_workflow("w");
  first.memo = R"({"by":"ann"})";
  first.attributes = R"({"tier":1})";
  enqueue(first);
  const Execution held = claim_run(lane_);
  const Task next = task().as_workflow("w");
  core::RunAdvance op = going_on(held, EventKind::run_continued, next);
  for (const char* text : {"1", "2"}) {
    core::Event unread = event(EventKind::signal_received, 0, text);
    unread.name = "approve";
    op.carried.push_back(unread);
  }
  run(op);
  EXPECT_TRUE(run(op).existing);
  const core::Run header = *store_->run_get(next.id).value();
  EXPECT_EQ(header.memo, first.memo);
  EXPECT_EQ(header.attributes, first.attributes);
  const std::vector<core::Event> unread = mail(next.id);
  ASSERT_EQ(unread.size(), 2u);
  EXPECT_EQ(unread[0].data, "1");
  EXPECT_EQ(unread[1].data, "2");
  EXPECT_EQ(row(next.id).status, Status::queued);
}

TEST_P(Chains, ContinueAsNewMovesTheIdAndLinksTheRuns) {
  const Execution held = owned("w");
  Task next = task().as_workflow("w").with_args("[2]");
  core::RunAdvance op = advance_of(held);
  core::Event continued = event(EventKind::run_continued, 0, "[2]");
  continued.execution = next.id;
  op.entries.push_back({{}, continued, next});
  EXPECT_EQ(run(op).status, Status::succeeded);
  const Execution before = row(held.id);
  EXPECT_EQ(before.close_reason, core::CloseReason::continued);
  EXPECT_EQ(before.next, next.id);
  EXPECT_EQ(newest("w", core::Space::workflow), next.id);
  EXPECT_EQ(row(next.id).previous, held.id);
  EXPECT_EQ(claim_run(lane_).id, next.id);
}

TEST_P(Chains, AFailedRunIsRetriedAsANewRunUntilItsAttemptsAreUsed) {
  Task first = task().as_workflow("w");
  first.max_attempts = 2;
  enqueue(first);
  const Execution held = claim_run(lane_);
  Task next = task().as_workflow("w");
  next.delay = 5s;
  next.max_attempts = 9;
  const core::RunAdvance op = going_on(held, EventKind::run_failed, next);
  EXPECT_EQ(run(op).status, Status::failed);
  EXPECT_TRUE(run(op).existing);
  const Execution before = row(held.id);
  EXPECT_EQ(before.close_reason, core::CloseReason::retried);
  EXPECT_EQ(before.next, next.id);
  EXPECT_EQ(before.error, kError);
  EXPECT_EQ(newest("w", core::Space::workflow), next.id);
  EXPECT_EQ(row(next.id).previous, held.id);
  EXPECT_EQ(row(next.id).max_attempts, 2) << "the chain's";
  EXPECT_EQ(claimable_runs(), 0u);
  advance(5s);
  run(core::TimersFire{});
  Execution second = claim_run(lane_);
  EXPECT_EQ(second.attempt, 2);
  release(second);
  second = claim_run(lane_);
  EXPECT_EQ(second.attempt, 2) << "a run is one attempt";
  const Task third = task().as_workflow("w");
  EXPECT_EQ(run(going_on(second, EventKind::run_failed, third)).status, Status::failed);
  EXPECT_FALSE(exists(third.id));
  EXPECT_EQ(row(second.id).close_reason, core::CloseReason::none);
  EXPECT_FALSE(row(second.id).next);
}

TEST_P(Chains, ARetriedRunIsNeverADeadLetterAndACancelledOneIsNotRetried) {
  Task first = task().as_workflow("w");
  first.lane = dead_letter_lane();
  first.max_attempts = 2;
  enqueue(first);
  Task next = task().as_workflow("w");
  next.lane = first.lane;
  EXPECT_EQ(run(going_on(claim_run(first.lane), EventKind::run_failed, next)).status, Status::failed);
  const Execution second = claim_run(first.lane);
  EXPECT_EQ(run(going_on(second, EventKind::run_failed, task().as_workflow("w"))).status, Status::dead_lettered);
  const Execution held = owned("c");
  run(core::ExecutionCancel{core::kDefaultTenant, held.id, false});
  const Task never = task().as_workflow("c");
  core::RunAdvance close = reading(held);
  close.entries.push_back(going_on(held, EventKind::run_failed, never).entries[0]);
  EXPECT_EQ(run(close).status, Status::failed);
  EXPECT_FALSE(exists(never.id));
}

TEST_P(Chains, OnlyTheLastRunOfAChainTellsItsParentAndWhoeverWaits) {
  for (const EventKind kind : {EventKind::run_continued, EventKind::run_failed}) {
    const std::string id = kind == EventKind::run_failed ? "retried" : "continued";
    const Execution parent = owned(id + "-parent");
    const Execution other = owned(id + "-other");
    const Execution child = child_of(parent, 4, task().as_workflow(id));
    core::RunAdvance attach = advance_of(other);
    attach.entries.push_back({{}, event(EventKind::child_started, 7), task().as_workflow(id)});
    run(attach);
    const Task next = task().as_workflow(id);
    run(going_on(child, kind, next));
    EXPECT_TRUE(mail(parent.id).empty());
    EXPECT_TRUE(mail(other.id).empty());
    const Execution last = claim_run(lane_);
    EXPECT_EQ(last.id, next.id);
    EXPECT_EQ(last.parent_run, parent.id);
    EXPECT_EQ(last.parent_command, 4);
    run(advance_of(last, {event(EventKind::run_completed, 0, "9")}));
    ASSERT_EQ(mail(parent.id).size(), 1u);
    EXPECT_EQ(mail(parent.id)[0].kind, EventKind::child_completed);
    EXPECT_EQ(mail(parent.id)[0].execution, next.id);
    EXPECT_EQ(mail(parent.id)[0].command, 4);
    ASSERT_EQ(mail(other.id).size(), 1u);
    EXPECT_EQ(mail(other.id)[0].command, 7);
  }
}

// F1
TEST_P(Chains, ASignalTakenBeforeIsAnsweredInEveryRunOfItsChain) {
  for (const EventKind kind : {EventKind::run_continued, EventKind::run_failed}) {
    const std::string id = kind == EventKind::run_failed ? "retried" : "continued";
    const Execution first = owned(id);
    EXPECT_TRUE(run(signal(id, "click-1")).created);
    run(reading(first));
    const Task second = task().as_workflow(id);
    core::RunAdvance op = going_on(first, kind, second);
    run(op);
    EXPECT_FALSE(run(signal(id, "click-1")).created);
    EXPECT_TRUE(mail(second.id).empty());
    const auto told = run(signal(id, "click-2"));
    EXPECT_TRUE(told.created);
    EXPECT_EQ(told.run, second.id);
    const Execution held = claim_run(lane_);
    run(reading(held));
    const Task third = task().as_workflow(id);
    run(going_on(held, kind, third));
    for (const char* click : {"click-1", "click-2"}) EXPECT_FALSE(run(signal(id, click)).created);
    EXPECT_EQ(store_->run_get(third.id).value()->chain, first.id);
    run(advance_of(claim_run(lane_), {event(EventKind::run_completed, 0, "1")}));
    EXPECT_FALSE(run(signal(id, "click-2")).created) << "taken, whatever came of it";
    core::RunSignal again = signal(id, "click-1");
    again.start = task().as_workflow(id);
    again.start->reuse = Reuse::always;
    EXPECT_TRUE(run(again).created) << "reuse begins a new chain";
    const Execution newest = claim_run(lane_);
    run(reading(newest));
    core::RunAdvance failing = advance_of(newest, {event(EventKind::run_failed, 0, kError)});
    run(failing);
    run(core::ExecutionRedrive{core::kDefaultTenant, newest.id, fresh<ExecutionId>()});
    EXPECT_TRUE(run(signal(id, "click-1")).created) << "redrive begins a new chain";
    claim_run(lane_);
  }
}

// F1
TEST_P(Chains, AnUpdateAnswersInEveryRunWhatItsChainRecorded) {
  const Execution first = owned("w");
  const auto update = [&](const std::string& id) {
    core::RunSignal op = signal("w", id);
    op.update = true;
    return op;
  };
  EXPECT_FALSE(run(update("u1")).answer);
  run(update("u2"));
  core::RunAdvance op = reading(first);
  core::Event completed = event(EventKind::update_completed, 0, "7");
  completed.id = "u1";
  core::Event unknown = completed;
  unknown.id = "nobody asked";
  op.entries.push_back({{}, completed, {}});
  op.entries.push_back({{}, unknown, {}});
  run(op);
  const auto answered = run(update("u1"));
  EXPECT_FALSE(answered.created);
  ASSERT_TRUE(answered.answer);
  EXPECT_EQ(answered.answer->kind, EventKind::update_completed);
  EXPECT_EQ(answered.answer->data, "7");
  const Task next = task().as_workflow("w");
  run(going_on(first, EventKind::run_continued, next));
  const auto later = run(update("u1"));
  EXPECT_EQ(later.run, next.id);
  ASSERT_TRUE(later.answer);
  EXPECT_EQ(later.answer->data, "7");
  EXPECT_FALSE(run(update("u2")).answer);
  EXPECT_TRUE(mail(next.id).empty());
  core::Event rejected = event(EventKind::update_rejected, 0, kError);
  rejected.id = "u2";
  core::Event again = completed;
  again.data = "8";
  run(advance_of(claim_run(lane_), {rejected, again, event(EventKind::run_completed, 0, "1")}));
  EXPECT_EQ(run(update("u2")).answer->kind, EventKind::update_rejected) << "also after the end";
  EXPECT_EQ(run(update("u1")).answer->data, "7") << "what was recorded first";
}

// F1
TEST_P(Chains, ARetriedRunGetsWhatItsPredecessorHandsOn) {
  Task first = task().as_workflow("w");
  first.max_attempts = 2;
  enqueue(first);
  Task next = task().as_workflow("w");
  core::RunAdvance op = going_on(claim_run(lane_), EventKind::run_failed, next);
  for (const char* text : {"1", "2"}) op.carried.push_back(event(EventKind::signal_received, 0, text));
  run(op);
  EXPECT_TRUE(run(op).existing);
  ASSERT_EQ(mail(next.id).size(), 2u);
  EXPECT_EQ(mail(next.id)[0].data, "1");
  EXPECT_EQ(mail(next.id)[1].data, "2");
  const Execution second = claim_run(lane_);
  core::RunAdvance last = reading(second);
  last.entries.push_back(going_on(second, EventKind::run_failed, task().as_workflow("w")).entries[0]);
  last.carried = op.carried;
  EXPECT_EQ(run(last).status, Status::failed);
  EXPECT_FALSE(row(second.id).next) << "its attempts are used up";
}

// F12
TEST_P(Chains, ASignalToARunThatWentOnReachesTheNewestOfItsChain) {
  const Execution first = owned("w");
  const Task second = task().as_workflow("w");
  run(going_on(first, EventKind::run_continued, second));
  const Task third = task().as_workflow("w");
  run(going_on(claim_run(lane_), EventKind::run_continued, third));
  const auto to_first = [&](const std::string& dedupe) {
    core::RunSignal op = signal("", dedupe);
    op.execution = first.id;
    return op;
  };
  const auto told = run(to_first("s1"));
  EXPECT_TRUE(told.created);
  EXPECT_EQ(told.run, third.id);
  const Execution last = claim_run(lane_);
  core::RunAdvance close = reading(last);
  close.entries.push_back({{}, event(EventKind::run_completed, 0, "1"), {}});
  run(close);
  EXPECT_EQ(refused(to_first("s2")), ErrorCode::WorkflowAlreadyCompleted);
  Task other = task().as_workflow("w");
  other.reuse = Reuse::always;
  enqueue(other);
  EXPECT_EQ(refused(to_first("s2")), ErrorCode::WorkflowAlreadyCompleted) << "another chain has the id now";
  EXPECT_TRUE(mail(other.id).empty());
}

// F1
TEST_P(Chains, SignalsAreKnownAsLongAsTheLastRunOfTheChain) {
  const Execution first = owned("w");
  run(signal("w", "s1"));
  run(reading(first));
  run(going_on(first, EventKind::run_continued, task().as_workflow("w")));
  advance(24h * 31);
  run(core::RetentionSweep{});
  EXPECT_FALSE(exists(first.id));
  EXPECT_FALSE(run(signal("w", "s1")).created) << "the chain goes on";
  run(advance_of(claim_run(lane_), {event(EventKind::run_completed, 0, "1")}));
  EXPECT_FALSE(run(signal("w", "s1")).created);
  advance(24h * 31);
  run(core::RetentionSweep{});
  EXPECT_EQ(snapshot().find("\nsignal|"), std::string::npos) << snapshot();

  Task dropped = task().as_workflow("d");
  dropped.drop_at_end = true;
  enqueue(dropped);
  run(signal("d", "s1"));
  const Execution held = claim_run(lane_);
  run(reading(held));
  Task next = task().as_workflow("d");
  next.drop_at_end = true;
  run(going_on(held, EventKind::run_continued, next));
  EXPECT_FALSE(exists(held.id));
  EXPECT_FALSE(run(signal("d", "s1")).created);
  run(advance_of(claim_run(lane_), {event(EventKind::run_completed, 0, "1")}));
  EXPECT_EQ(snapshot().find("\nsignal|"), std::string::npos) << snapshot();
}

// F13: the answer was lost, and nobody else did it.
TEST_P(Chains, WhoeverMadeItIsToldSoAgain) {
  const ExecutionId failed = ended(task().as_workflow("f"), Status::failed);
  const Execution held = owned("w");
  const core::RunSignal named = signal("w", "s1");
  const core::ExecutionRedrive redrive{core::kDefaultTenant, failed, fresh<ExecutionId>()};
  std::vector<Operation> operations{named, redrive};
  Batch batch;
  batch.id = fresh<BatchId>();
  const auto told = [&](const std::vector<core::Answer>& answers) {
    return expect_answer<core::SignalAnswer>(answers[0]).created &&
           expect_answer<core::RedriveAnswer>(answers[1]).created;
  };
  EXPECT_TRUE(told(apply(batch, operations)));
  run(reading(held));
  const std::string before = snapshot();
  advance(1s);
  batch.recheck = true;
  EXPECT_TRUE(told(apply(batch, operations)));
  EXPECT_TRUE(told(apply(operations))) << "asked once more";
  EXPECT_FALSE(run(signal("w", "s1")).created) << "another request";
  EXPECT_FALSE(run(core::ExecutionRedrive{core::kDefaultTenant, failed, fresh<ExecutionId>()}).created);
  EXPECT_EQ(snapshot(), before);
}

// W20
TEST_P(Chains, ARedrivenRunIsANewOneAndTheOldHistoryStays) {
  const Execution held = owned("w");
  run(advance_of(held, {event(EventKind::local_completed, 1, "1")}));
  core::RunAdvance failing = advance_of(held, {event(EventKind::run_failed, 0, kError)});
  failing.known = 2;
  run(failing);
  const std::vector<core::Event> before = history(held.id);
  const ExecutionId successor = fresh<ExecutionId>();
  EXPECT_TRUE(run(core::ExecutionRedrive{core::kDefaultTenant, held.id, successor}).created);
  EXPECT_EQ(kinds(successor), std::vector{EventKind::run_started});
  EXPECT_EQ(claim_run(lane_).id, successor);
  EXPECT_EQ(history(held.id), before);
  EXPECT_EQ(row(held.id).status, Status::failed);
}

TEST_P(Chains, TheTimeoutOfAWorkflowRunsOnOverItsChain) {
  for (const EventKind kind : {EventKind::run_continued, EventKind::run_failed}) {
    const std::string id = kind == EventKind::run_failed ? "retried" : "continued";
    Task first = task().as_workflow(id);
    first.timeout = 60s;
    enqueue(first);
    const Instant ends = now() + 60s;
    Task second = task().as_workflow(id);
    advance(20s);
    run(going_on(claim_run(lane_), kind, second));
    EXPECT_EQ(row(second.id).timeout_at, ends) << "not a fresh one";
    Task third = task().as_workflow(id);
    third.timeout = 60s;
    run(going_on(claim_run(lane_), kind, third));
    EXPECT_EQ(row(third.id).timeout_at, ends) << "the earlier one counts";
    advance(40s);
    EXPECT_EQ(run(core::TimersFire{}).changed, 1);
    EXPECT_EQ(row(third.id).status, Status::timed_out);
    EXPECT_FALSE(store_->next_timer().value());
  }
  const Execution held = owned("w");
  Task next = task().as_workflow("w");
  next.timeout = 10s;
  run(going_on(held, EventKind::run_continued, next));
  EXPECT_EQ(row(next.id).timeout_at, now() + 10s) << "of that run, and of those after it";
}

TEST_P(Chains, AChildThatWentOnIsCancelledWhereItIs) {
  const Execution parent = owned("parent");
  const Execution child = child_of(parent, 4, task().as_workflow("child"));
  const Task next = task().as_workflow("child");
  run(going_on(child, EventKind::run_continued, next));
  core::Event cancel = event(EventKind::child_cancel_requested, 4);
  cancel.execution = child.id;
  run(advance_of(parent, {cancel}));
  EXPECT_EQ(row(next.id).status, Status::cancelled);
  EXPECT_EQ(mail(parent.id).at(0).kind, EventKind::child_cancelled);
}

TEST_P(Chains, TheKeyOfAWorkflowStaysWithItsLastRun) {
  for (const EventKind kind : {EventKind::run_continued, EventKind::run_failed}) {
    const std::string id = kind == EventKind::run_failed ? "retried" : "continued";
    const Task first = task().as_workflow(id).with_key("key-" + id);
    enqueue(first);
    const Execution held = claim_run(lane_);
    const Task next = task().as_workflow(id);
    run(going_on(held, kind, next));
    Task again = first;
    again.id = fresh<ExecutionId>();
    EXPECT_EQ(run<core::TaskEnqueue>(again).execution, next.id);
    run(advance_of(claim_run(lane_), {event(EventKind::run_completed)}));
    EXPECT_EQ(store_->key_get(core::kDefaultTenant, "key-" + id).value()->expires_at, now() + 24h);
    EXPECT_EQ(run<core::TaskEnqueue>(again).execution, next.id);
  }
}

}  // namespace semel::store::conformance
