// How attempts and executions end: completion, failure, release, timeouts, cancel, dead letters.
#pragma once

#include "core/retry.h"
#include "store/conformance/fixture.h"

namespace semel::store::conformance {

class Ends : public StoreTest {
 protected:
  Execution held_task(Task request) {
    enqueue(request);
    auto rows = claim(request.lane, 1);
    EXPECT_EQ(rows.size(), 1u);
    return rows.empty() ? Execution{} : rows[0];
  }
};

// D4: the response was lost, the worker repeats itself.
TEST_P(Ends, ARepeatedCompletionAnswersExisting) {
  const Execution held = held_task(task());
  EXPECT_FALSE(run(completion(held)).existing);
  const std::string before = snapshot();
  const auto again = run(completion(held));
  EXPECT_TRUE(again.existing);
  EXPECT_EQ(again.status, Status::succeeded);
  EXPECT_EQ(refused(completion(held, "\"other\"")), ErrorCode::FingerprintMismatch);
  EXPECT_EQ(refused(failure(held)), ErrorCode::FingerprintMismatch);
  EXPECT_EQ(refused(core::TaskRelease{held.id, held.version, 0s, false}), ErrorCode::LeaseLost);
  EXPECT_EQ(snapshot(), before);
}

TEST_P(Ends, ARepeatedFailureAnswersExistingUntilTheNextClaim) {
  const Execution held = held_task(task());
  const auto first = run(failure(held));
  EXPECT_EQ(first.status, Status::queued);
  const auto again = run(failure(held));
  EXPECT_TRUE(again.existing);
  EXPECT_EQ(again.scheduled_at, first.scheduled_at);
  core::TaskFail other = failure(held);
  other.error = R"({"name":"Other"})";
  EXPECT_EQ(refused(other), ErrorCode::FingerprintMismatch);
  EXPECT_EQ(refused(completion(held)), ErrorCode::FingerprintMismatch);
  advance(1h);
  run(core::TimersFire{});
  claim_one();
  EXPECT_EQ(refused(failure(held)), ErrorCode::LeaseLost);
}

TEST_P(Ends, CompletionsInOneBatchWithTheirRepeatsAreAnsweredInOrder) {
  const Execution held = held_task(task());
  const auto answers = apply({completion(held), completion(held), completion(held, "1"), heartbeat(held)});
  EXPECT_FALSE(expect_answer<core::EndAnswer>(answers[0]).existing);
  EXPECT_TRUE(expect_answer<core::EndAnswer>(answers[1]).existing);
  EXPECT_EQ(code_of(answers[2]), ErrorCode::FingerprintMismatch);
  EXPECT_EQ(code_of(answers[3]), ErrorCode::LeaseLost);
}

// D3: messages of a worker in any order never move the row backwards.
TEST_P(Ends, MessagesOutOfOrderNeverMoveARowBackwards) {
  const Execution held = held_task(task().with_id("reordered"));
  EXPECT_EQ(finish(held), Status::succeeded) << "completion before the first heartbeat";
  const std::string before = line(held.id);
  EXPECT_EQ(refused(heartbeat(held)), ErrorCode::LeaseLost);
  EXPECT_EQ(run(delivery("reordered")).outcome, core::DeliveryOutcome::no_op_terminal);
  run(core::ExecutionCancel{core::kDefaultTenant, held.id});
  run(core::TimersFire{});
  run(core::SessionsExpire{});
  EXPECT_EQ(line(held.id), before);
}

TEST_P(Ends, AnUnknownExecutionIsNotFound) {
  EXPECT_EQ(refused(core::TaskComplete{fresh<ExecutionId>(), 2, {}}), ErrorCode::ExecutionNotFound);
  EXPECT_EQ(refused(core::ExecutionCancel{core::kDefaultTenant, fresh<ExecutionId>()}), ErrorCode::ExecutionNotFound);
  const auto other = run(core::TenantEnsure{"stranger"}).tenant;
  const ExecutionId mine = enqueue(task());
  EXPECT_EQ(refused(core::ExecutionCancel{other, mine}), ErrorCode::ExecutionNotFound);
  EXPECT_EQ(refused(core::ExecutionRedrive{other, mine, fresh<ExecutionId>()}), ErrorCode::ExecutionNotFound);
}

TEST_P(Ends, TheFirstHeartbeatWritesRunningAndKeepsTheVersion) {
  const Execution held = held_task(task());
  core::TaskHeartbeat beat = heartbeat(held);
  beat.progress = "{\"at\":3}";
  EXPECT_FALSE(run(beat).cancel_requested);
  const Execution after = row(held.id);
  EXPECT_EQ(after.status, Status::running);
  EXPECT_EQ(after.version, held.version);
  EXPECT_EQ(after.progress, beat.progress);
  run(failure(held));
  EXPECT_EQ(row(held.id).progress, beat.progress) << "handed to the next attempt";
}

TEST_P(Ends, AFailureBacksOffAndCountsItsAttempt) {
  const Execution held = held_task(task());
  const auto answer = run(failure(held));
  EXPECT_EQ(answer.status, Status::queued);
  const Execution after = row(held.id);
  EXPECT_EQ(after.attempt, 1);
  EXPECT_EQ(after.version, held.version + 1);
  EXPECT_EQ(after.error, kError);
  EXPECT_GE(after.scheduled_at, now() + 900ms);
  EXPECT_LE(after.scheduled_at, now() + 1100ms);
  EXPECT_TRUE(claim().empty());
}

TEST_P(Ends, ATaskMayChooseItsOwnDelay) {
  const Execution held = held_task(task());
  core::TaskFail fail = failure(held);
  fail.next_delay = 7s;
  EXPECT_EQ(run(fail).scheduled_at, now() + 7s);
}

TEST_P(Ends, NonRetryableErrorsEndAtOnce) {
  EXPECT_EQ(run(failure(held_task(task()), false)).status, Status::failed);
  core::RetryOverrides never;
  never.non_retryable = std::vector<std::string>{"Boom"};
  Task by_call = task();
  by_call.policy = core::encode_overrides(never);
  EXPECT_EQ(run(failure(held_task(by_call))).status, Status::failed);
  core::LaneConfig config;
  config.retry = core::encode_overrides(never);
  Task by_queue = task();
  by_queue.lane = lane("strict", config);
  EXPECT_EQ(run(failure(held_task(by_queue))).status, Status::failed);
}

// D17: a payload the worker cannot decode is a failure like any other.
TEST_P(Ends, AttemptsUsedUpEndFailedOrDeadLettered) {
  for (const bool dead_letter : {false, true}) {
    Task t = task();
    if (dead_letter) t.lane = dead_letter_lane();
    t.max_attempts = 3;
    const ExecutionId id = enqueue(t);
    for (int attempt = 1; attempt <= 3; ++attempt) {
      advance(1h);
      run(core::TimersFire{});
      session_ = open_session("worker-1");
      const auto rows = claim(t.lane, 1);
      ASSERT_EQ(rows.size(), 1u);
      EXPECT_EQ(rows[0].attempt, attempt);
      run(failure(rows[0]));
    }
    EXPECT_EQ(row(id).status, dead_letter ? Status::dead_lettered : Status::failed);
    EXPECT_EQ(store_->attention_get(id).value()->status, row(id).status);
  }
}

// D18
TEST_P(Ends, ManyAttemptsBackOffWithinTheirMaximumAndNeverIntoThePast) {
  core::RetryOverrides steep;
  steep.factor = 1000;
  steep.max_interval = 60s;
  steep.jitter = 0;
  Task t = task();
  t.max_attempts = 1'000'000;
  t.policy = core::encode_overrides(steep);
  const ExecutionId id = enqueue(t);
  for (int attempt = 1; attempt <= 40; ++attempt) {
    const Execution held = claim_one();
    const auto answer = run(failure(held));
    ASSERT_GT(answer.scheduled_at, now()) << attempt;
    ASSERT_LE(answer.scheduled_at, now() + 60s) << attempt;
    advance(60s);
    run(core::SessionRenew{session_, 1h});
    run(core::TimersFire{});
  }
  EXPECT_EQ(row(id).attempt, 40);
}

// D24: the one path that gives the attempt back.
TEST_P(Ends, ReleaseGivesTheAttemptBack) {
  const Execution held = held_task(task());
  EXPECT_EQ(run(core::TaskRelease{held.id, held.version, 0s, false}).status, Status::queued);
  EXPECT_EQ(row(held.id).attempt, 0);
  EXPECT_TRUE(run(core::TaskRelease{held.id, held.version, 0s, false}).existing);
  const Execution again = claim_one();
  EXPECT_EQ(again.attempt, 1);
  EXPECT_EQ(again.version, held.version + 2);
  EXPECT_EQ(run(core::TaskRelease{again.id, again.version, 5s, true}).scheduled_at, now() + 5s);
  EXPECT_TRUE(row(held.id).flags & core::kNoHandler);
}

// D20
TEST_P(Ends, CancelEndsQueuedWorkAtOnceAndAsksRunningWork) {
  const ExecutionId queued = enqueue(task());
  EXPECT_EQ(run(core::ExecutionCancel{core::kDefaultTenant, queued}).status, Status::cancelled);
  EXPECT_TRUE(claim().empty());
  const Execution held = held_task(task());
  const auto asked = run(core::ExecutionCancel{core::kDefaultTenant, held.id});
  EXPECT_TRUE(asked.requested);
  EXPECT_EQ(asked.status, Status::claimed);
  EXPECT_EQ(wakes_.cancel_requested, std::vector<ExecutionId>{held.id});
  EXPECT_EQ(row(held.id).version, held.version);
  EXPECT_TRUE(run(heartbeat(held)).cancel_requested);
  core::TaskFail stopped = failure(held);
  stopped.cancelled = true;
  EXPECT_EQ(run(stopped).status, Status::cancelled);
  EXPECT_TRUE(run(stopped).existing);
  EXPECT_EQ(refused(completion(held)), ErrorCode::FingerprintMismatch);
}

// D20: whichever terminal write commits first stands.
TEST_P(Ends, ACompletionAfterACancelRequestStands) {
  const Execution held = held_task(task());
  const auto answers = apply({core::ExecutionCancel{core::kDefaultTenant, held.id}, heartbeat(held)});
  EXPECT_TRUE(expect_answer<core::CancelAnswer>(answers[0]).requested);
  EXPECT_EQ(finish(held), Status::succeeded);
  const auto late = run(core::ExecutionCancel{core::kDefaultTenant, held.id});
  EXPECT_EQ(late.status, Status::succeeded);
  EXPECT_FALSE(late.requested);
}

TEST_P(Ends, ARequestedCancelTurnsTheNextRetryIntoItsEnd) {
  for (int how = 0; how < 3; ++how) {
    session_ = open_session("worker-1", 1h);
    const Execution held = held_task(task());
    run(core::ExecutionCancel{core::kDefaultTenant, held.id});
    if (how == 0) run(failure(held));
    if (how == 1) run(core::TaskRelease{held.id, held.version, 0s, false});
    if (how == 2) {
      run(core::SessionClose{session_});
      advance(31s);
      run(core::SessionsExpire{});
    }
    EXPECT_EQ(row(held.id).status, Status::cancelled) << how;
  }
}

TEST_P(Ends, TimeoutRunsFromEnqueueAndIsNeverRetried) {
  Task t = task();
  t.timeout = 10s;
  const ExecutionId queued = enqueue(t);
  t.id = fresh<ExecutionId>();
  const ExecutionId claimed = enqueue(t);
  const auto rows = claim(2);
  ASSERT_EQ(rows.size(), 2u);
  run(core::TaskRelease{queued, rows[0].id == queued ? rows[0].version : rows[1].version, 0s, false});
  advance(10s);
  run(core::TimersFire{});
  EXPECT_EQ(row(queued).status, Status::timed_out);
  EXPECT_EQ(row(claimed).status, Status::timed_out);
  EXPECT_NE(row(claimed).error->find("TimedOut"), std::string::npos);
  EXPECT_EQ(refused(completion(rows[0])), ErrorCode::LeaseLost);
}

TEST_P(Ends, AttemptTimeoutIsARetryableFailureOfThatClaimOnly) {
  Task t = task();
  t.attempt_timeout = 5s;
  t.max_attempts = 2;
  const Execution first = held_task(t);
  advance(5s);
  run(core::TimersFire{});
  EXPECT_EQ(row(first.id).status, Status::queued);
  EXPECT_EQ(row(first.id).last_end, core::AttemptEnd::attempt_timeout);
  EXPECT_NE(row(first.id).error->find("AttemptTimeout"), std::string::npos);
  EXPECT_EQ(refused(completion(first)), ErrorCode::LeaseLost);
  advance(1h - 10s);
  run(core::TimersFire{});
  session_ = open_session("worker-1");
  const Execution second = claim_one();
  advance(2s);
  EXPECT_EQ(finish(second), Status::succeeded);
  advance(1h);
  EXPECT_EQ(run(core::TimersFire{}).changed, 0) << "the timer went with its claim";
}

// D9
TEST_P(Ends, ADeadLetterBlocksItsIdUntilAnOperatorActs) {
  const ExecutionId dead = ended(task().with_id("dead").with_key("dead-key"), Status::dead_lettered);
  const std::string before = line(dead);
  for (const Reuse reuse : {Reuse::failed_only, Reuse::never, Reuse::always}) {
    Task again = task().with_id("dead");
    again.reuse = reuse;
    EXPECT_EQ(run<core::TaskEnqueue>(again).execution, dead);
  }
  EXPECT_EQ(run<core::TaskEnqueue>(task().with_key("dead-key")).execution, dead);
  const ExecutionId successor = fresh<ExecutionId>();
  EXPECT_TRUE(run(core::ExecutionRedrive{core::kDefaultTenant, dead, successor}).created);
  EXPECT_EQ(newest("dead"), successor);
  EXPECT_EQ(row(successor).previous, dead);
  EXPECT_EQ(row(successor).idempotency_key, "dead-key");
  EXPECT_EQ(store_->key_get(core::kDefaultTenant, "dead-key").value()->target, successor);
  const auto second = run(core::ExecutionRedrive{core::kDefaultTenant, dead, fresh<ExecutionId>()});
  EXPECT_FALSE(second.created);
  EXPECT_EQ(second.successor, successor);
  EXPECT_EQ(refused(core::ExecutionDiscard{core::kDefaultTenant, dead}), ErrorCode::InvalidTransition);
  EXPECT_EQ(line(dead), before) << "the terminal row itself never changes";
}

// D9
TEST_P(Ends, DiscardFreesTheIdAndItsKey) {
  const ExecutionId dead = ended(task().with_id("gone").with_key("gone-key"), Status::dead_lettered);
  const std::string before = line(dead);
  EXPECT_TRUE(run(core::ExecutionDiscard{core::kDefaultTenant, dead}).discarded);
  EXPECT_FALSE(run(core::ExecutionDiscard{core::kDefaultTenant, dead}).discarded);
  EXPECT_FALSE(newest("gone").has_value());
  EXPECT_FALSE(store_->key_get(core::kDefaultTenant, "gone-key").value().has_value());
  const auto fresh_one = run<core::TaskEnqueue>(task().with_id("gone").with_key("gone-key"));
  EXPECT_TRUE(fresh_one.created);
  EXPECT_FALSE(row(fresh_one.execution).previous.has_value());
  EXPECT_EQ(line(dead), before);
}

TEST_P(Ends, RedriveRunsAgainWhatFailedAndRefusesWhatDidNot) {
  for (const Status status : {Status::failed, Status::cancelled, Status::timed_out}) {
    Task t = task().with_id("again-" + std::string(to_string(status)));
    t.priority = 7;
    const ExecutionId old = ended(t, status);
    const ExecutionId successor = fresh<ExecutionId>();
    EXPECT_TRUE(run(core::ExecutionRedrive{core::kDefaultTenant, old, successor}).created);
    const Execution after = row(successor);
    EXPECT_EQ(after.status, Status::queued);
    EXPECT_EQ(after.attempt, 0);
    EXPECT_EQ(after.priority, 7);
    EXPECT_FALSE(after.timeout_at.has_value());
    EXPECT_EQ(claim_one().id, successor);
  }
  const ExecutionId done = ended(task(), Status::succeeded);
  EXPECT_EQ(refused(core::ExecutionRedrive{core::kDefaultTenant, done, fresh<ExecutionId>()}),
            ErrorCode::InvalidTransition);
  const ExecutionId live = enqueue(task());
  EXPECT_EQ(refused(core::ExecutionRedrive{core::kDefaultTenant, live, fresh<ExecutionId>()}),
            ErrorCode::InvalidTransition);
}

TEST_P(Ends, ARedriveBehindANewerExecutionIsRefused) {
  const ExecutionId old = ended(task().with_id("overtaken"), Status::failed);
  const ExecutionId newer = enqueue(task().with_id("overtaken"));
  const auto answer = ask(core::ExecutionRedrive{core::kDefaultTenant, old, fresh<ExecutionId>()});
  ASSERT_EQ(code_of(answer), ErrorCode::InvalidTransition);
  EXPECT_NE(std::get<Error>(answer).message.find(newer.to_string()), std::string::npos);
}

TEST_P(Ends, EveryEndIsToldToThoseWhoWait) {
  const Execution held = held_task(task());
  finish(held);
  EXPECT_EQ(wakes_.ended, std::vector<ExecutionId>{held.id});
}

}  // namespace semel::store::conformance
