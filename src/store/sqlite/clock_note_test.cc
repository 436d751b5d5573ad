// The machine's clock is set while the store is closed. Case ids are those of FAULTS.md and docs/faults.md.
#include "store/sqlite/clock_note.h"

#include <gtest/gtest.h>

#include <memory>

#include "store/sqlite/test_kit.h"
#include "testing/forked.h"
#include "testing/manual_clock.h"

namespace semel::store::sqlite {
namespace {

using namespace std::chrono_literals;
using testing::kTestStart;

// One machine: a wall clock that can be set and a time since boot that cannot.
struct Machine {
  testing::ManualClock wall;
  base::BootTime up{7, 100s};
  MemoryLog log;
  SqliteOptions options = testing::temp_sqlite_options(&wall);

  Machine() { options.log = &log; }
  SqliteOptions now() {
    options.boot = up;
    return options;
  }
  // Time passes; the wall clock is also set by `step`.
  void pass(Duration time, Duration step = Duration{0}) {
    up.passed += time;
    wall.set(wall.now() + time + step);
  }
  void reboot(Duration step) {
    up = {up.id + 1, 20s};
    wall.set(wall.now() + step);
  }
};

// What a process that is killed leaves behind: a task with a lease of 30 s and one that is due in 5 s.
void leave_work(Machine& machine) {
  testing::Forked process([&] {
    Harness h(machine.now());
    h.enqueue("claimed");
    h.claim(1);
    core::TaskEnqueue late = h.task("late");
    late.delay = 5s;
    h.apply<core::EnqueueAnswer>(late);
    _exit(0);
    return std::string();
  });
  process.run();
}

Instant lease_of(Harness& h) {
  return *h.store()
              .execution_find(core::kDefaultTenant, core::Space::task, "claimed")
              .value()
              ->execution.lease_expires_at;
}
Instant due_of(Harness& h) {
  return h.store().execution_find(core::kDefaultTenant, core::Space::task, "late").value()->execution.scheduled_at;
}

// F16, K1: an hour ahead, killed, set right, started again.
TEST(SqliteClock, AStepBackWithinABootLeavesWhatWaitsItsOwnTime) {
  Machine machine;
  machine.wall.set(kTestStart + 1h);
  leave_work(machine);
  machine.pass(2s, -1h);
  Harness h(machine.now());
  EXPECT_EQ(h.store().next_timer().value(), machine.wall.now() + 3s);
  EXPECT_EQ(due_of(h), machine.wall.now() + 3s);
  EXPECT_EQ(lease_of(h), machine.wall.now() + 28s);
  EXPECT_TRUE(machine.log.has("clock was set while the store was closed"));
  EXPECT_TRUE(h.verify().empty());

  machine.pass(3s);
  EXPECT_EQ(h.apply<core::SweepAnswer>(core::TimersFire{100, 1}).changed, 1);
  machine.pass(30s);
  EXPECT_EQ(h.apply<core::SweepAnswer>(core::SessionsExpire{100, 1}).changed, 1);
  EXPECT_TRUE(h.verify().empty());
  const auto step = sqlite_clock_step(machine.options.path).value();
  ASSERT_TRUE(step);
  EXPECT_EQ(step->by, -1h);
}

// F16, K1
TEST(SqliteClock, AStepForwardWithinABootMakesNothingDueEarly) {
  Machine machine;
  leave_work(machine);
  machine.pass(2s, 1h);
  Harness h(machine.now());
  EXPECT_EQ(h.store().next_timer().value(), machine.wall.now() + 3s);
  EXPECT_EQ(lease_of(h), machine.wall.now() + 28s);
  EXPECT_TRUE(h.verify().empty());
}

// F16: across boots only that the clock went back can be known.
TEST(SqliteClock, AfterAnotherBootNothingWaitsLongerThanItsOwnTime) {
  Machine machine;
  machine.wall.set(kTestStart + 1h);
  leave_work(machine);
  machine.reboot(-1h);
  Harness h(machine.now());
  EXPECT_LE(due_of(h), machine.wall.now() + 5s);
  EXPECT_GT(due_of(h), machine.wall.now());
  EXPECT_LE(lease_of(h), machine.wall.now() + 30s);
  EXPECT_TRUE(h.verify().empty());
}

TEST(SqliteClock, AClockThatWasNotSetChangesNothing) {
  Machine machine;
  leave_work(machine);
  machine.pass(2s, 300ms);
  {
    Harness h(machine.now());
    EXPECT_EQ(due_of(h), kTestStart + 5s);
    EXPECT_EQ(lease_of(h), kTestStart + 30s);
  }
  machine.reboot(10min);
  Harness h(machine.now());
  EXPECT_EQ(due_of(h), kTestStart + 5s);
  EXPECT_FALSE(machine.log.has("clock was set"));
  EXPECT_FALSE(sqlite_clock_step(machine.options.path).value());
}

// Limits, keys, timeouts, groups and mail are counted in the same time.
TEST(SqliteClock, AStepMovesEverythingThatWaitsAndNothingThatEnded) {
  Machine machine;
  std::string ended;
  const auto row = [](Harness& h, const char* id) {
    return h.store().execution_find(core::kDefaultTenant, core::Space::task, id).value()->execution;
  };
  core::Execution before;
  {
    Harness h(machine.now());
    core::LaneConfig limited;
    limited.rate_limit = core::RateLimit{1, 10s};
    h.apply<core::LaneAnswer>(core::LaneEnsure{core::kDefaultTenant, "default", limited});
    core::TaskEnqueue keyed = h.task("keyed");
    keyed.idempotency_key = "key";
    keyed.idempotency_key_ttl_seconds = 60;
    h.apply<core::EnqueueAnswer>(keyed);
    h.complete(h.claim(1, true).at(0).execution, "1");
    before = row(h, "keyed");
    core::TaskEnqueue timed = h.task("timed");
    timed.timeout = 60s;
    h.apply<core::EnqueueAnswer>(timed);
  }
  machine.pass(1s, -1h);
  Harness h(machine.now());
  EXPECT_EQ(row(h, "keyed"), before);
  EXPECT_EQ(row(h, "timed").timeout_at, machine.wall.now() + 59s);
  EXPECT_EQ(h.store().key_get(core::kDefaultTenant, "key").value()->expires_at, machine.wall.now() + 59s);
  EXPECT_EQ(h.store().lane_list().value().at(0).tokens_at, machine.wall.now() - 1s);
  EXPECT_TRUE(h.verify().empty());
  machine.pass(10s);
  EXPECT_EQ(h.claim(1, true).size(), 1u) << "the bucket fills again";
}

// F16: what a reader tells about the store's clock is the owner's, so that `semel doctor` sees the difference.
TEST(SqliteClock, AReaderHasTheClockOfTheOwner) {
  SqliteOptions options = testing::temp_sqlite_options();
  testing::ManualClock wrong(base::wall_now() + 1h);
  SqliteOptions ahead = options;
  ahead.clock = &wrong;
  ahead.boot = base::boot_time();
  Harness owner(ahead);
  options.read_only = true;
  const auto reader = open_sqlite(options).value();
  const Duration apart = reader->clock().now() - base::wall_now() - 1h;
  EXPECT_LT(std::chrono::abs(apart), 30s);
}

}  // namespace
}  // namespace semel::store::sqlite
