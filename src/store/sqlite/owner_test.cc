// One writing process per file: under every name, as long as it lives, and no longer. Case ids are those of
// docs/faults.md.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>

#include "store/sqlite/connection.h"
#include "store/sqlite/store_file.h"
#include "store/sqlite/test_kit.h"
#include "testing/forked.h"

namespace semel::store::sqlite {
namespace {

namespace fs = std::filesystem;
using testing::Forked;

std::string open_and_say(SqliteOptions options, const std::string& path) {
  options.path = path;
  options.owner_wait = Duration{0};
  auto opened = open_sqlite(options);
  if (!opened) return std::string(error_info(opened.error().code).name) + ": " + opened.error().message;
  return "opened";
}

bool begins(const std::string& text, std::string_view with) { return text.starts_with(with); }

// F8, X6
TEST(SqliteOwner, AnotherProcessIsRefusedUnderEveryNameOfTheFile) {
  const SqliteOptions options = testing::temp_sqlite_options();
  const std::string folder = fs::path(options.path).parent_path();
  fs::create_directory(folder + "/sub");
  fs::create_symlink(options.path, folder + "/symlink.db");
  fs::create_directory_symlink(folder, folder + "/sub/up");
  Forked by_path([&] { return open_and_say(options, options.path); });
  Forked by_symlink([&] { return open_and_say(options, folder + "/symlink.db"); });
  Forked by_spelling([&] { return open_and_say(options, folder + "/./sub/../semel.db"); });
  Forked by_folder([&] { return open_and_say(options, folder + "/sub/up/semel.db"); });
  Forked by_hard_link([&] { return open_and_say(options, folder + "/hard.db"); });
  Forked without_note([&] { return open_and_say(options, options.path); });

  Harness owner(options);
  owner.enqueue("a");
  const std::string told = by_path.run();
  EXPECT_TRUE(begins(told, "StoreBusy")) << told;
  EXPECT_NE(told.find("pid " + std::to_string(getpid())), std::string::npos) << told;
  EXPECT_NE(told.find("since 20"), std::string::npos) << told;
  for (Forked* other : {&by_symlink, &by_spelling, &by_folder}) {
    const std::string refused = other->run();
    EXPECT_TRUE(begins(refused, "StoreBusy")) << refused;
  }
  fs::remove(options.path + "-owner");
  const std::string nameless = without_note.run();
  EXPECT_TRUE(begins(nameless, "StoreBusy")) << nameless;
  fs::create_hard_link(options.path, folder + "/hard.db");
  const std::string linked = by_hard_link.run();
  EXPECT_TRUE(begins(linked, "StoreBusy")) << linked;
  fs::remove(folder + "/hard.db");
  owner.enqueue("b");
  EXPECT_TRUE(owner.verify().empty());
}

// F8: what was acknowledged under one name lies in a WAL that the other name does not lead to.
TEST(SqliteOwner, AFileWithTwoNamesIsRefusedUnderBoth) {
  SqliteOptions options = testing::temp_sqlite_options();
  {
    Harness h(options);
    h.enqueue("a");
  }
  const std::string other = fs::path(options.path).parent_path().string() + "/hard.db";
  fs::create_hard_link(options.path, other);
  EXPECT_TRUE(begins(open_and_say(options, options.path), "Unsupported"));
  EXPECT_TRUE(begins(open_and_say(options, other), "Unsupported"));
  options.read_only = true;
  EXPECT_TRUE(begins(open_and_say(options, other), "Unsupported"));
  fs::remove(other);
  EXPECT_EQ(open_and_say(options, options.path), "opened");
}

// F8, F19
TEST(SqliteOwner, AFileThatThisProcessHasOpenSaysSo) {
  SqliteOptions options = testing::temp_sqlite_options();
  Harness owner(options);
  const std::string told = open_and_say(options, options.path);
  EXPECT_TRUE(begins(told, "StoreBusy")) << told;
  EXPECT_NE(told.find("this process has it open already"), std::string::npos) << told;
}

// F8: closing any descriptor of a file ends all POSIX locks that the process has on it.
TEST(SqliteOwner, ReadersAndRefusedWritersThatComeAndGoLeaveTheLocksAlone) {
  SqliteOptions options = testing::temp_sqlite_options();
  Forked writer([&] { return open_and_say(options, options.path); });
  Forked stranger([&] {
    try {
      return Connection(options.path, Access::read_write, "").text("PRAGMA journal_mode = DELETE");
    } catch (const SqliteFailure& failure) {
      return failure.message;
    }
  });
  Harness owner(options);
  owner.enqueue("a");
  SqliteOptions reading = options;
  reading.read_only = true;
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(open_sqlite(reading).value()->lane_list().ok());
    EXPECT_TRUE(begins(open_and_say(options, options.path), "StoreBusy"));
  }
  const std::string told = writer.run();
  EXPECT_TRUE(begins(told, "StoreBusy")) << told;
  EXPECT_EQ(stranger.run(), "database is locked");
}

// F8: a reader of this process outlives the owner; SQLite's locks of it must not end with the owner's descriptor.
TEST(SqliteOwner, AReaderKeepsItsLocksWhenTheOwnerLeaves) {
  SqliteOptions options = testing::temp_sqlite_options();
  Forked stranger([&] {
    try {
      return Connection(options.path, Access::read_write, "").text("PRAGMA journal_mode = DELETE");
    } catch (const SqliteFailure& failure) {
      return failure.message;
    }
  });
  Forked next([&] { return open_and_say(options, options.path); });
  auto owner = std::make_unique<Harness>(options);
  owner->enqueue("a");
  SqliteOptions reading = options;
  reading.read_only = true;
  const auto reader = open_sqlite(reading).value();
  ASSERT_TRUE(reader->lane_list().ok());
  owner.reset();
  EXPECT_EQ(stranger.run(), "database is locked");
  EXPECT_EQ(next.run(), "opened");
}

// F8, X5: thousands of writes were acknowledged into a file that nobody could find.
TEST(SqliteOwner, NothingIsAcknowledgedIntoAFileThatWasRemoved) {
  const SqliteOptions options = testing::temp_sqlite_options();
  Harness owner(options);
  owner.enqueue("a");
  fs::remove(options.path);
  const Applied lost = owner.try_apply(owner.task("b"));
  EXPECT_EQ(lost.kind, Applied::Kind::fatal);
  EXPECT_EQ(lost.error.code, ErrorCode::UnknownCommit);
  EXPECT_NE(lost.error.message.find(options.path), std::string::npos) << lost.error.message;
  EXPECT_EQ(owner.try_apply(owner.task("c")).kind, Applied::Kind::fatal);
  EXPECT_EQ(owner.store().lane_list().error().code, ErrorCode::StoreUnavailable);
}

// F8
TEST(SqliteOwner, NothingIsAcknowledgedIntoAFileThatWasReplaced) {
  const SqliteOptions options = testing::temp_sqlite_options();
  const SqliteOptions other = testing::temp_sqlite_options();
  {
    Harness made(other);
  }
  Harness owner(options);
  owner.enqueue("a");
  fs::rename(options.path, options.path + ".moved");
  EXPECT_EQ(owner.try_apply(owner.task("b")).kind, Applied::Kind::fatal);
  fs::rename(other.path, options.path);
  EXPECT_EQ(owner.try_apply(owner.task("c")).kind, Applied::Kind::fatal);
  EXPECT_FALSE(owner.store().lane_list().ok());
}

// F8: whoever waits for a file that is replaced meanwhile gets the new one.
TEST(SqliteOwner, AWaitingWriterGetsTheFileThatIsThereThen) {
  SqliteOptions options = testing::temp_sqlite_options();
  const SqliteOptions other = testing::temp_sqlite_options();
  {
    Harness made(other);
    made.enqueue("of the other");
  }
  auto first = StoreFile::own(options.path, "", Duration{0}).value();
  options.owner_wait = std::chrono::seconds(60);
  std::thread second([&] {
    auto opened = open_sqlite(options);
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    EXPECT_TRUE((*opened)->execution_find(core::kDefaultTenant, core::Space::task, "of the other").value());
  });
  fs::rename(other.path, options.path);
  {
    const StoreFile gone = std::move(first);
  }
  second.join();
}

// F8: the lock ends with its owner, whatever children it leaves behind; they must not use the file.
TEST(SqliteOwner, TheLockEndsWithItsOwnerAlthoughAForkedChildLives) {
  const SqliteOptions options = testing::temp_sqlite_options();
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  Forked owner([&] {
    const auto opened = open_sqlite(options);
    if (fork() == 0) {
      alarm(60);
      const std::string again = open_and_say(options, options.path);
      (void)!write(ends[1], again.data(), again.size());
      for (;;) pause();
    }
    for (;;) pause();
    return std::string(opened ? "opened" : "refused");
  });
  owner.start();
  char text[512];
  const ssize_t size = read(ends[0], text, sizeof text);
  const std::string in_child(text, static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  EXPECT_TRUE(begins(in_child, "Unsupported")) << in_child;
  EXPECT_NE(in_child.find("fork"), std::string::npos) << in_child;
  EXPECT_TRUE(begins(open_and_say(options, options.path), "StoreBusy"));
  owner.kill();
  EXPECT_EQ(open_and_say(options, options.path), "opened");
  close(ends[0]);
  close(ends[1]);
}

// F19
TEST(SqliteOwner, AnEmptyFileIsAFreshStoreForAWriterAndNoneForAReader) {
  SqliteOptions options = testing::temp_sqlite_options();
  std::ofstream(options.path).flush();
  SqliteOptions reading = options;
  reading.read_only = true;
  const std::string told = open_and_say(reading, reading.path);
  EXPECT_TRUE(begins(told, "StoreNotFound")) << told;
  EXPECT_EQ(sqlite_backup(options.path, options.path + ".copy").error().code, ErrorCode::StoreNotFound);
  Harness h(options);
  h.enqueue("a");
  EXPECT_EQ(open_and_say(reading, reading.path), "opened");
}

// F19
TEST(SqliteOwner, MemoryIsNoFile) {
  const std::string told = open_and_say(testing::temp_sqlite_options(), ":memory:");
  EXPECT_TRUE(begins(told, "InvalidArgument")) << told;
  EXPECT_FALSE(fs::exists(":memory:"));
  EXPECT_FALSE(fs::exists(":memory:-owner"));
}

}  // namespace
}  // namespace semel::store::sqlite
