// A real pgbouncer between the store and the server.
#include "store/postgres/pooler.h"

#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "store/postgres/postgres_store.h"
#include "store/postgres/test_kit.h"
#include "testing/pg_proxy.h"
#include "testing/private_pooler.h"
#include "testing/temp_postgres.h"

namespace semel::store::postgres {
namespace {

using testing::PgProxy;
using testing::PrivatePooler;
using testing::TempPostgres;
using Kind = Applied::Kind;

// A program that shares the pool: no more than libpq and SQL.
class Neighbour {
 public:
  explicit Neighbour(const std::string& url) {
    PgOptions options;
    options.url = url;
    connection_ = Connection::open_bare(options, "neighbour").value();
  }
  std::string ask(const std::string& sql) {
    connection_->queue_text(sql);
    return connection_->run()[0].text(0, 0);
  }
  // What it would notice of others.
  std::string surroundings() {
    return ask(
        "select current_setting('search_path') || ' ' || current_setting('lock_timeout') || ' ' || "
        "current_setting('enable_seqscan') || ' ' || current_setting('statement_timeout') || ' ' || "
        "(select count(*) from pg_prepared_statements) || ' ' || (select count(*) from pg_listening_channels())");
  }

 private:
  std::unique_ptr<Connection> connection_;
};

class Poolers : public ::testing::Test {
 protected:
  PgOptions through(const PrivatePooler& pooler) {
    PgOptions options = database_.options();
    options.url = pooler.url(database_.database());
    return options;
  }
  std::string server_folder() {
    return database_.query("select split_part(current_setting('unix_socket_directories'), ',', 1)").text(0, 0);
  }
  std::string server_port() { return database_.query("select current_setting('port')").text(0, 0); }
  std::string server_socket() { return server_folder() + "/.s.PGSQL." + server_port(); }

  TempPostgres database_;
};

// F18, X21
class SharedSessions : public Poolers, public ::testing::WithParamInterface<const char*> {};

TEST_P(SharedSessions, AreRefusedAndLeftAsTheyWere) {
  const PrivatePooler pooler(server_folder(), server_port(), GetParam());
  const std::string url = pooler.url(database_.database());
  Neighbour first(url);
  const std::string before = first.surroundings();
  const auto refused = open_postgres(through(pooler));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::Unsupported) << refused.error().message;
  EXPECT_NE(refused.error().message.find("pgbouncer"), std::string::npos);
  EXPECT_NE(refused.error().message.find("pool_mode = session"), std::string::npos);
  EXPECT_EQ(migrate_postgres(through(pooler)).error().code, ErrorCode::Unsupported);
  // Every server connection of the pool.
  for (int i = 0; i < 20; ++i) EXPECT_EQ(first.surroundings(), before);
  EXPECT_EQ(Neighbour(url).surroundings(), before);
}

INSTANTIATE_TEST_SUITE_P(Modes, SharedSessions,
                         ::testing::Values("pool_mode = transaction\n", "pool_mode = statement\n",
                                           "pool_mode = transaction\ndefault_pool_size = 1\n",
                                           "pool_mode = transaction\nserver_round_robin = 1\nmin_pool_size = 2\n"));

// F18: neighbours take server connections and give them back while the mode is asked for.
TEST_F(Poolers, TransactionModeIsRecognisedAmongBusyNeighbours) {
  const PrivatePooler pooler(server_folder(), server_port(), "pool_mode = transaction\ndefault_pool_size = 4\n");
  std::atomic<bool> over{false};
  std::vector<std::thread> neighbours;
  for (int i = 0; i < 6; ++i)
    neighbours.emplace_back([&] {
      Neighbour neighbour(pooler.url(database_.database()));
      while (!over.load()) neighbour.ask("select pg_backend_pid()::text");
    });
  for (int i = 0; i < 10; ++i) EXPECT_EQ(open_postgres(through(pooler)).error().code, ErrorCode::Unsupported);
  over = true;
  for (auto& neighbour : neighbours) neighbour.join();
}

TEST_F(Poolers, InSessionModeEverythingWorks) {
  const PrivatePooler pooler(server_folder(), server_port(), "pool_mode = session\n");
  const auto one = open_postgres(through(pooler)).value();
  const auto other = open_postgres(through(pooler)).value();
  Asker ask(*one);
  const auto lane = ask.lane();
  (void)other->wait_hints(std::chrono::seconds(5));  // connects
  ask.ask(ask.task(lane, "a"));
  bool heard = false;
  for (int i = 0; i < 20 && !heard; ++i) {
    ask.ask(ask.task(lane, "b-" + std::to_string(i)));
    heard = !other->wait_hints(std::chrono::seconds(1)).wakes.lanes.empty();
  }
  EXPECT_TRUE(heard) << "hints pass";
  EXPECT_TRUE(other->execution_find(core::kDefaultTenant, core::Space::task, "a").value().has_value());
  ask.expect_sound();
}

// F18: nothing outlives the connection, even where the pooler itself resets nothing.
TEST_F(Poolers, InSessionModeTheSessionIsGivenBackAsItWas) {
  const PrivatePooler pooler(server_folder(), server_port(), "pool_mode = session\nserver_reset_query =\n");
  const std::string url = pooler.url(database_.database());
  const std::string before = Neighbour(url).surroundings();
  for (int round = 0; round < 2; ++round) {  // the second time statements of the first would be in the way
    const auto store = open_postgres(through(pooler)).value();
    (void)store->wait_hints(std::chrono::seconds(5));
    Asker ask(*store);
    EXPECT_TRUE(ask.ask(ask.task(ask.lane(), "t-" + std::to_string(round))).created);
    ASSERT_TRUE(store->tenant_list().ok());
  }
  std::vector<Neighbour> all;
  for (int i = 0; i < 8; ++i) {
    all.emplace_back(url);
    EXPECT_EQ(all.back().surroundings(), before);
  }
}

// A pool with room for no second connection cannot share the first one.
TEST_F(Poolers, APoolOfOneInSessionModeIsOnesOwn) {
  const PrivatePooler pooler(server_folder(), server_port(), "pool_mode = session\ndefault_pool_size = 1\n");
  const auto opened = Connection::open(through(pooler), Role{"test", std::chrono::seconds(1), false});
  EXPECT_TRUE(opened.ok()) << opened.error().message;
}

// F5: the server dies around COMMIT; the pooler answers in its place.
class DeadServer : public Poolers, public ::testing::WithParamInterface<PgProxy::Fault> {};

TEST_P(DeadServer, BehindAPoolerIsNotTakenForARefusal) {
  PgProxy proxy(server_socket());
  const PrivatePooler pooler(proxy.folder(), "5432", "pool_mode = session\n");
  const auto store = open_postgres(through(pooler)).value();
  Asker ask(*store);
  const auto lane = ask.lane();
  for (int i = 0; i < 5; ++i) {
    const bool named = i % 2 == 0;
    std::vector<Operation> tasks = {ask.task(lane, named ? std::optional("pay-" + std::to_string(i)) : std::nullopt)};
    proxy.arm(GetParam());
    Batch batch;
    Applied applied = ask.apply(batch, tasks);
    ASSERT_TRUE(proxy.struck());
    EXPECT_EQ(applied.kind, Kind::unknown) << applied.error.message;
    batch.recheck = true;
    for (int tries = 0; tries < 1000 && applied.kind != Kind::committed; ++tries) applied = ask.apply(batch, tasks);
    ASSERT_EQ(applied.kind, Kind::committed) << applied.error.message;
    EXPECT_TRUE(std::get<core::EnqueueAnswer>(batch.answers[0]).created);
    EXPECT_EQ(database_.query("select count(*) from semel.execution").i64(0, 0), i + 1);
  }
  ask.expect_sound();
}

INSTANTIATE_TEST_SUITE_P(Cut, DeadServer,
                         ::testing::Values(PgProxy::Fault::cut_before, PgProxy::Fault::cut_inside,
                                           PgProxy::Fault::cut_after, PgProxy::Fault::cut_answer));

}  // namespace
}  // namespace semel::store::postgres
