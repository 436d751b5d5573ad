// Sections 2 and 4 of the contract: who gets the work, in which order, and who may write about it.
#pragma once

#include "store/conformance/fixture.h"

namespace semel::store::conformance {

class Claims : public StoreTest {};

TEST_P(Claims, ClaimsGoByPriorityThenDueTimeThenAge) {
  const auto add = [&](std::int32_t priority) {
    Task t = task();
    t.priority = priority;
    return enqueue(t);
  };
  const ExecutionId low = add(200);
  const ExecutionId first = add(100);
  const ExecutionId second = add(100);
  advance(1s);
  const ExecutionId later = add(100);
  const ExecutionId urgent = add(0);
  std::vector<ExecutionId> order;
  for (const Execution& held : claim(10)) order.push_back(held.id);
  EXPECT_EQ(order, (std::vector<ExecutionId>{urgent, first, second, later, low}));
}

TEST_P(Claims, AClaimIsCountedFencedAndLeased) {
  const ExecutionId id = enqueue(task());
  advance(2s);
  const Execution held = claim_one();
  EXPECT_EQ(held.id, id);
  EXPECT_EQ(held.status, Status::claimed);
  EXPECT_EQ(held.version, 2);
  EXPECT_EQ(held.attempt, 1);
  EXPECT_EQ(held.worker, "worker-1");
  EXPECT_EQ(held.session, session_);
  EXPECT_EQ(held.started_at, now());
  EXPECT_EQ(held.lease_expires_at, now() + 30s);
  EXPECT_EQ(line(id), to_line(held));
}

TEST_P(Claims, NothingIsHandedOutTwice) {
  for (int i = 0; i < 5; ++i) enqueue(task());
  EXPECT_EQ(claim(3).size(), 3u);
  EXPECT_EQ(claim(3).size(), 2u);
  EXPECT_TRUE(claim(3).empty());
}

TEST_P(Claims, AClaimTakesWhatWasEnqueuedBeforeItInItsBatch) {
  const ExecutionId waiting = enqueue(task());
  Task slow = task();
  slow.attempt_timeout = 5s;
  Task urgent = task();
  urgent.priority = 0;
  Task later = task();
  later.delay = 1h;
  Task behind = task();
  const auto answers = apply({slow, urgent, later, claim_request(lane_, 10), behind});
  const auto held = rows_of(expect_answer<core::ClaimAnswer>(answers[3]));
  std::set<ExecutionId> got;
  for (const Execution& one : held) {
    got.insert(one.id);
    EXPECT_EQ(one.version, 2);
    EXPECT_EQ(one.attempt, 1);
    EXPECT_EQ(line(one.id), to_line(one));
  }
  EXPECT_EQ(got, (std::set<ExecutionId>{waiting, slow.id, urgent.id}));
  EXPECT_EQ(claim(10).size(), 1u) << "what came behind the claim";
  for (const Execution& one : held) EXPECT_EQ(run(completion(one)).status, Status::succeeded);
}

TEST_P(Claims, SeveralClaimsInOneBatchShareNothing) {
  for (int i = 0; i < 6; ++i) enqueue(task());
  const auto answers = apply({claim_request(lane_, 2), claim_request(lane_, 2), claim_request(lane_, 5)});
  std::set<ExecutionId> seen;
  std::size_t total = 0;
  for (const auto& answer : answers)
    for (const Execution& held : rows_of(expect_answer<core::ClaimAnswer>(answer))) {
      seen.insert(held.id);
      ++total;
    }
  EXPECT_EQ(total, 6u);
  EXPECT_EQ(seen.size(), 6u);
}

TEST_P(Claims, LanesAreServedInTheOrderAsked) {
  core::LaneConfig limited;
  limited.concurrency = 5;
  const LaneId a = lane("a", limited), b = lane("b");
  Task in_a = task(), in_b = task();
  in_a.lane = a;
  in_b.lane = b;
  enqueue(in_b);
  enqueue(in_a);
  auto request = claim_request(a, 2);
  request.lanes.push_back({b, 2, false});
  const auto held = rows_of(run(request));
  ASSERT_EQ(held.size(), 2u);
  EXPECT_EQ(held[0].lane, a);
  EXPECT_EQ(held[1].lane, b);
}

TEST_P(Claims, WorkThatIsNotDueIsNotHandedOutBeforeItsTimer) {
  Task later = task();
  later.delay = 10s;
  const ExecutionId id = enqueue(later);
  EXPECT_EQ(store_->execution_whereabouts(row(id)).value(), Whereabouts::timer);
  EXPECT_EQ(store_->next_timer().value(), now() + 10s);
  advance(10s - 1us);
  run(core::TimersFire{});
  EXPECT_TRUE(claim().empty());
  advance(1us);
  run(core::TimersFire{});
  EXPECT_EQ(store_->execution_whereabouts(row(id)).value(), Whereabouts::ready);
  EXPECT_EQ(claim_one().id, id);
}

// H13: the claim committed, its answer was lost.
TEST_P(Claims, AClaimAskedAgainAfterAnUnknownCommitAnswersTheSameTasks) {
  for (int i = 0; i < 3; ++i) enqueue(task());
  std::vector<Operation> operations{claim_request(lane_, 2)};
  Batch batch;
  batch.id = fresh<BatchId>();
  const auto first = rows_of(expect_answer<core::ClaimAnswer>(apply(batch, operations)[0]));
  batch.recheck = true;
  const auto second = rows_of(expect_answer<core::ClaimAnswer>(apply(batch, operations)[0]));
  ASSERT_EQ(first.size(), 2u);
  ASSERT_EQ(second.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(to_line(first[i]), to_line(second[i]));
  EXPECT_EQ(claim(5).size(), 1u);
}

// D4, H13: nobody could tell what came of the batch, so its caller asks again in another one.
TEST_P(Claims, AClaimRepeatedInANewBatchAnswersTheSameTasksAndTakesNothing) {
  for (int i = 0; i < 5; ++i) enqueue(task());
  const core::TaskClaim request = claim_request(lane_, 2);
  const auto first = rows_of(run(request));
  ASSERT_EQ(first.size(), 2u);
  advance(1s);
  const std::string before = snapshot();
  const auto second = rows_of(run(request));
  ASSERT_EQ(second.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(to_line(first[i]), to_line(second[i]));
  EXPECT_EQ(snapshot(), before);
  EXPECT_EQ(claim(5).size(), 3u) << "the others are still to be had";
}

TEST_P(Claims, ARepeatedClaimAnswersWhatIsStillHeldUnderIt) {
  for (int i = 0; i < 5; ++i) enqueue(task());
  const core::TaskClaim request = claim_request(lane_, 3);
  const auto first = rows_of(run(request));
  ASSERT_EQ(first.size(), 3u);
  finish(first[0]);
  run(core::TaskRelease{first[1].id, first[1].version, 0s, false});
  const std::string before = snapshot();
  const auto second = rows_of(run(request));
  ASSERT_EQ(second.size(), 1u);
  EXPECT_EQ(to_line(second[0]), to_line(first[2]));
  EXPECT_EQ(snapshot(), before);
  finish(first[2]);
  EXPECT_TRUE(rows_of(run(request)).empty()) << "its record stands until it is forgotten";
  EXPECT_EQ(claim(5).size(), 3u);
}

TEST_P(Claims, ARepeatedClaimThatFindsNoMoreWorkStillAnswersItsTasks) {
  enqueue(task());
  const core::TaskClaim request = claim_request(lane_, 2);
  const auto first = rows_of(run(request));
  ASSERT_EQ(first.size(), 1u);
  Task behind = task();
  const auto answers = apply({behind, request});
  const auto second = rows_of(expect_answer<core::ClaimAnswer>(answers[1]));
  ASSERT_EQ(second.size(), 1u);
  EXPECT_EQ(to_line(second[0]), to_line(first[0]));
  EXPECT_EQ(row(behind.id).status, Status::queued) << "a repeat takes nothing of its own batch either";
  run(core::SessionClose{session_});
  advance(31s);
  run(core::SessionsExpire{});
  EXPECT_EQ(row(first[0].id).status, Status::queued) << "its record was not lost";
}

TEST_P(Claims, ARepeatedClaimOfALimitedLaneSpendsNothing) {
  core::LaneConfig limits;
  limits.concurrency = 2;
  limits.rate_limit = core::RateLimit{3, 10s};
  const LaneId limited = lane("limited", limits), open = lane("open");
  for (int i = 0; i < 4; ++i)
    for (const LaneId from : {limited, open}) {
      Task t = task();
      t.lane = from;
      enqueue(t);
    }
  core::TaskClaim request = claim_request(limited, 2);
  request.lanes.push_back({open, 1, false});
  const auto first = rows_of(run(request));
  ASSERT_EQ(first.size(), 3u);
  advance(1s);
  const std::string before = snapshot();
  const auto second = rows_of(run(request));
  ASSERT_EQ(second.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(to_line(first[i]), to_line(second[i]));
  EXPECT_EQ(snapshot(), before);
  EXPECT_EQ(lane_row(limited).running_count, 2);
}

TEST_P(Claims, ARepeatedClaimOfRunsAnswersTheSameRuns) {
  for (const char* id : {"one", "two", "three"}) enqueue(task().as_workflow(id));
  core::TaskClaim request = claim_request(lane_, 2);
  request.pool = core::Pool::runs;
  const auto first = rows_of(run(request));
  ASSERT_EQ(first.size(), 2u);
  const std::string before = snapshot();
  const auto second = rows_of(run(request));
  ASSERT_EQ(second.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(to_line(first[i]), to_line(second[i]));
  EXPECT_EQ(snapshot(), before);
}

// Made by whoever enqueues, for the worker of another process.
TEST_P(Claims, AnOfferedClaimTakesOnlyWhatItsBatchMadeAndOnlyOnce) {
  const ExecutionId waiting = enqueue(task());
  core::TaskClaim offer = claim_request(lane_, 2);
  offer.takes = core::Takes::fresh;
  Task first = task(), second = task(), third = task();
  second.attempt_timeout = 5s;
  second.priority = 0;
  auto answers = apply({first, second, third, offer});
  const auto held = rows_of(expect_answer<core::ClaimAnswer>(answers[3]));
  ASSERT_EQ(held.size(), 2u);
  for (const Execution& one : held) {
    EXPECT_EQ(one.version, 2);
    EXPECT_EQ(one.session, session_);
    EXPECT_EQ(line(one.id), to_line(one));
  }
  EXPECT_EQ(row(second.id).status, Status::claimed);
  EXPECT_EQ(row(waiting).status, Status::queued);
  EXPECT_EQ(store_->session_leases(session_).value(), std::vector{offer.id});

  Task late = task();
  answers = apply({late, offer});
  EXPECT_EQ(rows_of(expect_answer<core::ClaimAnswer>(answers[1])).size(), 2u) << "a repeat answers its record";
  EXPECT_EQ(row(late.id).status, Status::queued);
  core::TaskClaim asked = offer;
  asked.takes = core::Takes::nothing;
  const std::string before = snapshot();
  EXPECT_EQ(rows_of(run(asked)).size(), 2u);
  EXPECT_EQ(snapshot(), before);
  for (const Execution& one : held) finish(one);
  EXPECT_TRUE(rows_of(run(asked)).empty());
}

TEST_P(Claims, AnOfferThatWasTakenBackIsTakenByNobody) {
  core::TaskClaim offer = claim_request(lane_, 2);
  offer.takes = core::Takes::nothing;
  EXPECT_TRUE(rows_of(run(offer)).empty());
  offer.takes = core::Takes::fresh;
  Task after = task().with_id("after");
  const auto answers = apply({after, offer});
  EXPECT_TRUE(rows_of(expect_answer<core::ClaimAnswer>(answers[1])).empty());
  EXPECT_EQ(row(after.id).status, Status::queued);
  run(core::SessionClose{session_});
  advance(1s);
  run(core::SessionsExpire{});
  EXPECT_TRUE(store_->session_leases(session_).value().empty()) << "the record goes with its session";
}

TEST_P(Claims, NothingIsHandedToASessionThatIsOver) {
  const SessionId gone = open_session("gone", 5s);
  core::TaskClaim offer = claim_request(lane_, 2);
  offer.takes = core::Takes::fresh;
  offer.session = gone;
  advance(6s);
  Task late = task().with_id("late");
  auto answers = apply({late, offer});
  EXPECT_TRUE(rows_of(expect_answer<core::ClaimAnswer>(answers[1])).empty());
  EXPECT_EQ(row(late.id).status, Status::queued);
  offer.session = SessionId{};
  Task nobody = task().with_id("nobody's");
  answers = apply({nobody, offer});
  EXPECT_TRUE(rows_of(expect_answer<core::ClaimAnswer>(answers[1])).empty());
  EXPECT_EQ(claim(5).size(), 2u);
}

TEST_P(Claims, AnOfferedClaimWithADuplicateTakesNothingAndStaysGood) {
  Task once = task().with_id("once");
  enqueue(once);
  core::TaskClaim offer = claim_request(lane_, 2);
  offer.takes = core::Takes::fresh;
  Task again = task().with_id("once");
  auto answers = apply({again, offer});
  EXPECT_TRUE(rows_of(expect_answer<core::ClaimAnswer>(answers[1])).empty());
  EXPECT_TRUE(store_->session_leases(session_).value().empty());
  Task other = task().with_id("other");
  answers = apply({other, offer});
  EXPECT_EQ(rows_of(expect_answer<core::ClaimAnswer>(answers[1])).size(), 1u);
}

// C1, C3: a zombie's success and failure, C2: its heartbeat and release.
TEST_P(Claims, AWorkerThatLostItsLeaseChangesNothing) {
  const ExecutionId id = enqueue(task().with_id("zombie"));
  const SessionId zombie = open_session("zombie", 5s);
  auto request = claim_request(lane_);
  request.session = zombie;
  request.lease = 5s;
  const Execution stale = rows_of(run(request)).at(0);
  advance(6s);
  run(core::SessionsExpire{});
  auto alone = claim_request(lane_);
  alone.pool = core::Pool::alone;
  const Execution current = rows_of(run(alone)).at(0);
  ASSERT_EQ(current.id, id);
  const std::string before = snapshot();
  EXPECT_EQ(refused(completion(stale)), ErrorCode::LeaseLost);
  EXPECT_EQ(refused(failure(stale)), ErrorCode::LeaseLost);
  EXPECT_EQ(refused(failure(stale, false)), ErrorCode::LeaseLost);
  EXPECT_EQ(refused(heartbeat(stale)), ErrorCode::LeaseLost);
  EXPECT_EQ(refused(core::TaskRelease{stale.id, stale.version, 0s, false}), ErrorCode::LeaseLost);
  EXPECT_EQ(snapshot(), before);
  finish(current);
  EXPECT_EQ(refused(completion(stale, "\"zombie\"")), ErrorCode::LeaseLost);
  EXPECT_EQ(row(id).result, R"({"ok":true})");
}

// C4: both orders of expiry and completion end in one terminal transition.
TEST_P(Claims, ExpiryAndCompletionAtTheSameInstantAreDecidedByTheirOrder) {
  for (const bool completes_first : {true, false}) {
    Task t = task();
    t.max_attempts = 1;
    const ExecutionId id = enqueue(t);
    const SessionId session = open_session("slow", 5s);
    auto request = claim_request(lane_);
    request.session = session;
    request.lease = 5s;
    const Execution held = rows_of(run(request)).at(0);
    advance(5s);
    if (completes_first) {
      EXPECT_EQ(finish(held), Status::succeeded);
      run(core::SessionsExpire{});
      EXPECT_EQ(row(id).status, Status::succeeded);
    } else {
      run(core::SessionsExpire{});
      EXPECT_EQ(refused(completion(held)), ErrorCode::LeaseLost);
      EXPECT_EQ(row(id).status, Status::failed);
      EXPECT_EQ(row(id).last_end, core::AttemptEnd::lease_lost);
      EXPECT_NE(row(id).error->find("LeaseLost"), std::string::npos);
    }
  }
}

// C7
TEST_P(Claims, ALiveJobLongerThanItsLeaseIsNeverRescued) {
  const ExecutionId id = enqueue(task().with_id("long"));
  const Execution held = claim_one();
  for (int i = 0; i < 50; ++i) {
    advance(20s);
    run(core::SessionRenew{session_, 30s});
    run(heartbeat(held));
    run(core::SessionsExpire{});
    run(core::TimersFire{});
    EXPECT_EQ(run(delivery("long")).outcome, core::DeliveryOutcome::already_claimed);
  }
  EXPECT_EQ(row(id).attempt, 1);
  EXPECT_EQ(finish(held), Status::succeeded);
}

// C14: a starting node recovers nothing that a live session holds.
TEST_P(Claims, ALiveSessionKeepsALeaseThatWasNeverRenewedByItself) {
  enqueue(task());
  const Execution held = claim_one();
  advance(10min);
  run(core::SessionRenew{session_, 1h});
  run(core::SessionsExpire{});
  EXPECT_EQ(row(held.id).status, Status::claimed);
}

TEST_P(Claims, AHeartbeatOutlivesItsSession) {
  enqueue(task());
  const Execution held = claim_one();
  run(core::SessionClose{session_});
  run(heartbeat(held));
  run(core::SessionsExpire{});
  EXPECT_EQ(row(held.id).status, Status::running);
  advance(31s);
  run(core::SessionsExpire{});
  EXPECT_EQ(row(held.id).status, Status::queued);
}

// F3, X15: a store whose history changed leaves records without a session.
TEST_P(Claims, AVoidLeaseIsReturnedAsByARelease) {
  session_ = SessionId{};
  enqueue(task());
  enqueue(task().as_workflow("order"));
  const Execution held = claim_one();
  const Execution owned = claim_run(lane_);
  EXPECT_EQ(run(core::SessionsExpire{}).changed, 2) << "its time is not up, but nobody is behind it";
  const Execution back = row(held.id);
  EXPECT_EQ(back.status, Status::queued);
  EXPECT_EQ(back.version, held.version + 1);
  EXPECT_EQ(back.attempt, held.attempt - 1);
  EXPECT_EQ(back.last_end, core::AttemptEnd::released);
  EXPECT_EQ(row(owned.id).version, owned.version + 1);
  EXPECT_EQ(row(owned.id).attempt, owned.attempt) << "a run is one attempt however often it is claimed";
  EXPECT_FALSE(row(owned.id).session);
  EXPECT_EQ(run(core::SessionsExpire{}).changed, 0);
}

// C15
TEST_P(Claims, TheSecondRecovererFindsNothingToDo) {
  enqueue(task());
  claim_one();
  run(core::SessionClose{session_});
  advance(31s);
  const auto answers = apply({core::SessionsExpire{}, core::SessionsExpire{}});
  EXPECT_EQ(expect_answer<core::SweepAnswer>(answers[0]).changed, 1);
  EXPECT_EQ(expect_answer<core::SweepAnswer>(answers[1]).changed, 0);
  EXPECT_EQ(run(core::SessionsExpire{}).changed, 0);
}

// C17
TEST_P(Claims, AWorkerOfTheSameNameInheritsNothing) {
  enqueue(task().with_id("namesake"));
  const Execution held = claim_one();
  session_ = open_session("worker-1");
  EXPECT_EQ(run(delivery("namesake")).outcome, core::DeliveryOutcome::already_claimed);
  EXPECT_EQ(row(held.id).version, held.version);
  EXPECT_EQ(finish(held), Status::succeeded);
}

// C18
TEST_P(Claims, ADeadWorkersLeasesComeBackInBatches) {
  constexpr int kTasks = 120;
  std::vector<Operation> enqueues;
  for (int i = 0; i < kTasks; ++i) enqueues.emplace_back(core::TaskEnqueue(task()));
  apply(std::move(enqueues));
  for (int i = 0; i < kTasks / 20; ++i) EXPECT_EQ(claim(lane_, 20).size(), 20u);
  run(core::SessionClose{session_});
  advance(31s);
  int returned = 0;
  for (int round = 0; round < 20 && returned < kTasks; ++round) {
    const auto swept = run(core::SessionsExpire{25, 0});
    EXPECT_LE(swept.changed, 60) << "a batch stays a batch";
    returned += swept.changed;
  }
  EXPECT_EQ(returned, kTasks);
  run(core::SessionsExpire{});
  EXPECT_FALSE(store_->session_get(session_).value().has_value()) << "an expired session without leases goes";
}

// D15: the attempt counts at the claim, a poison task dies alone, neighbours are not dragged along.
TEST_P(Claims, APoisonTaskIsClaimedAloneAndEndsAfterItsAttempts) {
  for (const bool dead_letter : {false, true}) {
    const LaneId from = dead_letter ? dead_letter_lane() : lane("mortal");
    Task poison = task(), neighbour = task();
    poison.lane = neighbour.lane = from;
    poison.max_attempts = 2;
    const ExecutionId bad = enqueue(poison);
    const ExecutionId good = enqueue(neighbour);
    session_ = open_session("doomed", 10s);
    ASSERT_EQ(claim(from, 5).size(), 2u);
    advance(31s);
    run(core::SessionsExpire{});
    EXPECT_EQ(row(bad).status, Status::queued);
    EXPECT_EQ(row(bad).attempt, 1);
    EXPECT_EQ(row(bad).last_end, core::AttemptEnd::lease_lost);
    EXPECT_TRUE(claim(from, 5).empty()) << "both are claimed by themselves now";
    session_ = open_session("doomed again", 10s);
    auto alone = claim_request(from);
    alone.pool = core::Pool::alone;
    EXPECT_EQ(rows_of(run(alone)).at(0).id, bad);
    advance(31s);
    run(core::SessionsExpire{});
    EXPECT_EQ(row(bad).status, dead_letter ? Status::dead_lettered : Status::failed);
    EXPECT_NE(row(bad).error->find("LeaseLost"), std::string::npos);
    EXPECT_EQ(row(good).status, Status::queued);
    session_ = open_session("worker-1");
    alone = claim_request(from);
    alone.pool = core::Pool::alone;
    const Execution held = rows_of(run(alone)).at(0);
    EXPECT_EQ(held.id, good);
    finish(held);
  }
}

TEST_P(Claims, ReadyLanesAreListedOncePerKindOfClaim) {
  EXPECT_TRUE(store_->ready_lanes().value().empty());
  for (int i = 0; i < 3; ++i) enqueue(task());
  Task other = task();
  other.lane = lane("other");
  enqueue(other);
  EXPECT_EQ(store_->ready_lanes().value().size(), 2u);
  EXPECT_EQ(store_->lane_stats(lane_).value().ready_count, 3);
}

}  // namespace semel::store::conformance
