#include "engine/clockwork.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "store/memory/memory_store.h"
#include "testing/engine_node.h"
#include "testing/fault_store.h"

namespace semel::engine {
namespace {

struct ClockWorld {
  ExecutionId enqueue(EnqueueRequest request = {}) {
    if (request.name.empty()) request.name = "work";
    return node.enqueue(std::move(request)).value().execution_id;
  }
  void pass(Duration by) {
    const Instant end = clock.now() + by;
    while (clock.now() < end) {
      const Duration step = std::min(Duration{250'000}, end - clock.now());
      clock.advance(step);
      monotonic.advance(step);
      tick();
    }
  }
  void tick() {
    for (int i = 0; i < 5; ++i) {
      node.clockwork.step(clock.now());
      node.settle();
    }
  }
  std::vector<store::ExecutionView> claim(Duration lease = Duration{30'000'000}) {
    ClaimRequest request;
    request.worker = "w";
    request.max = 100;
    request.lease = lease;
    return node.get<std::vector<store::ExecutionView>>([&](auto done) { node.engine.claim(request, done); }).value();
  }
  void complete(const store::ExecutionView& view) {
    node.get<core::EndAnswer>(
            [&](auto done) { node.engine.complete({view.execution.id, view.execution.version, "1"}, done); })
        .value();
  }
  std::optional<core::Execution> row(ExecutionId id) {
    auto view = *store.execution_get(core::kDefaultTenant, id);
    return view ? std::optional(view->execution) : std::nullopt;
  }

  void jump(Duration by) {
    clock.advance(by);
    monotonic.advance(by);
  }

  testing::ManualClock clock;
  testing::ManualMonotonic monotonic;
  store::memory::MemoryStore memory{clock};
  testing::FaultStore store{memory};
  testing::EngineNode node{store, clock, monotonic};
};

constexpr Duration kHour{3'600'000'000};

TEST(Clockwork, DelayedTaskBecomesReadyWhenDueAndNotBefore) {
  ClockWorld world;
  EnqueueRequest request;
  request.delay = Duration{5'000'000};
  world.enqueue(request);
  world.pass(Duration{4'750'000});
  EXPECT_TRUE(world.claim().empty());
  world.pass(Duration{500'000});
  EXPECT_EQ(world.claim().size(), 1u);
}

TEST(Clockwork, TimersOfOtherNodesAreNoticed) {
  ClockWorld world;
  testing::EngineNode other(world.store, world.clock, world.monotonic, 7);
  EnqueueRequest request;
  request.name = "work";
  request.delay = Duration{2'000'000};
  world.tick();
  ASSERT_TRUE(other.enqueue(request).ok());
  world.pass(Duration{3'000'000});
  EXPECT_EQ(world.claim().size(), 1u);
}

TEST(Clockwork, ExpiredLeaseReturnsTheTask) {
  ClockWorld world;
  const auto id = world.enqueue();
  world.claim(Duration{2'000'000});
  world.pass(Duration{1'500'000});
  EXPECT_EQ(world.row(id)->status, Status::claimed);
  world.pass(Duration{2'000'000});
  EXPECT_EQ(world.row(id)->status, Status::queued);
  EXPECT_EQ(world.row(id)->last_end, core::AttemptEnd::lease_lost);
}

// C18
TEST(Clockwork, ManyLeasesOfOneDeadWorkerComeBackInPages) {
  ClockWorld world;
  for (int i = 0; i < 1200; ++i) world.enqueue();
  while (!world.claim(Duration{1'000'000}).empty()) {
  }
  world.pass(Duration{5'000'000});
  EXPECT_EQ(world.node.clockwork.stats().leases_expired, 1200u);
}

TEST(Clockwork, RetentionRemovesFinishedRowsAfterTheirTime) {
  ClockWorld world;
  const auto done = world.enqueue();
  const auto waiting = [&] {
    EnqueueRequest request;
    request.delay = 24 * 30 * kHour;
    return world.enqueue(request);
  }();
  world.complete(world.claim().at(0));
  world.pass(Duration{10'000'000});
  EXPECT_TRUE(world.row(done));
  world.jump(24 * 8 * kHour);
  world.pass(Duration{10'000'000});
  EXPECT_FALSE(world.row(done));
  EXPECT_TRUE(world.row(waiting));
}

TEST(Clockwork, QueueWithAShortRetentionIsCleanedInItsTime) {
  ClockWorld world;
  core::LaneConfig config;
  config.retention = kHour;
  world.node.get<core::Lane>([&](auto done) { world.node.engine.queue_set("default", "brief", config, done); }).value();
  EnqueueRequest request;
  request.queue = "brief";
  const auto brief = world.enqueue(request);
  const auto usual = world.enqueue();
  for (const auto& view : world.claim()) world.complete(view);
  world.pass(Duration{10'000'000});
  EXPECT_TRUE(world.row(brief));
  world.jump(2 * kHour);
  world.pass(Duration{10'000'000});
  EXPECT_FALSE(world.row(brief));
  EXPECT_TRUE(world.row(usual));
}

// R8: nobody waits long behind a page.
TEST(Clockwork, PagesOfCleanupGrowWhileTheyAreQuickAndShrinkWhenTheyAreNot) {
  ClockWorld world;
  std::vector<std::int32_t> pages;
  Duration each{0};
  world.store.on_commit = [&](const store::Batch& batch) {
    for (const auto* operation : batch.operations)
      if (const auto* sweep = std::get_if<core::RetentionSweep>(operation)) {
        pages.push_back(sweep->limit);
        world.monotonic.advance(each);
      }
  };
  const auto fill = [&](int count) {
    for (int i = 0; i < count; ++i) world.enqueue();
    for (auto some = world.claim(); !some.empty(); some = world.claim())
      for (const auto& view : some) world.complete(view);
    world.jump(24 * 8 * kHour);
    pages.clear();
  };
  world.tick();
  fill(300);
  world.pass(Duration{5'000'000});
  EXPECT_EQ(world.node.clockwork.stats().rows_cleaned, 300u);
  EXPECT_TRUE(std::is_sorted(pages.begin(), pages.end()));
  EXPECT_GT(pages.back(), pages.front());
  each = Duration{10'000};
  fill(1500);
  world.pass(Duration{60'000'000});
  EXPECT_EQ(world.node.clockwork.stats().rows_cleaned, 1800u);
  EXPECT_LT(pages.back(), pages.front());
}

// The ledger is bounded in ids too, page by page.
TEST(Clockwork, LedgerForgetsWhatIsGoneAfterAMonth) {
  ClockWorld world;
  for (const char* id : {"a", "b"}) {
    EnqueueRequest request;
    request.task_id = id;
    world.enqueue(request);
    world.enqueue(request);
  }
  world.pass(Duration{5'000'000});
  const auto noted = [&](const char* id) {
    return world.memory.ledger_get({core::kDefaultTenant, core::Space::task, id}).value().has_value();
  };
  world.complete(world.claim().at(0));  // `a`; the other one never ends
  world.jump(24 * 29 * kHour);
  world.pass(Duration{1'000'000});
  EXPECT_TRUE(noted("a") && noted("b"));
  world.jump(24 * kHour);
  world.pass(Duration{1'000'000});
  EXPECT_FALSE(noted("a"));
  EXPECT_TRUE(noted("b"));
  EXPECT_EQ(world.node.clockwork.stats().ids_forgotten, 1u);
}

// R7, K1
TEST(Clockwork, JumpOfTheStoresClockStopsCleanup) {
  ClockWorld world;
  const auto done = world.enqueue();
  world.complete(world.claim().at(0));
  world.pass(Duration{1'000'000});
  world.clock.advance(24 * 365 * kHour);  // only the store's clock
  world.node.clockwork.clean_now();
  world.pass(2 * kHour / 100);
  EXPECT_TRUE(world.row(done));
  EXPECT_EQ(world.node.clockwork.stats().clock_steps, 1u);
}

// C19: said again every minute, until it is over.
TEST(Clockwork, WhatHindersTheStoreIsAnAlarm) {
  ClockWorld world;
  world.store.hindered_by = {"a transaction has been open for 301 s", "semel.ready holds 9000000 dead rows"};
  world.pass(Duration{50'000'000});
  EXPECT_EQ(world.node.clockwork.stats().alarms, 0u);
  world.pass(Duration{60'000'000});
  EXPECT_EQ(world.node.clockwork.stats().alarms, 2u);
  world.pass(Duration{60'000'000});
  EXPECT_EQ(world.node.clockwork.stats().alarms, 4u);
  world.store.hindered_by.clear();
  world.pass(Duration{120'000'000});
  EXPECT_EQ(world.node.clockwork.stats().alarms, 4u);
}

TEST(Clockwork, RaisedKeyLimitPromotesWhatWasBlocked) {
  ClockWorld world;
  const auto set = [&](int limit) {
    core::LaneConfig config;
    config.concurrency_per_key = limit;
    world.node.get<core::Lane>([&](auto done) { world.node.engine.queue_set("default", "default", config, done); })
        .value();
  };
  set(1);
  for (int i = 0; i < 5; ++i) {
    EnqueueRequest request;
    request.concurrency_key = "k";
    world.enqueue(request);
  }
  EXPECT_EQ(world.claim().size(), 1u);
  set(3);
  world.pass(Duration{1'000'000});
  EXPECT_EQ(world.claim().size(), 2u);
}

TEST(Clockwork, TimeoutEndsAWaitingTask) {
  ClockWorld world;
  EnqueueRequest request;
  request.timeout = Duration{3'000'000};
  const auto id = world.enqueue(request);
  world.pass(Duration{4'000'000});
  EXPECT_EQ(world.row(id)->status, Status::timed_out);
}

TEST(Clockwork, IdleStoreIsNotWrittenTo) {
  ClockWorld world;
  world.enqueue();
  world.pass(Duration{2'000'000});
  const auto commits = world.node.writer.stats().commits;
  world.pass(Duration{10'000'000});
  EXPECT_EQ(world.node.writer.stats().commits, commits);
}

}  // namespace
}  // namespace semel::engine
