// Who may open a file, and what a refused one is told. Case ids are those of FAULTS.md.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <future>
#include <memory>
#include <stdexcept>
#include <thread>

#include "base/failpoint.h"
#include "store/sqlite/connection.h"
#include "store/sqlite/migrate.h"
#include "store/sqlite/test_kit.h"
#include "testing/forked.h"

namespace semel::store::sqlite {
namespace {

namespace fs = std::filesystem;

ErrorCode refusal(SqliteOptions options, const std::string& path) {
  options.path = path;
  const auto opened = open_sqlite(options);
  EXPECT_FALSE(opened.ok()) << path;
  if (opened.ok()) return ErrorCode::Internal;
  EXPECT_FALSE(opened.error().message.empty());
  return opened.error().code;
}

TEST(SqliteOpen, BadPathsAreNamed) {
  const SqliteOptions options = testing::temp_sqlite_options();
  const std::string folder = fs::path(options.path).parent_path();
  EXPECT_EQ(refusal(options, ""), ErrorCode::InvalidArgument);
  EXPECT_EQ(refusal(options, folder), ErrorCode::InvalidArgument);
  EXPECT_EQ(refusal(options, folder + "/absent/semel.db"), ErrorCode::StoreNotFound);
  SqliteOptions reading = options;
  reading.read_only = true;
  EXPECT_EQ(refusal(reading, folder + "/absent.db"), ErrorCode::StoreNotFound);
  EXPECT_FALSE(fs::exists(folder + "/absent.db"));
}

TEST(SqliteOpen, AFolderThatCannotBeWrittenIsReadOnly) {
  const SqliteOptions options = testing::temp_sqlite_options();
  const std::string folder = fs::path(options.path).parent_path();
  chmod(folder.c_str(), 0555);
  const auto child = [&] {
    // Permissions do not bind the superuser.
    constexpr uid_t kNobody = 65534;
    if (geteuid() == 0 && setuid(kNobody) != 0) _exit(2);
    const auto opened = open_sqlite(options);
    _exit(!opened.ok() && opened.error().code == ErrorCode::StoreReadOnly ? 0 : 1);
  };
  EXPECT_EXIT(child(), ::testing::ExitedWithCode(0), "");
  chmod(folder.c_str(), 0755);
}

// A shell that looks at the file after a crash locks all others out while it recovers the log.
TEST(SqliteOpen, AStrangerWhoHoldsTheFileForAMomentIsWaitedFor) {
  const SqliteOptions options = testing::temp_sqlite_options();
  {
    Harness h(options);
  }
  auto stranger = std::make_unique<Connection>(options.path, Access::read_write, "");
  stranger->execute("PRAGMA locking_mode = EXCLUSIVE; BEGIN IMMEDIATE; UPDATE meta SET value = value; COMMIT");
  auto opening = std::async(std::launch::async, [&] { return open_sqlite(options); });
  EXPECT_EQ(opening.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  stranger.reset();
  const auto opened = opening.get();
  EXPECT_TRUE(opened.ok()) << opened.error().message;
}

// X6
TEST(SqliteOpen, ASecondWriterIsRefusedAndToldWhoOwnsTheFile) {
  SqliteOptions options = testing::temp_sqlite_options();
  options.reach = "http 127.0.0.1:7300";
  options.owner_wait = std::chrono::milliseconds(30);
  testing::Forked second([&] {
    const auto refused = open_sqlite(options);
    return refused ? "opened" : std::string(error_info(refused.error().code).name) + ": " + refused.error().message;
  });
  Harness owner(options);
  owner.enqueue("a");
  const std::string told = second.run();
  EXPECT_TRUE(told.starts_with("StoreBusy: ")) << told;
  EXPECT_NE(told.find("pid " + std::to_string(getpid())), std::string::npos) << told;
  EXPECT_NE(told.find("http 127.0.0.1:7300"), std::string::npos) << told;

  options.read_only = true;
  auto reader = open_sqlite(options).value();
  EXPECT_TRUE(reader->execution_find(core::kDefaultTenant, core::Space::task, "a").value());
  owner.enqueue("b");
  EXPECT_TRUE(reader->execution_find(core::kDefaultTenant, core::Space::task, "b").value());
  Batch batch;
  core::Operation operation = core::TenantEnsure{"acme"};
  batch.operations.push_back(&operation);
  EXPECT_EQ(reader->apply(batch).error.code, ErrorCode::StoreReadOnly);
}

// X6
TEST(SqliteOpen, ASecondWriterGetsTheFileWhenTheOwnerLeavesInTime) {
  SqliteOptions options = testing::temp_sqlite_options();
  auto owner = std::make_unique<Harness>(options);
  owner->enqueue("a");
  options.owner_wait = std::chrono::seconds(60);
  std::thread second([&] {
    auto opened = open_sqlite(options);
    ASSERT_TRUE(opened.ok());
    EXPECT_TRUE((*opened)->execution_find(core::kDefaultTenant, core::Space::task, "a").value());
  });
  owner.reset();
  second.join();
}

// X11
TEST(SqliteSchema, AFileOfTheFutureIsRefusedUnchanged) {
  SqliteOptions options = testing::temp_sqlite_options();
  {
    Harness h(options);
  }
  Connection(options.path, Access::read_write, "").execute("UPDATE meta SET value = 99; PRAGMA wal_checkpoint");
  EXPECT_EQ(refusal(options, options.path), ErrorCode::SchemaTooNew);
  options.read_only = true;
  EXPECT_EQ(refusal(options, options.path), ErrorCode::SchemaTooNew);
}

// X11: expand, then contract: a newer schema that still suits older binaries does not lock them out.
TEST(SqliteSchema, ANewerSchemaThatAllowsThisBinaryIsUsed) {
  const SqliteOptions options = testing::temp_sqlite_options();
  {
    Harness h(options);
  }
  Connection(options.path, Access::read_write, "").execute("UPDATE meta SET value = 99 WHERE name = 'schema_version'");
  Harness h(options);
  h.enqueue("a");
}

std::vector<SchemaStep> steps_with_a_second() {
  std::vector<SchemaStep> steps(schema_steps().begin(), schema_steps().end());
  steps.push_back({static_cast<int>(steps.size()) + 1, "second",
                   "ALTER TABLE tenant ADD COLUMN note TEXT; UPDATE tenant SET note = 'x'"});
  return steps;
}

// X11
TEST(SqliteSchema, ACrashInAMigrationIsResumed) {
  const SqliteOptions options = testing::temp_sqlite_options();
  {
    Harness h(options);
    h.enqueue("a");
  }
  const auto steps = steps_with_a_second();
  const std::string copy = options.path + ".before-" + std::to_string(steps.size());
  for (const char* point :
       {"sqlite.migrate.before_backup", "sqlite.migrate.after_backup", "sqlite.migrate.before_commit"}) {
    base::set_failpoint_hook([&](std::string_view name) {
      if (name == point) throw std::runtime_error("crash");
    });
    Connection db(options.path, Access::read_write, "");
    EXPECT_THROW((void)migrate(db, options.path, steps), std::runtime_error) << point;
    base::set_failpoint_hook({});
  }
  Connection db(options.path, Access::read_write, "");
  EXPECT_EQ(read_schema(db, options.path).value().version, schema_steps().back().number);
  ASSERT_TRUE(migrate(db, options.path, steps).ok());
  EXPECT_EQ(read_schema(db, options.path).value().version, steps.back().number);
  EXPECT_EQ(db.text("SELECT note FROM tenant"), "x");
  ASSERT_TRUE(fs::exists(copy));
  Connection before(copy, Access::read_only, "");
  EXPECT_EQ(read_schema(before, copy).value().version, schema_steps().back().number);
  EXPECT_EQ(before.integer("SELECT count(*) FROM execution"), 1);
  ASSERT_TRUE(migrate(db, options.path, steps).ok()) << "a second run changes nothing";
}

// F1: a, b and c are one chain, d follows c by redrive, e is what is left of a chain whose first run is gone.
TEST(SqliteMigration, RunsOfBeforeLearnTheirChain) {
  const SqliteOptions options = testing::temp_sqlite_options();
  {
    Harness h(options);
    for (const char* id : {"a", "b", "c", "d", "e"}) {
      core::TaskEnqueue run = h.task(id);
      run.kind = Kind::workflow;
      h.apply<core::EnqueueAnswer>(run);
    }
  }
  Connection db(options.path, Access::read_write, "");
  const auto link = [&](const std::string& from, const std::string& to, int close_reason) {
    db.execute(("UPDATE execution SET close_reason = " + std::to_string(close_reason) +
                ", next = (SELECT id FROM execution WHERE identity = '" + to + "') WHERE identity = '" + from + "'")
                   .c_str());
    db.execute(("UPDATE execution SET previous = (SELECT id FROM execution WHERE identity = '" + from +
                "') WHERE identity = '" + to + "'")
                   .c_str());
  };
  link("a", "b", 1);
  link("b", "c", 3);
  db.execute("UPDATE execution SET previous = (SELECT id FROM execution WHERE identity = 'c') WHERE identity = 'd'");
  db.execute("UPDATE execution SET previous = zeroblob(16) WHERE identity = 'e'");
  db.execute(
      "ALTER TABLE run DROP COLUMN chain; DROP TABLE signal;"
      "CREATE TABLE signal (run BLOB NOT NULL, name TEXT NOT NULL, dedupe TEXT NOT NULL, PRIMARY KEY (run, name, "
      "dedupe)) "
      "STRICT, WITHOUT ROWID;"
      "INSERT INTO signal SELECT id, 'pay', 'click' FROM execution WHERE identity IN ('a', 'b', 'd');"
      "INSERT INTO signal SELECT id, char(31) || 'vote', 'u' FROM execution WHERE identity = 'c';"
      "UPDATE meta SET value = 2 WHERE name IN ('schema_version', 'min_binary')");
  ASSERT_TRUE(migrate(db, options.path, schema_steps()).ok());
  EXPECT_EQ(db.text("SELECT group_concat(e.identity || ':' || f.identity, ' ') FROM (SELECT * FROM execution ORDER BY "
                    "identity) e JOIN run r ON r.execution = e.id JOIN execution f ON f.id = r.chain"),
            "a:a b:a c:a d:d e:e");
  EXPECT_EQ(
      db.text("SELECT group_concat(line, ' ') FROM (SELECT e.identity || ':' || replace(s.name, char(31), '^') || "
              "':' || s.dedupe AS line FROM signal s JOIN execution e ON e.id = s.chain ORDER BY 1)"),
      "a:^:u a:pay:click d:pay:click");
  EXPECT_EQ(read_schema(db, options.path).value().min_binary, 3) << "a binary of before would count for each run";
}

TEST(SqliteSchema, AnOlderFileIsNotForReadersUntilItIsMigrated) {
  SqliteOptions options = testing::temp_sqlite_options();
  {
    Harness h(options);
  }
  Connection(options.path, Access::read_write, "").execute("UPDATE meta SET value = 0 WHERE name = 'schema_version'");
  options.read_only = true;
  EXPECT_EQ(refusal(options, options.path), ErrorCode::SchemaTooOld);
}

}  // namespace
}  // namespace semel::store::sqlite
