// Section 9: concurrency per lane and per key, rate limits. Exact at every instant.
#pragma once

#include "store/conformance/fixture.h"

namespace semel::store::conformance {

class Limits : public StoreTest {
 protected:
  LaneId keyed_lane(std::int32_t limit) {
    core::LaneConfig config;
    config.concurrency_per_key = limit;
    return lane("keyed", config);
  }
  ExecutionId add(LaneId where, const std::string& key, std::int32_t priority = 100) {
    Task t = task();
    t.lane = where;
    t.concurrency_key = key;
    t.priority = priority;
    return enqueue(t);
  }
  Whereabouts whereabouts(ExecutionId id) { return store_->execution_whereabouts(row(id)).value(); }
};

// C13
TEST_P(Limits, NeverMoreThanTheLimitOfAKeyAreClaimable) {
  const LaneId where = keyed_lane(2);
  for (int i = 0; i < 6; ++i) add(where, "a");
  for (int i = 0; i < 3; ++i) add(where, "b");
  std::vector<Execution> held = claim(where, 20);
  EXPECT_EQ(held.size(), 4u);
  EXPECT_EQ(store_->lane_stats(where).value().blocked_count, 5);
  int done = 0;
  for (; !held.empty(); ++done) {
    std::map<std::string, int> running;
    for (const Execution& e : held) ++running[*e.concurrency_key];
    for (const auto& [key, count] : running) EXPECT_LE(count, 2) << key;
    finish(held.back());
    held.pop_back();
    for (Execution& e : claim(where, 20)) held.push_back(std::move(e));
  }
  EXPECT_EQ(done, 9);
}

// C13: the slot passes on in the transaction that frees it, best waiter first.
TEST_P(Limits, AFreedSlotGoesToTheBestWaiter) {
  const LaneId where = keyed_lane(1);
  add(where, "k");
  const ExecutionId low = add(where, "k", 200);
  const ExecutionId urgent = add(where, "k", 1);
  const auto held = claim(where, 5);
  ASSERT_EQ(held.size(), 1u);
  EXPECT_EQ(whereabouts(urgent), Whereabouts::blocked);
  finish(held[0]);
  EXPECT_EQ(whereabouts(urgent), Whereabouts::ready);
  EXPECT_EQ(whereabouts(low), Whereabouts::blocked);
}

TEST_P(Limits, EveryWayToEndFreesTheSlot) {
  const LaneId where = keyed_lane(1);
  for (int how = 0; how < 6; ++how) {
    session_ = open_session("worker-1");
    Task t = task();
    t.lane = where;
    t.concurrency_key = "k";
    if (how == 2) t.timeout = 1s;
    const ExecutionId first = enqueue(t);
    const ExecutionId second = add(where, "k");
    if (how == 0) {
      run(core::ExecutionCancel{core::kDefaultTenant, first});  // queued, holding the slot
    } else {
      const auto held = claim(where, 1);
      ASSERT_EQ(held.size(), 1u) << how;
      if (how == 1) finish(held[0]);
      if (how == 2) {
        advance(1s);
        run(core::TimersFire{});
      }
      if (how == 3) run(failure(held[0], false));
      if (how == 4) run(failure(held[0]));
      if (how == 5) run(core::TaskRelease{held[0].id, held[0].version, 1h, false});
    }
    EXPECT_EQ(whereabouts(second), Whereabouts::ready) << how;
    const auto next = claim(where, 5);
    ASSERT_EQ(next.size(), 1u) << how;
    EXPECT_EQ(next[0].id, second) << how;
    finish(next[0]);
    run(core::ExecutionCancel{core::kDefaultTenant, first});
  }
}

// C13, C18: one sweep that ends many holders of one key passes on every slot.
TEST_P(Limits, ASweepThatFreesOneKeyManyTimesPromotesAsMany) {
  const LaneId where = keyed_lane(12);
  for (int i = 0; i < 40; ++i) add(where, "k");
  session_ = open_session("doomed", 5s);
  auto request = claim_request(where, 40);
  request.lease = 5s;
  EXPECT_EQ(rows_of(run(request)).size(), 12u);
  advance(6s);
  EXPECT_EQ(run(core::SessionsExpire{}).changed, 12);
  session_ = open_session("worker-1");
  EXPECT_EQ(claim(where, 40).size(), 12u);
}

TEST_P(Limits, ARaisedLimitIsFilledByTheSweep) {
  const LaneId where = keyed_lane(1);
  for (int i = 0; i < 5; ++i) add(where, "k");
  EXPECT_EQ(claim(where, 5).size(), 1u);
  keyed_lane(3);
  EXPECT_EQ(run(core::BlockedSweep{where, 500}).changed, 2);
  EXPECT_EQ(claim(where, 5).size(), 2u);
  core::LaneConfig open;
  lane("keyed", open);
  EXPECT_EQ(run(core::BlockedSweep{where, 500}).changed, 2);
  EXPECT_EQ(claim(where, 5).size(), 2u);
}

TEST_P(Limits, ALoweredLimitDrainsBeforeItPromotes) {
  const LaneId where = keyed_lane(3);
  for (int i = 0; i < 5; ++i) add(where, "k");
  const auto held = claim(where, 5);
  ASSERT_EQ(held.size(), 3u);
  keyed_lane(1);
  finish(held[0]);
  finish(held[1]);
  EXPECT_TRUE(claim(where, 5).empty());
  finish(held[2]);
  EXPECT_EQ(claim(where, 5).size(), 1u);
}

TEST_P(Limits, ALaneNeverRunsMoreThanItsConcurrency) {
  core::LaneConfig config;
  config.concurrency = 3;
  const LaneId where = lane("narrow", config);
  for (int i = 0; i < 8; ++i) add(where, "any");
  auto held = claim(where, 10);
  EXPECT_EQ(held.size(), 3u);
  EXPECT_TRUE(claim(where, 10).empty());
  EXPECT_EQ(lane_row(where).running_count, 3);
  finish(held[0]);
  run(failure(held[1]));
  run(core::TaskRelease{held[2].id, held[2].version, 1h, false});
  EXPECT_EQ(lane_row(where).running_count, 0);
  EXPECT_EQ(claim(where, 10).size(), 3u);
}

TEST_P(Limits, SeveralClaimsInOneBatchShareTheGrant) {
  core::LaneConfig config;
  config.concurrency = 3;
  const LaneId where = lane("shared", config);
  for (int i = 0; i < 8; ++i) add(where, "any");
  std::size_t total = 0;
  for (const auto& answer : apply({claim_request(where, 2), claim_request(where, 2), claim_request(where, 2)}))
    total += expect_answer<core::ClaimAnswer>(answer).tasks.size();
  EXPECT_EQ(total, 3u);
}

// C16: never more than capacity + rate x t in any window.
TEST_P(Limits, ARateLimitHoldsInEveryWindow) {
  core::LaneConfig config;
  config.rate_limit = core::RateLimit{5, 10s};
  const LaneId where = lane("rated", config);
  for (int i = 0; i < 60; ++i) add(where, "any");
  std::vector<Instant> taken;
  for (int step = 0; step < 200; ++step) {
    for (std::size_t i = claim(where, 4).size(); i > 0; --i) taken.push_back(now());
    advance(Duration{100'000 + static_cast<std::int64_t>(random_.below(400'000))});
  }
  EXPECT_EQ(claim(where, 4).size() + taken.size() > 30, true) << "the limit lets work through";
  for (std::size_t from = 0; from < taken.size(); ++from)
    for (std::size_t to = from; to < taken.size(); ++to) {
      const double window = std::chrono::duration<double>(taken[to] - taken[from]).count();
      ASSERT_LE(static_cast<double>(to - from + 1), 5 + window * 0.5 + 1e-6);
    }
}

// C16, F6: batches of several writers are not in the order of their clocks.
TEST_P(Limits, ARateLimitCountsNoTimeTwiceWhenAnOlderNowFollowsANewerOne) {
  core::LaneConfig config;
  config.rate_limit = core::RateLimit{5, 10s};
  const LaneId where = lane("reordered", config);
  for (int i = 0; i < 40; ++i) {
    Task t = task();
    t.lane = where;
    enqueue(t.with_id("job-" + std::to_string(i)));
  }
  const Instant start = now();
  EXPECT_EQ(claim(where, 10).size(), 5u);
  std::size_t taken = 0;
  for (int round = 1; round <= 4; ++round) {
    clock_.set(start + round * 2s);
    taken += claim(where, 10).size();
    clock_.set(start);
    const auto late = run(claim_request(where, 10));
    EXPECT_TRUE(late.tasks.empty());
    ASSERT_EQ(late.retry_at.size(), 1u);
    EXPECT_EQ(late.retry_at[0], (std::pair{where, start + (round + 1) * 2s}));
    EXPECT_EQ(lane_row(where).tokens_at, start + round * 2s);
    EXPECT_EQ(refused(delivery("job-39")), ErrorCode::NotReady);
  }
  EXPECT_EQ(taken, 4u);
  clock_.set(start + 8s);
}

TEST_P(Limits, ALaneHeldBackByItsRateSaysWhenToComeAgain) {
  core::LaneConfig config;
  config.rate_limit = core::RateLimit{2, 10s};
  const LaneId where = lane("slow", config);
  for (int i = 0; i < 5; ++i) add(where, "any");
  const auto answer = run(claim_request(where, 4));
  EXPECT_EQ(answer.tasks.size(), 2u);
  ASSERT_EQ(answer.retry_at.size(), 1u);
  EXPECT_EQ(answer.retry_at[0], (std::pair{where, now() + 5s}));
  advance(5s - 1us);
  EXPECT_TRUE(claim(where, 4).empty());
  advance(1us);
  EXPECT_EQ(claim(where, 4).size(), 1u);
}

TEST_P(Limits, TokensThatNobodyTookStayInTheBucket) {
  core::LaneConfig config;
  config.rate_limit = core::RateLimit{3, 60s};
  const LaneId where = lane("idle", config);
  add(where, "any");
  EXPECT_EQ(claim(where, 5).size(), 1u);
  const std::string before = snapshot();
  const auto empty = run(claim_request(where, 5));
  EXPECT_TRUE(empty.tasks.empty());
  EXPECT_TRUE(empty.retry_at.empty()) << "work is missing, not tokens";
  EXPECT_EQ(snapshot(), before);
  for (int i = 0; i < 5; ++i) add(where, "any");
  EXPECT_EQ(claim(where, 5).size(), 2u);
}

TEST_P(Limits, QueueSettingsAreStoredAndCounted) {
  core::LaneConfig config;
  config.retention = 3h;
  config.max_attempts = 9;
  config.dead_letter = true;
  config.rate_limit = core::RateLimit{10, 1s};
  const LaneId where = lane("settings", config);
  const std::int32_t revision = lane_row(where).revision;
  EXPECT_EQ(lane_row(where).config, config);
  lane("settings", config);
  EXPECT_EQ(lane_row(where).revision, revision) << "the same settings again";
  config.paused = true;
  lane("settings", config);
  EXPECT_EQ(lane_row(where).revision, revision + 1);
  EXPECT_EQ(lane("settings"), where);
  EXPECT_TRUE(lane_row(where).config.paused) << "asking for a lane sets nothing";
  const auto pause = [&](bool on) { return run(core::LaneEnsure{core::kDefaultTenant, "settings", {}, on}); };
  EXPECT_FALSE(pause(false).lane.config.paused);
  config.paused = false;
  EXPECT_EQ(lane_row(where).config, config) << "everything else is as it was";
  EXPECT_EQ(lane_row(where).revision, revision + 2);
  EXPECT_EQ(pause(false).lane.revision, revision + 2) << "not paused already";
}

}  // namespace semel::store::conformance
