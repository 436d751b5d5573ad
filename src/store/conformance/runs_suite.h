// Section 6 of the contract, below the code: who owns a run, what it records, what waits for it.
#pragma once

#include "store/conformance/fixture.h"

namespace semel::store::conformance {

using core::EventKind;

class Runs : public StoreTest {
 protected:
  ExecutionId start(const std::string& id) { return enqueue(task().as_workflow(id)); }
  // Started and claimed.
  Execution owned(const std::string& id) {
    start(id);
    return claim_run(lane_);
  }
  core::RunAdvance with_step(const Execution& held, std::int32_t command, Task step) {
    core::RunAdvance op = advance_of(held);
    step.parent = core::TaskEnqueue::Parent{held.id, held.identity.value_or(""), command};
    core::Event scheduled = event(EventKind::step_scheduled, command);
    scheduled.execution = step.id;
    op.entries.push_back({{}, scheduled, step});
    return op;
  }
  std::vector<core::Event> mail(ExecutionId run) {
    std::vector<core::Event> out;
    const std::vector<core::Mail> all = store_->mail_list({&run, 1}).value();
    for (const auto& one : all) out.push_back(core::decode_event(one.event).value());
    return out;
  }
  // Reads all mail and waits.
  core::RunAdvance reading(const Execution& held) {
    core::RunAdvance op = advance_of(held);
    const std::vector<core::Mail> all = store_->mail_list({&held.id, 1}).value();
    for (const auto& one : all) {
      core::Event stamp;
      stamp.issued = 7;
      stamp.at = now();
      op.entries.push_back({one.key, stamp, {}});
    }
    op.waits = true;
    return op;
  }
  std::vector<core::Event> history(ExecutionId run) {
    std::vector<core::Event> out;
    const std::vector<core::HistoryRow> rows = store_->history_get(run, 0, INT64_MAX).value();
    for (const auto& row : rows) {
      const std::vector<core::Event> events = core::decode_events(row.events).value();
      out.insert(out.end(), events.begin(), events.end());
    }
    return out;
  }
  std::vector<EventKind> kinds(ExecutionId run) {
    std::vector<EventKind> out;
    for (const auto& one : history(run)) out.push_back(one.kind);
    return out;
  }
  core::RunSignal signal(const std::string& id, const std::string& dedupe = "") {
    core::RunSignal out;
    out.identity = id;
    out.name = "approve";
    out.dedupe = dedupe;
    out.data = "1";
    out.mail = fresh<MailId>();
    return out;
  }
  void release(const Execution& held) {
    core::TaskRelease op;
    op.execution = held.id;
    op.version = held.version;
    run(op);
  }
  core::RunAdvance parking(const Execution& held, Duration park_for) {
    core::RunAdvance op = advance_of(held, {event(EventKind::run_parked, 0, kError)});
    op.park_for = park_for;
    return op;
  }
  std::size_t claimable_runs() {
    core::TaskClaim request = claim_request(lane_, 100);
    request.pool = core::Pool::runs;
    return run(request).tasks.size();
  }
};

TEST_P(Runs, AStartedRunIsClaimedAsARunAndNotAsATask) {
  const ExecutionId id = start("w");
  EXPECT_EQ(row(id).status, Status::queued);
  EXPECT_EQ(kinds(id), std::vector{EventKind::run_started});
  EXPECT_TRUE(claim(10).empty());
  const Execution held = claim_run(lane_);
  EXPECT_EQ(held.id, id);
  EXPECT_EQ(held.status, Status::running);
  EXPECT_EQ(held.version, 2);
  EXPECT_EQ(held.attempt, 1);
  EXPECT_EQ(refused(completion(held)), ErrorCode::InvalidTransition);
  EXPECT_EQ(refused(heartbeat(held)), ErrorCode::InvalidTransition);
}

TEST_P(Runs, AStepThatCouldNotBeAskedForIsRecordedWithItsFailure) {
  const Execution held = owned("w");
  core::Event failed = event(EventKind::step_failed, 1, kError);
  run(advance_of(held, {event(EventKind::step_scheduled, 1), failed}));
  EXPECT_EQ(kinds(held.id), (std::vector{EventKind::run_started, EventKind::step_scheduled, EventKind::step_failed}));
  EXPECT_TRUE(claim(10).empty());
}

// W3: an answer that was lost. W19: of two owners one is stale.
TEST_P(Runs, AnAdvanceIsFencedByVersionAndLength) {
  const Execution held = owned("w");
  const core::RunAdvance op = advance_of(held, {event(EventKind::local_completed, 1, "1")});
  const auto first = run(op);
  EXPECT_EQ(first.events, 2);
  EXPECT_FALSE(first.existing);
  const std::string before = snapshot();
  EXPECT_TRUE(run(op).existing) << "its answer was lost";
  core::RunAdvance late = advance_of(held, {event(EventKind::local_completed, 2, "2")});
  late.known = 5;
  EXPECT_EQ(refused(late), ErrorCode::InvalidArgument);
  late.known = 2;
  late.version = 1;
  EXPECT_EQ(refused(late), ErrorCode::LeaseLost);
  EXPECT_EQ(snapshot(), before);
  EXPECT_EQ(kinds(held.id), (std::vector{EventKind::run_started, EventKind::local_completed}));
}

TEST_P(Runs, TheOutcomeOfAStepIsMailForItsOwner) {
  const Execution held = owned("w");
  core::RunAdvance op = with_step(held, 3, task());
  op.waits = true;
  EXPECT_EQ(run(op).status, Status::suspended);
  const Execution step = claim_one();
  EXPECT_EQ(step.parent_run, held.id);
  EXPECT_EQ(step.parent_workflow_id, "w");
  finish(step);
  EXPECT_EQ(wakes_.mailed, std::vector{held.id});
  ASSERT_EQ(mail(held.id).size(), 1u);
  EXPECT_EQ(mail(held.id)[0].kind, EventKind::step_completed);
  EXPECT_EQ(mail(held.id)[0].command, 3);
  run(reading(held));
  EXPECT_TRUE(mail(held.id).empty());
  const auto learned = history(held.id).back();
  EXPECT_EQ(learned.kind, EventKind::step_completed);
  EXPECT_EQ(learned.data, R"({"ok":true})");
  EXPECT_EQ(learned.issued, 7);
}

TEST_P(Runs, ARunWithoutOwnerBecomesReadyByMail) {
  const Execution held = owned("w");
  core::RunAdvance op = with_step(held, 1, task());
  op.waits = true;
  run(op);
  release(held);
  EXPECT_EQ(row(held.id).status, Status::suspended);
  EXPECT_EQ(claimable_runs(), 0u);
  const Execution step = claim_one();
  run(failure(step, false));
  EXPECT_EQ(row(held.id).status, Status::running);
  EXPECT_EQ(wakes_.runs, std::vector{lane_});
  const Execution again = claim_run(lane_);
  EXPECT_EQ(again.version, held.version + 2);
  EXPECT_EQ(mail(held.id).at(0).kind, EventKind::step_failed);
  EXPECT_EQ(refused(advance_of(held)), ErrorCode::LeaseLost);
}

TEST_P(Runs, AnOwnerThatGivesUpWithMailLeavesAReadyRun) {
  const Execution held = owned("w");
  core::RunAdvance op = advance_of(held);
  op.waits = true;
  run(op);
  run(signal("w"));
  release(held);
  EXPECT_EQ(claimable_runs(), 1u);
}

TEST_P(Runs, ADeadOwnersRunsComeBackWhenItsSessionIsOver) {
  const SessionId other = open_session("worker-2", 5s);
  start("busy");
  start("waiting");
  core::TaskClaim request = claim_request(lane_, 2);
  request.pool = core::Pool::runs;
  request.session = other;
  request.lease = 5s;
  const auto held = rows_of(run(request));
  ASSERT_EQ(held.size(), 2u);
  core::RunAdvance op = advance_of(held[1]);
  op.waits = true;
  run(op);
  advance(6s);
  run(core::SessionsExpire{});
  EXPECT_EQ(row(held[0].id).status, Status::running);
  EXPECT_EQ(row(held[1].id).status, Status::suspended);
  EXPECT_EQ(claim_run(lane_).id, held[0].id);
}

TEST_P(Runs, ARunCannotCloseWhileMailIsUnread) {
  const Execution held = owned("w");
  run(signal("w"));
  const std::string before = snapshot();
  const core::RunAdvance close = advance_of(held, {event(EventKind::run_completed, 0, "1")});
  EXPECT_TRUE(run(close).unread);
  EXPECT_EQ(snapshot(), before);
  core::RunAdvance read = reading(held);
  read.entries.push_back({{}, event(EventKind::run_completed, 0, "1"), {}});
  EXPECT_EQ(run(read).status, Status::succeeded);
  EXPECT_EQ(row(held.id).result, "1");
  EXPECT_TRUE(run(read).existing);
}

TEST_P(Runs, SignalsAreDedupedAndAFinishedRunTakesNone) {
  const Execution held = owned("w");
  EXPECT_TRUE(run(signal("w", "s1")).created);
  EXPECT_FALSE(run(signal("w", "s1")).created);
  EXPECT_TRUE(run(signal("w", "s2")).created);
  EXPECT_TRUE(run(signal("w")).created);
  EXPECT_TRUE(run(signal("w")).created);
  EXPECT_EQ(mail(held.id).size(), 4u);
  EXPECT_EQ(refused(signal("nobody")), ErrorCode::ExecutionNotFound);
  core::RunAdvance close = reading(held);
  close.entries.push_back({{}, event(EventKind::run_completed), {}});
  run(close);
  EXPECT_EQ(refused(signal("w")), ErrorCode::WorkflowAlreadyCompleted);
  EXPECT_FALSE(run(signal("w", "s1")).created) << "it was taken, whatever came of the run";
}

// D4: the caller gave no dedupe id and the answer was lost.
TEST_P(Runs, ASignalUnderItsOwnIdIsAnsweredAgainAsTheNewsItWas) {
  const Execution held = owned("w");
  core::RunSignal own = signal("w");
  own.dedupe = own.mail.to_string();
  std::vector<Operation> operations{own};
  Batch batch;
  batch.id = fresh<BatchId>();
  EXPECT_TRUE(expect_answer<core::SignalAnswer>(apply(batch, operations)[0]).created);
  run(reading(held));
  const std::string before = snapshot();
  advance(1s);
  batch.recheck = true;
  EXPECT_TRUE(expect_answer<core::SignalAnswer>(apply(batch, operations)[0]).created);
  EXPECT_TRUE(run(own).created);
  EXPECT_EQ(snapshot(), before);
  EXPECT_EQ(history(held.id).back().id, "") << "the code sees what the caller gave";
}

TEST_P(Runs, AnUpdateIsMailOfItsOwnKindAndKnownByItsId) {
  const Execution held = owned("w");
  EXPECT_TRUE(run(signal("w", "u1")).created);
  core::RunSignal update = signal("w", "u1");
  update.update = true;
  EXPECT_TRUE(run(update).created) << "a signal of that name and id is something else";
  update.mail = fresh<MailId>();
  EXPECT_FALSE(run(update).created);
  update.name = "reject";
  EXPECT_FALSE(run(update).created) << "its id is enough";
  ASSERT_EQ(mail(held.id).size(), 2u);
  const core::Event received = mail(held.id)[1];
  EXPECT_EQ(received.kind, EventKind::update_received);
  EXPECT_EQ(received.name, "approve");
  EXPECT_EQ(received.id, "u1");
  EXPECT_EQ(received.data, "1");
  core::RunSignal nameless = signal("w");
  nameless.update = true;
  EXPECT_EQ(refused(nameless), ErrorCode::InvalidArgument);
  core::RunAdvance close = reading(held);
  close.entries.push_back({{}, event(EventKind::run_completed), {}});
  run(close);
  EXPECT_FALSE(run(update).created);
  update.dedupe = "u2";
  EXPECT_EQ(refused(update), ErrorCode::WorkflowAlreadyCompleted);
}

TEST_P(Runs, ASignalWithStartMeetsTheRunOrMakesIt) {
  core::RunSignal op = signal("w", "s1");
  op.start = task().as_workflow("w");
  op.start->on_duplicate = OnDuplicate::replace;
  const auto first = run(op);
  EXPECT_TRUE(first.created);
  EXPECT_TRUE(first.started);
  EXPECT_EQ(first.run, op.start->id);
  EXPECT_EQ(mail(first.run).size(), 1u);
  EXPECT_EQ(kinds(first.run), std::vector{EventKind::run_started});
  const std::string before = snapshot();
  EXPECT_TRUE(run(op).created) << "its answer was lost, and it was the one that made it";
  core::RunSignal other = op;
  other.mail = fresh<MailId>();
  EXPECT_FALSE(run(other).created);
  EXPECT_EQ(snapshot(), before);
  core::RunSignal second = signal("w", "s2");
  second.start = task().as_workflow("w");
  second.start->on_duplicate = OnDuplicate::replace;
  const auto met = run(second);
  EXPECT_TRUE(met.created);
  EXPECT_FALSE(met.started);
  EXPECT_EQ(met.run, first.run) << "a live run is never replaced by a signal";
  EXPECT_EQ(mail(first.run).size(), 2u);
}

TEST_P(Runs, ASignalWithStartFollowsReuseAfterTheEnd) {
  const ExecutionId done = ended(task().as_workflow("w"), Status::succeeded);
  const ExecutionId failed = ended(task().as_workflow("f"), Status::failed);
  core::RunSignal retry = signal("f", "s");
  retry.start = task().as_workflow("f");
  EXPECT_EQ(row(run(retry).run).previous, failed);
  core::RunSignal op = signal("w");
  op.start = task().as_workflow("w");
  const std::string before = snapshot();
  EXPECT_EQ(refused(op), ErrorCode::WorkflowAlreadyCompleted);
  EXPECT_EQ(snapshot(), before);
  op.start->reuse = Reuse::always;
  const auto again = run(op);
  EXPECT_TRUE(again.started);
  EXPECT_EQ(row(again.run).previous, done);
  EXPECT_EQ(mail(again.run).size(), 1u);
}

TEST_P(Runs, ASignalStartsTheWorkflowItNamesOrNone) {
  const std::string before = snapshot();
  core::RunSignal op = signal("w");
  op.start = task().as_workflow("other");
  EXPECT_EQ(refused(op), ErrorCode::InvalidArgument);
  op.start = task().with_id("w");
  EXPECT_EQ(refused(op), ErrorCode::InvalidArgument);
  op.start = task().as_workflow("w");
  op.execution = fresh<ExecutionId>();
  EXPECT_EQ(refused(op), ErrorCode::InvalidArgument);
  op.execution.reset();
  op.update = true;
  EXPECT_EQ(refused(op), ErrorCode::InvalidArgument) << "an update without an id starts nothing";
  EXPECT_EQ(snapshot(), before);
  start("w");
  op.update = false;
  op.start = task().as_workflow("w").with_args("[2]");
  EXPECT_EQ(refused(op), ErrorCode::FingerprintMismatch);
}

TEST_P(Runs, TimersOfARunFireAsMailUnlessCancelled) {
  const Execution held = owned("w");
  core::Event first = event(EventKind::timer_started, 1);
  first.at = now() + 10s;
  core::Event second = event(EventKind::timer_started, 2);
  second.at = now() + 20s;
  run(advance_of(held, {first, second}));
  core::Event cancelled = event(EventKind::timer_cancelled, 1);
  cancelled.at = first.at;
  run(advance_of(held, {cancelled}));
  advance(30s);
  run(core::TimersFire{});
  ASSERT_EQ(mail(held.id).size(), 1u);
  EXPECT_EQ(mail(held.id)[0].kind, EventKind::timer_fired);
  EXPECT_EQ(mail(held.id)[0].command, 2);
}

TEST_P(Runs, AStepWhoseIdExistsAttachesToIt) {
  const ExecutionId live = enqueue(task().with_id("live"));
  const ExecutionId done = ended(task().with_id("done"), Status::succeeded);
  const Execution held = owned("w");
  core::RunAdvance op = with_step(held, 1, task().with_id("live"));
  op.entries.push_back(with_step(held, 2, task().with_id("done")).entries[0]);
  op.entries.push_back(with_step(held, 3, task().with_id("live").with_args("[2]")).entries[0]);
  run(op);
  ASSERT_EQ(mail(held.id).size(), 2u);
  EXPECT_EQ(mail(held.id)[0].kind, EventKind::step_completed);
  EXPECT_EQ(mail(held.id)[0].execution, done);
  EXPECT_EQ(mail(held.id)[1].kind, EventKind::step_failed);
  EXPECT_NE(mail(held.id)[1].data.find("FingerprintMismatch"), std::string::npos);
  run(reading(held));
  const Execution held_task = claim_one();
  EXPECT_EQ(held_task.id, live);
  finish(held_task);
  ASSERT_EQ(mail(held.id).size(), 1u);
  EXPECT_EQ(mail(held.id)[0].command, 1);
  // Only its creator's cancel reaches a step.
  core::Event cancel = event(EventKind::step_cancel_requested, 1);
  cancel.execution = live;
  run(advance_of(held, {cancel}));
  EXPECT_EQ(row(live).status, Status::succeeded);
}

TEST_P(Runs, ARunThatGoesWithItsEndLeavesNoWatchBehind) {
  enqueue(task().with_id("live"));
  Task request = task().as_workflow("w");
  request.drop_at_end = true;
  enqueue(request);
  const Execution held = claim_run(lane_);
  core::RunAdvance op = with_step(held, 1, task().with_id("live"));
  op.entries.push_back({{}, event(EventKind::run_completed), {}});
  run(op);
  EXPECT_FALSE(exists(held.id));
  EXPECT_EQ(snapshot().find("\nwatch|"), std::string::npos);
}

TEST_P(Runs, ACancelledStepTellsItsRun) {
  const Execution held = owned("w");
  const Task step = task();
  run(with_step(held, 1, step));
  core::Event cancel = event(EventKind::step_cancel_requested, 1);
  cancel.execution = step.id;
  run(advance_of(held, {cancel}));
  EXPECT_EQ(row(step.id).status, Status::cancelled);
  EXPECT_EQ(mail(held.id).at(0).kind, EventKind::step_cancelled);
}

TEST_P(Runs, CancelIsMailForCodeThatRunsAndTheEndForCodeThatDoesNot) {
  const Execution held = owned("w");
  EXPECT_TRUE(run(core::ExecutionCancel{core::kDefaultTenant, held.id, false}).requested);
  EXPECT_TRUE(run(core::ExecutionCancel{core::kDefaultTenant, held.id, false}).requested);
  ASSERT_EQ(mail(held.id).size(), 1u);
  EXPECT_EQ(mail(held.id)[0].kind, EventKind::cancel_requested);
  core::RunAdvance close = reading(held);
  close.entries.push_back({{}, event(EventKind::run_cancelled), {}});
  EXPECT_EQ(run(close).status, Status::cancelled);
  const ExecutionId waiting = start("queued");
  EXPECT_EQ(run(core::ExecutionCancel{core::kDefaultTenant, waiting, false}).status, Status::cancelled);
  EXPECT_EQ(kinds(waiting).back(), EventKind::run_cancelled);
  EXPECT_EQ(refused(core::ExecutionCancel{core::kDefaultTenant, enqueue(task()), true}), ErrorCode::InvalidArgument);
}

TEST_P(Runs, TerminateEndsARunAtOnceWhoeverOwnsIt) {
  const Execution held = owned("w");
  run(core::ExecutionCancel{core::kDefaultTenant, held.id, true});
  const Execution after = row(held.id);
  EXPECT_EQ(after.status, Status::cancelled);
  EXPECT_EQ(after.close_reason, core::CloseReason::terminated);
  EXPECT_EQ(kinds(held.id).back(), EventKind::run_terminated);
  EXPECT_EQ(refused(advance_of(held)), ErrorCode::LeaseLost);
  core::RunAdvance late = advance_of(held, {event(EventKind::run_completed, 0, "1")});
  late.known -= 1;  // it knows nothing of the end
  EXPECT_EQ(refused(late), ErrorCode::LeaseLost) << "another end than its own";
}

TEST_P(Runs, AChildTellsItsParent) {
  const Execution held = owned("parent");
  Task child = task().as_workflow("child");
  child.parent = core::TaskEnqueue::Parent{held.id, "parent", 4};
  core::RunAdvance op = advance_of(held);
  core::Event started = event(EventKind::child_started, 4);
  started.execution = child.id;
  op.entries.push_back({{}, started, child});
  run(op);
  const Execution other = claim_run(lane_);
  EXPECT_EQ(other.id, child.id);
  run(advance_of(other, {event(EventKind::run_failed, 0, kError)}));
  ASSERT_EQ(mail(held.id).size(), 1u);
  EXPECT_EQ(mail(held.id)[0].kind, EventKind::child_failed);
  EXPECT_EQ(mail(held.id)[0].data, kError);
}

TEST_P(Runs, ASignalToAnotherRunArrivesOnceAndIsConfirmed) {
  const Execution held = owned("sender");
  const ExecutionId receiver = start("receiver");
  core::Event sent = event(EventKind::signal_sent, 1, "5");
  sent.name = "go";
  sent.id = "receiver";
  core::Event lost = sent;
  lost.command = 2;
  lost.id = "nobody";
  run(advance_of(held, {sent, lost}));
  ASSERT_EQ(mail(receiver).size(), 1u);
  EXPECT_EQ(mail(receiver)[0].name, "go");
  ASSERT_EQ(mail(held.id).size(), 2u);
  EXPECT_EQ(mail(held.id)[0].kind, EventKind::step_completed);
  EXPECT_EQ(mail(held.id)[1].kind, EventKind::step_failed);
}

TEST_P(Runs, ATimeoutEndsARunThatWaits) {
  Task request = task().as_workflow("w");
  request.timeout = 10s;
  const ExecutionId id = enqueue(request);
  const Execution held = claim_run(lane_);
  core::RunAdvance op = advance_of(held);
  op.waits = true;
  run(op);
  advance(11s);
  run(core::TimersFire{});
  EXPECT_EQ(row(id).status, Status::timed_out);
  EXPECT_EQ(kinds(id).back(), EventKind::run_timed_out);
  run(core::TimersFire{});
}

TEST_P(Runs, AParkedRunWaitsForItsTimeWhateverMailComes) {
  const Execution held = owned("w");
  const core::RunAdvance op = parking(held, 60s);
  const auto answer = run(op);
  EXPECT_EQ(answer.status, Status::suspended);
  EXPECT_EQ(answer.events, 2);
  const Execution parked = row(held.id);
  EXPECT_EQ(parked.suspend_reason, core::SuspendReason::nondeterminism);
  EXPECT_EQ(parked.error, kError);
  EXPECT_EQ(parked.version, held.version + 1);
  EXPECT_EQ(parked.last_end, core::AttemptEnd::released);
  EXPECT_EQ(parked.scheduled_at, now() + 60s);
  EXPECT_FALSE(parked.session);
  EXPECT_EQ(wakes_.timer_at, now() + 60s);
  EXPECT_TRUE(run(op).existing) << "its answer was lost";
  EXPECT_EQ(refused(advance_of(held)), ErrorCode::LeaseLost);
  run(signal("w"));
  EXPECT_EQ(claimable_runs(), 0u);
  EXPECT_EQ(row(held.id).status, Status::suspended);
  advance(60s);
  EXPECT_EQ(run(core::TimersFire{}).changed, 1);
  EXPECT_EQ(row(held.id).status, Status::running);
  EXPECT_EQ(run(op).status, Status::running) << "and existing";
  const Execution again = claim_run(lane_);
  EXPECT_EQ(again.suspend_reason, core::SuspendReason::none);
  EXPECT_EQ(again.attempt, 1);
  EXPECT_EQ(refused(op), ErrorCode::LeaseLost);
  core::RunAdvance close = reading(again);
  close.entries.push_back({{}, event(EventKind::run_completed, 0, "1"), {}});
  run(close);
  EXPECT_FALSE(row(held.id).error);
  EXPECT_EQ(kinds(held.id)[1], EventKind::run_parked);
}

TEST_P(Runs, AParkingAdvanceDoesWhatElseItSays) {
  const Execution held = owned("w");
  run(signal("w"));
  core::RunAdvance op = reading(held);
  op.entries.push_back(with_step(held, 1, task()).entries[0]);
  op.entries.push_back(parking(held, 60s).entries[0]);
  EXPECT_EQ(run(op).events, 4);
  EXPECT_TRUE(mail(held.id).empty());
  finish(claim_one());
  EXPECT_EQ(mail(held.id).size(), 1u);
  EXPECT_EQ(row(held.id).status, Status::suspended);
}

TEST_P(Runs, ResumeWakesAParkedRunAndNothingElse) {
  const Execution held = owned("w");
  const core::RunResume resume{core::kDefaultTenant, held.id};
  EXPECT_FALSE(run(resume).resumed) << "it has an owner";
  run(parking(held, 60s));
  advance(1s);
  const auto answer = run(resume);
  EXPECT_TRUE(answer.resumed);
  EXPECT_EQ(answer.status, Status::running);
  EXPECT_EQ(wakes_.runs, std::vector{lane_});
  const std::string before = snapshot();
  EXPECT_FALSE(run(resume).resumed);
  advance(60s);
  EXPECT_EQ(run(core::TimersFire{}).looked_at, 0) << "its timer is gone";
  EXPECT_EQ(snapshot(), before);
  EXPECT_EQ(claim_run(lane_).id, held.id);
  EXPECT_EQ(refused(core::RunResume{core::kDefaultTenant, fresh<ExecutionId>()}), ErrorCode::ExecutionNotFound);
  EXPECT_EQ(refused(core::RunResume{core::kDefaultTenant, enqueue(task())}), ErrorCode::InvalidTransition);
}

TEST_P(Runs, AParkedRunIsCancelledTerminatedAndTimedOutAtOnce) {
  for (const bool terminate : {false, true}) {
    const Execution held = owned(terminate ? "t" : "c");
    run(parking(held, 60s));
    EXPECT_EQ(run(core::ExecutionCancel{core::kDefaultTenant, held.id, terminate}).status, Status::cancelled);
    EXPECT_EQ(row(held.id).suspend_reason, core::SuspendReason::none);
    EXPECT_EQ(kinds(held.id).back(), terminate ? EventKind::run_terminated : EventKind::run_cancelled);
    EXPECT_FALSE(run(core::RunResume{core::kDefaultTenant, held.id}).resumed);
  }
  Task request = task().as_workflow("late");
  request.timeout = 10s;
  enqueue(request);
  const Execution held = claim_run(lane_);
  run(parking(held, 60s));
  advance(11s);
  EXPECT_EQ(run(core::TimersFire{}).changed, 1);
  EXPECT_EQ(row(held.id).status, Status::timed_out);
  EXPECT_FALSE(store_->next_timer().value());
}

TEST_P(Runs, StateIsReadFromOutsideAndRetentionTakesEverything) {
  const Execution held = owned("w");
  run(advance_of(held, {event(EventKind::state_set, 0, "\"packed\"")}));
  EXPECT_EQ(store_->run_get(held.id).value()->state, "\"packed\"");
  run(signal("w", "s"));
  core::RunAdvance close = reading(held);
  close.entries.push_back({{}, event(EventKind::run_completed), {}});
  run(close);
  advance(24h * 31);
  run(core::RetentionSweep{});
  EXPECT_FALSE(exists(held.id));
  const std::string left = snapshot();
  for (const char* table : {"\nrun|", "\nhistory|", "\nmail|", "\nsignal|"})
    EXPECT_EQ(left.find(table), std::string::npos) << left;
}

// W11
TEST_P(Runs, TooLongAHistoryIsRefusedButMayFail) {
  const Execution held = owned("w");
  std::vector<core::Event> many(9'999, event(EventKind::marker_recorded));
  for (int i = 0; i < 5; ++i) run(advance_of(held, many));
  EXPECT_EQ(refused(advance_of(held, many)), ErrorCode::HistoryTooLong);
  EXPECT_EQ(run(advance_of(held, {event(EventKind::run_failed, 0, kError)})).status, Status::failed);
}

}  // namespace semel::store::conformance
