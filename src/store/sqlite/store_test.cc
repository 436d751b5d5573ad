// What only the SQLite store does: its file, its statements, its plan. What every store does is in store/conformance.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "store/sqlite/connection.h"
#include "store/sqlite/migrate.h"
#include "store/sqlite/row_codec.h"
#include "store/sqlite/test_kit.h"

namespace semel::store::sqlite {
namespace {

TEST(SqliteStore, ATaskLivesThroughEnqueueClaimCompleteAndReopen) {
  const SqliteOptions options = testing::temp_sqlite_options();
  ExecutionId id;
  {
    Harness h(options);
    id = h.enqueue("order-1");
    const auto claimed = h.claim(10);
    ASSERT_EQ(claimed.size(), 1u);
    EXPECT_EQ(claimed[0].execution.id, id);
    EXPECT_EQ(claimed[0].execution.version, 2);
    EXPECT_EQ(claimed[0].payload.args, "{}");
    EXPECT_EQ(h.complete(claimed[0].execution, "42").status, Status::succeeded);
    EXPECT_TRUE(h.verify().empty());
  }
  Harness again(options);
  const auto found = again.store().execution_find(core::kDefaultTenant, core::Space::task, "order-1").value();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->execution.id, id);
  EXPECT_EQ(found->execution.status, Status::succeeded);
  EXPECT_EQ(found->execution.result, "42");
  EXPECT_EQ(found->queue, "default");
}

TEST(SqliteStore, ADuplicateIsAnsweredWithTheFirstExecution) {
  Harness h(testing::temp_sqlite_options());
  const ExecutionId first = h.enqueue("order-1");
  core::TaskEnqueue again = h.task("order-1");
  const auto answer = h.apply<core::EnqueueAnswer>(again);
  EXPECT_EQ(answer.execution, first);
  EXPECT_FALSE(answer.created);
  EXPECT_TRUE(h.verify().empty());
}

// X3
TEST(SqliteStore, ManyReadersDoNotDisturbTheWriter) {
  Harness h(testing::temp_sqlite_options());
  std::atomic<bool> stop{false};
  std::atomic<int> reads{0};
  std::vector<std::thread> readers;
  for (int i = 0; i < 6; ++i) {
    readers.emplace_back([&] {
      while (!stop) {
        ASSERT_TRUE(h.store().execution_list({}).ok());
        ASSERT_TRUE(h.store().ready_lanes().ok());
        ++reads;
      }
    });
  }
  for (int i = 0; i < 300 || reads < 20; ++i) h.enqueue("id-" + std::to_string(i));
  stop = true;
  for (auto& reader : readers) reader.join();
  EXPECT_TRUE(h.verify().empty());
}

TEST(SqliteStore, EveryStatementPrepares) {
  const SqliteOptions options = testing::temp_sqlite_options();
  Harness h(options);
  Connection db(options.path, Access::read_only, "");
  for (const auto& [name, text] : all_statements()) {
    EXPECT_NO_THROW(db.prepared(name)) << name;
  }
  EXPECT_EQ(db.prepared("execution_get").column_count(), kExecutionColumns);
  EXPECT_EQ(db.prepared("payload_get").column_count(), kPayloadColumns);
}

// The caller's rows and its tasks are one transaction.
TEST(SqliteStore, WhatTheCallerWritesAndEnqueuesIsOneTransaction) {
  const SqliteOptions options = testing::temp_sqlite_options();
  Harness h(options);
  const auto sql = [](void* connection, const char* text) {
    EXPECT_EQ(sqlite3_exec(static_cast<sqlite3*>(connection), text, nullptr, nullptr, nullptr), SQLITE_OK);
  };
  core::EnqueueWithin within;
  within.tasks = {h.task("a"), h.task("b")};
  within.function = [&](void* connection) -> Result<void> {
    sql(connection, "CREATE TABLE orders (id INTEGER); INSERT INTO orders VALUES (1)");
    return {};
  };
  EXPECT_EQ(h.apply<core::EnqueueWithinAnswer>(within).tasks.size(), 2u);

  within.tasks = {h.task("c")};
  within.function = [&](void* connection) -> Result<void> {
    sql(connection, "INSERT INTO orders VALUES (2)");
    return make_error(ErrorCode::InvalidArgument, "no");
  };
  Batch batch;
  EXPECT_EQ(h.try_apply({core::Operation(within)}, batch).kind, Applied::Kind::committed);
  EXPECT_TRUE(std::holds_alternative<Error>(batch.answers[0]));
  EXPECT_FALSE(h.store().execution_find(core::kDefaultTenant, core::Space::task, "c").value());
  Connection db(options.path, Access::read_only, "");
  EXPECT_EQ(db.integer("SELECT count(*) FROM orders"), 1);
  EXPECT_TRUE(h.verify().empty());
}

// No planner statistics exist, so the plan cannot change with the data: what it is now, it stays.
TEST(SqliteStore, HotStatementsUseTheirKeys) {
  const SqliteOptions options = testing::temp_sqlite_options();
  Harness h(options);
  Connection db(options.path, Access::read_only, "");
  for (const auto& [name, text] : all_statements()) {
    if (name.starts_with("verify_") || name.starts_with("shift_") || name.ends_with("_list") ||
        name == "session_over" || name == "lease_expired" || name == "batch_mark_prune" || name == "timer_next" ||
        name == "ready_lanes" || name == "ledger_notes" || name == "execution_list_attention") {
      continue;
    }
    Statement plan(db.raw(), "EXPLAIN QUERY PLAN " + std::string(text));
    while (plan.step()) {
      const std::string line(plan.bytes(3));
      EXPECT_FALSE(line.starts_with("SCAN") && !line.ends_with("holder") && line.find("(subquery") == std::string::npos)
          << name << ": " << line;
      EXPECT_EQ(line.find("TEMP B-TREE"), std::string::npos) << name << ": " << line;
    }
  }
}

TEST(SqliteStore, TheViewPrintsWords) {
  const SqliteOptions options = testing::temp_sqlite_options();
  Harness h(options);
  h.enqueue("order-1");
  Connection db(options.path, Access::read_only, "");
  EXPECT_EQ(db.text("SELECT status || ' ' || kind || ' ' || queue || ' ' || task_id FROM executions"),
            "queued task default order-1");
}

TEST(SqliteStore, BatchesThatChangeNothingDoNotTouchTheFile) {
  const SqliteOptions options = testing::temp_sqlite_options();
  Harness h(options);
  h.enqueue("order-1");
  const auto before = std::filesystem::last_write_time(options.path + "-wal");
  const auto size = std::filesystem::file_size(options.path + "-wal");
  for (int i = 0; i < 20; ++i) EXPECT_FALSE(h.apply<core::EnqueueAnswer>(h.task("order-1")).created);
  EXPECT_EQ(std::filesystem::last_write_time(options.path + "-wal"), before);
  EXPECT_EQ(std::filesystem::file_size(options.path + "-wal"), size);
}

TEST(SqliteStore, TellsWhenTheSyncIsAllThatIsLeft) {
  Harness h(testing::temp_sqlite_options());
  core::Operation task = h.task("order-1");
  Batch batch;
  batch.id = h.next_id<BatchId>();
  batch.now = h.now();
  batch.operations = {&task};
  int told = 0;
  batch.syncing = [&] {
    ++told;
    EXPECT_FALSE(h.store().execution_find(core::kDefaultTenant, core::Space::task, "order-1").value());
  };
  ASSERT_EQ(h.store().apply(batch).kind, Applied::Kind::committed);
  EXPECT_EQ(told, 1);
  core::Operation again = h.task("order-1");
  batch.id = h.next_id<BatchId>();
  batch.operations = {&again};
  ASSERT_EQ(h.store().apply(batch).kind, Applied::Kind::committed);
  EXPECT_EQ(told, 1) << "nothing to sync";
}

// New rows go in eight at a time and the rest one by one: each has to be itself.
TEST(SqliteStore, BatchesOfAnySizeWriteEveryRowAsItIs) {
  Harness h(testing::temp_sqlite_options());
  for (const int size : {1, 7, 8, 9, 16, 19}) {
    std::vector<core::Operation> operations;
    for (int i = 0; i < size; ++i) {
      core::TaskEnqueue task = h.task(std::to_string(size) + "-" + std::to_string(i));
      task.args = std::to_string(i);
      task.priority = 100 + i;
      if (i % 2 == 1) task.concurrency_key = "key-" + std::to_string(i);  // null in its neighbours
      if (i % 3 == 1) task.delay = std::chrono::hours(i);
      operations.emplace_back(std::move(task));
    }
    Batch batch;
    ASSERT_EQ(h.try_apply(operations, batch).kind, Applied::Kind::committed);
    for (int i = 0; i < size; ++i) {
      const auto& task = std::get<core::TaskEnqueue>(operations[static_cast<std::size_t>(i)]);
      const auto row = h.store().execution_find(core::kDefaultTenant, core::Space::task, *task.identity).value();
      ASSERT_TRUE(row) << *task.identity;
      EXPECT_EQ(row->execution.id, task.id);
      EXPECT_EQ(row->execution.priority, task.priority);
      EXPECT_EQ(row->execution.concurrency_key, task.concurrency_key);
      EXPECT_EQ(row->payload.args, task.args);
    }
  }
  EXPECT_TRUE(h.verify().empty());
}

TEST(SqliteStore, TheLedgerCountsAllAndRemembersTheNewestTwenty) {
  Harness h(testing::temp_sqlite_options());
  const ExecutionId winner = h.enqueue("order-1");
  for (int round = 0; round < 3; ++round) {
    core::LedgerAdd add;
    for (int i = 0; i < 15; ++i) {
      add.notes.push_back({core::kDefaultTenant, core::Space::task, "order-1", core::LedgerRule::existing_live,
                           from_micros(round * 100 + i), winner});
    }
    h.apply<core::NoAnswer>(add);
  }
  const auto view = h.store().ledger_get({core::kDefaultTenant, core::Space::task, "order-1"}).value();
  ASSERT_TRUE(view);
  ASSERT_EQ(view->counts.size(), 1u);
  EXPECT_EQ(view->counts[0].second, 45);
  ASSERT_EQ(view->recent.size(), 20u);
  EXPECT_EQ(to_micros(view->recent.front().at), 214);
  EXPECT_EQ(to_micros(view->recent.back().at), 110);
}

}  // namespace
}  // namespace semel::store::sqlite
