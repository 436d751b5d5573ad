// F7, X9, X24: a restore keeps every acknowledged write of the store it replaces, wherever it is killed.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <filesystem>

#include "store/sqlite/sqlite_store.h"
#include "tests/crash/failpoints.h"
#include "tests/crash/open_store.h"
#include "tests/crash/process.h"
#include "tests/crash/scratch.h"
#include "tests/crash/sql.h"
#include "tests/crash/together.h"

namespace semel::crash {
namespace {

namespace fs = std::filesystem;

long tasks_in(const std::string& path) { return open_sql("sqlite:" + path)->number("SELECT count(*) FROM execution"); }

// A store with a backup of `saved` tasks that went on to `acknowledged`, and was killed.
struct Killed {
  static constexpr int kSaved = 20, kAcknowledged = 331;
  Scratch scratch;
  std::string store = scratch.path("semel.db");
  std::string backup = scratch.path("backup.db");
  long acknowledged = 0;

  Killed() {
    enqueue_together(*open_runtime(scratch.store(), 1), "saved", 1, kSaved, [](const std::string&) {});
    store::sqlite::sqlite_backup(store, backup).value();
    Process child("crash_child", {scratch.store(), "killed", "4", "0", "1"});
    const auto count = [this](const std::string& line) { acknowledged += line.starts_with("a ") ? 1 : 0; };
    while (acknowledged < kAcknowledged && child.read_lines(10'000, count)) {
    }
    child.kill_and_drain(count);
    acknowledged += kSaved;
  }
};

TEST(Restore, KeepsEveryAcknowledgedWriteOfAKilledStore) {
  Killed killed;
  ASSERT_GT(fs::file_size(killed.store + "-wal"), 0u);
  const auto first = store::sqlite::sqlite_restore(killed.backup, killed.store).value();
  ASSERT_TRUE(first.kept);
  EXPECT_GE(tasks_in(*first.kept), killed.acknowledged);
  EXPECT_EQ(tasks_in(killed.store), Killed::kSaved);
  EXPECT_EQ(first.generation, 2);
  EXPECT_TRUE(first.as_of);
  EXPECT_FALSE(fs::exists(killed.store + "-wal"));

  const auto second = store::sqlite::sqlite_restore(*first.kept, killed.store).value();
  ASSERT_TRUE(second.kept);
  EXPECT_NE(*second.kept, *first.kept);
  EXPECT_GE(tasks_in(*first.kept), killed.acknowledged) << "a second restore overwrites nothing";
  EXPECT_EQ(tasks_in(*second.kept), Killed::kSaved);
  EXPECT_GE(tasks_in(killed.store), killed.acknowledged);
  EXPECT_TRUE(open_store(killed.scratch.store(), false).value()->verify().value().empty());
}

class RestoreCrash : public ::testing::TestWithParam<std::string> {};

TEST_P(RestoreCrash, LeavesTheOldStoreOrTheNewOneWhole) {
  Killed killed;
  Process peer("crash_peer", {"restore", killed.scratch.store(), killed.backup}, {"SEMEL_FAILPOINT=" + GetParam()});
  const int status = peer.wait();
  ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  const long found = tasks_in(killed.store);
  if (found == Killed::kSaved) {
    long kept = 0;
    for (const auto& entry : fs::directory_iterator(fs::path(killed.store).parent_path()))
      if (entry.path().string().starts_with(killed.store + ".re") && entry.path().extension() != ".partial")
        kept = std::max(kept, tasks_in(entry.path().string()));
    EXPECT_GE(kept, killed.acknowledged);
  } else {
    EXPECT_GE(found, killed.acknowledged);
  }
  EXPECT_TRUE(open_store(killed.scratch.store(), false).value()->verify().value().empty());
  ASSERT_TRUE(store::sqlite::sqlite_restore(killed.backup, killed.store).ok());
  EXPECT_EQ(tasks_in(killed.store), Killed::kSaved);
}

INSTANTIATE_TEST_SUITE_P(Sqlite, RestoreCrash, ::testing::ValuesIn(failpoints_of({"sqlite.restore."})),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '.', '_');
                           return name;
                         });

}  // namespace
}  // namespace semel::crash
