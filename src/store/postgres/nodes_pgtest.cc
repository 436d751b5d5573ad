// Several nodes on one database at once: every race has one winner and leaves the tables sound.
#include <gtest/gtest.h>

#include <map>
#include <mutex>
#include <thread>

#include "store/postgres/fronts.h"
#include "store/postgres/test_kit.h"
#include "testing/temp_postgres.h"

namespace semel::store::postgres {
namespace {

using testing::TempPostgres;

class PostgresNodes : public ::testing::Test {
 protected:
  template <class Work>
  void on_nodes(int count, Work work) {
    std::vector<std::thread> threads;
    for (int node = 0; node < count; ++node) {
      threads.emplace_back([this, node, work] {
        const auto store = database_.open();
        Asker ask(*store);
        work(node, *store, ask);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

  TempPostgres database_;
  std::unique_ptr<Store> store_ = database_.open();
  Asker ask_{*store_};
};

TEST_F(PostgresNodes, OneIdEnqueuedEverywhereIsOneExecution) {
  const auto lane = ask_.lane();
  std::atomic<int> created{0};
  on_nodes(6, [&](int, Store&, Asker& ask) {
    for (int batch = 0; batch < 20; ++batch) {
      std::vector<Operation> tasks;
      for (int i = 0; i < 20; ++i)
        tasks.push_back(ask.task(lane, "id-" + std::to_string(batch) + "-" + std::to_string((i * 7) % 20)));
      for (const auto& answer : ask.run(tasks)) created += std::get<core::EnqueueAnswer>(answer).created;
    }
  });
  EXPECT_EQ(created, 400);
  EXPECT_EQ(database_.query("select count(*) from semel.execution").i64(0, 0), 400);
  ask_.expect_sound();
}

// The keys are inserted after a read that found nothing: the loser's insert collides and it looks again.
TEST_F(PostgresNodes, OneIdempotencyKeyEverywhereIsOneExecution) {
  const auto lane = ask_.lane();
  std::atomic<int> created{0};
  on_nodes(4, [&](int, Store&, Asker& ask) {
    for (int i = 0; i < 30; ++i) {
      auto task = ask.task(lane);
      task.idempotency_key = "key-" + std::to_string(i);
      task.fingerprint = core::fingerprint_of(task.name, task.args).value();
      created += ask.ask(task).created;
    }
  });
  EXPECT_EQ(created, 30);
  ask_.expect_sound();
}

// A claim goes on where the last one came to; nothing that was put before that place is missed.
TEST_F(PostgresNodes, ClaimsThatGoOnFromAPlaceMissNothing) {
  const auto lane = ask_.lane();
  const auto session = ask_.session();
  const auto urgent = [&](Asker& ask) {
    auto task = ask.task(lane);
    task.priority = 1;
    ask.ask(task);
    return task.id;
  };
  for (int i = 0; i < 8; ++i) ask_.ask(ask_.task(lane));
  EXPECT_EQ(ask_.ask(ask_.claim(lane, session, 2)).tasks.size(), 2u);
  const ExecutionId own = urgent(ask_);
  const auto next = ask_.ask(ask_.claim(lane, session, 2)).tasks;
  ASSERT_EQ(next.size(), 2u);
  EXPECT_EQ(next[0].execution.id, own);
  EXPECT_EQ(ask_.ask(ask_.claim(lane, session, 2)).tasks.size(), 2u);
  const auto other_store = database_.open();
  Asker other(*other_store);
  const ExecutionId strange = urgent(other);
  const auto rest = ask_.ask(ask_.claim(lane, session, 100)).tasks;
  ASSERT_EQ(rest.size(), 4u);
  EXPECT_EQ(rest[0].execution.id, strange);
}

TEST(Fronts, APlaceIsForgottenInTimeAndWhenSomethingIsPutBeforeIt) {
  Fronts fronts;
  const core::LaneId lane{7};
  const Instant now{Duration{1'000'000}};
  const core::ReadyRow front = Fronts::very_front(lane, core::Pool::tasks);
  const auto row = [&](int priority) { return core::ReadyRow{lane, core::Pool::tasks, priority, now, {}}; };
  EXPECT_EQ(fronts.where(lane, core::Pool::tasks, now), front);
  fronts.reached(row(100), now);
  EXPECT_EQ(fronts.where(lane, core::Pool::tasks, now), row(100));
  EXPECT_EQ(fronts.where(lane, core::Pool::alone, now), Fronts::very_front(lane, core::Pool::alone));
  fronts.reached(row(101), std::nullopt);
  EXPECT_EQ(fronts.where(lane, core::Pool::tasks, now + Fronts::kMaxAge - Duration{1}), row(101));
  EXPECT_EQ(fronts.where(lane, core::Pool::tasks, now + Fronts::kMaxAge), front);
  fronts.entered({row(102)});
  EXPECT_EQ(fronts.where(lane, core::Pool::tasks, now), row(101));
  fronts.entered({row(100)});
  EXPECT_EQ(fronts.where(lane, core::Pool::tasks, now), front);
}

TEST_F(PostgresNodes, QueuesAndTenantsCreatedAtOnceAreOneEach) {
  on_nodes(5, [&](int, Store&, Asker& ask) {
    for (int i = 0; i < 10; ++i) ask.lane("queue-" + std::to_string(i));
    core::TenantEnsure tenant;
    tenant.name = "acme";
    ask.ask(tenant);
  });
  EXPECT_EQ(database_.query("select count(*) from semel.lane").i64(0, 0), 10);
  EXPECT_EQ(database_.query("select max(id) from semel.lane").i32(0, 0), 10) << "numbers are dense";
  EXPECT_EQ(database_.query("select count(*) from semel.tenant").i64(0, 0), 2);
}

// D1, H2: each (execution, version) is handed out once; cancels, timers and claims may meet on every row.
TEST_F(PostgresNodes, ClaimsCancelsAndTimersLeaveOneOutcomeEach) {
  core::LaneConfig config;
  config.concurrency_per_key = 2;
  const auto plain = ask_.lane("plain");
  const auto keyed = ask_.lane("keyed", config);
  constexpr int kTasks = 300;
  std::vector<ExecutionId> ids;
  for (int i = 0; i < kTasks; ++i) {
    auto task = ask_.task(i % 2 == 0 ? plain : keyed);
    if (i % 2 == 1) task.concurrency_key = "k" + std::to_string(i % 3);
    if (i % 5 == 0) task.timeout = std::chrono::milliseconds(50 + i);
    if (i % 7 == 0) task.delay = std::chrono::milliseconds(20);
    ids.push_back(task.id);
    ask_.ask(task);
  }
  std::mutex mutex;
  std::map<std::pair<ExecutionId, std::int32_t>, int> handed_out;
  std::atomic<int> retries{0};
  on_nodes(4, [&](int node, Store&, Asker& ask) {
    const auto session = ask.session();
    const auto open = [&] {
      return database_.query("select count(*) from semel.execution where status < 4").i64(0, 0);
    };
    std::size_t next = static_cast<std::size_t>(node) * 3;
    for (int round = 0; round < 2000; ++round) {
      core::TimersFire timers;
      timers.limit = 20;
      ask.ask(timers);
      core::ExecutionCancel cancel;
      cancel.execution = ids[next % ids.size()];
      next += 11;
      ask.ask(cancel);
      for (const auto lane : {plain, keyed}) {
        const auto claimed = ask.ask(ask.claim(lane, session, 7));
        for (const auto& task : claimed.tasks) {
          {
            const std::lock_guard lock(mutex);
            ++handed_out[{task.execution.id, task.execution.version}];
          }
          ask.run({Asker::complete(task.execution)});
        }
      }
      if (round % 10 == 9 && open() == 0) break;
    }
    retries += ask.retries;
  });
  for (const auto& [claim, times] : handed_out) EXPECT_EQ(times, 1) << claim.first.to_string();
  EXPECT_EQ(database_.query("select count(*) from semel.execution where status < 4").i64(0, 0), 0);
  EXPECT_EQ(database_.query("select count(*) from semel.ready").i64(0, 0), 0);
  EXPECT_EQ(database_.query("select count(*) from semel.key_slot").i64(0, 0), 0);
  ask_.expect_sound();
  RecordProperty("retries", retries);
}

// C15, C18: two nodes return the leases of a dead worker; each task goes back once.
TEST_F(PostgresNodes, LeasesOfADeadWorkerAreReturnedOnce) {
  const auto lane = ask_.lane();
  std::vector<Operation> tasks;
  for (int i = 0; i < 200; ++i) tasks.push_back(ask_.task(lane));
  ask_.run(tasks);
  const auto session = ask_.session();
  for (int i = 0; i < 20; ++i) ask_.ask(ask_.claim(lane, session, 10));
  core::SessionClose close;
  close.session = session;
  ask_.ask(close);
  database_.query("update semel.execution set lease_expires_at = 1 where status = 1");
  std::atomic<int> changed{0};
  on_nodes(3, [&](int, Store&, Asker& ask) {
    for (;;) {
      core::SessionsExpire expire;
      expire.limit = 25;
      const auto answer = ask.ask(expire);
      changed += answer.changed;
      if (answer.looked_at == 0) break;
    }
  });
  EXPECT_EQ(changed, 200);
  EXPECT_EQ(database_.query("select count(*) from semel.execution where status = 0 and version = 3").i64(0, 0), 200);
  EXPECT_EQ(database_.query("select count(*) from semel.lease").i64(0, 0), 0);
  ask_.expect_sound();
}

}  // namespace
}  // namespace semel::store::postgres
