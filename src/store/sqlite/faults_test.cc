// The disk misbehaves: full, broken, read by a laggard, damaged. Case ids are those of FAULTS.md.
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "store/sqlite/connection.h"
#include "store/sqlite/test_kit.h"
#include "testing/powercut_vfs.h"

namespace semel::store::sqlite {
namespace {

namespace fs = std::filesystem;
using testing::DiskCall;
using testing::PowerCutDisk;

std::string file_bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// X4
TEST(SqliteFull, EveryWriteMayMeetAFullDiskAndTheSameConnectionRecovers) {
  PowerCutDisk disk;
  SqliteOptions options = testing::temp_sqlite_options();
  options.vfs = disk.name();
  options.checkpoint_frames = 20;
  Harness h(options);
  h.enqueue("before");
  for (int nth = 1; nth <= 40; ++nth) {
    disk.fail_at({DiskCall::write, false, nth}, SQLITE_FULL, true);
    const int failed_before = disk.failures();
    int refused = 0;
    for (int i = 0; refused == 0 && i < 20; ++i) {
      core::TaskEnqueue task = h.task("full-" + std::to_string(nth) + "-" + std::to_string(i));
      const Applied applied = h.try_apply(task);
      if (applied.kind == Applied::Kind::committed) continue;
      ++refused;
      EXPECT_EQ(applied.kind, Applied::Kind::unavailable);
      EXPECT_EQ(applied.error.code, ErrorCode::StoreFull);
      EXPECT_TRUE(h.store().execution_find(core::kDefaultTenant, core::Space::task, "before").value());
      EXPECT_FALSE(h.store().execution_find(core::kDefaultTenant, core::Space::task, *task.identity).value());
      disk.heal();
      EXPECT_EQ(h.apply<core::EnqueueAnswer>(task).execution, task.id);
    }
    disk.heal();
    EXPECT_GT(disk.failures(), failed_before);
  }
  EXPECT_TRUE(h.verify().empty());
}

// X4: deleting needs room, too, and gets it from the ballast.
TEST(SqliteFull, OnlyCleanUpIsAcceptedUntilTheBallastIsBack) {
  PowerCutDisk disk;
  SqliteOptions options = testing::temp_sqlite_options();
  options.vfs = disk.name();
  options.ballast_bytes = 64 * 1024;
  const std::string ballast = options.path + "-ballast";
  Harness h(options);
  EXPECT_EQ(fs::file_size(ballast), 64u * 1024);

  disk.fail_at({DiskCall::write, false, 1}, SQLITE_FULL, true);
  EXPECT_EQ(h.try_apply(h.task("a")).error.code, ErrorCode::StoreFull);
  const core::RetentionSweep sweep;
  Batch mixed;
  EXPECT_EQ(h.try_apply({core::Operation(h.task("b")), core::Operation(sweep)}, mixed).kind, Applied::Kind::halve);
  h.apply<core::SweepAnswer>(sweep);
  EXPECT_FALSE(fs::exists(ballast));

  disk.heal();
  h.enqueue("c");
  EXPECT_TRUE(fs::exists(ballast));
  h.enqueue("d");
  EXPECT_TRUE(h.verify().empty());
}

// X5
TEST(SqliteBroken, AFailedSyncStopsTheStoreAndIsNeverRepeated) {
  PowerCutDisk disk;
  SqliteOptions options = testing::temp_sqlite_options();
  {
    SqliteOptions watched = options;
    watched.vfs = disk.name();
    Harness h(watched);
    h.enqueue("before");
    disk.fail_at({DiskCall::sync, false, 1}, SQLITE_IOERR_FSYNC, false);
    const Applied applied = h.try_apply(h.task("lost"));
    EXPECT_EQ(applied.kind, Applied::Kind::fatal);
    EXPECT_EQ(applied.error.code, ErrorCode::UnknownCommit);
    const auto syncs = disk.calls(DiskCall::sync);
    EXPECT_EQ(h.try_apply(h.task("later")).kind, Applied::Kind::fatal);
    EXPECT_TRUE(h.store().execution_find(core::kDefaultTenant, core::Space::task, "before").value());
    h.close();
    EXPECT_EQ(disk.calls(DiskCall::sync), syncs);
  }
  Harness again(options);
  EXPECT_TRUE(again.store().execution_find(core::kDefaultTenant, core::Space::task, "before").value());
  EXPECT_FALSE(again.store().execution_find(core::kDefaultTenant, core::Space::task, "later").value());
  EXPECT_TRUE(again.verify().empty());
}

// X5: the batch is durable when its checkpoint fails; it is answered, and nothing follows it.
TEST(SqliteBroken, AFailedCheckpointKeepsTheAnswerOfItsBatch) {
  PowerCutDisk disk;
  SqliteOptions options = testing::temp_sqlite_options();
  SqliteOptions watched = options;
  watched.vfs = disk.name();
  watched.checkpoint_frames = 4;
  {
    Harness h(watched);
    disk.fail_at({DiskCall::sync, false, 3}, SQLITE_IOERR_FSYNC, false);
    int committed = 0;
    while (h.try_apply(h.task("id-" + std::to_string(committed))).kind == Applied::Kind::committed) ++committed;
    EXPECT_GE(committed, 1);
    for (int i = 0; i < committed; ++i) {
      EXPECT_TRUE(h.store().execution_find(core::kDefaultTenant, core::Space::task, "id-" + std::to_string(i)).value());
    }
  }
  Harness again(options);
  EXPECT_TRUE(again.verify().empty());
}

// X7
TEST(SqliteReader, ALaggardMakesTheWalGrowUntilItLeaves) {
  SqliteOptions options = testing::temp_sqlite_options();
  options.checkpoint_frames = 20;
  options.wal_limit_bytes = 40 * 4096;
  MemoryLog log;
  options.log = &log;
  Harness h(options);
  const std::string wal = options.path + "-wal";
  {
    Connection laggard(options.path, Access::read_only, "");
    laggard.never_checkpoint();
    laggard.execute("BEGIN");
    laggard.integer("SELECT count(*) FROM execution");
    for (int i = 0; i < 60; ++i) h.enqueue("held-" + std::to_string(i));
    EXPECT_GT(fs::file_size(wal), static_cast<std::uintmax_t>(options.wal_limit_bytes));
    EXPECT_TRUE(log.has("the WAL cannot shrink"));
  }
  for (int i = 0; i < 60; ++i) h.enqueue("free-" + std::to_string(i));
  EXPECT_LE(fs::file_size(wal), static_cast<std::uintmax_t>(options.wal_limit_bytes));
}

// X7
TEST(SqliteReader, AReadThatTakesTooLongIsEnded) {
  SqliteOptions options = testing::temp_sqlite_options();
  options.read_limit = Duration{1};
  Harness h(options);
  for (int i = 0; i < 400; ++i) h.enqueue("id-" + std::to_string(i));
  ExecutionFilter filter;
  filter.name = "none has this name";
  const auto listed = h.store().execution_list(filter);
  ASSERT_FALSE(listed.ok());
  EXPECT_EQ(listed.error().code, ErrorCode::TimedOut);
  EXPECT_TRUE(h.verify().empty());
}

// X8
TEST(SqliteReader, OnlyTheOwnerCheckpoints) {
  SqliteOptions options = testing::temp_sqlite_options();
  MemoryLog log;
  options.log = &log;
  Harness h(options);
  EXPECT_EQ(log.has("two connections checkpoint"), library_version_number() < 3051003);
  h.enqueue("a");
  const std::string before = file_bytes(options.path);
  {
    SqliteOptions reading = options;
    reading.read_only = true;
    auto reader = open_sqlite(reading).value();
    EXPECT_TRUE(reader->execution_find(core::kDefaultTenant, core::Space::task, "a").value());
  }
  EXPECT_EQ(file_bytes(options.path), before);
  EXPECT_GT(fs::file_size(options.path + "-wal"), 0u);
}

// X9
TEST(SqliteFiles, ALostWalIsNoticed) {
  const SqliteOptions options = testing::temp_sqlite_options();
  Harness h(options);
  h.enqueue("a");
  SqliteOptions copy = testing::temp_sqlite_options();
  fs::copy(options.path, copy.path);
  fs::copy(options.path + "-owner", copy.path + "-owner");
  MemoryLog log;
  copy.log = &log;
  (void)open_sqlite(copy);
  EXPECT_TRUE(log.has("-wal file is gone"));
}

// X9
TEST(SqliteFiles, ABackupOfALiveStoreIsWhole) {
  const SqliteOptions options = testing::temp_sqlite_options();
  Harness h(options);
  for (int i = 0; i < 50; ++i) h.enqueue("id-" + std::to_string(i));
  const std::string expected = h.store().snapshot().value();
  const std::string to = testing::temp_folder() + "/copy.db";
  ASSERT_TRUE(sqlite_backup(options.path, to).ok());
  EXPECT_EQ(sqlite_backup(options.path, to).error().code, ErrorCode::InvalidArgument);
  EXPECT_FALSE(fs::exists(to + "-wal"));
  SqliteOptions copy = options;
  copy.path = to;
  EXPECT_EQ(open_sqlite(copy).value()->snapshot().value(), expected);

  h.enqueue("after the backup");
  EXPECT_EQ(h.store().snapshot().value() == expected, false);
  h.close();
  const Restored restored = sqlite_restore(to, options.path).value();
  ASSERT_TRUE(restored.kept);
  EXPECT_TRUE(fs::exists(*restored.kept));
  EXPECT_EQ(open_sqlite(options).value()->snapshot().value(), expected);
}

// X9
TEST(SqliteFiles, RestoreRefusesWhatIsNoBackup) {
  const std::string folder = testing::temp_folder();
  std::ofstream(folder + "/text")
      << "this is no database, only text that is long enough to be read as a header of one....";
  const SqliteOptions options = testing::temp_sqlite_options();
  std::string before;
  {
    Harness h(options);
    h.enqueue("a");
    before = h.store().snapshot().value();
  }
  EXPECT_EQ(sqlite_restore(folder + "/text", options.path).error().code, ErrorCode::StoreCorrupt);
  EXPECT_EQ(sqlite_restore(folder + "/absent", options.path).error().code, ErrorCode::StoreNotFound);
  EXPECT_EQ(open_sqlite(options).value()->snapshot().value(), before);
}

// X10
TEST(SqliteDamage, ADamagedPageQuarantinesTheStoreAndNothingIsDeleted) {
  const SqliteOptions options = testing::temp_sqlite_options();
  {
    Harness h(options);
    for (int i = 0; i < 300; ++i) h.enqueue("id-" + std::to_string(i));
  }
  {
    std::fstream file(options.path, std::ios::in | std::ios::out | std::ios::binary);
    const auto pages = fs::file_size(options.path) / 4096;
    for (std::uintmax_t page = 30; page < pages; ++page) {
      file.seekp(static_cast<std::streamoff>(page * 4096));
      file.write("\xff\x13\xff\x13", 4);
    }
  }
  const std::string damaged = file_bytes(options.path);
  auto store = open_sqlite(options).value();
  ExecutionFilter filter;
  filter.limit = 1000;
  const auto listed = store->execution_list(filter);
  ASSERT_FALSE(listed.ok());
  EXPECT_EQ(listed.error().code, ErrorCode::StoreCorrupt);
  Batch batch;
  core::Operation operation = core::TenantEnsure{"acme"};
  batch.operations.push_back(&operation);
  EXPECT_EQ(store->apply(batch).kind, Applied::Kind::fatal);
  store.reset();
  EXPECT_EQ(file_bytes(options.path), damaged);
}

// X10
TEST(SqliteDamage, AFileOfSomebodyElseIsRefusedAndLeftAlone) {
  SqliteOptions options = testing::temp_sqlite_options();
  std::ofstream(options.path) << "this is no database, only text that is long enough to be read as a header of one....";
  const std::string text = file_bytes(options.path);
  EXPECT_EQ(open_sqlite(options).error().code, ErrorCode::StoreCorrupt);
  EXPECT_EQ(file_bytes(options.path), text);

  options = testing::temp_sqlite_options();
  Connection(options.path, Access::create, "").execute("CREATE TABLE users (name TEXT)");
  const std::string foreign = file_bytes(options.path);
  const auto refused = open_sqlite(options);
  EXPECT_EQ(refused.error().code, ErrorCode::StoreCorrupt);
  EXPECT_NE(refused.error().message.find("another program"), std::string::npos);
  EXPECT_EQ(file_bytes(options.path), foreign);
}

// X12
TEST(SqliteLimits, WithoutFileDescriptorsReadsFailAndWritesGoOn) {
  const auto child = [] {
    Harness h(testing::temp_sqlite_options());
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    const int next = dup(0);
    limit.rlim_cur = static_cast<rlim_t>(next);
    setrlimit(RLIMIT_NOFILE, &limit);
    close(next);
    const auto listed = h.store().tenant_list();
    const bool refused = !listed.ok() && listed.error().code == ErrorCode::StoreUnavailable;
    const bool written = h.try_apply(h.task("a")).kind == Applied::Kind::committed;
    _exit(refused && written ? 0 : 1);
  };
  EXPECT_EXIT(child(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace semel::store::sqlite
