// Queues, keys, tenants, workers, maintenance, demo and benchmarks from the command line.
#include <gtest/gtest.h>
#include <signal.h>

#include "tests/e2e/program.h"

namespace semel::e2e {
namespace {

TEST(CliQueue, SettingsStayUnlessNamedAndPauseStopsClaims) {
  const Place place;
  const Ran set =
      place.json({"queue", "set", "payments", "--retention", "30d", "--rate-limit", "100/sec", "--concurrency", "5"});
  ASSERT_EQ(set.exit_code, 0) << set.out;
  EXPECT_EQ(set.text("retention"), "30d");
  EXPECT_EQ(set.text("rate_limit"), "100/sec");
  const Ran more = place.json({"queue", "set", "payments", "--rate-limit", "none", "--dead-letter", "true"});
  EXPECT_EQ(more.number("concurrency"), 5);
  EXPECT_EQ(more.text("rate_limit"), "");
  EXPECT_EQ(more.flag("dead_letter"), true);
  EXPECT_EQ(place.json({"queue", "pause", "payments"}).flag("paused"), true);
  const std::string id = place.json({"task", "enqueue", "charge", "--queue", "payments"}).text("execution_id");
  EXPECT_EQ(place.json({"task", "claim"}).json().root().find("tasks")->size(), 0u);
  EXPECT_EQ(place.json({"explain", "execution", id}).text("reason"), "queue_paused");
  EXPECT_EQ(place.json({"queue", "resume", "payments"}).flag("paused"), false);
  EXPECT_EQ(place.json({"task", "claim"}).json().root().find("tasks")->size(), 1u);
  EXPECT_NE(place.semel({"queue", "list", "--store", place.store}).out.find("payments"), std::string::npos);
}

TEST(CliQueue, TomlSetsQueuesThatNobodySet) {
  const Place place;
  place.write("semel.toml", "store = \"sqlite:app.db\"\n[queues.payments]\nmax_attempts = 7\nconcurrency = 2\n");
  ASSERT_EQ(place.semel({"task", "enqueue", "charge", "--queue", "payments", "--task-id", "a"}).exit_code, 0);
  EXPECT_EQ(place.json({"task", "get", "--task-id", "a"}).number("max_attempts"), 7);
  EXPECT_EQ(place.json({"queue", "get", "payments"}).number("concurrency"), 2);
  place.json({"queue", "set", "payments", "--concurrency", "9"});
  place.semel({"task", "enqueue", "charge", "--queue", "payments"});
  EXPECT_EQ(place.json({"queue", "get", "payments"}).number("concurrency"), 9);
}

TEST(CliKey, KeysAreListedReadAndReleasedOnlyByForceWhileLive) {
  const Place place;
  const std::string id = place.json({"task", "enqueue", "charge", "--idempotency-key", "order-7"}).text("execution_id");
  EXPECT_EQ(place.json({"key", "get", "order-7"}).text("target_id"), id);
  EXPECT_EQ(place.json({"key", "list"}).json().root().find("keys")->size(), 1u);
  EXPECT_EQ(place.json({"task", "enqueue", "charge", "--idempotency-key", "order-7"}).text("execution_id"), id);
  const Ran live = place.json({"key", "release", "order-7"});
  EXPECT_EQ(live.exit_code, 1);
  EXPECT_EQ(live.text("error"), "InvalidTransition");
  EXPECT_EQ(place.json({"key", "release", "order-7", "--force"}).flag("released"), true);
  EXPECT_EQ(place.json({"key", "get", "order-7"}).text("error"), "KeyNotFound");
}

TEST(CliTenant, TenantsAreSeparate) {
  const Place place;
  EXPECT_EQ(place.json({"tenant", "create", "acme"}).flag("created"), true);
  EXPECT_EQ(place.json({"tenant", "create", "acme"}).flag("created"), false);
  EXPECT_EQ(place.json({"tenant", "list"}).json().root().find("tenants")->size(), 2u);
  const std::string id =
      place.json({"task", "enqueue", "charge", "--task-id", "pay-1", "--tenant", "acme"}).text("execution_id");
  EXPECT_EQ(place.json({"task", "get", "--task-id", "pay-1"}).text("error"), "ExecutionNotFound");
  EXPECT_EQ(place.json({"task", "get", id}).text("error"), "ExecutionNotFound");
  EXPECT_EQ(place.json({"task", "get", id, "--tenant", "acme"}).exit_code, 0);
}

TEST(CliWorker, RunsBuiltInHandlersAndStopsGracefully) {
  const Place place;
  place.json({"task", "enqueue", "echo", "--args", R"({"hello":1})", "--task-id", "e-1"});
  place.json({"task", "enqueue", "fail", "--args", R"({"name":"CardDeclined","retryable":false})", "--task-id", "f-1"});
  const Ran ran = place.semel({"worker", "--store", place.store, "--until-succeeded", "1", "--run-for", "20s"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  const Ran echoed = place.json({"task", "get", "--task-id", "e-1"});
  EXPECT_EQ(echoed.text("status"), "succeeded");
  EXPECT_NE(echoed.out.find(R"("result":{"hello":1})"), std::string::npos);
}

// D24
TEST(CliWorker, TermWaitsForTheHandler) {
  const Place place;
  place.json({"task", "enqueue", "sleep", "--args", R"({"for":"300ms"})", "--task-id", "s-1"});
  Running worker(place, {"worker", "--store", place.store, "--effects", "effects"});
  ASSERT_TRUE(worker.read_line().has_value());
  ASSERT_EQ(
      place.shell("n=0; while [ ! -s effects ] && [ $n -lt 2000 ]; do n=$((n+1)); sleep 0.01; done; test -s effects")
          .exit_code,
      0);
  worker.signal(SIGTERM);
  EXPECT_EQ(worker.wait(), 0);
  EXPECT_EQ(place.json({"task", "get", "--task-id", "s-1"}).text("status"), "succeeded");
}

// F16, K1
TEST(CliMaintenance, DoctorTellsThatTheClockWasSet) {
  const Place place;
  place.json({"task", "enqueue", "echo", "--delay", "5s"});
  EXPECT_EQ(place.semel({"doctor", "--store", place.store}).out.find("clock was set"), std::string::npos);
  // As an owner leaves it whose clock was an hour ahead.
  ASSERT_EQ(place.shell("sqlite3 app.db \"UPDATE meta SET value = value + 3600000000 WHERE name = 'clock_offset'\"")
                .exit_code,
            0);
  const std::string apart = place.semel({"doctor", "--store", place.store}).out;
  EXPECT_NE(apart.find("store and this machine differ by 1h"), std::string::npos) << apart;
  place.json({"task", "enqueue", "echo"});
  const std::string told = place.semel({"doctor", "--store", place.store}).out;
  EXPECT_NE(told.find("set back by 1h while the store was closed"), std::string::npos) << told;
}

TEST(CliMaintenance, DoctorVerifyVersionAndPurge) {
  const Place place;
  ASSERT_EQ(place.json({"task", "enqueue", "charge"}).exit_code, 0);
  const Ran doctor = place.json({"doctor"});
  EXPECT_EQ(doctor.exit_code, 0) << doctor.out;
  EXPECT_EQ(doctor.flag("ok"), true);
  EXPECT_NE(doctor.out.find("sqlite"), std::string::npos);
  EXPECT_EQ(place.json({"verify"}).flag("ok"), true);
  EXPECT_EQ(place.json({"migrate"}).flag("migrated"), true);
  EXPECT_FALSE(place.json({"version"}).text("version").empty());
  EXPECT_EQ(place.json({"purge"}).number("deleted_count"), 0);
  EXPECT_EQ(place.semel({"doctor", "--store", "sqlite:absent.db"}).exit_code, 1);
}

// R2
TEST(CliMaintenance, RetentionZeroFreesTheIdAtCompletion) {
  const Place place;
  place.json({"queue", "set", "q", "--retention", "0"});
  const std::string id = place.json({"task", "enqueue", "a", "--task-id", "x", "--queue", "q"}).text("execution_id");
  place.json({"task", "claim"});
  EXPECT_EQ(place.json({"task", "complete", id, "--version", "2"}).text("status"), "succeeded");
  EXPECT_EQ(place.json({"task", "get", id}).text("error"), "ExecutionNotFound");
  EXPECT_EQ(place.json({"task", "enqueue", "a", "--task-id", "x", "--queue", "q"}).flag("created"), true);
}

// X9
TEST(CliMaintenance, BackupAndRestoreBringTheStoreBack) {
  const Place place;
  place.json({"task", "enqueue", "charge", "--task-id", "one"});
  ASSERT_EQ(place.json({"backup", "copy.db"}).exit_code, 0);
  place.json({"task", "enqueue", "charge", "--task-id", "two"});
  ASSERT_EQ(place.json({"restore", "copy.db"}).exit_code, 0);
  EXPECT_EQ(place.json({"task", "get", "--task-id", "one"}).exit_code, 0);
  EXPECT_EQ(place.json({"task", "get", "--task-id", "two"}).text("error"), "ExecutionNotFound");
  EXPECT_EQ(place.json({"verify"}).exit_code, 0);
  place.write("junk.db", "no store");
  EXPECT_NE(place.json({"restore", "junk.db"}).exit_code, 0);
  EXPECT_EQ(place.json({"task", "get", "--task-id", "one"}).exit_code, 0);
}

TEST(CliDemo, TellsTheStoryAndEndsWell) {
  const Place place;
  const Ran ran = place.semel({"demo"});
  EXPECT_EQ(ran.exit_code, 0) << ran.out << ran.err;
  EXPECT_NE(ran.out.find("1 answer created, 99 answers existing"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("SIGKILL"), std::string::npos);
  EXPECT_NE(ran.out.find("the outcome was recorded once"), std::string::npos) << ran.out;
  EXPECT_EQ(place.shell("ls *.db 2>/dev/null").out, "");
}

TEST(CliBench, EveryScenarioPrintsOneObject) {
  const Place place;
  for (const std::string scenario : {"enqueue", "enqueue-batch", "drain", "latency", "duplicates", "limits"}) {
    const std::string count = scenario == "latency" ? "10" : "2000";
    const Ran ran =
        place.semel({"bench", scenario, "--store", "sqlite:" + scenario + ".db", "--count", count, "--json"});
    ASSERT_EQ(ran.exit_code, 0) << scenario << ran.out << ran.err;
    EXPECT_EQ(ran.text("scenario"), scenario);
    EXPECT_EQ(ran.text("store"), "sqlite");
  }
}

// B7, X1
TEST(CliBench, KilledDrainLosesNothing) {
  const Place place;
  const Ran ran = place.semel({"bench", "drain", "--kill", "--store", "sqlite:k.db", "--count", "5000", "--json"});
  ASSERT_EQ(ran.exit_code, 0) << ran.out << ran.err;
  EXPECT_EQ(ran.number("lost"), 0);
  EXPECT_EQ(ran.number("left"), 0);
}

}  // namespace
}  // namespace semel::e2e
