// Bad input: every refusal names the thing and the fix, has its exit code, and changes nothing.
#include <gtest/gtest.h>
#include <signal.h>
#include <sqlite3.h>
#include <unistd.h>

#include "tests/e2e/program.h"

namespace semel::e2e {
namespace {

struct Bad {
  std::vector<std::string> arguments;
  std::string error;
  std::string names;  // part of the message
};

class BadInput : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(place.json({"task", "enqueue", "charge", "--task-id", "known"}).exit_code, 0);
    before = everything();
  }
  std::string everything() {
    return place.json({"task", "list"}).out + place.json({"queue", "list"}).out + place.json({"key", "list"}).out;
  }
  void refuse(const Bad& bad) {
    const Ran ran = place.json(bad.arguments);
    EXPECT_EQ(ran.exit_code, 1) << bad.names << ran.out << ran.err;
    EXPECT_EQ(ran.text("error"), bad.error) << ran.out;
    EXPECT_NE(ran.text("message").find(bad.names), std::string::npos) << ran.out;
  }
  Place place;
  std::string before;
};

std::vector<std::string> enqueue(std::initializer_list<std::string> more) {
  std::vector<std::string> out = {"task", "enqueue", "charge"};
  out.insert(out.end(), more);
  return out;
}

// D12
TEST_F(BadInput, IdsThatAreEmptyTooLongOrHoldControlCharacters) {
  for (const std::string flag : {"task-id", "idempotency-key", "concurrency-key"}) {
    std::string field = flag;
    for (char& c : field) c = c == '-' ? '_' : c;
    refuse({enqueue({"--" + flag, ""}), "InvalidArgument", field});
    refuse({enqueue({"--" + flag, std::string(256, 'a')}), "InvalidArgument", field});
    refuse({enqueue({"--" + flag, "a\nb"}), "InvalidArgument", field});
    refuse({enqueue({"--" + flag, "a\x7f"}), "InvalidArgument", field});
    refuse({enqueue({"--" + flag, "a\xff"}), "InvalidArgument", field});
  }
  EXPECT_EQ(place.json(enqueue({"--task-id", "known", "--queue", std::string(129, 'q')})).text("error"),
            "InvalidArgument");
  EXPECT_EQ(everything(), before);
  EXPECT_EQ(place.json(enqueue({"--task-id", std::string(255, 'a')})).exit_code, 0);
}

// A24, C9, S15
TEST_F(BadInput, DurationsThatAreNegativeZeroOrOverflow) {
  for (const std::string text : {"-5s", "1e309s", "99999999999999d", "1d1d", "", "5",
                                 "\xe2\x88\x92"
                                 "5s",
                                 "5 s"}) {
    refuse({enqueue({"--delay", text}), "InvalidArgument", "delay"});
    refuse({enqueue({"--timeout", text}), "InvalidArgument", "timeout"});
  }
  refuse({enqueue({"--timeout", "0"}), "InvalidArgument", "timeout"});
  refuse({enqueue({"--attempt-timeout", "0s"}), "InvalidArgument", "attempt_timeout"});
  refuse({{"task", "claim", "--lease", "0s"}, "InvalidArgument", "lease"});
  refuse({{"task", "claim", "--lease", "8d"}, "InvalidArgument", "lease"});
  refuse({enqueue({"--idempotency-key", "k", "--idempotency-key-ttl-seconds", "0"}), "InvalidArgument",
          "idempotency_key_ttl_seconds"});
  refuse({enqueue({"--scheduled-at", "yesterday"}), "InvalidArgument", "scheduled_at"});
  refuse({enqueue({"--delay", "5s", "--scheduled-at", "2030-01-01T00:00:00Z"}), "InvalidArgument", "scheduled_at"});
  EXPECT_EQ(everything(), before);
}

TEST_F(BadInput, NumbersOutOfRange) {
  refuse({enqueue({"--priority", "-1"}), "InvalidArgument", "priority"});
  refuse({enqueue({"--priority", "32768"}), "InvalidArgument", "priority"});
  refuse({enqueue({"--priority", "high"}), "InvalidArgument", "priority"});
  refuse({enqueue({"--max-attempts", "0"}), "InvalidArgument", "max_attempts"});
  refuse({enqueue({"--max-attempts", "99999999999999999999"}), "InvalidArgument", "max-attempts"});
  EXPECT_EQ(everything(), before);
}

TEST_F(BadInput, WordsThatDoNotExist) {
  refuse({enqueue({"--on-duplicate", "maybe"}), "InvalidArgument", "on_duplicate"});
  refuse({enqueue({"--on-duplicate", "replace"}), "InvalidArgument", "on_duplicate"});
  refuse({enqueue({"--reuse", "sometimes"}), "InvalidArgument", "reuse"});
  refuse({{"task", "list", "--status", "asleep"}, "InvalidArgument", "status"});
  refuse({{"task", "get", "not-a-uuid"}, "InvalidArgument", "execution_id"});
  EXPECT_EQ(everything(), before);
}

// A9, D14, D16
TEST_F(BadInput, PayloadsThatAreNotJsonOrTooLarge) {
  refuse({enqueue({"--args", "{"}), "InvalidArgument", "byte"});
  refuse({enqueue({"--args", R"({"a":1,"a":2})"}), "InvalidArgument", "a"});
  refuse({enqueue({"--args", "\"\xff\""}), "InvalidArgument", "UTF-8"});
  refuse({enqueue({"--args", "[1] x"}), "InvalidArgument", "byte"});
  // An argument cannot hold 512 KiB; a file can.
  place.write("big.jsonl", R"({"name":"charge","args":")" + std::string(512 * 1024, 'x') + "\"}\n");
  const Ran big = place.json({"task", "enqueue-batch", "big.jsonl"});
  EXPECT_EQ(big.exit_code, 1);
  EXPECT_NE(big.out.find("PayloadTooLarge"), std::string::npos) << big.out.substr(0, 300);
  EXPECT_EQ(everything(), before);
}

TEST_F(BadInput, QueueSettings) {
  refuse({{"queue", "set", "q", "--concurrency", "0"}, "InvalidArgument", "concurrency"});
  refuse({{"queue", "set", "q", "--rate-limit", "fast"}, "InvalidArgument", "rate_limit"});
  refuse({{"queue", "set", "q", "--retention", "-1d"}, "InvalidArgument", "retention"});
  refuse({{"queue", "set", "q", "--retention", "99999999999999d"}, "InvalidArgument", "retention"});
  refuse({{"queue", "set", "q", "--retry-jitter", "2"}, "InvalidArgument", "jitter"});
  EXPECT_EQ(place.json({"queue", "set", "q", "--speed", "3"}).exit_code, 2);
  EXPECT_EQ(everything(), before);
}

TEST_F(BadInput, TenantsAndKeysThatDoNotExist) {
  refuse({enqueue({"--tenant", "nobody"}), "TenantNotFound", "nobody"});
  refuse({{"task", "list", "--tenant", "Not A Slug"}, "InvalidArgument", "tenant"});
  refuse({{"tenant", "create", "Not A Slug"}, "InvalidArgument", "tenant"});
  refuse({{"key", "get", "nobody"}, "KeyNotFound", "nobody"});
  refuse({{"queue", "get", "nobody"}, "QueueNotFound", "nobody"});
  EXPECT_EQ(everything(), before);
}

TEST_F(BadInput, UsageIsExitCodeTwo) {
  EXPECT_EQ(place.semel({}).exit_code, 2);
  EXPECT_EQ(place.semel({"fly"}).exit_code, 2);
  EXPECT_EQ(place.semel({"task"}).exit_code, 2);
  EXPECT_EQ(place.semel({"task", "enqueue"}).exit_code, 2);
  EXPECT_EQ(place.semel({"task", "enqueue", "a", "--colour", "red"}).exit_code, 2);
  EXPECT_EQ(place.semel({"task", "list", "-o", "xml"}).exit_code, 2);
  EXPECT_EQ(place.semel({"bench", "flight"}).exit_code, 2);
  EXPECT_EQ(place.semel({"--help"}).exit_code, 0);
  EXPECT_NE(place.semel({"task", "enqueue", "--help"}).out.find("Examples:"), std::string::npos);
}

// A25
TEST_F(BadInput, ConfigurationFaultsNameFileAndLine) {
  place.write("semel.toml", "store = \"sqlite:app.db\"\n[queues.payments]\nretention = \"30 days\"\n");
  const Ran ran = place.semel({"task", "list", "-o", "json"});
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_EQ(ran.text("error"), "InvalidConfig");
  EXPECT_TRUE(ran.text("message").starts_with("semel.toml:3: retention")) << ran.out;
  place.write("secret.toml", "store = \"postgres://u:secret@h/d\"\n", 0644);
  const Ran secret = place.semel({"task", "list", "--config", "secret.toml", "-o", "json"});
  EXPECT_TRUE(secret.text("message").starts_with("secret.toml:1: store holds a password")) << secret.out;
  EXPECT_EQ(secret.out.find("u:secret"), std::string::npos);
  EXPECT_EQ(place.semel({"task", "list", "--config", "missing.toml", "-o", "json"}).text("error"), "InvalidConfig");
}

TEST(BadStore, UrlsThatNameNoStore) {
  const Place place;
  const auto error_of = [&](const std::string& url) {
    const Ran ran = place.semel({"task", "enqueue", "a", "--store", url, "-o", "json"});
    EXPECT_EQ(ran.exit_code, 1) << url;
    return ran.text("error");
  };
  EXPECT_EQ(error_of("mysql://h/d"), "InvalidArgument");
  EXPECT_EQ(error_of("sqlite:"), "InvalidArgument");
  EXPECT_EQ(error_of("sqlite:no/such/folder/a.db"), "StoreNotFound");
  EXPECT_EQ(error_of("postgres://nobody@127.0.0.1:1/nothing"), "StoreUnavailable");
  EXPECT_EQ(place.semel({"task", "list", "--store", "sqlite:absent.db", "-o", "json"}).text("error"), "StoreNotFound");
}

// X11
TEST(BadStore, NewerSchemaIsRefusedAndUntouched) {
  const Place place;
  ASSERT_EQ(place.json({"task", "enqueue", "a"}).exit_code, 0);
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(place.file("app.db").c_str(), &db), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(db, "UPDATE meta SET value = 9999", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(db);
  for (const auto& arguments : {std::vector<std::string>{"task", "list"}, {"task", "enqueue", "b"}}) {
    const Ran ran = place.json(arguments);
    EXPECT_EQ(ran.exit_code, 1);
    EXPECT_EQ(ran.text("error"), "SchemaTooNew") << ran.out;
  }
}

// X10
TEST(BadStore, DamagedFileIsExitCodeThree) {
  const Place place;
  place.write("app.db", std::string(8192, 'x'));
  const Ran ran = place.json({"task", "list"});
  EXPECT_EQ(ran.exit_code, 3) << ran.out;
  EXPECT_EQ(ran.text("error"), "StoreCorrupt");
  EXPECT_EQ(place.read("app.db"), std::string(8192, 'x')) << "never repaired by deleting";
  EXPECT_EQ(place.json({"doctor"}).exit_code, 3);
}

// X6
TEST(BadStore, SecondWriterIsToldWhoOwnsTheFileAndReadersWork) {
  const Place place;
  ASSERT_EQ(place.json({"task", "enqueue", "a", "--queue", "elsewhere"}).exit_code, 0);
  Running worker(place, {"worker", "--store", place.store, "--queues", "none"});
  ASSERT_TRUE(worker.read_line().has_value());
  const Ran second = place.json({"task", "enqueue", "b"});
  EXPECT_EQ(second.exit_code, 1);
  EXPECT_EQ(second.text("error"), "StoreBusy") << second.out;
  EXPECT_NE(second.text("message").find(std::to_string(worker.pid())), std::string::npos) << second.out;
  EXPECT_EQ(place.json({"task", "list"}).json().root().find("executions")->size(), 1u);
  worker.signal(SIGTERM);
  EXPECT_EQ(worker.wait(), 0);
  EXPECT_EQ(place.json({"task", "enqueue", "b"}).exit_code, 0);
}

std::string lines_of(int count, int bytes) {
  std::string out;
  for (int i = 0; i < count; ++i)
    out += R"({"name":"big","args":")" + std::string(static_cast<std::size_t>(bytes), 'x') + "\"}\n";
  return out;
}

// X4: a small disk of its own, filled up, then with room again.
TEST(BadStore, FullDiskIsRefusedAndNothingIsLost) {
  const Place place;
  place.write("big.jsonl", lines_of(1000, 3000));
  place.write("full.sh", R"(set -e
mkdir disk && mount -t tmpfs -o size=12m none disk && cd disk
semel task enqueue a --task-id first --store sqlite:app.db -o json
cat /dev/zero > filler 2>/dev/null || true
semel task enqueue-batch ../big.jsonl --store sqlite:app.db -o json > ../full.json || echo $? > ../full.code
rm filler
semel task list --store sqlite:app.db -o json > ../list.json
semel task enqueue a --task-id second --store sqlite:app.db -o json > ../second.json
semel verify --store sqlite:app.db
)");
  const bool may_mount = place.shell("mkdir probe && unshare -m mount -t tmpfs none probe").exit_code == 0;
  if (!may_mount) return;  // store/sqlite/faults_test fills the disk at every single write
  const Ran ran = place.shell("unshare -m sh full.sh");
  ASSERT_EQ(ran.exit_code, 0) << ran.out << ran.err;
  EXPECT_EQ(place.read("full.code"), "1\n");
  EXPECT_NE(place.read("full.json").find("StoreFull"), std::string::npos) << place.read("full.json").substr(0, 300);
  EXPECT_NE(place.read("list.json").find("\"first\""), std::string::npos);
  EXPECT_NE(place.read("second.json").find("\"created\":true"), std::string::npos) << place.read("second.json");
}

// X5: the limit on the size of a file makes a write fail in the middle.
TEST(BadStore, FailedWriteStopsTheStoreAndLosesNothing) {
  const Place place;
  ASSERT_EQ(place.json({"task", "enqueue", "a", "--task-id", "first"}).exit_code, 0);
  place.write("big.jsonl", lines_of(1000, 3000));
  const Ran failed =
      place.shell("ulimit -f 600; trap '' XFSZ; semel task enqueue-batch big.jsonl --store sqlite:app.db -o json");
  EXPECT_EQ(failed.exit_code, 1) << failed.out.substr(0, 300);
  EXPECT_NE(place.json({"task", "get", "--task-id", "first"}).text("status"), "");
  EXPECT_EQ(place.json({"task", "enqueue", "a", "--task-id", "second"}).flag("created"), true);
  EXPECT_EQ(place.json({"verify"}).exit_code, 0);
}

TEST(BadStore, FileThatMayNotBeWritten) {
  if (::geteuid() == 0) return;  // root may write everything
  const Place place;
  ASSERT_EQ(place.json({"task", "enqueue", "a"}).exit_code, 0);
  ASSERT_EQ(place.shell("chmod 400 app.db").exit_code, 0);
  EXPECT_EQ(place.json({"task", "enqueue", "b"}).text("error"), "StoreReadOnly");
}

// F19
TEST(BadOutput, WhatCannotBeWrittenIsExitCodeOne) {
  const Place place;
  ASSERT_EQ(place.json({"task", "enqueue", "charge", "--task-id", "known"}).exit_code, 0);
  for (const char* command : {"task get --task-id known -o json", "task get --task-id known -o table", "task list",
                              "explain known", "doctor", "verify -o json", "--help", "task --help"}) {
    const Ran ran = place.shell(std::string("semel ") + command + " >/dev/full", {{"SEMEL_STORE", place.store}});
    EXPECT_EQ(ran.exit_code, 1) << command;
    EXPECT_NE(ran.err.find("the output could not be written"), std::string::npos) << command << ": " << ran.err;
  }
  EXPECT_EQ(place.shell("semel task list >&-", {{"SEMEL_STORE", place.store}}).exit_code, 1);
  EXPECT_EQ(place.shell("semel nonsense >/dev/full").exit_code, 2);
}

}  // namespace
}  // namespace semel::e2e
