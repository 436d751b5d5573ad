// D15: a task that kills its worker every time uses up its attempts and dies alone.
#include <gtest/gtest.h>

#include "tests/crash/process.h"
#include "tests/crash/scratch.h"
#include "tests/crash/sql.h"
#include "tests/crash/together.h"

namespace semel::crash {
namespace {

void enqueue(engine::Runtime& runtime, const std::string& name, const std::string& id) {
  engine::EnqueueRequest request;
  request.name = name;
  request.task_id = id;
  request.args = "{}";
  request.max_attempts = 2;
  request.retry.initial_interval = std::chrono::milliseconds(1);
  (void)runtime
      .wait<engine::EnqueueOutcome>([&](auto done) { runtime.engine().enqueue(std::move(request), std::move(done)); })
      .value();
}

TEST(Poison, TaskThatKillsItsWorkerEndsDeadLetteredAndItsNeighboursSucceed) {
  Scratch scratch;
  const auto sql = open_sql(scratch.store());
  {
    const auto runtime = open_runtime(scratch.store(), 1000);
    core::LaneConfig config;
    config.dead_letter = true;
    (void)runtime
        ->wait<core::Lane>(
            [&](auto done) { runtime->engine().queue_set("default", "default", config, std::move(done)); })
        .value();
    for (int i = 0; i < 5; ++i) enqueue(*runtime, "plain", "before-" + std::to_string(i));
    enqueue(*runtime, "poison", "poison");
    for (int i = 0; i < 5; ++i) enqueue(*runtime, "plain", "after-" + std::to_string(i));
  }
  int deaths = 0;
  bool ended = false;
  while (!ended && deaths < 10) {
    Process worker("crash_peer", {"poisoned", scratch.store()});
    worker.expect_line("R");
    bool alive = true;
    ASSERT_TRUE(wait_until([&] {
      alive = worker.read_lines(1'000, [](const std::string&) {});
      ended = sql->number("SELECT count(*) FROM execution WHERE status < 4") == 0;
      return ended || !alive;
    }));
    if (!alive) ++deaths;
  }
  EXPECT_EQ(2, deaths);
  const auto poison = sql->query("SELECT status, attempt, error FROM execution WHERE identity = 'poison'").at(0);
  EXPECT_EQ("8", poison[0]);
  EXPECT_EQ("2", poison[1]);
  EXPECT_NE(std::string::npos, poison[2].find("LeaseLost")) << poison[2];
  EXPECT_EQ(10, sql->number("SELECT count(*) FROM execution WHERE status = 4 AND name = 'plain'"));
}

}  // namespace
}  // namespace semel::crash
