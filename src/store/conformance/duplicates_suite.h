// Section 3 of the contract: what an id that already exists answers, cell by cell and in batches.
#pragma once

#include "core/duplicate_matrix.h"
#include "store/conformance/fixture.h"

namespace semel::store::conformance {

class Duplicates : public StoreTest {
 protected:
  struct Case {
    core::DuplicateCell cell;
    std::string id;
    Task request;
    std::optional<ExecutionId> found;
  };

  // One lane per status, so that claims pick exactly the executions that need them.
  LaneId lane_for(const core::DuplicateCell& cell) {
    if (!cell.found) return lane_;
    core::LaneConfig config;
    config.dead_letter = *cell.found == Status::dead_lettered;
    return lane("found-" + std::string(to_string(*cell.found)), config);
  }

  void apply_all(std::vector<Operation> operations) {
    constexpr std::size_t kBatch = 500;
    for (std::size_t from = 0; from < operations.size(); from += kBatch) {
      const std::size_t to = std::min(operations.size(), from + kBatch);
      for (const auto& answer : apply({operations.begin() + static_cast<std::ptrdiff_t>(from),
                                       operations.begin() + static_cast<std::ptrdiff_t>(to)}))
        if (const auto* error = std::get_if<Error>(&answer)) ADD_FAILURE() << error->to_json();
    }
  }

  // Every cell of a kind with its own id, the execution found brought to its status.
  std::vector<Case> prepare(Kind kind, const std::string& prefix) {
    std::vector<Case> cases;
    std::map<Status, LaneId> lanes;
    std::vector<Operation> enqueues;
    for (const auto& cell : core::expand_duplicate_matrix()) {
      if (cell.kind != kind) continue;
      Case one{cell, prefix + std::to_string(cases.size()), task(), {}};
      if (cell.found && !lanes.contains(*cell.found)) lanes[*cell.found] = lane_for(cell);
      if (cell.found) {
        Task original = task();
        original.kind = kind;
        original.lane = lanes[*cell.found];
        original.with_id(one.id);
        if (cell.found == Status::timed_out) original.timeout = 1ms;
        if (cell.found == Status::dead_lettered) original.max_attempts = 1;
        one.found = original.id;
        enqueues.emplace_back(core::TaskEnqueue(original));
      }
      one.request.kind = kind;
      one.request.with_id(one.id)
          .with_name(cell.same_name ? kName : "refund")
          .with_args(cell.same_args ? kArgs : R"({"order":2})");
      one.request.reuse = cell.reuse;
      one.request.on_duplicate = cell.on_duplicate;
      one.request.match_args = cell.match_args;
      cases.push_back(std::move(one));
    }
    apply_all(std::move(enqueues));
    for (const auto& [status, lane] : lanes) bring_to(status, lane);
    return cases;
  }

  void bring_to(Status status, LaneId lane) {
    if (status == Status::queued) return;
    if (status == Status::timed_out) {
      advance(1ms);
      run(core::TimersFire{});
      return;
    }
    std::vector<Operation> second, third;
    if (status == Status::cancelled) {
      ExecutionFilter filter;
      filter.queue = lane_row(lane).queue;
      filter.statuses = {Status::queued};
      filter.limit = 1000;
      const std::vector<ExecutionView> queued = store_->execution_list(filter).value();
      for (const auto& view : queued)
        second.emplace_back(core::ExecutionCancel{core::kDefaultTenant, view.execution.id});
      return apply_all(std::move(second));
    }
    auto request = claim_request(lane, 1000);
    request.lease = 24h;
    for (const Execution& held : rows_of(run(request))) {  // tasks
      if (status != Status::claimed) second.emplace_back(heartbeat(held));
      if (status == Status::succeeded) third.emplace_back(completion(held));
      if (status == Status::failed) third.emplace_back(failure(held, /*retryable=*/false));
      if (status == Status::dead_lettered) third.emplace_back(failure(held));
    }
    request = claim_request(lane, 1000);
    request.lease = 24h;
    request.pool = core::Pool::runs;
    for (const Execution& held : rows_of(run(request))) {
      core::RunAdvance op = advance_of(held);
      op.waits = status == Status::suspended;
      if (status == Status::succeeded)
        op.entries.push_back({{}, event(core::EventKind::run_completed, 0, R"({"ok":true})"), {}});
      if (status == Status::failed || status == Status::dead_lettered)
        op.entries.push_back({{}, event(core::EventKind::run_failed, 0, kError), {}});
      third.emplace_back(op);
    }
    apply_all(std::move(second));
    apply_all(std::move(third));
  }

  void check(const Case& one, const std::optional<Execution>& before, const core::Answer& answer) {
    SCOPED_TRACE(one.id + " found=" + (one.cell.found ? std::string(to_string(*one.cell.found)) : "absent") +
                 " reuse=" + std::string(to_string(one.cell.reuse)) + " on_duplicate=" +
                 std::string(to_string(one.cell.on_duplicate)) + " match_args=" + std::to_string(one.cell.match_args) +
                 " same_args=" + std::to_string(one.cell.same_args) +
                 " same_name=" + std::to_string(one.cell.same_name) + ": " + one.cell.rule);
    const core::DuplicateAnswer& wanted = one.cell.answer;
    const core::Space space = core::identity_space(one.cell.kind);
    if (wanted.outcome == core::DuplicateOutcome::error) {
      EXPECT_EQ(error_info(code_of(answer)).name, error_info(*wanted.error).name);
    } else {
      const auto answered = expect_answer<core::EnqueueAnswer>(answer);
      EXPECT_EQ(answered.created, wanted.outcome == core::DuplicateOutcome::created);
      EXPECT_EQ(answered.execution, answered.created ? one.request.id : *one.found);
    }
    const bool created = wanted.outcome == core::DuplicateOutcome::created;
    EXPECT_EQ(exists(one.request.id), created);
    EXPECT_EQ(newest(one.id, space), created ? std::optional(one.request.id) : one.found);
    if (created) {
      EXPECT_EQ(row(one.request.id).previous, wanted.links_previous ? one.found : std::nullopt);
    }
    if (!before) return;
    if (wanted.terminates_live) {
      EXPECT_EQ(row(*one.found).status, Status::cancelled);
      EXPECT_EQ(row(*one.found).close_reason, core::CloseReason::terminated);
    } else {
      EXPECT_EQ(line(*one.found), to_line(*before)) << "the execution found must not change";
    }
  }

  std::optional<Execution> found_row(const Case& one) {
    return one.found ? std::optional(row(*one.found)) : std::nullopt;
  }

  void each_cell_alone(Kind kind) {
    for (const Case& one : prepare(kind, "single-")) {
      const auto before = found_row(one);
      check(one, before, ask(core::TaskEnqueue(one.request)));
    }
  }

  void each_cell_in_batches(Kind kind) {
    constexpr std::size_t kBatch = 50;
    const std::vector<Case> cases = prepare(kind, "batch-");
    for (std::size_t from = 0; from < cases.size(); from += kBatch) {
      std::vector<Operation> operations;
      std::vector<std::optional<Execution>> before;
      const std::size_t count = std::min(kBatch, cases.size() - from);
      for (std::size_t i = 0; i < count; ++i) {
        operations.emplace_back(core::TaskEnqueue(task()));  // bystanders between them
        operations.emplace_back(core::TaskEnqueue(cases[from + i].request));
        before.push_back(found_row(cases[from + i]));
      }
      const auto answers = apply(std::move(operations));
      for (std::size_t i = 0; i < count; ++i) check(cases[from + i], before[i], answers[2 * i + 1]);
    }
  }
};

// D6, D7, D9: the whole matrix.
TEST_P(Duplicates, EveryCellForTasksOneByOne) { each_cell_alone(Kind::task); }
TEST_P(Duplicates, EveryCellForTasksInBatches) { each_cell_in_batches(Kind::task); }
TEST_P(Duplicates, EveryCellForWorkflowsOneByOne) { each_cell_alone(Kind::workflow); }
TEST_P(Duplicates, EveryCellForWorkflowsInBatches) { each_cell_in_batches(Kind::workflow); }

TEST_P(Duplicates, WithoutAnIdEveryRequestIsANewExecution) {
  const ExecutionId a = enqueue(task());
  const ExecutionId b = enqueue(task());
  EXPECT_NE(a, b);
  EXPECT_FALSE(row(a).identity.has_value());
}

// D10
TEST_P(Duplicates, ABatchWithDuplicatesInsideAndOutsideAnswersInOrder) {
  const ExecutionId outside = enqueue(task().with_id("outside"));
  Task first = task().with_id("inside"), second = task().with_id("inside"),
       other = task().with_id("inside").with_args("{}");
  Task again = task().with_id("outside"), plain = task();
  const auto answers = apply({core::TaskEnqueue(first), core::TaskEnqueue(again), core::TaskEnqueue(second),
                              core::TaskEnqueue(plain), core::TaskEnqueue(other)});
  const auto at = [&](std::size_t i) { return expect_answer<core::EnqueueAnswer>(answers[i]); };
  EXPECT_TRUE(at(0).created);
  EXPECT_EQ(at(0).execution, first.id);
  EXPECT_FALSE(at(1).created);
  EXPECT_EQ(at(1).execution, outside);
  EXPECT_FALSE(at(2).created);
  EXPECT_EQ(at(2).execution, first.id);
  EXPECT_TRUE(at(3).created);
  EXPECT_EQ(code_of(answers[4]), ErrorCode::FingerprintMismatch);
  EXPECT_FALSE(exists(second.id));
  EXPECT_FALSE(exists(other.id));
}

// D8
TEST_P(Duplicates, ThirtyTwoRetriesOfAFailedIdMakeOneNewExecution) {
  for (const Status status : {Status::failed, Status::cancelled, Status::timed_out}) {
    const std::string id = "retry-" + std::string(to_string(status));
    const ExecutionId old = ended(task().with_id(id), status);
    const std::string before = line(old);
    int created = 0;
    std::optional<ExecutionId> winner;
    const auto count = [&](const core::Answer& answer) {
      const auto one = expect_answer<core::EnqueueAnswer>(answer);
      created += one.created;
      if (one.created) winner = one.execution;
      EXPECT_EQ(std::optional(one.execution), winner);
    };
    std::vector<Operation> half;  // 16 in one batch, 16 one by one
    for (int i = 0; i < 16; ++i) half.emplace_back(core::TaskEnqueue(task().with_id(id)));
    for (const auto& answer : apply(std::move(half))) count(answer);
    for (int i = 0; i < 16; ++i) count(ask(core::TaskEnqueue(task().with_id(id))));
    EXPECT_EQ(created, 1);
    ASSERT_TRUE(winner.has_value());
    EXPECT_EQ(row(*winner).previous, old);
    EXPECT_EQ(line(old), before);
  }
}

// D4, H13: the answer was lost between commit and caller.
TEST_P(Duplicates, ABatchAskedAgainAfterAnUnknownCommitAnswersTheSame) {
  const Task named = task().with_id("asked-again");
  const Task keyed = task().with_key("asked-again-key");
  std::vector<Operation> operations{core::TaskEnqueue(named), core::TaskEnqueue(keyed), core::TaskEnqueue(task())};
  Batch batch;
  batch.id = fresh<BatchId>();
  const auto first = apply(batch, operations);
  const std::string before = snapshot();
  batch.recheck = true;
  const auto second = apply(batch, operations);
  EXPECT_EQ(snapshot(), before);
  for (std::size_t i = 0; i < first.size(); ++i) {
    const auto a = expect_answer<core::EnqueueAnswer>(first[i]);
    const auto b = expect_answer<core::EnqueueAnswer>(second[i]);
    EXPECT_TRUE(a.created);
    EXPECT_TRUE(b.created);
    EXPECT_EQ(a.execution, b.execution);
  }
}

TEST_P(Duplicates, ABatchThatNeverCommittedRunsWhenAskedAgain) {
  std::vector<Operation> operations{core::TaskEnqueue(task().with_id("never-committed"))};
  Batch batch;
  batch.id = fresh<BatchId>();
  batch.recheck = true;
  EXPECT_TRUE(expect_answer<core::EnqueueAnswer>(apply(batch, operations)[0]).created);
  EXPECT_TRUE(newest("never-committed").has_value());
}

// D4: a client that lost the answer retries with a request of its own.
TEST_P(Duplicates, ARetriedRequestFindsTheFirstOne) {
  const ExecutionId first = enqueue(task().with_id("lost-answer"));
  const auto again = run<core::TaskEnqueue>(task().with_id("lost-answer"));
  EXPECT_FALSE(again.created);
  EXPECT_EQ(again.execution, first);
  EXPECT_EQ(again.status, Status::queued);
}

TEST_P(Duplicates, ACompletedIdAnswersWithItsResult) {
  const ExecutionId done = ended(task().with_id("done"), Status::succeeded);
  const auto again = run<core::TaskEnqueue>(task().with_id("done"));
  EXPECT_FALSE(again.created);
  EXPECT_EQ(again.execution, done);
  EXPECT_EQ(again.status, Status::succeeded);
  EXPECT_EQ(again.result, R"({"ok":true})");
  EXPECT_EQ(again.completed_at, row(done).completed_at);
}

TEST_P(Duplicates, ARejectionNamesTheExistingExecution) {
  const ExecutionId done = ended(task().with_id("strict"), Status::succeeded);
  Task strict = task().with_id("strict");
  strict.on_duplicate = OnDuplicate::reject;
  const auto answer = ask(core::TaskEnqueue(strict));
  ASSERT_EQ(code_of(answer), ErrorCode::TaskAlreadyCompleted);
  const std::string text = std::get<Error>(answer).to_json();
  EXPECT_NE(text.find(done.to_string()), std::string::npos) << text;
  EXPECT_NE(text.find(R"("status":"succeeded")"), std::string::npos) << text;
  EXPECT_NE(text.find(R"("result":{"ok":true})"), std::string::npos) << text;
}

// D12: ids are compared byte for byte, nothing is normalised.
TEST_P(Duplicates, IdsThatLookAlikeAreDifferentIds) {
  const std::vector<std::string> ids = {"Order",
                                        "order",
                                        "order ",
                                        " order",
                                        "caf\xc3\xa9",
                                        "cafe\xcc\x81",
                                        "o'rder;--",
                                        "%order_",
                                        std::string(255, 'x'),
                                        std::string(254, 'x')};
  std::set<ExecutionId> made;
  for (const std::string& id : ids) made.insert(enqueue(task().with_id(id)));
  EXPECT_EQ(made.size(), ids.size());
  for (const std::string& id : ids) EXPECT_FALSE(run<core::TaskEnqueue>(task().with_id(id)).created) << id;
}

// Ids are scoped by tenant and by kind.
TEST_P(Duplicates, TheSameIdInAnotherTenantOrOfAnotherKindIsAnotherThing) {
  const auto tenant = run(core::TenantEnsure{"acme"}).tenant;
  core::LaneEnsure ensure;
  ensure.tenant = tenant;
  ensure.queue = "default-queue";
  const LaneId theirs = run(ensure).lane.id;
  enqueue(task().with_id("shared"));
  Task other = task().with_id("shared");
  other.tenant = tenant;
  other.lane = theirs;
  EXPECT_TRUE(run<core::TaskEnqueue>(other).created);
  EXPECT_TRUE(run<core::TaskEnqueue>(task().as_workflow("shared")).created);
  EXPECT_FALSE(store_->execution_get(core::kDefaultTenant, other.id).value().has_value());
}

TEST_P(Duplicates, ExecutionsAskedForTogetherAreThoseThatExistInTheTenant) {
  const ExecutionId first = enqueue(task().with_id("one"));
  const ExecutionId second = ended(task().with_id("two"), Status::succeeded);
  const std::vector<ExecutionId> ids = {second, fresh<ExecutionId>(), first, second};
  std::set<ExecutionId> found;
  const auto views = store_->executions_get(core::kDefaultTenant, ids);
  for (const auto& view : views.value()) {
    found.insert(view.execution.id);
    EXPECT_EQ(to_line(view.execution), line(view.execution.id));
    EXPECT_EQ(view.queue, store_->execution_get(core::kDefaultTenant, view.execution.id).value()->queue);
  }
  EXPECT_EQ(found, (std::set<ExecutionId>{first, second}));
  EXPECT_TRUE(store_->executions_get(core::kDefaultTenant, {}).value().empty());
  const auto stranger = run(core::TenantEnsure{"acme"}).tenant;
  EXPECT_TRUE(store_->executions_get(stranger, ids).value().empty());
}

TEST_P(Duplicates, AnExecutionKeepsEveryByteItWasGiven) {
  Task odd = task();
  odd.args = std::string("\x00\xff\xfe binary \n", 13);
  odd.encoding = core::Encoding::opaque;
  odd.priority = 0;
  odd.delay = 5s;
  const ExecutionId id = enqueue(odd);
  const auto view = store_->execution_get(core::kDefaultTenant, id).value();
  ASSERT_TRUE(view.has_value());
  EXPECT_EQ(view->payload.args, odd.args);
  EXPECT_EQ(view->payload.encoding, core::Encoding::opaque);
  EXPECT_EQ(view->execution.scheduled_at, now() + 5s);
  EXPECT_EQ(view->tenant, "default");
  EXPECT_EQ(view->queue, "default-queue");
}

}  // namespace semel::store::conformance
