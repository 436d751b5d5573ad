// Claims that other processes make for an idle worker, and claims whose word was lost.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "engine/offer_book.h"
#include "engine/worker.h"
#include "store/memory/memory_store.h"
#include "testing/engine_node.h"
#include "testing/fault_store.h"

namespace semel::engine {
namespace {

constexpr Duration kSecond{1'000'000};

class QueueExecutor final : public Executor {
 public:
  void start(std::vector<RunRef> runs) override {
    for (auto& run : runs) queue.push_back(std::move(run));
  }
  std::vector<RunRef> take_unstarted() override { return std::exchange(queue, {}); }
  std::vector<RunRef> queue;
};

// A worker here and somebody who enqueues elsewhere, over one store.
class Offers : public ::testing::Test {
 protected:
  void SetUp() override {
    table.add("work", [](engine::Run&) { return HandlerOutcome::success("1"); });
    table.seal();
    store.on_offer = [this](const core::TaskClaim& claim) { book.note({claim}, clock.now()), offers.push_back(claim); };
    elsewhere.ride = [this](const FreshLanes& lanes) {
      std::vector<Rider> riders;
      if (auto claim = book.take(lanes, elsewhere.engine.directory(), 0, clock.now()))
        riders.push_back({*claim, [this, claim](core::Answer answer) {
                            auto& brought = std::get<core::ClaimAnswer>(answer);
                            if (!brought.tasks.empty())
                              word.handed.push_back({claim->id, claim->session, brought.tasks});
                          }});
      return riders;
    };
    enqueue();  // makes the lane known
    node.engine.directory().refresh().value();
    worker = std::make_unique<Worker>(node.engine, table, executor, options);
    node.published = [this](const store::Wakes& wakes) { worker->note_wakes(wakes); };
    worker->poll(clock.now());
    settle();
    run_all();
    settle();
  }
  void TearDown() override { node.published = nullptr; }

  ExecutionId enqueue(std::string args = "1", std::string queue = "default") {
    EnqueueRequest request;
    request.name = "work";
    request.queue = std::move(queue);
    request.args = std::move(args);
    auto outcome = elsewhere.enqueue(request);
    EXPECT_TRUE(outcome.ok()) << outcome.error().message;
    return outcome->execution_id;
  }
  void settle() {
    for (int i = 0; i < 20; ++i) {
      worker->step(clock.now());
      node.settle();
    }
  }
  void pass(Duration by) {
    for (const Instant end = clock.now() + by; clock.now() < end;) {
      clock.advance(Duration{100'000});
      monotonic.advance(Duration{100'000});
      worker->heartbeat(clock.now());
      worker->poll(clock.now());
      settle();
    }
  }
  void run_all() {
    for (auto& run : std::exchange(executor.queue, {})) {
      ASSERT_TRUE(worker->begin(*run, clock.now()));
      ++ran[run->task.execution.id];
      worker->finish(run, table.call(*run));
    }
    settle();
  }
  void deliver_word() { worker->note_wakes(std::exchange(word, {})); }
  core::Execution row(ExecutionId id) { return store.execution_get(core::kDefaultTenant, id)->value().execution; }

  testing::ManualClock clock;
  testing::ManualMonotonic monotonic;
  store::memory::MemoryStore memory{clock};
  testing::FaultStore store{memory};
  testing::EngineNode node{store, clock, monotonic, 1};
  testing::EngineNode elsewhere{memory, clock, monotonic, 2};
  HandlerTable table;
  QueueExecutor executor;
  WorkerOptions options{.slots = 2, .max_prefetch = 0};
  std::unique_ptr<Worker> worker;
  OfferBook book;
  std::vector<core::TaskClaim> offers;
  store::Wakes word;
  std::map<ExecutionId, int> ran;
};

TEST_F(Offers, WorkIsClaimedForAnIdleWorkerByWhoeverEnqueuesIt) {
  ASSERT_FALSE(offers.empty());
  const auto before = elsewhere.writer.stats().commits;
  const auto id = enqueue();
  EXPECT_EQ(elsewhere.writer.stats().commits, before + 1);
  EXPECT_EQ(row(id).status, Status::claimed);
  EXPECT_EQ(row(id).session, offers.back().session);
  deliver_word();
  settle();
  ASSERT_EQ(executor.queue.size(), 1u);
  EXPECT_GT(offers.size(), 1u) << "a slot is free: the next offer is out";
  EXPECT_NE(offers.back().id, offers.front().id);
  run_all();
  EXPECT_EQ(row(id).status, Status::succeeded);
  EXPECT_EQ(worker->stats().handed, 1u);
  pass(kOfferOutlives + kSecond);
  enqueue();
  deliver_word();
  run_all();
  EXPECT_TRUE(memory.verify()->empty());
}

TEST_F(Offers, AnOfferIsRepeatedWhileTheWorkerIsIdleAndForgottenWhenItIsNot) {
  const auto first = offers.back();
  pass(3 * kSecond);
  EXPECT_EQ(offers.back().id, first.id) << "the same claim, told again";
  EXPECT_GE(offers.size(), 3u);
  EXPECT_EQ(book.size(), 1u) << "one offer per worker";
  clock.advance(3 * kSecond);
  const auto id = enqueue();
  EXPECT_EQ(row(id).status, Status::queued) << "nobody repeated it: the worker may be gone";
}

TEST_F(Offers, ALaneThatIsNewIsOfferedOnceWorkCameFromIt) {
  const auto before = offers.back();
  const auto id = enqueue("1", "fresh");
  EXPECT_EQ(row(id).status, Status::queued) << "nobody offered for a lane that was not there";
  worker->poll(clock.now());
  settle();
  run_all();
  EXPECT_EQ(row(id).status, Status::succeeded);
  EXPECT_GT(offers.back().lanes.size(), before.lanes.size());
  const auto next = enqueue("2", "fresh");
  EXPECT_EQ(row(next).status, Status::claimed) << "without waiting for the time of the next offer";
  const auto told = offers.size();
  settle();
  EXPECT_EQ(offers.size(), told) << "once is enough";
}

// D22
TEST_F(Offers, WhenTheWordIsLostTheRecordTells) {
  const auto id = enqueue();
  word = {};
  pass(kSecond);
  ASSERT_EQ(executor.queue.size(), 1u);
  run_all();
  EXPECT_EQ(row(id).status, Status::succeeded);
  EXPECT_EQ(worker->stats().recovered, 1u);
}

TEST_F(Offers, AWordThatComesLateStartsNothingAgain) {
  const auto id = enqueue();
  const store::Wakes late = word;
  pass(kSecond);  // found by its record
  worker->note_wakes(late);
  settle();
  ASSERT_EQ(executor.queue.size(), 1u);
  run_all();
  worker->note_wakes(late);
  pass(kSecond);
  EXPECT_TRUE(executor.queue.empty());
  pass(kOfferOutlives + kSecond);
  enqueue();  // a claim, and with it what is forgotten
  run_all();
  worker->note_wakes(late);
  pass(40 * kSecond);
  run_all();
  EXPECT_EQ(ran[id], 1);
  EXPECT_EQ(row(id).status, Status::succeeded);
}

// Its record is gone, so the store takes the claim for a new one.
TEST_F(Offers, AnOfferThatIsTakenLongAfterItsTimeStrandsNothing) {
  const auto old = offers.back();
  enqueue();
  deliver_word();
  settle();
  run_all();
  pass(kOfferOutlives + kSecond);
  elsewhere.ride = nullptr;
  enqueue();
  node.settle();
  pass(kSecond);
  run_all();
  pass(kSecond);
  const auto records = memory.session_leases(old.session).value();
  ASSERT_EQ(std::count(records.begin(), records.end(), old.id), 0);
  elsewhere.ride = [&](const FreshLanes&) {
    core::TaskClaim claim = old;
    for (auto& want : claim.lanes) want.limit = 1;
    return std::vector<Rider>{{claim, [](const core::Answer&) {}}};
  };
  const auto id = enqueue();
  ASSERT_EQ(row(id).status, Status::claimed);
  pass(30 * kSecond);
  run_all();
  EXPECT_EQ(row(id).status, Status::succeeded);
  EXPECT_EQ(ran[id], 1);
}

TEST_F(Offers, MoreThanTheWorkerHasRoomForGoesBackToTheOthers) {
  const auto first = enqueue();
  deliver_word();
  settle();
  const auto second = enqueue();  // by the next offer, of the one free slot
  deliver_word();
  settle();
  EXPECT_EQ(executor.queue.size(), 2u);
  elsewhere.ride = [&](const FreshLanes&) {
    core::TaskClaim claim = offers.front();
    claim.id = elsewhere.env.next_id<ClaimId>();
    return std::vector<Rider>{{claim, [this, claim](core::Answer answer) {
                                 word.handed.push_back(
                                     {claim.id, claim.session, std::get<core::ClaimAnswer>(answer).tasks});
                               }}};
  };
  const auto third = enqueue();
  deliver_word();
  settle();
  EXPECT_EQ(row(first).status, Status::claimed);
  EXPECT_EQ(row(second).status, Status::claimed);
  EXPECT_EQ(row(third).status, Status::queued);
}

// Of two that one claim brought, one is over without anybody knowing how: the other one is not brought again.
TEST_F(Offers, AClaimIsKnownWhileAnythingOfItRuns) {
  node.engine.directory().refresh().value();
  elsewhere.ride = nullptr;
  const auto first = enqueue(), second = enqueue();
  worker->poll(clock.now());
  settle();
  ASSERT_EQ(executor.queue.size(), 2u);
  auto runs = std::exchange(executor.queue, {});
  for (auto& run : runs) {
    ASSERT_TRUE(worker->begin(*run, clock.now()));
    ++ran[run->task.execution.id];
  }
  runs[0]->request_stop(StopReason::lease_lost);
  store.choose = [](const store::Batch& batch) {
    const bool ends = std::ranges::any_of(
        batch.operations, [](const auto* op) { return std::holds_alternative<core::TaskComplete>(*op); });
    return ends ? testing::Fault::unavailable : testing::Fault::none;
  };
  worker->finish(runs[0], HandlerOutcome::success("1"));
  settle();
  store.choose = nullptr;
  pass(40 * kSecond);
  for (const auto& run : executor.queue) EXPECT_NE(run->task.execution.id, runs[1]->task.execution.id);
  worker->finish(runs[1], HandlerOutcome::success("1"));
  run_all();
  pass(40 * kSecond);
  run_all();
  EXPECT_EQ(ran[runs[1]->task.execution.id], 1);
  EXPECT_EQ(row(first).status, Status::succeeded);
  EXPECT_EQ(row(second).status, Status::succeeded);
}

TEST_F(Offers, AWorkerThatStopsTakesItsOfferBack) {
  const auto offer = offers.back();
  worker->drain();
  settle();
  worker->close_session();
  settle();
  ASSERT_TRUE(worker->closed());
  const auto id = enqueue();
  EXPECT_EQ(row(id).status, Status::queued);
  EXPECT_EQ(memory.session_leases(offer.session)->size(), 1u) << "used up";
}

TEST_F(Offers, WhatWasHandedToAWorkerThatStopsGoesBack) {
  worker->drain();
  const auto id = enqueue();
  word = {};
  ASSERT_EQ(row(id).status, Status::claimed);
  worker->close_session();
  settle();
  ASSERT_TRUE(worker->closed());
  EXPECT_EQ(row(id).status, Status::queued);
  EXPECT_EQ(row(id).attempt, 0) << "released, not lost";
}

TEST_F(Offers, ABusyWorkerOffersNothing) {
  for (int i = 0; i < 2; ++i) {
    enqueue();
    deliver_word();
    settle();
  }
  ASSERT_EQ(executor.queue.size(), 2u);
  const auto told = offers.size();
  pass(5 * kSecond);
  EXPECT_EQ(offers.size(), told);
}

TEST_F(Offers, AmongManyIdleWorkersAFewOffersAreEnough) {
  const auto told = offers.size();
  const auto mine = offers.back();
  for (int i = 0; i < 30; ++i) {
    store::Wakes others;
    others.offers.assign(4, mine);
    worker->note_wakes(others);
    pass(Duration{100'000});
  }
  EXPECT_EQ(offers.size(), told);
  store::Wakes elsewhere_only;
  elsewhere_only.offers.assign(4, mine);
  for (auto& offer : elsewhere_only.offers) offer.lanes = {{core::LaneId{4711}, 1, false}};
  for (int i = 0; i < 30; ++i) {
    worker->note_wakes(elsewhere_only);
    pass(Duration{100'000});
  }
  EXPECT_GT(offers.size(), told) << "they serve other queues";
}

TEST_F(Offers, AWorkerThatNeverAsksForgetsItsRecordsToo) {
  for (int i = 0; i < 500; ++i) {
    enqueue();
    deliver_word();
    settle();
    run_all();
    clock.advance(Duration{100'000});
    worker->heartbeat(clock.now());
  }
  EXPECT_EQ(worker->stats().handed, 500u);
  EXPECT_LT(memory.session_leases(offers.back().session)->size(), 200u);
}

TEST(OfferBook, SharesTheLimitAndSkipsPausedAndLimitedLanes) {
  testing::ManualClock clock;
  testing::ManualMonotonic monotonic;
  store::memory::MemoryStore store{clock};
  testing::EngineNode node{store, clock, monotonic};
  std::map<std::string, core::LaneId> lanes;
  core::LaneConfig limited, paused;
  limited.concurrency = 1;
  paused.paused = true;
  for (const auto& [queue, config] :
       std::map<std::string, core::LaneConfig>{{"a", {}}, {"b", {}}, {"limited", limited}, {"paused", paused}})
    lanes[queue] = node.get<core::Lane>([&, &queue = queue, &config = config](auto done) {
                         node.engine.queue_set("default", queue, config, done);
                       })
                       ->id;
  OfferBook book;
  core::TaskClaim offer;
  offer.id = node.env.next_id<ClaimId>();
  offer.session = node.env.next_id<SessionId>();
  for (const auto& [queue, lane] : lanes) offer.lanes.push_back({lane, 3, false});
  const Instant now = clock.now();
  book.note({offer}, now);
  FreshLanes fresh;
  fresh.tasks[lanes["limited"]] = fresh.tasks[lanes["paused"]] = 5;
  EXPECT_FALSE(book.take(fresh, node.engine.directory(), 7, now));
  fresh.tasks[lanes["a"]] = 2;
  fresh.tasks[lanes["b"]] = 5;
  EXPECT_FALSE(book.take(fresh, node.engine.directory(), 7, now + 2 * kSecond)) << "too old";
  const auto taken = book.take(fresh, node.engine.directory(), 7, now);
  ASSERT_TRUE(taken);
  ASSERT_EQ(taken->lanes.size(), 2u);
  EXPECT_EQ(taken->lanes[0].limit + taken->lanes[1].limit, 3);
  EXPECT_FALSE(book.take(fresh, node.engine.directory(), 7, now)) << "used once";
}

}  // namespace
}  // namespace semel::engine
