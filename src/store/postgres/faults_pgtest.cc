// Connections that break, locks of strangers, calls that hang.
#include <gtest/gtest.h>

#include <thread>

#include "store/postgres/postgres_store.h"
#include "store/postgres/test_kit.h"
#include "testing/pg_proxy.h"
#include "testing/temp_postgres.h"

namespace semel::store::postgres {
namespace {

using testing::PgProxy;
using testing::TempPostgres;
using Kind = Applied::Kind;

constexpr const char* kTerminateWriter =
    "select count(pg_terminate_backend(pid)) from pg_stat_activity where datname = current_database() and "
    "application_name = "
    "'semel writer'";

class PostgresFaults : public ::testing::Test {
 protected:
  TempPostgres database_;
};

// X14, X19
TEST_F(PostgresFaults, ATerminatedBackendCostsARetryAndNothingElse) {
  const auto store = database_.open();
  Asker ask(*store);
  const auto lane = ask.lane();
  for (int i = 0; i < 5; ++i) {
    ASSERT_EQ(database_.query(kTerminateWriter).i64(0, 0), 1);
    EXPECT_TRUE(ask.ask(ask.task(lane, "task-" + std::to_string(i))).created);
  }
  EXPECT_GE(ask.retries, 5);
  EXPECT_EQ(database_.query("select count(*) from semel.execution").i64(0, 0), 5);
  ask.expect_sound();
}

TEST_F(PostgresFaults, AReaderThatLostItsConnectionAsksAgain) {
  const auto store = database_.open();
  ASSERT_TRUE(store->tenant_list().ok());
  database_.query("select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'semel reader'");
  EXPECT_TRUE(store->tenant_list().ok());
}

// ---- the connection dies around COMMIT ----

bool arrives(PgProxy::Fault fault) {
  return fault == PgProxy::Fault::cut_after || fault == PgProxy::Fault::cut_answer ||
         fault == PgProxy::Fault::pooler_after;
}

std::string name_of(PgProxy::Fault fault) {
  switch (fault) {
    case PgProxy::Fault::cut_before:
      return "BeforeCommit";
    case PgProxy::Fault::cut_inside:
      return "InsideOfCommit";
    case PgProxy::Fault::cut_after:
      return "AfterCommit";
    case PgProxy::Fault::cut_answer:
      return "InsideOfTheAnswer";
    case PgProxy::Fault::pooler_before:
      return "PoolerBeforeCommit";
    case PgProxy::Fault::pooler_after:
      return "PoolerAfterCommit";
    default:
      return "Other";
  }
}

class UnknownCommit : public PostgresFaults, public ::testing::WithParamInterface<PgProxy::Fault> {
 protected:
  std::string socket_path() {
    const Rows rows = database_.query(
        "select split_part(current_setting('unix_socket_directories'), ',', 1), current_setting('port')");
    return rows.text(0, 0) + "/.s.PGSQL." + rows.text(0, 1);
  }
  PgOptions through(const PgProxy& proxy) {
    PgOptions options = database_.options();
    options.url = "postgres://postgres@/" + database_.database() + "?host=" + proxy.folder() + "&port=5432";
    options.hints = false;
    return options;
  }
  void look_up(PgProxy& proxy, Asker& ask, std::vector<Operation> tasks);
};

// D4, W3, F5: whether COMMIT arrived or not, the caller learns the truth by asking again.
TEST_P(UnknownCommit, IsLookedUpByTheMark) {
  PgProxy proxy(socket_path());
  const auto store = open_postgres(through(proxy)).value();
  Asker ask(*store);
  const auto lane = ask.lane();
  look_up(proxy, ask, {ask.task(lane, "pay-1"), ask.task(lane, "pay-2"), ask.task(lane)});
}

void UnknownCommit::look_up(PgProxy& proxy, Asker& ask, std::vector<Operation> tasks) {
  Batch batch;
  proxy.arm(GetParam());
  ASSERT_EQ(ask.apply(batch, tasks).kind, Kind::unknown);
  ASSERT_TRUE(proxy.struck());
  const bool arrived = arrives(GetParam());
  EXPECT_EQ(database_.query("select count(*) from semel.execution").i64(0, 0), arrived ? 3 : 0);

  batch.recheck = true;
  Applied again = ask.apply(batch, tasks);
  for (int i = 0; i < 100 && again.kind != Kind::committed; ++i) again = ask.apply(batch, tasks);
  ASSERT_EQ(again.kind, Kind::committed) << again.error.message;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const auto& answer = std::get<core::EnqueueAnswer>(batch.answers[i]);
    EXPECT_TRUE(answer.created) << i;
    EXPECT_EQ(answer.execution, std::get<core::TaskEnqueue>(tasks[i]).id) << i;
  }
  EXPECT_EQ(database_.query("select count(*) from semel.execution").i64(0, 0), 3);
  ask.expect_sound();
}

// D4: a small batch of new ids has no COMMIT: its end commits it. Answers to all its statements are not enough.
TEST_F(UnknownCommit, AnAnswerWithoutItsEndDoesNotTellThatAnythingIsDurable) {
  PgProxy proxy(socket_path());
  const auto store = open_postgres(through(proxy)).value();
  Asker ask(*store);
  const auto lane = ask.lane();
  std::vector<Operation> tasks = {ask.task(lane, "pay-1"), ask.task(lane, "pay-2")};
  Batch batch;
  proxy.arm(PgProxy::Fault::cut_end);
  ASSERT_EQ(ask.apply(batch, tasks).kind, Kind::unknown);
  ASSERT_TRUE(proxy.struck());
  batch.recheck = true;
  ASSERT_EQ(ask.apply(batch, tasks).kind, Kind::committed);
  EXPECT_EQ(database_.query("select count(*) from semel.execution").i64(0, 0), 2);
  ask.expect_sound();
}

// D4: also a small batch that is sent without BEGIN and COMMIT.
TEST_F(PostgresFaults, EveryBatchThatWritesLeavesItsMark) {
  const auto store = database_.open();
  Asker ask(*store);
  const auto lane = ask.lane();
  const auto marks = [&] { return database_.query("select count(*) from semel.batch_mark").i64(0, 0); };
  const auto before = marks();
  ask.run({ask.task(lane, "pay-1"), ask.task(lane, "pay-2")});
  EXPECT_EQ(marks(), before + 1);
  ask.run({ask.task(lane, "pay-1"), ask.task(lane, "pay-2")});
  EXPECT_EQ(marks(), before + 1) << "nothing was written";
}

// D4, W3: the first run committed, and others have gone on with what it made.
TEST_F(PostgresFaults, ASecondRunFindsItsTasksWhateverBecameOfThem) {
  const auto store = database_.open();
  Asker ask(*store);
  const auto lane = ask.lane();
  const auto session = ask.session();
  std::vector<Operation> tasks = {ask.task(lane, "pay-1"), ask.task(lane, "pay-2")};
  Batch batch;
  batch.id = ask.fresh<BatchId>();
  ASSERT_EQ(ask.apply(batch, tasks).kind, Kind::committed);
  const auto claimed = std::get<core::ClaimAnswer>(ask.run({ask.claim(lane, session, 1)})[0]);
  ASSERT_EQ(claimed.tasks.size(), 1u);
  core::TaskFail fail;
  fail.execution = claimed.tasks[0].execution.id;
  fail.version = claimed.tasks[0].execution.version;
  fail.retryable = false;
  ask.run({fail});
  batch.recheck = true;
  ASSERT_EQ(ask.apply(batch, tasks).kind, Kind::committed);
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const auto& answer = std::get<core::EnqueueAnswer>(batch.answers[i]);
    EXPECT_TRUE(answer.created) << i;
    EXPECT_EQ(answer.execution, std::get<core::TaskEnqueue>(tasks[i]).id) << i;
  }
  EXPECT_EQ(database_.query("select count(*) from semel.execution").i64(0, 0), 2)
      << "a task that failed is not followed by another one of the same call";
  ask.expect_sound();
}

TEST_F(PostgresFaults, WhatFailsWhenATransactionEndsIsNotAcknowledged) {
  const auto store = database_.open();
  Asker ask(*store);
  const auto lane = ask.lane();
  database_.query(
      "create function public.refuse() returns trigger language plpgsql as 'begin raise exception ''no''; end'");
  database_.query(
      "create constraint trigger late after insert on semel.execution deferrable initially deferred for each row "
      "execute function public.refuse()");
  Batch batch;
  std::vector<Operation> tasks = {ask.task(lane, "pay-1")};
  const Applied refused = ask.apply(batch, tasks);
  EXPECT_EQ(refused.kind, Kind::halve) << refused.error.message;
  EXPECT_EQ(database_.query("select count(*) from semel.execution").i64(0, 0), 0);
  database_.query("drop trigger late on semel.execution");
  EXPECT_EQ(ask.apply(batch, tasks).kind, Kind::committed);
  EXPECT_EQ(database_.query("select count(*) from semel.execution").i64(0, 0), 1);
  ask.expect_sound();
}

TEST_P(UnknownCommit, OfAClaimHandsOutTheSameTasks) {
  PgProxy proxy(socket_path());
  const auto store = open_postgres(through(proxy)).value();
  Asker ask(*store);
  const auto lane = ask.lane();
  const auto session = ask.session();
  ask.run({ask.task(lane), ask.task(lane), ask.task(lane)});
  std::vector<Operation> claim = {ask.claim(lane, session, 2)};
  Batch batch;
  proxy.arm(GetParam());
  ASSERT_EQ(ask.apply(batch, claim).kind, Kind::unknown);
  // A claim passes over rows that others hold, here those that the server has not taken from the first run yet.
  const std::int64_t left = arrives(GetParam()) ? 1 : 3;
  const auto free_rows = [&] {
    return database_.query("with free as (select 1 from semel.ready for update skip locked) select count(*) from free")
        .i64(0, 0);
  };
  for (int i = 0; i < 1000 && free_rows() != left; ++i) std::this_thread::yield();
  ASSERT_EQ(free_rows(), left);
  batch.recheck = true;
  Applied again = ask.apply(batch, claim);
  for (int i = 0; i < 100 && again.kind != Kind::committed; ++i) again = ask.apply(batch, claim);
  ASSERT_EQ(again.kind, Kind::committed) << again.error.message;
  EXPECT_EQ(std::get<core::ClaimAnswer>(batch.answers[0]).tasks.size(), 2u);
  EXPECT_EQ(database_.query("select count(*) from semel.execution where status = 1").i64(0, 0), 2);
  ask.expect_sound();
}

INSTANTIATE_TEST_SUITE_P(Cut, UnknownCommit,
                         ::testing::Values(PgProxy::Fault::cut_before, PgProxy::Fault::cut_inside,
                                           PgProxy::Fault::cut_after, PgProxy::Fault::cut_answer,
                                           PgProxy::Fault::pooler_before, PgProxy::Fault::pooler_after),
                         [](const auto& info) { return name_of(info.param); });

// D4, F5: what commits lay on the way while its sender had given up and asked again.
TEST_F(UnknownCommit, OfACommitThatComesLate) {
  PgProxy proxy(socket_path());
  const auto store = open_postgres(through(proxy)).value();
  Asker ask(*store);
  const auto lane = ask.lane();
  for (int round = 0; round < 5; ++round) {
    const std::string id = "pay-" + std::to_string(round);
    std::vector<Operation> tasks = {ask.task(lane, id), ask.task(lane)};
    Batch batch;
    proxy.arm(PgProxy::Fault::late);
    Applied applied = ask.apply(batch, tasks);
    ASSERT_EQ(applied.kind, Kind::unknown) << applied.error.message;
    batch.recheck = true;
    for (int i = 0; i < 1000 && applied.kind != Kind::committed; ++i) applied = ask.apply(batch, tasks);
    ASSERT_EQ(applied.kind, Kind::committed) << applied.error.message;
    for (std::size_t i = 0; i < tasks.size(); ++i)
      EXPECT_TRUE(std::get<core::EnqueueAnswer>(batch.answers[i]).created) << i;
  }
  // The next write waits for whatever is still on its way.
  EXPECT_TRUE(ask.ask(ask.task(lane, "last")).created);
  EXPECT_EQ(database_.query("select count(*) from semel.execution").i64(0, 0), 11);
  ask.expect_sound();
}

// F14: an old binary must not write for long on what a newer one has migrated, and says why it does not.
TEST_F(PostgresFaults, ARaisedMinBinaryIsNoticedUnderLoad) {
  const auto store = database_.open();
  Asker ask(*store);
  const auto lane = ask.lane();
  const auto min_binary = [&](const std::string& to) { database_.query("update semel.meta set min_binary = " + to); };
  min_binary("999");
  Applied applied;
  const auto enqueue_one = [&] {
    Batch batch;
    std::vector<Operation> one = {ask.task(lane)};
    applied = ask.apply(batch, one);
  };
  for (int i = 0; i < 20'000 && applied.kind == Kind::committed; ++i) {
    enqueue_one();
  }
  for (int i = 0; i < 3; ++i) {  // while the next attempt to connect is not due, too
    EXPECT_EQ(applied.kind, Kind::unavailable);
    EXPECT_EQ(applied.error.code, ErrorCode::SchemaTooNew) << applied.error.message;
    enqueue_one();
  }
  min_binary("2");
  for (int i = 0; i < 100'000'000 && applied.kind != Kind::committed; ++i) {
    enqueue_one();
  }
  EXPECT_EQ(applied.kind, Kind::committed) << "its neighbour was rolled back";
}

// X20
TEST_F(UnknownCommit, AServerThatSaysNothingIsGivenUp) {
  PgProxy proxy(socket_path());
  PgOptions options = through(proxy);
  options.call_timeout = std::chrono::seconds(2);
  const auto store = open_postgres(options).value();
  Asker ask(*store);
  const auto lane = ask.lane();
  proxy.arm(PgProxy::Fault::stall);
  std::vector<Operation> task = {ask.task(lane, "pay-1")};
  Batch batch;
  EXPECT_EQ(ask.apply(batch, task).kind, Kind::unknown) << "it travelled with its COMMIT";
  EXPECT_TRUE(ask.ask(ask.task(lane, "pay-2")).created);
}

// A first run that is still open on the server: its end cannot be told yet.
TEST_F(PostgresFaults, AnOpenFirstRunKeepsTheOutcomeUnknown) {
  const auto store = database_.open();
  Asker ask(*store);
  const auto lane = ask.lane();
  Batch batch;
  batch.id = ask.fresh<BatchId>();
  batch.recheck = true;
  const auto first = database_.connect();
  first->queue_text("begin");
  first->queue_text("insert into semel.batch_mark values ($1::uuid, 0)", Params().bytes(batch.id));
  first->run();
  std::vector<Operation> task = {ask.task(lane, "pay-1")};
  EXPECT_EQ(ask.apply(batch, task).kind, Kind::unknown);
  first->queue_text("rollback");
  first->run();
  EXPECT_EQ(ask.apply(batch, task).kind, Kind::committed);
  EXPECT_TRUE(std::get<core::EnqueueAnswer>(batch.answers[0]).created);
}

// ---- locks ----

TEST_F(PostgresFaults, AStrangersLockDelaysOnlyTheSlowLane) {
  const auto store = database_.open();
  Asker ask(*store);
  const auto lane = ask.lane();
  const auto created = ask.ask(ask.task(lane, "held"));
  const auto stranger = database_.connect();
  stranger->queue_text("begin");
  stranger->queue_text("select 1 from semel.identity where key = 'held' for update");
  stranger->run();

  std::vector<Operation> duplicate = {ask.task(lane, "held")};
  Batch batch;
  ASSERT_EQ(ask.apply(batch, duplicate).kind, Kind::locked);
  EXPECT_TRUE(ask.ask(ask.task(lane, "free")).created) << "others are not held up";

  Batch slow;
  Applied applied;
  std::thread slow_lane([&] { applied = ask.apply(slow, duplicate, store->slow_lane()); });
  const std::string waiting =
      "select count(*) from pg_stat_activity where application_name = 'semel slow lane' and wait_event_type = 'Lock'";
  for (int i = 0; i < 10000 && database_.query(waiting).i64(0, 0) == 0; ++i) {
  }
  stranger->queue_text("commit");
  stranger->run();
  slow_lane.join();
  ASSERT_EQ(applied.kind, Kind::committed) << applied.error.message;
  EXPECT_EQ(std::get<core::EnqueueAnswer>(slow.answers[0]).execution, created.execution);
}

// One operation that cannot be stored fails alone; the batch left nothing behind.
TEST_F(PostgresFaults, AnOperationThatRaisesHalvesTheBatch) {
  const auto store = database_.open();
  Asker ask(*store);
  const auto lane = ask.lane();
  auto broken = ask.task(lane, "b");
  broken.name = std::string("bad \xff utf8");
  std::vector<Operation> both = {ask.task(lane, "a"), broken};
  Batch batch;
  EXPECT_EQ(ask.apply(batch, both).kind, Kind::halve);
  EXPECT_EQ(database_.query("select count(*) from semel.identity").i64(0, 0), 0);
  EXPECT_TRUE(ask.ask(ask.task(lane, "a")).created);
}

}  // namespace
}  // namespace semel::store::postgres
