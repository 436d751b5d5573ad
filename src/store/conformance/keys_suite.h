// Idempotency keys and their windows, retention, groups, the ledger.
#pragma once

#include "store/conformance/fixture.h"

namespace semel::store::conformance {

class Keys : public StoreTest {
 protected:
  std::optional<core::Identity> key(const std::string& name) {
    return store_->key_get(core::kDefaultTenant, name).value();
  }
  LaneId brief_lane(Duration retention) {
    core::LaneConfig config;
    config.retention = retention;
    return lane("brief", config);
  }
  std::int32_t sweep_all() {
    std::int32_t changed = 0;
    core::RetentionSweep sweep;
    sweep.limit = 10;
    for (;;) {
      const auto answer = run(sweep);
      changed += answer.changed;
      if (!answer.more) return changed;
      sweep.after = answer.next_after;
    }
  }
  Task in(LaneId where) {
    Task t = task();
    t.lane = where;
    return t;
  }
};

TEST_P(Keys, AKeyAnswersForItsExecutionWhileItLives) {
  const ExecutionId id = enqueue(task().with_key("k", 60));
  EXPECT_FALSE(key("k")->expires_at.has_value());
  advance(24h * 365);
  const auto again = run<core::TaskEnqueue>(task().with_key("k", 60));
  EXPECT_FALSE(again.created);
  EXPECT_EQ(again.execution, id);
  ASSERT_EQ(notes_.size(), 1u);
  EXPECT_EQ(notes_[0].rule, core::LedgerRule::key_existing);
  EXPECT_EQ(notes_[0].space, core::Space::key);
}

TEST_P(Keys, ARequestThatIsRepeatedWithItsKeyDoesNotReplaceWhatItMade) {
  Task start = task().as_workflow("flow").with_key("request-1");
  start.on_duplicate = OnDuplicate::replace;
  const ExecutionId id = enqueue(start);
  Task repeated = task().as_workflow("flow").with_key("request-1");
  repeated.on_duplicate = OnDuplicate::replace;
  const auto again = run<core::TaskEnqueue>(repeated);
  EXPECT_FALSE(again.created);
  EXPECT_EQ(again.execution, id);
  EXPECT_EQ(row(id).status, Status::queued);
  Task other = task().as_workflow("flow").with_key("request-2");
  other.on_duplicate = OnDuplicate::replace;
  EXPECT_TRUE(run<core::TaskEnqueue>(other).created) << "another request";
  EXPECT_EQ(row(id).status, Status::cancelled);
}

// R1
TEST_P(Keys, SuccessStartsTheKeysWindow) {
  ended(task().with_key("k", 60), Status::succeeded);
  EXPECT_EQ(key("k")->expires_at, now() + 60s);
  advance(60s - 1us);
  run(core::KeysExpire{});
  EXPECT_FALSE(run<core::TaskEnqueue>(task().with_key("k", 60)).created);
  advance(1us);
  EXPECT_TRUE(run<core::TaskEnqueue>(task().with_key("k", 60)).created) << "expired is unused, swept or not";
  EXPECT_FALSE(key("k")->expires_at.has_value());
}

TEST_P(Keys, FailureReleasesTheKey) {
  for (const Status status : {Status::failed, Status::cancelled, Status::timed_out}) {
    const ExecutionId old = ended(task().with_key("again"), status);
    EXPECT_FALSE(key("again").has_value());
    const auto again = run<core::TaskEnqueue>(task().with_key("again"));
    EXPECT_TRUE(again.created);
    EXPECT_NE(again.execution, old);
    run(core::ExecutionCancel{core::kDefaultTenant, again.execution});
  }
}

TEST_P(Keys, AKeyAndAnIdThatLeadToDifferentExecutionsConflict) {
  const ExecutionId keyed = enqueue(task().with_key("k"));
  enqueue(task().with_id("other"));
  const std::string before = snapshot();
  const auto answer = ask(core::TaskEnqueue(task().with_id("other").with_key("k")));
  ASSERT_EQ(code_of(answer), ErrorCode::KeyConflict);
  EXPECT_NE(std::get<Error>(answer).to_json().find(keyed.to_string()), std::string::npos);
  EXPECT_EQ(refused(core::TaskEnqueue(task().with_id("brand-new").with_key("k"))), ErrorCode::KeyConflict);
  EXPECT_EQ(refused(core::TaskEnqueue(task().as_workflow("flow").with_key("k"))), ErrorCode::KeyConflict);
  EXPECT_EQ(snapshot(), before) << "nothing written";
}

TEST_P(Keys, OtherArgsUnderAKeyAreAMismatch) {
  enqueue(task().with_key("k"));
  EXPECT_EQ(refused(core::TaskEnqueue(task().with_key("k").with_args("[]"))), ErrorCode::FingerprintMismatch);
  Task relaxed = task().with_key("k").with_args("[]");
  relaxed.match_args = false;
  EXPECT_FALSE(run<core::TaskEnqueue>(relaxed).created);
}

// R2
TEST_P(Keys, RetentionZeroDropsTheRowAndKeepsTheKey) {
  const LaneId where = brief_lane(0s);
  Task t = in(where).with_id("now").with_key("kept", 60);
  t.drop_at_end = true;
  const ExecutionId id = enqueue(t);
  const auto held = claim(where, 1);
  EXPECT_EQ(finish(held.at(0)), Status::succeeded);
  EXPECT_FALSE(exists(id));
  EXPECT_FALSE(newest("now").has_value()) << "the id is free at once";
  EXPECT_TRUE(run<core::TaskEnqueue>(in(where).with_id("now")).created);
  const auto again = run<core::TaskEnqueue>(in(where).with_key("kept", 60));
  EXPECT_FALSE(again.created);
  EXPECT_TRUE(again.result_expired);
  EXPECT_FALSE(again.result.has_value());
  EXPECT_EQ(again.execution, id);
  EXPECT_EQ(refused(core::TaskEnqueue(task().as_workflow("flow").with_key("kept"))), ErrorCode::KeyConflict)
      << "it led to a task";
  ASSERT_EQ(notes_.size(), 1u);
  EXPECT_EQ(notes_[0].space, core::Space::key) << "where explain finds it";
  EXPECT_TRUE(run<core::TaskEnqueue>(in(where).with_id("new").with_key("kept", 60)).result_expired);
  ASSERT_EQ(notes_.size(), 1u);
  EXPECT_EQ(notes_[0].space, core::Space::key);
  EXPECT_EQ(refused(core::TaskEnqueue(in(where).with_key("kept").with_args("7"))), ErrorCode::FingerprintMismatch);
  EXPECT_EQ(refused(core::TaskEnqueue(in(where).with_id("now").with_key("kept"))), ErrorCode::KeyConflict);
  advance(60s);
  EXPECT_EQ(run(core::KeysExpire{}).changed, 1);
  EXPECT_FALSE(key("kept").has_value());
}

TEST_P(Keys, DeadLettersStayEvenWithRetentionZero) {
  core::LaneConfig config;
  config.retention = 0s;
  config.dead_letter = true;
  const LaneId where = lane("strict", config);
  Task t = in(where).with_id("kept");
  t.drop_at_end = true;
  t.max_attempts = 1;
  const ExecutionId id = enqueue(t);
  run(failure(claim(where, 1).at(0)));
  EXPECT_EQ(row(id).status, Status::dead_lettered);
  EXPECT_EQ(sweep_all(), 0);
  EXPECT_TRUE(exists(id));
}

// R3, R4
TEST_P(Keys, RetentionCountsFromTheEndAndFreesTheId) {
  const LaneId where = brief_lane(100s);
  const ExecutionId id = ended(in(where).with_id("old").with_key("old-key", 1000), Status::succeeded);
  advance(100s - 1us);
  EXPECT_EQ(sweep_all(), 0);
  advance(1us);
  const auto answers = apply({core::RetentionSweep{}, core::TaskEnqueue(in(where).with_id("old"))});
  EXPECT_EQ(expect_answer<core::SweepAnswer>(answers[0]).changed, 1);
  const auto again = expect_answer<core::EnqueueAnswer>(answers[1]);
  EXPECT_TRUE(again.created);
  EXPECT_FALSE(row(again.execution).previous.has_value());
  EXPECT_FALSE(exists(id));
  EXPECT_TRUE(key("old-key")->tombstone);
  EXPECT_TRUE(run<core::TaskEnqueue>(in(where).with_key("old-key")).result_expired);
}

// R3: the duplicate came first, so the row is still the answer.
TEST_P(Keys, ADuplicateBeforeTheSweepIsAnswered) {
  const LaneId where = brief_lane(1s);
  const ExecutionId id = ended(in(where).with_id("race"), Status::succeeded);
  advance(2s);
  const auto answers = apply({core::TaskEnqueue(in(where).with_id("race")), core::RetentionSweep{}});
  EXPECT_EQ(expect_answer<core::EnqueueAnswer>(answers[0]).execution, id);
  EXPECT_EQ(expect_answer<core::SweepAnswer>(answers[1]).changed, 1);
}

// R5
TEST_P(Keys, RemovingAnOldRunKeepsTheNewerRunsIdAndKey) {
  const LaneId where = brief_lane(100s);
  const ExecutionId old = ended(in(where).with_id("shared"), Status::failed);
  advance(50s);
  const ExecutionId newer = enqueue(in(where).with_id("shared").with_key("shared-key"));
  advance(60s);
  EXPECT_EQ(sweep_all(), 1);
  EXPECT_FALSE(exists(old));
  EXPECT_EQ(newest("shared"), newer);
  EXPECT_EQ(key("shared-key")->target, newer);
}

// R10
TEST_P(Keys, LiveWorkIsNeverRemoved) {
  const LaneId where = brief_lane(1s);
  const ExecutionId queued = enqueue(in(where));
  enqueue(in(where));
  session_ = open_session("worker-1", 24h * 30);
  const Execution held = claim(where, 1).at(0);
  advance(24h * 20);
  EXPECT_EQ(sweep_all(), 0);
  EXPECT_TRUE(exists(queued));
  EXPECT_TRUE(exists(held.id));
}

// R8, R9: the sweep walks, remembers where it was, and may be repeated.
TEST_P(Keys, TheSweepWalksInSmallBatchesAndMayBeRepeated) {
  const LaneId where = brief_lane(1s);
  for (int i = 0; i < 25; ++i) ended(in(where), Status::succeeded);
  const ExecutionId live = enqueue(in(where));
  advance(2s);
  core::RetentionSweep sweep;
  sweep.limit = 10;
  const auto first = run(sweep);
  EXPECT_EQ(first.looked_at, 10);
  EXPECT_EQ(first.changed, 10);
  EXPECT_TRUE(first.more);
  EXPECT_EQ(run(sweep).changed, 10) << "again from the start: the next ones";
  EXPECT_EQ(sweep_all(), 5);
  EXPECT_EQ(sweep_all(), 0);
  EXPECT_TRUE(exists(live));
}

TEST_P(Keys, DiscardedAndRedrivenDeadLettersAreRemovedInTheirTime) {
  core::LaneConfig config;
  config.retention = 100s;
  config.dead_letter = true;
  const LaneId where = lane("dead-letter", config);
  const auto dead = [&] {
    Task t = in(where);
    t.max_attempts = 1;
    const ExecutionId id = enqueue(t);
    run(failure(claim(where, 1).at(0)));
    return id;
  };
  const ExecutionId kept = dead(), discarded = dead(), redriven = dead();
  advance(90s);
  run(core::ExecutionDiscard{core::kDefaultTenant, discarded});
  run(core::ExecutionRedrive{core::kDefaultTenant, redriven, fresh<ExecutionId>()});
  advance(10s);
  EXPECT_EQ(sweep_all(), 1);
  EXPECT_FALSE(exists(redriven));
  EXPECT_TRUE(exists(discarded)) << "counts from the discard";
  advance(90s);
  EXPECT_EQ(sweep_all(), 1);
  EXPECT_FALSE(exists(discarded));
  EXPECT_TRUE(exists(kept));
}

TEST_P(Keys, KeysAreListedReadAndReleased) {
  const ExecutionId live = enqueue(task().with_key("b"));
  ended(task().with_key("a"), Status::succeeded);
  const auto listed = store_->key_list(core::kDefaultTenant, "", 10).value();
  ASSERT_EQ(listed.size(), 2u);
  EXPECT_EQ(listed[0].id.key, "a");
  EXPECT_EQ(store_->key_list(core::kDefaultTenant, "a", 10).value().size(), 1u);
  EXPECT_EQ(refused(core::KeyRelease{core::kDefaultTenant, "nobody", false}), ErrorCode::KeyNotFound);
  EXPECT_EQ(refused(core::KeyRelease{core::kDefaultTenant, "b", false}), ErrorCode::InvalidTransition);
  EXPECT_TRUE(run(core::KeyRelease{core::kDefaultTenant, "b", true}).released);
  EXPECT_TRUE(run(core::KeyRelease{core::kDefaultTenant, "a", false}).released);
  const auto again = run<core::TaskEnqueue>(task().with_key("b"));
  EXPECT_TRUE(again.created);
  run(core::ExecutionCancel{core::kDefaultTenant, live});
  EXPECT_EQ(key("b")->target, again.execution) << "the first owner's end leaves the second one's key alone";
}

TEST_P(Keys, ReuseAlwaysMovesTheKeyToTheNewExecution) {
  const ExecutionId old = ended(task().with_id("id").with_key("k", 60), Status::succeeded);
  Task again = task().with_id("id").with_key("k", 60);
  again.reuse = Reuse::always;
  const ExecutionId next = enqueue(again);
  EXPECT_EQ(key("k")->target, next);
  EXPECT_FALSE(key("k")->expires_at.has_value());
  EXPECT_EQ(row(next).previous, old);
}

class Groups : public StoreTest {
 protected:
  core::Group make(std::int32_t total) {
    core::Group group;
    group.id = fresh<GroupId>();
    group.total = total;
    group.completion.id = fresh<ExecutionId>();
    group.completion.lane = lane_;
    group.completion.name = "all-done";
    group.completion.created_at = group.completion.scheduled_at = now();
    group.completion_payload = {group.completion.id, core::Encoding::json, "{}", ""};
    return group;
  }
  ExecutionId member(const core::Group& group, std::string id = {}) {
    Task t = task();
    t.group = group.id;
    if (!id.empty()) t.with_id(id);
    return enqueue(t);
  }
};

TEST_P(Groups, TheCompletionTaskStartsWhenTheLastMemberEnds) {
  const core::Group group = make(3);
  EXPECT_TRUE(run(core::GroupCreate{group}).created);
  EXPECT_FALSE(run(core::GroupCreate{group}).created);
  for (int i = 0; i < 3; ++i) member(group);
  const auto held = claim(3);
  ASSERT_EQ(held.size(), 3u);
  finish(held[0]);
  run(failure(held[1], false));
  EXPECT_FALSE(exists(group.completion.id));
  advance(1s);
  finish(held[2]);
  const Execution completion = row(group.completion.id);
  EXPECT_EQ(completion.status, Status::queued);
  EXPECT_EQ(completion.created_at, now());
  EXPECT_EQ(claim_one().id, group.completion.id);
}

TEST_P(Groups, EndsInOneBatchStartOneCompletion) {
  const core::Group group = make(4);
  run(core::GroupCreate{group});
  for (int i = 0; i < 4; ++i) member(group);
  std::vector<Operation> ends;
  for (const Execution& held : claim(4)) {
    ends.emplace_back(completion(held));
    ends.emplace_back(completion(held));
  }
  apply(std::move(ends));
  EXPECT_EQ(claim(5).size(), 1u);
}

TEST_P(Groups, AFullOrUnknownGroupTakesNobody) {
  const core::Group group = make(1);
  Task early = task();
  early.group = group.id;
  EXPECT_EQ(refused(core::TaskEnqueue(early)), ErrorCode::InvalidArgument);
  run(core::GroupCreate{group});
  member(group, "first");
  Task late = task();
  late.group = group.id;
  EXPECT_EQ(refused(core::TaskEnqueue(late)), ErrorCode::InvalidArgument);
  Task again = task().with_id("first");
  again.group = group.id;
  EXPECT_FALSE(run<core::TaskEnqueue>(again).created) << "a member again";
  enqueue(task().with_id("stranger"));
  Task stranger = task().with_id("stranger");
  stranger.group = group.id;
  EXPECT_EQ(refused(core::TaskEnqueue(stranger)), ErrorCode::InvalidArgument);
}

class Ledger : public StoreTest {};

TEST_P(Ledger, CountsPerRuleAndTheMostRecentNotes) {
  enqueue(task().with_id("noted"));
  core::LedgerAdd add;
  for (int i = 0; i < 30; ++i) {
    advance(1s);
    run<core::TaskEnqueue>(task().with_id("noted"));
    add.notes.insert(add.notes.end(), notes_.begin(), notes_.end());
  }
  Task strict = task().with_id("noted");
  strict.on_duplicate = OnDuplicate::reject;
  advance(1s);
  ask(core::TaskEnqueue(strict));
  add.notes.insert(add.notes.end(), notes_.begin(), notes_.end());
  run(add);
  const auto view = store_->ledger_get({core::kDefaultTenant, core::Space::task, "noted"}).value();
  ASSERT_TRUE(view.has_value());
  const std::vector<std::pair<core::LedgerRule, std::int64_t>> wanted = {{core::LedgerRule::existing_live, 30},
                                                                         {core::LedgerRule::rejected, 1}};
  EXPECT_EQ(view->counts, wanted);
  ASSERT_EQ(view->recent.size(), static_cast<std::size_t>(core::kLedgerRecent));
  EXPECT_EQ(view->recent.front().rule, core::LedgerRule::rejected);
  EXPECT_EQ(view->recent.front().at, now());
  EXPECT_FALSE(store_->ledger_get({core::kDefaultTenant, core::Space::task, "silent"}).value().has_value());
}

// Only what is gone is forgotten, a month after its last duplicate: what is there stays countable.
TEST_P(Ledger, ForgetsIdsThatAreGoneAMonthAfterTheirLastNote) {
  const auto note = [&](const char* id) {
    run<core::TaskEnqueue>(task().with_id(id));
    run(core::LedgerAdd{notes_});
  };
  const auto counted = [&](const char* id) {
    const auto view = store_->ledger_get({core::kDefaultTenant, core::Space::task, id}).value();
    return view ? view->recent.size() : 0;
  };
  for (const char* id : {"a", "b", "c"}) {
    enqueue(task().with_id(id));
    note(id);
    finish(claim(lane_).at(0));
  }
  enqueue(task().with_id("there"));
  note("there");
  advance(24h * 29);
  note("b");
  EXPECT_EQ(run(core::RetentionSweep{}).changed, 3);
  advance(24h);
  core::LedgerSweep sweep;
  sweep.limit = 2;
  const auto first = run(sweep);
  EXPECT_EQ(first.looked_at, 2);
  EXPECT_EQ(first.changed, 1);
  EXPECT_TRUE(first.more);
  EXPECT_EQ(first.next_key, (core::IdentityKey{core::kDefaultTenant, core::Space::task, "b"}));
  sweep.after = first.next_key;
  sweep.limit = 3;
  const auto second = run(sweep);
  EXPECT_EQ(second.looked_at, 2);
  EXPECT_EQ(second.changed, 1);
  EXPECT_FALSE(second.more);
  EXPECT_EQ(counted("a"), 0u);
  EXPECT_EQ(counted("b"), 2u);
  EXPECT_EQ(counted("c"), 0u);
  EXPECT_EQ(counted("there"), 1u);
}

// A task without an id is noted under its execution_id.
TEST_P(Ledger, KeepsWhatIsNotedUnderAnExecutionThatIsThere) {
  const ExecutionId id = enqueue(task());
  const Execution held = claim(lane_).at(0);
  finish(held);
  run(completion(held));  // repeated
  ASSERT_FALSE(notes_.empty());
  run(core::LedgerAdd{notes_});
  advance(24h * 31);
  EXPECT_EQ(run(core::LedgerSweep{}).changed, 0);
  EXPECT_EQ(run(core::RetentionSweep{}).changed, 1);
  EXPECT_EQ(run(core::LedgerSweep{}).changed, 1);
  EXPECT_FALSE(store_->ledger_get({core::kDefaultTenant, core::Space::task, id.to_string()}).value().has_value());
}

}  // namespace semel::store::conformance
