// The public API on PostgreSQL: shared store, and enqueueing in the caller's own transaction.
#include "semel/postgres.h"

#include <gtest/gtest.h>
#include <libpq-fe.h>

#include <memory>
#include <string>

#include "semel/semel.h"
#include "testing/temp_postgres.h"

namespace semel {
namespace {

using namespace std::chrono_literals;

struct Order {
  std::string id;
  std::int64_t cents = 0;
};
SEMEL_FIELDS(Order, id, cents)

const auto kCharge = task("charge", [](const Order& order) { return order.cents * 2; });

class Postgres : public ::testing::Test {
 protected:
  Engine open() {
    return Engine::open(database_.url(), Options().backend(postgres::backend(postgres::BackendOptions().migrate(true))))
        .value();
  }
  using Connection = std::unique_ptr<PGconn, decltype(&PQfinish)>;
  Connection connect() { return Connection(PQconnectdb(database_.url().c_str()), PQfinish); }
  static void run(PGconn* connection, const char* sql) {
    PGresult* result = PQexec(connection, sql);
    EXPECT_LT(PQresultStatus(result), PGRES_BAD_RESPONSE) << PQerrorMessage(connection);
    PQclear(result);
  }

  testing::TempPostgres database_;
};

TEST_F(Postgres, TaskIsRunByAnotherEngineOnTheSameDatabase) {
  Engine producer = open();
  Engine consumer = open();
  auto worker = consumer.start_worker(WorkerOptions().add(kCharge)).value();
  const auto handle = producer.enqueue(kCharge, Order{"o", 4}, EnqueueOptions().task_id("x")).value();
  EXPECT_EQ(handle.result().value(), 8);
  EXPECT_FALSE(consumer.enqueue(kCharge, Order{"o", 4}, EnqueueOptions().task_id("x")).value().created());
}

TEST_F(Postgres, TaskExistsIffTheCallersTransactionCommits) {
  Engine engine = open();
  auto worker = engine.start_worker(WorkerOptions().add(kCharge)).value();
  const Connection connection = connect();
  run(connection.get(), "begin");
  ASSERT_TRUE(postgres::enqueue(connection.get(), kCharge, Order{"a", 1}, EnqueueOptions().task_id("undone")).ok());
  run(connection.get(), "rollback");
  run(connection.get(), "begin");
  const auto options = EnqueueOptions().task_id("done").queue("q").priority(5).retry(
      RetryPolicy().initial_interval(2s).non_retryable({"A", "B"}));
  ASSERT_TRUE(postgres::enqueue(connection.get(), kCharge, Order{"b", 2}, options).ok());
  run(connection.get(), "commit");

  Result<Handle<std::int64_t>> handle = engine.find(kCharge, "done");
  while (!handle) {  // the feed is polled; the test's own time limit ends this
    ASSERT_EQ(handle.error().code, ErrorCode::ExecutionNotFound);
    handle = engine.find(kCharge, "done");
  }
  EXPECT_EQ(handle->result().value(), 4);
  const auto row = handle->execution().value();
  EXPECT_EQ(row.queue, "q");
  EXPECT_EQ(row.priority, 5);
  EXPECT_EQ(engine.get_task("undone").error().code, ErrorCode::ExecutionNotFound);
}

TEST_F(Postgres, BadOptionsAreRefusedAndTheTransactionStaysUsable) {
  Engine engine = open();
  const Connection connection = connect();
  run(connection.get(), "begin");
  EXPECT_EQ(postgres::enqueue(connection.get(), kCharge, Order{}, EnqueueOptions().task_id("")).error().code,
            ErrorCode::InvalidArgument);
  EXPECT_EQ(postgres::enqueue(connection.get(), kCharge, Order{}, EnqueueOptions().delay(-1s)).error().code,
            ErrorCode::InvalidArgument);
  EXPECT_EQ(PQtransactionStatus(connection.get()), PQTRANS_INTRANS);
  EXPECT_EQ(postgres::enqueue(nullptr, kCharge, Order{}).error().code, ErrorCode::StoreUnavailable);
}

TEST_F(Postgres, StoreWithoutSchemaSaysHowToMakeIt) {
  const std::string empty = database_.database() + "_empty";
  database_.query("create database " + empty);
  std::string url = database_.url();
  url.replace(url.find(database_.database()), database_.database().size(), empty);
  EXPECT_EQ(Engine::open(url, Options().backend(postgres::backend())).error().code, ErrorCode::SchemaTooOld);
  {
    const Connection connection(PQconnectdb(url.c_str()), PQfinish);
    const auto refused = postgres::enqueue(connection.get(), kCharge, Order{});
    EXPECT_EQ(refused.error().code, ErrorCode::SchemaTooOld);
    EXPECT_NE(refused.error().message.find("semel migrate"), std::string::npos);
  }
  database_.query("drop database " + empty + " with (force)");
}

TEST_F(Postgres, TransactionOnSqliteConnectionIsUnsupportedHere) {
  Engine engine = open();
  const auto refused = engine.enqueue_within([](sqlite3*) { return Result<void>(); }, kCharge, Order{});
  EXPECT_EQ(refused.error().code, ErrorCode::Unsupported);
}

}  // namespace
}  // namespace semel
