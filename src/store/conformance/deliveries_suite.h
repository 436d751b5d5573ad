// Section 4: messages of a broker about a job.
#pragma once

#include "store/conformance/fixture.h"

namespace semel::store::conformance {

class Deliveries : public StoreTest {
 protected:
  std::string reason(const core::Answer& answer) {
    const auto* error = std::get_if<Error>(&answer);
    if (!error || error->code != ErrorCode::NotReady) return "ready";
    for (const auto& detail : error->details)
      if (detail.name == "reason") return detail.json;
    return "none";
  }
};

// D1
TEST_P(Deliveries, OfSixtyFourDeliveriesExactlyOneClaims) {
  const ExecutionId id = enqueue(task().with_id("job"));
  int claimed = 0, already = 0;
  const auto count = [&](const core::Answer& answer) {
    const auto one = expect_answer<core::DeliverAnswer>(answer);
    claimed += one.outcome == core::DeliveryOutcome::claimed;
    already += one.outcome == core::DeliveryOutcome::already_claimed;
    EXPECT_EQ(one.task.execution.id, id);
    EXPECT_EQ(one.task.payload.args, kArgs);
  };
  std::vector<Operation> half;
  for (int i = 0; i < 32; ++i) half.emplace_back(delivery("job"));
  for (const auto& answer : apply(std::move(half))) count(answer);
  for (int i = 0; i < 32; ++i) count(ask(delivery("job")));
  EXPECT_EQ(claimed, 1);
  EXPECT_EQ(already, 63);
  EXPECT_EQ(row(id).attempt, 1);
}

// D2
TEST_P(Deliveries, AThousandLateDeliveriesLeaveATerminalRowAsItIs) {
  for (const Status status :
       {Status::succeeded, Status::failed, Status::cancelled, Status::timed_out, Status::dead_lettered}) {
    const std::string job = "late-" + std::string(to_string(status));
    const ExecutionId id = ended(task().with_id(job), status);
    const std::string before = line(id);
    const std::string rows = snapshot();
    for (int batch = 0; batch < 4; ++batch) {
      advance(1h);
      std::vector<Operation> deliveries;
      for (int i = 0; i < 250; ++i) deliveries.emplace_back(delivery(job));
      for (const auto& answer : apply(std::move(deliveries))) {
        const auto one = expect_answer<core::DeliverAnswer>(answer);
        EXPECT_EQ(one.outcome, core::DeliveryOutcome::no_op_terminal);
        EXPECT_EQ(to_line(one.task.execution), before);
      }
    }
    EXPECT_EQ(line(id), before);
    EXPECT_EQ(snapshot(), rows);
  }
}

TEST_P(Deliveries, ADeliveryTakesOverAnExpiredLease) {
  const ExecutionId id = enqueue(task().with_id("expired"));
  session_ = open_session("gone", 5s);
  auto first = delivery("expired");
  first.lease = 5s;
  const Execution stale = run(first).task.execution;
  advance(6s);
  session_ = open_session("next");
  const auto taken = run(delivery("expired"));
  EXPECT_EQ(taken.outcome, core::DeliveryOutcome::claimed);
  EXPECT_EQ(taken.task.execution.attempt, 2);
  EXPECT_EQ(taken.task.execution.id, id);
  EXPECT_EQ(refused(completion(stale)), ErrorCode::LeaseLost);
  EXPECT_EQ(finish(taken.task.execution), Status::succeeded);
}

TEST_P(Deliveries, ADeliveryAfterTheLastAttemptsLeaseEndsTheJob) {
  Task t = task().with_id("last");
  t.max_attempts = 1;
  const ExecutionId id = enqueue(t);
  session_ = open_session("gone", 5s);
  auto first = delivery("last");
  first.lease = 5s;
  run(first);
  advance(6s);
  const auto answer = run(delivery("last"));
  EXPECT_EQ(answer.outcome, core::DeliveryOutcome::no_op_terminal);
  EXPECT_EQ(answer.task.execution.status, Status::failed);
  EXPECT_EQ(row(id).status, Status::failed);
}

TEST_P(Deliveries, AnUnknownJobIsNotFoundAlsoInAnotherTenant) {
  EXPECT_EQ(refused(delivery("never-heard")), ErrorCode::JobNotFound);
  const ExecutionId id = enqueue(task().with_id("mine"));
  auto foreign = delivery("mine");
  foreign.tenant = run(core::TenantEnsure{"foreign"}).tenant;
  EXPECT_EQ(refused(foreign), ErrorCode::JobNotFound);
  foreign.execution = id;
  EXPECT_EQ(refused(foreign), ErrorCode::JobNotFound);
}

TEST_P(Deliveries, AMessageThatNamesAnExecutionMeansThatOne) {
  const ExecutionId old = ended(task().with_id("renewed"), Status::failed);
  const ExecutionId current = enqueue(task().with_id("renewed"));
  auto named = delivery("renewed");
  named.execution = old;
  EXPECT_EQ(run(named).outcome, core::DeliveryOutcome::no_op_terminal);
  EXPECT_EQ(run(delivery("renewed")).task.execution.id, current);
}

TEST_P(Deliveries, AJobThatMayNotStartYetSaysWhyAndStaysAsItIs) {
  Task later = task().with_id("later");
  later.delay = 10s;
  core::LaneConfig paused, full, keyed, rated;
  paused.paused = true;
  full.concurrency = 1;
  keyed.concurrency_per_key = 1;
  rated.rate_limit = core::RateLimit{1, 60s};
  const auto in = [&](const std::string& queue, const core::LaneConfig& config) {
    std::vector<std::string> jobs;
    const LaneId where = lane(queue, config);
    for (int i = 0; i < 2; ++i) {
      jobs.push_back(queue + std::to_string(i));
      Task t = task().with_id(jobs.back());
      t.lane = where;
      t.concurrency_key = "k";
      enqueue(t);
    }
    return jobs;
  };
  enqueue(later);
  const auto p = in("paused", paused), f = in("full", full), k = in("keyed", keyed), r = in("rated", rated);
  for (const auto& job : {f[0], k[0], r[0]})
    EXPECT_EQ(run(delivery(job)).outcome, core::DeliveryOutcome::claimed) << job;
  const std::string before = snapshot();
  EXPECT_EQ(reason(ask(delivery("later"))), "\"not_due\"");
  EXPECT_EQ(reason(ask(delivery(p[0]))), "\"paused\"");
  EXPECT_EQ(reason(ask(delivery(f[1]))), "\"concurrency\"");
  EXPECT_EQ(reason(ask(delivery(k[1]))), "\"concurrency_key\"");
  EXPECT_EQ(reason(ask(delivery(r[1]))), "\"rate_limit\"");
  EXPECT_EQ(snapshot(), before);
  advance(60s);
  EXPECT_EQ(reason(ask(delivery("later"))), "ready") << "due, though no timer has fired";
  EXPECT_EQ(reason(ask(delivery(r[1]))), "ready");
}

TEST_P(Deliveries, ADeliveryThatMayNotTakeAnExpiredLeaseOverLeavesTheRowAsItIs) {
  session_ = open_session("gone", 5s);
  core::LaneConfig free, paused, full, rated;
  full.concurrency = 2;
  rated.rate_limit = core::RateLimit{1, 60s};
  const auto claimed_in = [&](const std::string& queue, const core::LaneConfig& config, int jobs) {
    const LaneId where = lane(queue, config);
    for (int i = 0; i < jobs; ++i) {
      Task t = task().with_id(queue + std::to_string(i));
      t.lane = where;
      enqueue(t);
      auto first = delivery(*t.identity);
      first.lease = 5s;
      EXPECT_EQ(run(first).outcome, core::DeliveryOutcome::claimed);
    }
    return where;
  };
  claimed_in("paused", free, 1);
  claimed_in("full", full, 2);
  claimed_in("rated", rated, 1);
  advance(6s);
  session_ = open_session("next");
  paused.paused = true;
  lane("paused", paused);
  full.concurrency = 1;
  lane("full", full);
  const std::string before = snapshot();
  EXPECT_EQ(reason(ask(delivery("paused0"))), "\"paused\"");
  EXPECT_EQ(reason(ask(delivery("full0"))), "\"concurrency\"");
  EXPECT_EQ(reason(ask(delivery("rated0"))), "\"rate_limit\"");
  EXPECT_EQ(snapshot(), before);
  full.concurrency = 2;
  lane("full", full);
  EXPECT_EQ(run(delivery("full0")).task.execution.attempt, 2) << "its own place in the count is free for it";
  EXPECT_EQ(run(delivery("full1")).task.execution.attempt, 2);
}

TEST_P(Deliveries, ADeliveryThatTakesAnExpiredLeaseOverKeepsTheSlotOfItsKey) {
  core::LaneConfig keyed;
  keyed.concurrency_per_key = 1;
  session_ = open_session("gone", 5s);
  for (const char* job : {"first", "second"}) {
    Task t = task().with_id(job);
    t.lane = lane("keyed", keyed);
    t.concurrency_key = "k";
    enqueue(t);
  }
  auto first = delivery("first");
  first.lease = 5s;
  run(first);
  advance(6s);
  session_ = open_session("next");
  const auto taken = run(delivery("first"));
  EXPECT_EQ(taken.outcome, core::DeliveryOutcome::claimed);
  EXPECT_EQ(taken.task.execution.attempt, 2);
  EXPECT_EQ(reason(ask(delivery("second"))), "\"concurrency_key\"");
  finish(taken.task.execution);
  EXPECT_EQ(run(delivery("second")).outcome, core::DeliveryOutcome::claimed);
}

TEST_P(Deliveries, AnswersLeaveANoteForTheLedger) {
  enqueue(task().with_id("noted"));
  const Execution held = run(delivery("noted")).task.execution;
  EXPECT_TRUE(notes_.empty());
  run(delivery("noted"));
  ASSERT_EQ(notes_.size(), 1u);
  EXPECT_EQ(notes_[0].rule, core::LedgerRule::delivery_already_claimed);
  EXPECT_EQ(notes_[0].key, "noted");
  finish(held);
  run(delivery("noted"));
  ASSERT_EQ(notes_.size(), 1u);
  EXPECT_EQ(notes_[0].rule, core::LedgerRule::delivery_terminal);
  EXPECT_EQ(notes_[0].winner, held.id);
}

}  // namespace semel::store::conformance
