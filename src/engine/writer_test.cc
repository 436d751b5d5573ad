#include "engine/writer.h"

#include <gtest/gtest.h>

#include <map>

#include <set>

#include "engine/in_history.h"
#include "store/memory/memory_store.h"
#include "testing/engine_node.h"
#include "testing/fault_store.h"

namespace semel::engine {
namespace {

using testing::Fault;
using testing::FaultStore;

struct WriterWorld {
  explicit WriterWorld(WriterOptions options = {}, bool two_lines = false, bool with_slow_lane = false)
      : node(wired(two_lines, with_slow_lane), clock, monotonic, 1, options) {
    store.on_commit = [this](const store::Batch& batch) { sizes.push_back(batch.operations.size()); };
    slow.on_commit = store.on_commit;
  }
  FaultStore& wired(bool two_lines, bool with_slow_lane) {
    if (two_lines) store.second = &second;
    if (with_slow_lane) store.slow = &slow;
    return store;
  }
  // The answer of a task enqueued by `submit`, by its id.
  void submit(const std::string& id, std::vector<core::Answer>& answers) {
    core::TaskEnqueue op;
    op.id = node.env.next_id<ExecutionId>();
    op.lane = lane();
    op.name = "work";
    op.identity = id;
    op.args = "{}";
    op.fingerprint = *core::fingerprint_of("work", "{}");
    node.writer.submit(std::move(op), [&answers](core::Answer answer) { answers.push_back(std::move(answer)); });
  }
  core::LaneId lane() {
    if (auto found = node.engine.directory().find(core::kDefaultTenant, "default")) return found->lane.id;
    auto made = node.get<core::Lane>([&](auto done) { node.engine.queue_set("default", "default", {}, done); });
    sizes.clear();
    return made->id;
  }
  ErrorCode code(const core::Answer& answer) { return std::get<Error>(answer).code; }
  std::size_t count_rows() { return memory.execution_list({.limit = 1000})->size(); }
  void wait(Duration by) {
    clock.advance(by);
    node.settle();
  }

  testing::ManualClock clock;
  testing::ManualMonotonic monotonic;
  store::memory::MemoryStore memory{clock};
  FaultStore store{memory};
  FaultStore slow{memory};
  FaultStore second{memory};
  testing::EngineNode node;
  std::vector<std::size_t> sizes;
};

TEST(Writer, WhatQueuedUpSharesOneCommit) {
  WriterWorld world;
  world.lane();
  std::vector<core::Answer> answers;
  for (int i = 0; i < 64; ++i) world.submit("id-" + std::to_string(i), answers);
  EXPECT_TRUE(answers.empty());
  world.node.writer.step(world.clock.now());
  EXPECT_EQ(answers.size(), 64u);
  EXPECT_EQ(world.sizes, std::vector<std::size_t>{64});
}

// F3: what was asked with numbers of another history is refused, and so is what follows from its answer.
TEST(Writer, AnOperationOfAnotherHistoryNeverReachesTheStore) {
  WriterWorld world;
  world.lane();
  std::vector<core::Answer> answers;
  world.submit("late", answers);
  world.store.turns = 1;
  {
    const InHistory in(0);
    world.submit("later", answers);
  }
  world.node.settle();
  ASSERT_EQ(answers.size(), 2u);
  for (const auto& answer : answers) EXPECT_EQ(world.code(answer), ErrorCode::StoreUnavailable);
  EXPECT_EQ(world.count_rows(), 0u);
  world.submit("anew", answers);
  world.node.settle();
  EXPECT_TRUE(std::get<core::EnqueueAnswer>(answers.at(2)).created);
}

TEST(Writer, AnUnknownCommitOfAnotherHistoryStaysUnknown) {
  WriterWorld world;
  world.lane();
  std::vector<core::Answer> answers;
  world.submit("one", answers);
  world.store.push(Fault::lost_after);
  world.node.writer.step(world.clock.now());
  world.store.turns = 1;
  world.wait(Duration{1'000'000});
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(world.code(answers[0]), ErrorCode::UnknownCommit);
}

TEST(Writer, BatchSizeCanBeForcedToOne) {
  WriterWorld world({.max_batch = 1});
  world.lane();
  std::vector<core::Answer> answers;
  for (int i = 0; i < 5; ++i) world.submit("id-" + std::to_string(i), answers);
  world.node.settle();
  EXPECT_EQ(answers.size(), 5u);
  EXPECT_EQ(world.sizes, std::vector<std::size_t>(5, 1));
}

TEST(Writer, NothingIsAnsweredBeforeItsCommit) {
  WriterWorld world;
  world.lane();
  std::vector<core::Answer> answers;
  bool answered_early = false;
  world.store.choose = [&](const store::Batch&) {
    answered_early |= !answers.empty();
    return Fault::none;
  };
  world.submit("id", answers);
  world.node.settle();
  EXPECT_FALSE(answered_early);
  EXPECT_EQ(answers.size(), 1u);
}

TEST(Writer, FullQueueRefusesAtOnce) {
  WriterWorld world({.max_queued = 3});
  world.lane();
  std::vector<core::Answer> answers;
  for (int i = 0; i < 5; ++i) world.submit("id-" + std::to_string(i), answers);
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_EQ(world.code(answers[0]), ErrorCode::Overloaded);
  world.node.settle();
  EXPECT_EQ(answers.size(), 5u);
  EXPECT_EQ(world.count_rows(), 3u);
  EXPECT_EQ(world.node.writer.stats().refused, 2u);
}

// C12, X19
TEST(Writer, SerializationFailureRepeatsTheWholeBatchAfterAPause) {
  WriterWorld world;
  world.lane();
  std::vector<core::Answer> answers;
  world.store.push(Fault::retry);
  world.store.push(Fault::retry);
  world.submit("id", answers);
  world.node.settle();
  EXPECT_TRUE(answers.empty());
  world.wait(Duration{100'000});
  world.wait(Duration{100'000});
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_TRUE(std::get<core::EnqueueAnswer>(answers[0]).created);
}

TEST(Writer, RetriesAreBounded) {
  WriterWorld world({.max_tries = 4});
  world.lane();
  world.store.choose = [](const store::Batch&) { return Fault::retry; };
  std::vector<core::Answer> answers;
  world.submit("id", answers);
  for (int i = 0; i < 10; ++i) world.wait(Duration{1'000'000});
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(world.code(answers[0]), ErrorCode::StoreBusy);
  EXPECT_EQ(world.count_rows(), 0u);
}

TEST(Writer, OperationThatRaisesFailsOnlyItsCaller) {
  WriterWorld world;
  world.lane();
  world.store.choose = [](const store::Batch& batch) {
    for (const auto* op : batch.operations)
      if (const auto* enqueue = std::get_if<core::TaskEnqueue>(op); enqueue && enqueue->identity == "id-5")
        return Fault::halve;
    return Fault::none;
  };
  std::vector<core::Answer> answers;
  for (int i = 0; i < 16; ++i) world.submit("id-" + std::to_string(i), answers);
  world.node.settle();
  ASSERT_EQ(answers.size(), 16u);
  int failed = 0;
  for (const auto& answer : answers) failed += std::holds_alternative<Error>(answer) ? 1 : 0;
  EXPECT_EQ(failed, 1);
  EXPECT_EQ(world.code(answers[5]), ErrorCode::Internal);  // arrival order is kept while halving
  EXPECT_EQ(world.count_rows(), 15u);
}

// D4: the commit happened, its answer was lost.
TEST(Writer, UnknownCommitIsLookedUpAndAnsweredOnce) {
  WriterWorld world;
  world.lane();
  for (const Fault fault : {Fault::lost_after, Fault::lost_before}) {
    std::vector<core::Answer> answers;
    world.store.push(fault);
    world.store.push(Fault::unavailable);
    const std::string id = "id-" + std::string(testing::to_string(fault));
    world.submit(id, answers);
    world.node.settle();
    EXPECT_TRUE(answers.empty());
    for (int i = 0; i < 4; ++i) world.wait(Duration{500'000});
    ASSERT_EQ(answers.size(), 1u) << id;
    EXPECT_TRUE(std::get<core::EnqueueAnswer>(answers[0]).created);
  }
  EXPECT_EQ(world.count_rows(), 2u);
}

TEST(Writer, UnknownBatchIsNeverTakenApart) {
  WriterWorld world;
  world.lane();
  std::vector<core::Answer> answers;
  world.store.push(Fault::lost_after);
  world.store.push(Fault::halve);
  world.submit("a", answers);
  world.submit("b", answers);
  for (int i = 0; i < 6; ++i) world.wait(Duration{500'000});
  ASSERT_EQ(answers.size(), 2u);
  for (const auto& answer : answers) EXPECT_TRUE(std::get<core::EnqueueAnswer>(answer).created);
  EXPECT_EQ(world.count_rows(), 2u);
}

TEST(Writer, CommitThatStaysUnknownIsSaidToBeUnknown) {
  WriterWorld world;
  world.lane();
  std::vector<core::Answer> answers;
  bool first = true;
  world.store.choose = [&](const store::Batch&) {
    return std::exchange(first, false) ? Fault::lost_after : Fault::unavailable;
  };
  world.submit("id", answers);
  for (int i = 0; i < 40; ++i) world.wait(Duration{1'000'000});
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(world.code(answers[0]), ErrorCode::UnknownCommit);
  EXPECT_EQ(world.count_rows(), 1u);
}

// F14: a reconnect. Nothing happened, so nobody need hear of it.
TEST(Writer, AStoreThatIsAwayForAMomentIsWaitedFor) {
  WriterWorld world;
  world.lane();
  std::vector<core::Answer> answers;
  for (int i = 0; i < 40; ++i) world.store.push(Fault::unavailable);
  world.submit("a", answers);
  for (int i = 0; i < 100 && answers.empty(); ++i) world.wait(Duration{250'000});
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_TRUE(std::get<core::EnqueueAnswer>(answers[0]).created);
  EXPECT_EQ(world.count_rows(), 1u);
}

// F14: each is waited for as long as itself has been there, also behind others.
TEST(Writer, PatienceWithAStoreThatIsAwayEndsForEachByItself) {
  WriterWorld world;
  world.lane();
  std::vector<core::Answer> first, second;
  world.store.choose = [](const store::Batch&) { return Fault::unavailable; };
  world.submit("a", first);
  world.wait(Duration{250'000});
  world.monotonic.advance(Duration{3'000'000});
  world.submit("b", second);
  world.wait(Duration{250'000});
  EXPECT_TRUE(first.empty());
  world.monotonic.advance(Duration{2'000'000});
  for (int i = 0; i < 4; ++i) world.wait(Duration{250'000});
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(world.code(first[0]), ErrorCode::StoreUnavailable);
  EXPECT_TRUE(second.empty());
  world.store.choose = nullptr;
  for (int i = 0; i < 4; ++i) world.wait(Duration{250'000});
  ASSERT_EQ(second.size(), 1u);
  EXPECT_TRUE(std::get<core::EnqueueAnswer>(second[0]).created);
  EXPECT_EQ(world.count_rows(), 1u);
}

// F15: nobody steps any more, and everybody is answered.
TEST(Writer, GivingUpAnswersWhatIsUnderWayAndWhatWaits) {
  WriterWorld world({.max_batch = 1});
  world.lane();
  std::vector<core::Answer> lost, waiting;
  world.store.push(Fault::lost_after);
  world.submit("a", lost);
  world.node.writer.step(world.clock.now());
  world.submit("b", waiting);
  EXPECT_FALSE(world.node.writer.idle());
  world.node.writer.refuse_all(make_error(ErrorCode::ShuttingDown, "over"));
  world.node.writer.give_up(make_error(ErrorCode::ShuttingDown, "over"));
  ASSERT_EQ(lost.size(), 1u);
  EXPECT_EQ(world.code(lost[0]), ErrorCode::UnknownCommit);
  ASSERT_EQ(waiting.size(), 1u);
  EXPECT_EQ(world.code(waiting[0]), ErrorCode::ShuttingDown);
  EXPECT_TRUE(world.node.writer.idle());
}

// X4
TEST(Writer, FullDiskIsAnsweredAndRecovers) {
  WriterWorld world;
  world.lane();
  std::vector<core::Answer> answers;
  world.store.push(Fault::full);
  world.submit("id", answers);
  world.node.settle();
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(world.code(answers[0]), ErrorCode::StoreFull);
  world.submit("id", answers);
  world.node.settle();
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_TRUE(std::get<core::EnqueueAnswer>(answers[1]).created);
}

// X5
TEST(Writer, FatalErrorAnswersEverybodyAndRefusesFromThenOn) {
  WriterWorld world({.max_batch = 2});
  world.lane();
  int fatal = 0;
  WriterHooks hooks;
  hooks.fatal = [&](const Error&) { ++fatal; };
  world.node.writer.set_hooks(hooks);
  world.store.push(Fault::fatal);
  std::vector<core::Answer> answers;
  for (int i = 0; i < 6; ++i) world.submit("id-" + std::to_string(i), answers);
  world.node.settle();
  EXPECT_EQ(answers.size(), 6u);
  world.submit("later", answers);
  ASSERT_EQ(answers.size(), 7u);
  for (const auto& answer : answers) EXPECT_EQ(world.code(answer), ErrorCode::StoreCorrupt);
  EXPECT_EQ(fatal, 1);
  EXPECT_TRUE(world.node.writer.idle());
}

TEST(Writer, StrangersLockDoesNotStopTheMainLine) {
  WriterWorld world({}, false, true);
  world.lane();
  std::vector<core::Answer> met_the_lock, others;
  world.store.push(Fault::locked);
  for (int i = 0; i < 4; ++i) world.submit("locked-" + std::to_string(i), met_the_lock);
  world.node.settle();
  world.submit("other", others);
  world.node.settle();
  EXPECT_EQ(others.size(), 1u);
  EXPECT_TRUE(met_the_lock.empty());
  EXPECT_FALSE(world.node.writer.idle());
  // The slow line takes the batch apart: only who is meant waits.
  world.slow.push(Fault::locked);
  for (int i = 0; i < 10; ++i) world.node.writer.slow_step(world.clock.now());
  EXPECT_EQ(met_the_lock.size(), 4u);
  EXPECT_EQ(world.count_rows(), 5u);
}

// R8
TEST(Writer, RemovingOldRowsIsNotInTheMainLinesWay) {
  WriterWorld world({}, false, true);
  world.lane();
  std::vector<core::Answer> answers;
  world.node.writer.submit_internal(core::RetentionSweep{}, [&](core::Answer answer) { answers.push_back(answer); });
  world.node.settle();
  EXPECT_TRUE(answers.empty());
  world.node.writer.slow_step(world.clock.now());
  EXPECT_EQ(answers.size(), 1u);
}

TEST(Writer, LinesRunBesideEachOtherAndOneIdKeepsToOne) {
  WriterWorld world({}, true);
  world.lane();
  ASSERT_EQ(world.node.writer.lines(), 2u);
  std::map<std::string, std::vector<core::Answer>> answers;
  for (int i = 0; i < 40; ++i)
    for (int twice = 0; twice < 2; ++twice) world.submit("id-" + std::to_string(i), answers["id-" + std::to_string(i)]);
  world.node.writer.step(world.clock.now(), 1);
  std::size_t of_one = 0;
  for (const auto& [id, list] : answers) {
    EXPECT_NE(list.size(), 1u) << id << " was split over two lines";
    of_one += list.empty() ? 0 : 1;
  }
  EXPECT_GT(of_one, 5u);
  EXPECT_LT(of_one, 35u);
  world.node.writer.step(world.clock.now(), 0);
  for (const auto& [id, list] : answers) {
    ASSERT_EQ(list.size(), 2u) << id;
    EXPECT_TRUE(std::get<core::EnqueueAnswer>(list[0]).created) << "in the order of arrival";
    EXPECT_FALSE(std::get<core::EnqueueAnswer>(list[1]).created);
  }
}

TEST(Writer, WhatComesAloneTakesTheLastLineAndItsIdKeepsToIt) {
  WriterWorld world({}, true);
  world.lane();
  for (int i = 0; i < 20; ++i) {
    std::vector<core::Answer> answers;
    const std::string id = "id-" + std::to_string(i);
    world.submit(id, answers);
    std::vector<core::Answer> others;
    for (int n = 0; n < 10; ++n) world.submit(id + "-" + std::to_string(n), others);
    world.submit(id, answers);
    world.node.writer.step(world.clock.now(), 1);
    ASSERT_EQ(answers.size(), 2u) << id;
    EXPECT_TRUE(std::get<core::EnqueueAnswer>(answers[0]).created);
    EXPECT_FALSE(std::get<core::EnqueueAnswer>(answers[1]).created);
    EXPECT_LT(others.size(), 10u) << "not everything goes there";
    world.node.settle();
    EXPECT_EQ(others.size(), 10u);
  }
}

TEST(Writer, ALineThatWaitsForAnUnknownCommitDoesNotStopTheOther) {
  WriterWorld world({}, true);
  world.lane();
  std::vector<core::Answer> answers;
  for (int i = 0; i < 40; ++i) world.submit("id-" + std::to_string(i), answers);
  world.second.push(Fault::lost_after);
  world.node.writer.step(world.clock.now(), 1);
  EXPECT_TRUE(answers.empty());
  world.node.writer.step(world.clock.now(), 0);
  EXPECT_GT(answers.size(), 5u);
  world.wait(Duration{1'000'000});
  EXPECT_EQ(answers.size(), 40u);
  EXPECT_EQ(world.count_rows(), 40u);
}

TEST(Writer, DuplicatesCostNoCommitAndAreCountedBehindTheAnswers) {
  WriterWorld world;
  world.lane();
  std::vector<core::Answer> answers;
  world.submit("id", answers);
  world.node.settle();
  const auto before = world.node.writer.stats().commits;
  for (int i = 0; i < 10; ++i) world.submit("id", answers);
  world.node.settle();
  EXPECT_EQ(answers.size(), 11u);
  EXPECT_EQ(world.node.writer.stats().commits, before);
  const core::IdentityKey key{core::kDefaultTenant, core::Space::task, "id"};
  EXPECT_FALSE(world.memory.ledger_get(key)->has_value());
  world.wait(Duration{300'000});
  const auto ledger = *world.memory.ledger_get(key);
  ASSERT_TRUE(ledger);
  ASSERT_EQ(ledger->counts.size(), 1u);
  EXPECT_EQ(ledger->counts[0], std::pair(core::LedgerRule::existing_live, std::int64_t{10}));
  EXPECT_TRUE(world.node.writer.idle());
}

TEST(Writer, RefusalsThatNobodyExpectsAreCounted) {
  WriterWorld world;
  world.lane();
  std::vector<core::Answer> answers;
  world.submit("id", answers);
  world.node.settle();
  const ExecutionId id = std::get<core::EnqueueAnswer>(answers[0]).execution;
  const auto complete = [&](ExecutionId execution) {
    world.node.writer.submit(core::TaskComplete{execution, 7, "1"},
                             [&](core::Answer answer) { answers.push_back(std::move(answer)); });
    world.node.settle();
  };
  complete(world.node.env.next_id<ExecutionId>());
  EXPECT_EQ(world.node.writer.stats().unexpected_refusals, 0u) << "a row that is missing may be an old delivery";
  complete(id);
  EXPECT_EQ(world.code(answers.back()), ErrorCode::LeaseLost);
  EXPECT_EQ(world.node.writer.stats().unexpected_refusals, 1u) << "it is queued, but somebody says he holds it";
}

TEST(Writer, TimeOfBatchesNeverGoesBack) {
  WriterWorld world;
  world.lane();
  std::vector<Instant> times;
  world.store.on_commit = [&](const store::Batch& batch) { times.push_back(batch.now); };
  std::vector<core::Answer> answers;
  world.submit("a", answers);
  world.node.settle();
  world.clock.set(world.clock.now() - Duration{3'600'000'000});  // K4
  world.submit("b", answers);
  world.node.settle();
  ASSERT_EQ(times.size(), 2u);
  EXPECT_EQ(times[0], times[1]);
}

TEST(Writer, BatchesStayBelowTheirBytes) {
  WriterWorld world({.max_batch_bytes = 4096});
  const core::LaneId lane = world.lane();
  std::vector<core::Answer> answers;
  for (int i = 0; i < 6; ++i) {
    core::TaskEnqueue op;
    op.id = world.node.env.next_id<ExecutionId>();
    op.lane = lane;
    op.name = "work";
    op.args = "\"" + std::string(1500, 'x') + "\"";
    world.node.writer.submit(std::move(op), [&](core::Answer answer) { answers.push_back(std::move(answer)); });
  }
  world.node.settle();
  EXPECT_EQ(answers.size(), 6u);
  EXPECT_EQ(world.sizes, (std::vector<std::size_t>{2, 2, 2}));
}

}  // namespace
}  // namespace semel::engine
