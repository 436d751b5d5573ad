// Servers and databases the store must not trust, and one that dies.
#include <gtest/gtest.h>

#include "store/postgres/postgres_store.h"
#include "store/postgres/schema.h"
#include "store/postgres/test_kit.h"
#include "testing/private_postgres.h"
#include "testing/temp_postgres.h"

namespace semel::store::postgres {
namespace {

using testing::PrivatePostgres;
using testing::TempPostgres;

ErrorCode refused(const PgOptions& options) {
  auto opened = open_postgres(options);
  if (opened.ok()) return ErrorCode::Internal;
  EXPECT_EQ(opened.error().message.find("postgres@"), std::string::npos) << "no credentials in messages";
  return opened.error().code;
}

TEST(PostgresServer, WhatCannotBeReachedOrReadIsNamed) {
  PgOptions options;
  for (const char* url :
       {"postgres://[broken", "postgres://localhost/x?no_such_option=1", "postgres://localhost:notaport/x"}) {
    options.url = url;
    EXPECT_EQ(refused(options), ErrorCode::InvalidArgument) << url;
  }
  options.url = "postgres://postgres@/x?host=/nowhere";
  EXPECT_EQ(refused(options), ErrorCode::StoreUnavailable);
  TempPostgres database;
  options = database.options();
  options.url.replace(options.url.find(database.database()), database.database().size(), "no_such_database");
  EXPECT_EQ(refused(options), ErrorCode::StoreNotFound);
}

TEST(PostgresServer, OnlyMigratesWhenAsked) {
  TempPostgres database;
  database.query("drop schema semel cascade");
  PgOptions options = database.options();
  EXPECT_EQ(refused(options), ErrorCode::SchemaTooOld);
  options.migrate = true;
  EXPECT_TRUE(open_postgres(options).ok());
  EXPECT_TRUE(open_postgres(options).ok()) << "nothing to do the second time";
}

// F3, X24: with the very connections that were there before.
TEST(PostgresServer, AnotherStoreAtTheSameAddressIsNotWritten) {
  TempPostgres database;
  const auto store = open_postgres(database.options()).value();
  Asker ask(*store);
  const auto lane = ask.lane();
  ASSERT_TRUE(ask.ask(ask.task(lane, "pay-1")).created);
  const std::string backend =
      "select pid from pg_stat_activity where datname = current_database() and application_name "
      "= 'semel writer'";
  const std::int32_t before = database.query(backend).i32(0, 0);
  database.query("drop schema semel cascade");
  migrate_postgres(database.options()).value();
  std::vector<Operation> task = {ask.task(lane, "pay-2")};
  Batch batch;
  batch.id = ask.fresh<BatchId>();
  batch.operations = {&task[0]};
  ASSERT_EQ(database.query(backend).i32(0, 0), before);
  for (int i = 0; i < 3; ++i) {
    batch.now = ask.now();
    EXPECT_EQ(store->apply(batch).kind, Applied::Kind::another_history) << i;
  }
  EXPECT_EQ(store->history(), 1u);
  EXPECT_EQ(database.query("select count(*) from semel.identity").i64(0, 0), 0);
  EXPECT_TRUE(ask.ask(ask.task(ask.lane(), "pay-3")).created);
  ask.expect_sound();
}

// F3: neither is a duplicate answered, nor a batch looked up, by what another one holds.
TEST(PostgresServer, AnotherStoreAtTheSameAddressAnswersNothing) {
  TempPostgres database;
  const auto store = open_postgres(database.options()).value();
  Asker ask(*store);
  const auto lane = ask.lane();
  std::vector<Operation> task = {ask.task(lane, "pay-1")};
  Batch first, looked;
  ASSERT_EQ(ask.apply(first, task).kind, Applied::Kind::committed);
  for (int i = 0; i < 3; ++i) {
    ask.run({ask.task(lane, "pay-1")});  // duplicates are only looked at from here on
  }
  database.query("update semel.meta set generation = generation + 1");
  looked.id = ask.fresh<BatchId>();
  looked.now = ask.now();
  core::Operation duplicate = ask.task(lane, "pay-1");
  looked.operations = {&duplicate};
  EXPECT_EQ(store->apply(looked).kind, Applied::Kind::another_history);
  first.recheck = true;
  EXPECT_EQ(store->apply(first).kind, Applied::Kind::another_history);
  EXPECT_FALSE(ask.ask(ask.task(lane, "pay-1")).created);
}

// X11
TEST(PostgresServer, ANewerSchemaIsRefusedIffItSaysSo) {
  TempPostgres database;
  database.query("update semel.meta set schema_version = 1000");
  EXPECT_TRUE(open_postgres(database.options()).ok()) << "expanded only: older binaries may go on";
  database.query("update semel.meta set min_binary = 1000");
  EXPECT_EQ(refused(database.options()), ErrorCode::SchemaTooNew);
  PgOptions migrating = database.options();
  migrating.migrate = true;
  EXPECT_EQ(refused(migrating), ErrorCode::SchemaTooNew);
  database.query("update semel.meta set schema_version = " + std::to_string(known_schema()) + ", min_binary = 1");
}

// F1: a, b and c are one chain, d follows c by redrive, e is what is left of a chain whose first run is gone.
TEST(PostgresMigration, RunsOfBeforeLearnTheirChain) {
  TempPostgres database;
  {
    auto store = open_postgres(database.options()).value();
    Asker ask(*store);
    for (const char* id : {"a", "b", "c", "d", "e"}) {
      core::TaskEnqueue run = ask.task(ask.lane(), id);
      run.kind = Kind::workflow;
      ask.ask(run);
    }
  }
  const auto link = [&](const std::string& from, const std::string& to, const std::string& close_reason) {
    database.query("update semel.execution set close_reason = " + close_reason +
                   ", next = (select id from semel.execution where identity = '" + to + "') where identity = '" + from +
                   "'");
    database.query("update semel.execution set previous = (select id from semel.execution where identity = '" + from +
                   "') where identity = '" + to + "'");
  };
  link("a", "b", "1");
  link("b", "c", "3");
  link("c", "d", "0");
  database.query("update semel.execution set next = null where identity = 'c'");
  database.query("update semel.execution set previous = gen_random_uuid() where identity = 'e'");
  database.query("alter table semel.run drop column chain");
  database.query("drop table semel.signal");
  database.query(
      "create table semel.signal (run uuid not null, name text collate \"C\" not null, dedupe text collate \"C\" not "
      "null, primary key (run, name, dedupe))");
  database.query(
      "insert into semel.signal select id, 'pay', 'click' from semel.execution where identity in ('a', 'b', 'd')");
  database.query(
      "insert into semel.signal select id, chr(31) || 'vote', 'u' from semel.execution where identity = 'c'");
  database.query(
      "alter table semel.meta drop column seen_system, drop column seen_timeline, drop column seen_table, "
      "drop column seen_generation, drop column turned_at, drop column turned_from");
  database.query("update semel.meta set schema_version = 3, min_binary = 2");
  PgOptions migrating = database.options();
  migrating.migrate = true;
  ASSERT_TRUE(open_postgres(migrating).ok());
  EXPECT_EQ(
      database
          .query("select string_agg(e.identity || ':' || f.identity, ' ' order by e.identity) from "
                 "semel.execution e join semel.run r on r.execution = e.id join semel.execution f on f.id = r.chain")
          .text(0, 0),
      "a:a b:a c:a d:d e:e");
  EXPECT_EQ(database
                .query("select string_agg(e.identity || ':' || replace(s.name, chr(31), '^') || ':' || s.dedupe, ' ' "
                       "order by e.identity, s.name) from semel.signal s join semel.execution e on e.id = s.chain")
                .text(0, 0),
            "a:^:u a:pay:click d:pay:click");
  EXPECT_EQ(database.query("select min_binary from semel.meta").i32(0, 0), 4);
}

// X23
TEST(PostgresServer, ADatabaseThatIsNotUtf8IsRefused) {
  TempPostgres database;
  const std::string name = database.database() + "_latin";
  database.query("create database " + name + " encoding 'LATIN1' template template0 locale 'C'");
  PgOptions options = database.options();
  options.url.replace(options.url.find(database.database()), database.database().size(), name);
  options.migrate = true;
  EXPECT_EQ(refused(options), ErrorCode::InvalidConfig);
  database.query("drop database " + name);
}

// X23, K6
TEST(PostgresServer, SettingsOfTheDatabaseChangeNothing) {
  TempPostgres database;
  const std::string alter = "alter database " + database.database() + " set ";
  const std::vector<std::pair<std::string, std::string>> odd = {{"timezone", "'Asia/Kathmandu'"},
                                                                {"datestyle", "'SQL, DMY'"},
                                                                {"search_path", "'nowhere'"},
                                                                {"synchronous_commit", "off"},
                                                                {"enable_seqscan", "on"},
                                                                {"default_transaction_isolation", "'serializable'"},
                                                                {"default_transaction_read_only", "on"},
                                                                {"bytea_output", "escape"},
                                                                {"statement_timeout", "100"}};
  const auto connection = database.connect();
  for (const auto& [name, value] : odd) {
    connection->queue_text(alter + name + " = " + value);
    connection->run();
  }
  const auto store = database.open();
  Asker ask(*store);
  const auto lane = ask.lane();
  EXPECT_TRUE(ask.ask(ask.task(lane, "pay-1")).created);
  PgOptions options = database.options();
  const auto writer = Connection::open(options, Role{"semel writer", std::chrono::milliseconds(100), false}).value();
  for (const auto& [name, value] : std::vector<std::pair<std::string, std::string>>{{"synchronous_commit", "on"},
                                                                                    {"timezone", "UTC"},
                                                                                    {"lock_timeout", "100ms"},
                                                                                    {"search_path", "pg_catalog"}}) {
    writer->queue_text("select current_setting('" + name + "')");
    EXPECT_EQ(writer->run()[0].text(0, 0), value);
  }
  for (const auto& [name, value] : odd) {
    connection->queue_text("alter database " + database.database() + " reset " + name);
    connection->run();
  }
}

// X17; also fsync=off
TEST(PostgresServer, AReplicaOrAServerThatMayLoseWorkIsRefused) {
  PrivatePostgres server;
  PgOptions options;
  options.url = server.url();
  options.migrate = true;
  server.start("-c fsync=off");
  EXPECT_EQ(refused(options), ErrorCode::InvalidConfig);
  options.unsafe = true;
  EXPECT_TRUE(open_postgres(options).ok());
  server.stop();
  server.become_replica();
  server.start();
  EXPECT_EQ(refused(options), ErrorCode::StoreReadOnly);
  options.migrate = false;
  EXPECT_EQ(refused(options), ErrorCode::StoreReadOnly);
}

// X14: everything that was acknowledged is there after the server was killed.
TEST(PostgresServer, KilledHardLosesNothingThatWasAcknowledged) {
  PrivatePostgres server;
  server.start();
  PgOptions options;
  options.url = server.url();
  options.migrate = true;
  options.reconnect_pause = std::chrono::milliseconds(1);
  const auto store = open_postgres(options).value();
  Asker ask(*store);
  const auto lane = ask.lane();
  constexpr int kTasks = 50;
  for (int i = 0; i < kTasks; ++i) ask.ask(ask.task(lane, "task-" + std::to_string(i)));
  server.kill_hard();
  std::vector<Operation> lost = {ask.task(lane, "while-away")};
  Batch away;
  EXPECT_NE(ask.apply(away, lost).kind, Applied::Kind::committed);
  const Applied refused = ask.apply(away, lost);
  EXPECT_EQ(refused.kind, Applied::Kind::unavailable);
  EXPECT_EQ(refused.error.code, ErrorCode::StoreUnavailable);
  server.start();
  Batch batch;
  std::vector<Operation> task = {ask.task(lane, "after")};
  while (ask.apply(batch, task).kind != Applied::Kind::committed) {
  }
  for (int i = 0; i < kTasks; ++i)
    EXPECT_TRUE(store->execution_find(core::kDefaultTenant, core::Space::task, "task-" + std::to_string(i)).value())
        << i;
  ask.expect_sound();
}

}  // namespace
}  // namespace semel::store::postgres
