// The store on a real server: one path end to end, time, hints, the inbox.
#include <gtest/gtest.h>

#include "store/postgres/postgres_store.h"
#include "store/postgres/statements.h"
#include "store/postgres/test_kit.h"
#include "store/snapshot_text.h"
#include "testing/temp_postgres.h"

namespace semel::store::postgres {
namespace {

using testing::TempPostgres;

class PostgresStoreTest : public ::testing::Test {
 protected:
  TempPostgres database_;
  std::unique_ptr<Store> store_ = database_.open();
  Asker ask_{*store_};
};

TEST_F(PostgresStoreTest, ATaskLivesFromEnqueueToSuccess) {
  const auto lane = ask_.lane();
  const auto session = ask_.session();
  const auto created = ask_.ask(ask_.task(lane, "pay-1"));
  EXPECT_TRUE(created.created);
  const auto again = ask_.ask(ask_.task(lane, "pay-1"));
  EXPECT_FALSE(again.created);
  EXPECT_EQ(again.execution, created.execution);
  const auto claimed = ask_.ask(ask_.claim(lane, session, 10));
  ASSERT_EQ(claimed.tasks.size(), 1u);
  EXPECT_EQ(claimed.tasks[0].payload.args, R"({"order":1})");
  EXPECT_EQ(claimed.tasks[0].execution.version, 2);
  EXPECT_EQ(ask_.ask(Asker::complete(claimed.tasks[0].execution)).status, Status::succeeded);
  const auto view = store_->execution_find(core::kDefaultTenant, core::Space::task, "pay-1").value();
  ASSERT_TRUE(view);
  EXPECT_EQ(view->execution.status, Status::succeeded);
  EXPECT_EQ(view->queue, "default");
  const Rows printed = database_.query("select status, task_id, result from semel.executions");
  EXPECT_EQ(printed.text(0, 0), "succeeded");
  EXPECT_EQ(printed.text(0, 1), "pay-1");
  EXPECT_EQ(printed.text(0, 2), R"({"ok":true})");
  ask_.expect_sound();
}

// A group that a binary of schema 1 wrote: its completion task lacks the field that came later.
TEST_F(PostgresStoreTest, AGroupOfTheFirstSchemaIsCompleted) {
  const auto lane = ask_.lane();
  core::GroupCreate create;
  create.group.id = ask_.fresh<GroupId>();
  create.group.total = 1;
  core::Execution& completion = create.group.completion;
  completion.id = ask_.fresh<ExecutionId>();
  completion.lane = lane;
  completion.name = "all-done";
  create.group.completion_payload = {completion.id, core::Encoding::json, "{}", ""};
  ask_.ask(create);
  std::string hex = database_.query("select encode(completion, 'hex') from semel.grp").text(0, 0);
  const std::size_t payload = 2 * ((4 + 16) + (4 + 1) + (4 + 2) + 4);  // execution, encoding, args, policy
  const std::string later = "0000000130";                              // parent_command
  ASSERT_EQ(hex.substr(hex.size() - payload - later.size(), later.size()), later);
  hex.erase(hex.size() - payload - later.size(), later.size());
  ASSERT_EQ(hex.substr(0, 10), "0000000132");
  hex[9] = '1';
  database_.query("update semel.grp set completion = decode('" + hex + "', 'hex')");
  auto member = ask_.task(lane);
  member.group = create.group.id;
  ask_.ask(member);
  const auto held = ask_.ask(ask_.claim(lane, ask_.session(), 1)).tasks;
  ASSERT_EQ(held.size(), 1u);
  ask_.ask(Asker::complete(held[0].execution));
  const auto view = store_->execution_get(core::kDefaultTenant, completion.id).value();
  ASSERT_TRUE(view);
  EXPECT_EQ(view->execution.name, "all-done");
  EXPECT_EQ(view->payload.args, "{}");
  ask_.expect_sound();
}

TEST_F(PostgresStoreTest, ClaimsComeInOrderOfPriorityDueTimeAndAge) {
  const auto lane = ask_.lane();
  std::vector<ExecutionId> wanted;
  std::vector<Operation> tasks;
  for (const int priority : {5, 5, 100, 1, 7}) {
    auto task = ask_.task(lane);
    task.priority = priority;
    tasks.push_back(task);
  }
  for (const std::size_t i : {3, 0, 1, 4, 2}) wanted.push_back(std::get<core::TaskEnqueue>(tasks[i]).id);
  ask_.run(tasks);
  const auto claimed = ask_.ask(ask_.claim(lane, ask_.session(), 10));
  std::vector<ExecutionId> got;
  for (const auto& task : claimed.tasks) got.push_back(task.execution.id);
  EXPECT_EQ(got, wanted);
}

TEST_F(PostgresStoreTest, AnIdThatIsNotNewAmongNewOnesIsFound) {
  const auto lane = ask_.lane();
  const auto first = ask_.ask(ask_.task(lane, "old"));
  ASSERT_TRUE(first.created);
  for (int round = 0; round < 3; ++round) {
    const std::string mark = std::to_string(round);
    const auto answers = ask_.run({ask_.task(lane, "a" + mark), ask_.task(lane, "old"), ask_.task(lane, "b" + mark)});
    EXPECT_TRUE(std::get<core::EnqueueAnswer>(answers[0]).created);
    EXPECT_FALSE(std::get<core::EnqueueAnswer>(answers[1]).created);
    EXPECT_EQ(std::get<core::EnqueueAnswer>(answers[1]).execution, first.execution);
    EXPECT_TRUE(std::get<core::EnqueueAnswer>(answers[2]).created);
  }
  ask_.expect_sound();
}

TEST_F(PostgresStoreTest, DuplicatesAmongDuplicatesAreOnlyLookedAt) {
  const auto lane = ask_.lane();
  ask_.ask(ask_.task(lane, "twice"));
  ask_.ask(ask_.task(lane, "twice"));  // from here on duplicates are expected
  const auto locked = [&] { return database_.query("select xmax::text from semel.identity").text(0, 0); };
  const std::string before = locked();
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(ask_.ask(ask_.task(lane, "twice")).created);
  EXPECT_EQ(locked(), before) << "no row was locked";
  // A request that changes something is not decided by a look.
  const auto known = ask_.ask(ask_.task(lane, "twice"));
  ask_.ask(core::ExecutionCancel{core::kDefaultTenant, known.execution});
  const auto next = ask_.ask(ask_.task(lane, "twice"));
  EXPECT_TRUE(next.created);
  EXPECT_EQ(ask_.ask(ask_.task(lane, "twice")).execution, next.execution);
  EXPECT_TRUE(ask_.ask(ask_.task(lane, "new")).created);
  ask_.expect_sound();
}

// A hint waits for no disk; what is acknowledged afterwards on the same connection does.
TEST_F(PostgresStoreTest, AHintLeavesTheNextCommitDurable) {
  PgOptions options = database_.options();
  const auto connection = Connection::open(options, Role{"semel writer", options.writer_lock_timeout, false}).value();
  connection->prepare(writer_statements()).value();
  connection->queue_text("select 1");
  connection->run_then(statements::notify, Params().bytes(std::string("l1")).bytes(std::string("any")));
  connection->queue_text("begin");
  const std::size_t at = connection->queue_text("select current_setting('synchronous_commit')");
  connection->queue_text("commit");
  EXPECT_EQ(connection->run()[at].text(0, 0), "on");
}

TEST_F(PostgresStoreTest, ABatchThatOnlyAnswersWritesNoMark) {
  const auto lane = ask_.lane();
  ask_.ask(ask_.task(lane, "once"));
  const auto marks = [&] { return database_.query("select count(*) from semel.batch_mark").i64(0, 0); };
  const auto before = marks();
  EXPECT_FALSE(ask_.ask(ask_.task(lane, "once")).created);
  EXPECT_EQ(marks(), before);
  // Its locks are given back although nobody waited for that.
  database_.query("update semel.identity set revision = revision where key = 'once'");
}

// K3, C10
TEST_F(PostgresStoreTest, TimeIsTheDatabasesAndNeverDecreases) {
  Instant last = store_->clock().now();
  for (int i = 0; i < 1000; ++i) {
    const Instant next = store_->clock().now();
    ASSERT_GE(next, last);
    last = next;
  }
  const Rows rows = database_.query("select (extract(epoch from clock_timestamp()) * 1000000)::bigint");
  const Duration apart = store_->clock().now() - rows.instant(0, 0);
  EXPECT_LT(std::chrono::abs(apart), std::chrono::seconds(2));
}

// X22, D22
TEST_F(PostgresStoreTest, AnotherProcessHearsOfNewWorkAndOfEnds) {
  const auto other = database_.open();
  ASSERT_TRUE(other->hears_hints());
  EXPECT_TRUE(other->wait_hints(std::chrono::seconds(5)).all);  // connected: anything may have been missed before
  const auto sender = database_.open();                         // looks for listeners when it connects
  Asker ask(*sender);
  const auto lane = ask.lane();
  ask.ask(ask.task(lane, "a"));
  Store::Hints heard;
  for (int i = 0; i < 50 && heard.wakes.lanes.empty(); ++i) heard = other->wait_hints(std::chrono::milliseconds(100));
  ASSERT_EQ(heard.wakes.lanes, std::vector{lane});
  const auto claimed = ask.ask(ask.claim(lane, ask.session(), 1));
  ask.ask(Asker::complete(claimed.tasks.at(0).execution));
  for (int i = 0; i < 50 && heard.wakes.ended.empty(); ++i) heard = other->wait_hints(std::chrono::milliseconds(100));
  EXPECT_EQ(heard.wakes.ended, std::vector{claimed.tasks[0].execution.id});
}

// Offers go from a worker's process to all others; the word of a claim made by one of them comes back to that process
// alone: directly on the same machine, else in the transaction that makes the claim.
TEST_F(PostgresStoreTest, AnOfferIsHeardAndTheClaimMadeByItIsToldWithItsTasks) {
  const auto listen = [](Store& store) { EXPECT_TRUE(store.wait_hints(std::chrono::seconds(5)).all); };
  const auto hear = [](Store& store, auto what) {
    Wakes heard;
    for (int i = 0; i < 50 && (heard.*what).empty(); ++i)
      heard = store.wait_hints(std::chrono::milliseconds(100)).wakes;
    return heard.*what;
  };
  const auto worker = database_.open(), enqueuer = database_.open(), bystander = database_.open();
  for (Store* one : {worker.get(), enqueuer.get(), bystander.get()}) listen(*one);
  Asker at_worker(*worker), at_enqueuer(*enqueuer);
  const auto lane = at_worker.lane();
  core::TaskClaim offer = at_worker.claim(lane, at_worker.session(), 3);
  offer.worker = "a;b,c \"d\"";
  worker->offer(offer);
  worker->wait_hints(std::chrono::milliseconds(10));
  const auto heard = hear(*enqueuer, &Wakes::offers);
  ASSERT_EQ(heard.size(), 1u);
  EXPECT_EQ(heard[0].id, offer.id);
  EXPECT_EQ(heard[0].session, offer.session);
  EXPECT_EQ(heard[0].worker, offer.worker);
  EXPECT_EQ(heard[0].lease, offer.lease);
  EXPECT_EQ(heard[0].takes, core::Takes::fresh);
  ASSERT_EQ(heard[0].lanes.size(), 1u);
  EXPECT_EQ(heard[0].lanes[0].lane, lane);
  EXPECT_EQ(heard[0].lanes[0].limit, 3);
  hear(*bystander, &Wakes::offers);

  const auto task = at_enqueuer.task(lane, "handed");
  at_enqueuer.run({task, heard[0]});
  const auto handed = hear(*worker, &Wakes::handed);
  ASSERT_EQ(handed.size(), 1u);
  EXPECT_EQ(handed[0].claim, offer.id);
  EXPECT_EQ(handed[0].session, offer.session);
  ASSERT_EQ(handed[0].tasks.size(), 1u);
  const auto row = worker->execution_get(core::kDefaultTenant, task.id)->value();
  EXPECT_EQ(to_line(handed[0].tasks[0].execution), to_line(row.execution));
  EXPECT_EQ(handed[0].tasks[0].payload.args, task.args);
  EXPECT_EQ(row.execution.status, Status::claimed);
  const auto nothing = bystander->wait_hints(std::chrono::milliseconds(100)).wakes;
  EXPECT_TRUE(nothing.handed.empty());
  EXPECT_EQ(at_enqueuer.retries, 0);

  // The same offer once more, by one that has not heard of the first: one round more, nothing taken.
  const auto late = at_enqueuer.task(lane, "late");
  at_enqueuer.run({late, heard[0]});
  EXPECT_EQ(worker->execution_get(core::kDefaultTenant, late.id)->value().execution.status, Status::queued);
  // What is too large for a hint is told without its tasks.
  core::TaskClaim next = heard[0];
  next.id = ClaimId::parse("00000000-0000-7000-8000-000000000001").value();
  auto large = at_enqueuer.task(lane, "large");
  large.args = "\"" + std::string(9000, 'x') + "\"";
  large.fingerprint = core::fingerprint_of(large.name, large.args).value();
  at_enqueuer.run({large, next});
  const auto told = hear(*worker, &Wakes::handed);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].claim, next.id);
  EXPECT_TRUE(told[0].tasks.empty());
  ask_.expect_sound();
}

TEST_F(PostgresStoreTest, AClaimForASessionThatEndedIsNotMade) {
  const auto lane = ask_.lane();
  const auto session = ask_.session();
  ask_.ask(core::SessionClose{session});
  core::TaskClaim offer = ask_.claim(lane, session, 3);
  offer.takes = core::Takes::fresh;
  offer.tell = "1";
  const auto task = ask_.task(lane, "kept");
  ask_.run({task, offer});
  EXPECT_EQ(store_->execution_get(core::kDefaultTenant, task.id)->value().execution.status, Status::queued);
  EXPECT_TRUE(store_->session_leases(session).value().empty());
  ask_.expect_sound();
}

// Who may connect but not read the store's tables cannot guess where it speaks.
TEST_F(PostgresStoreTest, TheChannelOfHintsIsASecretOfTheStore) {
  const auto name = [&] { return database_.query("select 'semel_' || channel::text from semel.meta").text(0, 0); };
  EXPECT_EQ(name().size(), std::string("semel_").size() + 36);
  const TempPostgres other;
  const auto second = other.open();
  EXPECT_NE(other.query("select 'semel_' || channel::text from semel.meta").text(0, 0), name());
}

// C19
TEST_F(PostgresStoreTest, AStrangersLongTransactionIsAnAlarm) {
  PgOptions options = database_.options();
  options.long_transaction = Duration{0};
  const auto watching = open_postgres(options).value();
  const auto stranger = database_.connect();
  const auto alarms = [&] { return watching->alarms().value(); };
  EXPECT_TRUE(alarms().empty());
  stranger->queue_text("begin isolation level repeatable read");
  stranger->queue_text("select pg_backend_pid()::text from semel.meta");
  const std::string pid = stranger->run()[1].text(0, 0);
  ASSERT_EQ(alarms().size(), 1u);
  EXPECT_NE(alarms()[0].find("pid " + pid), std::string::npos) << alarms()[0];
  EXPECT_TRUE(store_->alarms().value().empty()) << "it has not lasted five minutes";
  stranger->queue_text("rollback");
  stranger->run();
  EXPECT_TRUE(alarms().empty());
}

TEST_F(PostgresStoreTest, AnInterruptedWaitForHintsReturns) {
  store_->interrupt_hints();
  store_->wait_hints(std::chrono::seconds(60));
  store_->interrupt_hints();
  store_->wait_hints(std::chrono::seconds(60));
}

TEST_F(PostgresStoreTest, ATransactionalEnqueueExistsIffTheCallerCommits) {
  const auto caller = database_.connect();
  const auto enqueue = [&](const char* end) {
    caller->queue_text("begin");
    caller->queue_text("create table if not exists public.orders (id int)");
    caller->queue_text("insert into public.orders values (1)");
    caller->queue_text(
        R"(select semel.enqueue('charge', '{"b": 1.0,  "a":2}', task_id => 'order-1', options => '{"priority": 5}'))");
    caller->queue_text(end);
    caller->run();
  };
  enqueue("rollback");
  EXPECT_TRUE(store_->inbox_list(10).value().empty());
  enqueue("commit");
  const auto waiting = store_->inbox_list(10).value();
  ASSERT_EQ(waiting.size(), 1u);
  EXPECT_EQ(waiting[0].tenant, "default");
  EXPECT_EQ(waiting[0].request,
            R"({"name":"charge","queue":"default","args":{"b": 1.0,  "a":2},"task_id":"order-1","priority":5})");

  core::InboxFeed feed;
  feed.inbox = waiting[0].id;
  feed.task = ask_.task(ask_.lane(), "order-1");
  EXPECT_TRUE(ask_.ask(feed).fed);
  EXPECT_FALSE(ask_.ask(feed).fed) << "somebody fed it before";
  EXPECT_TRUE(store_->inbox_list(10).value().empty());
  EXPECT_TRUE(store_->execution_find(core::kDefaultTenant, core::Space::task, "order-1").value());
  ask_.expect_sound();
}

TEST_F(PostgresStoreTest, ARefusedInboxRowIsKeptWithItsErrorOutOfTheFeed) {
  database_.query("select semel.enqueue('charge', 'null', queue => 'q')");
  const auto waiting = store_->inbox_list(10).value();
  ASSERT_EQ(waiting.size(), 1u);
  core::InboxFeed feed;
  feed.inbox = waiting[0].id;
  feed.error = R"({"error":"InvalidArgument"})";
  EXPECT_FALSE(ask_.ask(feed).fed);
  EXPECT_TRUE(store_->inbox_list(10).value().empty());
  EXPECT_EQ(database_.query("select error from semel.inbox").text(0, 0), feed.error);
}

TEST_F(PostgresStoreTest, SemelEnqueueRefusesWhatItCannotMean) {
  const auto refused = [&](const std::string& call) {
    const auto caller = database_.connect();
    try {
      caller->queue_text("select semel.enqueue(" + call + ")");
      caller->run();
    } catch (const PgError& error) {
      return error.sqlstate;
    }
    return std::string("accepted");
  };
  EXPECT_EQ(refused("''"), "22023");
  EXPECT_EQ(refused(R"('charge', options => '[]')"), "22023");
  EXPECT_EQ(refused(R"('charge', options => '{"task_id": "x"}')"), "22023");
  EXPECT_EQ(refused(R"('charge', '{broken')"), "22P02");
  EXPECT_TRUE(store_->inbox_list(10).value().empty());
}

}  // namespace
}  // namespace semel::store::postgres
