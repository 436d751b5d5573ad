// The command line on PostgreSQL: several processes at once on one store.
#include <gtest/gtest.h>
#include <libpq-fe.h>
#include <unistd.h>

#include <cstdlib>
#include <stdexcept>
#include <thread>

#include "tests/e2e/program.h"

namespace semel::e2e {
namespace {

// A database of its own on the server of SEMEL_TEST_PG.
class Database {
 public:
  Database() {
    const char* server = std::getenv("SEMEL_TEST_PG");
    if (server == nullptr) throw std::runtime_error("SEMEL_TEST_PG names no PostgreSQL; ./dev test starts one");
    server_ = server;
    name_ = "e2e_" + std::to_string(::getpid()) + "_" + std::to_string(++count_);
    run("create database " + name_);
  }
  ~Database() { run("drop database if exists " + name_ + " with (force)"); }

  // SEMEL_TEST_PG with another database: postgres://user@host/OLD?query
  std::string url() const {
    const std::size_t slash = server_.find('/', server_.find("://") + 3);
    const std::size_t end = std::min(server_.find('?', slash), server_.size());
    return server_.substr(0, slash + 1) + name_ + server_.substr(end);
  }

 private:
  void run(const std::string& sql) const {
    PGconn* connection = PQconnectdb(server_.c_str());
    PGresult* result = PQexec(connection, sql.c_str());
    const bool done = PQresultStatus(result) == PGRES_COMMAND_OK;
    const std::string message = PQerrorMessage(connection);
    PQclear(result);
    PQfinish(connection);
    if (!done) throw std::runtime_error(sql + ": " + message);
  }
  static inline int count_ = 0;
  std::string server_;
  std::string name_;
};

class SharedStore : public testing::Test {
 protected:
  SharedStore() { place.store = database.url(); }
  Database database;
  Place place;
};

TEST_F(SharedStore, IsUsedOnlyAfterMigrate) {
  const Ran before = place.json({"task", "enqueue", "charge"});
  EXPECT_EQ(before.exit_code, 1);
  EXPECT_EQ(before.text("error"), "SchemaTooOld") << before.out;
  EXPECT_NE(before.text("message").find("migrate"), std::string::npos);
  EXPECT_EQ(place.json({"migrate"}).flag("migrated"), true);
  EXPECT_EQ(place.json({"migrate"}).flag("migrated"), true);
  EXPECT_EQ(place.json({"task", "enqueue", "charge"}).flag("created"), true);
}

// D1
TEST_F(SharedStore, ManyProcessesEnqueueOneIdAndMakeOneExecution) {
  ASSERT_EQ(place.json({"migrate"}).exit_code, 0);
  std::vector<Ran> answers(8);
  {
    std::vector<std::unique_ptr<Place>> places;
    std::vector<std::jthread> threads;
    for (auto& answer : answers) {
      places.push_back(std::make_unique<Place>());
      places.back()->store = place.store;
      threads.emplace_back([&answer, own = places.back().get()] {
        answer = own->json({"task", "enqueue", "charge", "--task-id", "pay-1"});
      });
    }
    threads.clear();
  }
  int created = 0;
  for (const Ran& answer : answers) {
    ASSERT_EQ(answer.exit_code, 0) << answer.out << answer.err;
    created += answer.flag("created") == true ? 1 : 0;
    EXPECT_EQ(answer.text("execution_id"), answers[0].text("execution_id"));
  }
  EXPECT_EQ(created, 1);
  EXPECT_EQ(place.json({"verify"}).exit_code, 0);
}

TEST_F(SharedStore, VerbsAnswerAsOnSqlite) {
  ASSERT_EQ(place.json({"migrate"}).exit_code, 0);
  ASSERT_EQ(
      place.json({"queue", "set", "payments", "--dead-letter", "true", "--max-attempts", "1"}).flag("dead_letter"),
      true);
  const std::string id =
      place.json({"task", "enqueue", "charge", "--task-id", "pay-1", "--queue", "payments"}).text("execution_id");
  EXPECT_EQ(place.json({"task", "claim"}).json().root().find("tasks")->size(), 1u);
  EXPECT_EQ(place.json({"task", "complete", id, "--version", "9"}).text("error"), "LeaseLost");
  EXPECT_EQ(place.json({"task", "fail", id, "--version", "2"}).text("status"), "dead_lettered");
  EXPECT_EQ(place.json({"task", "redrive", id}).flag("created"), true);
  EXPECT_EQ(place.json({"task", "cancel", "--all", "--dry-run"}).number("count"), 1);
  EXPECT_EQ(place.json({"explain", "task", "pay-1"}).exit_code, 0);
  EXPECT_EQ(place.json({"doctor"}).exit_code, 0);
  EXPECT_EQ(place.json({"backup", "x.db"}).text("error"), "Unsupported");
  EXPECT_EQ(place.json({"tenant", "create", "acme"}).flag("created"), true);
  EXPECT_EQ(place.json({"purge"}).exit_code, 0);
}

TEST_F(SharedStore, WorkflowVerbsAnswerAsOnSqlite) {
  ASSERT_EQ(place.json({"migrate"}).exit_code, 0);
  const Ran started = place.json(
      {"workflow", "start", "checkout", "--id", "order-7", "--memo", R"({"note":"vip"})", "--attr", "tier=gold"});
  ASSERT_EQ(started.exit_code, 0) << started.out << started.err;
  EXPECT_EQ(place.json({"workflow", "signal", "order-7", "approve", "--dedupe-id", "d"}).flag("created"), true);
  EXPECT_EQ(place.json({"workflow", "signal", "order-7", "approve", "--dedupe-id", "d"}).flag("created"), false);
  const Ran got = place.json({"workflow", "get", "order-7"});
  EXPECT_EQ(got.number("unread_count"), 1) << got.out;
  EXPECT_NE(got.out.find(R"("memo":{"note":"vip"},"attributes":{"tier":"gold"})"), std::string::npos) << got.out;
  EXPECT_EQ(place.json({"workflow", "list", "--attr", "tier=gold"}).json().root().find("executions")->size(), 1u);
  EXPECT_EQ(place.json({"workflow", "terminate", "order-7"}).text("status"), "cancelled");
  EXPECT_EQ(place.json({"workflow", "history", "order-7"}).json().root().find("events")->size(), 2u);
  EXPECT_EQ(place.json({"workflow", "signal", "order-7", "approve"}).text("error"), "WorkflowAlreadyCompleted");
  EXPECT_EQ(place.json({"verify"}).exit_code, 0);
}

TEST_F(SharedStore, DemoTellsTheStory) {
  const Ran ran = place.semel({"demo", "--store", place.store});
  EXPECT_EQ(ran.exit_code, 0) << ran.out << ran.err;
  EXPECT_NE(ran.out.find("the outcome was recorded once"), std::string::npos) << ran.out;
}

TEST_F(SharedStore, EveryBenchmarkPrintsOneObject) {
  for (const std::string scenario : {"enqueue", "enqueue-batch", "drain", "latency", "duplicates", "limits"}) {
    const std::string count = scenario == "latency" ? "10" : "2000";
    const Ran ran = place.semel({"bench", scenario, "--store", place.store, "--count", count, "--json"});
    ASSERT_EQ(ran.exit_code, 0) << scenario << ran.out << ran.err;
    EXPECT_EQ(ran.text("scenario"), scenario);
    EXPECT_EQ(ran.text("store"), "postgres");
  }
}

}  // namespace
}  // namespace semel::e2e
