// F9, X4: a disk that is full to the last byte locks nobody out. On a real small file system; where none can be mounted
// nothing is tried here, and SqliteFull (src/store/sqlite/faults_test.cc) stands alone.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "store/sqlite/test_kit.h"
#include "testing/forked.h"
#include "testing/manual_clock.h"
#include "tests/crash/scratch.h"

namespace semel::crash {
namespace {

namespace fs = std::filesystem;
using store::Applied;
using store::Batch;
using store::sqlite::Harness;
using store::sqlite::SqliteOptions;

bool mount_small_disk(const std::string& folder, int megabytes) {
  if (unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
  (void)mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
  const std::string size = "size=" + std::to_string(megabytes) + "m";
  return mount("none", folder.c_str(), "tmpfs", 0, size.c_str()) == 0;
}

// Takes what is left.
void fill(const std::string& path) {
  std::ofstream out(path, std::ios::binary);
  const std::string page(4096, 'x');
  while (out.write(page.data(), static_cast<std::streamsize>(page.size())).flush()) {
  }
}

std::vector<core::Operation> tasks_of_2_kb(Harness& h, const std::string& prefix, int from, int count) {
  std::vector<core::Operation> out;
  for (int n = from; n < from + count; ++n) {
    core::TaskEnqueue task = h.task(prefix + std::to_string(n));
    task.args = "\"" + std::string(2000, 'x') + "\"";
    out.push_back(std::move(task));
  }
  return out;
}

constexpr int kAtOnce = 10;

// Tasks that succeed, 2 KB each, until the disk is full. Then the process is killed. Answers how many were accepted.
std::string work_until_full(const SqliteOptions& options) {
  Harness& h = *new Harness(options);  // never closed
  core::LaneConfig config;
  config.retention = std::chrono::hours(1);
  h.apply<core::LaneAnswer>(core::LaneEnsure{core::kDefaultTenant, "default", config});
  for (int n = 0;; n += kAtOnce) {
    Batch batch;
    Applied applied = h.try_apply(tasks_of_2_kb(h, "task-", n, kAtOnce), batch);
    const int accepted = applied.kind == Applied::Kind::committed ? n + kAtOnce : n;
    std::vector<core::Operation> claim;
    claim.push_back(h.claim_of(kAtOnce));
    if (applied.kind == Applied::Kind::committed) applied = h.try_apply(std::move(claim), batch);
    std::vector<core::Operation> ends;
    if (applied.kind == Applied::Kind::committed)
      for (const auto& task : std::get<core::ClaimAnswer>(batch.answers.at(0)).tasks)
        ends.push_back(core::TaskComplete{task.execution.id, task.execution.version, "1"});
    if (applied.kind == Applied::Kind::committed) applied = h.try_apply(std::move(ends), batch);
    if (applied.kind != Applied::Kind::committed)
      return std::string(error_info(applied.error.code).name) + " " + std::to_string(accepted);
  }
}

#define NEED(condition) \
  if (!(condition)) return std::string("failed: " #condition)

std::string live_on(const SqliteOptions& options, testing::ManualClock& clock, int acknowledged) {
  SqliteOptions reading = options;
  reading.read_only = true;
  {
    const auto reader = store::sqlite::open_sqlite(reading);
    if (!reader) return "no reader: " + reader.error().message;
    for (int n = 0; n < acknowledged; ++n)
      NEED((*reader)->execution_find(core::kDefaultTenant, core::Space::task, "task-" + std::to_string(n)).value());
  }
  clock.advance(std::chrono::hours(2));
  auto opened = store::sqlite::open_sqlite(options);
  if (!opened) return "no writer: " + opened.error().message;
  store::Store& store = **opened;
  std::int64_t deleted = 0;
  core::Operation operation = core::RetentionSweep{};
  for (bool more = true; more;) {
    Batch batch;
    batch.id.bytes[0] = 1;
    batch.now = clock.now();
    batch.operations = {&operation};
    const Applied applied = store.apply(batch);
    if (applied.kind != Applied::Kind::committed) return "no purge: " + applied.error.message;
    const auto& page = std::get<core::SweepAnswer>(batch.answers.at(0));
    deleted += page.changed;
    more = page.more;
    operation = core::RetentionSweep{page.next_after};
  }
  NEED(deleted > acknowledged * 9 / 10);
  opened->reset();
  Harness h(options);
  for (int n = 0; n < acknowledged / 2; n += kAtOnce) {
    Batch batch;
    const Applied applied = h.try_apply(tasks_of_2_kb(h, "again-", n, kAtOnce), batch);
    if (applied.kind != Applied::Kind::committed)
      return "no room for task " + std::to_string(n) + ": " + applied.error.message;
  }
  NEED(fs::exists(options.path + "-ballast"));
  NEED(h.verify().empty());
  return "lives";
}

class FullDisk : public ::testing::TestWithParam<int> {};

TEST_P(FullDisk, OpensReadsAndIsCleaned) {
  const Scratch scratch;
  const std::string folder = fs::path(scratch.path("x")).parent_path();
  testing::Forked operator_of_it([&]() -> std::string {
    if (!mount_small_disk(folder, GetParam())) return "no mount";
    testing::ManualClock clock;
    SqliteOptions options;
    options.path = scratch.path("semel.db");
    options.clock = &clock;
    testing::Forked worker([&] { return work_until_full(options); });
    const std::string told = worker.run();
    if (!told.starts_with("StoreFull ")) return "no StoreFull: " + told;
    fill(scratch.path("filler"));
    return live_on(options, clock, std::stoi(told.substr(10)));
  });
  const std::string told = operator_of_it.run();
  if (told == "no mount") std::printf("this machine mounts no file system for us\n");
  else EXPECT_EQ(told, "lives");
}

INSTANTIATE_TEST_SUITE_P(Megabytes, FullDisk, ::testing::Values(20, 30, 37, 40));

}  // namespace
}  // namespace semel::crash
