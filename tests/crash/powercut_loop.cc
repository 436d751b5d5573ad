#include "tests/crash/powercut_loop.h"

#include <filesystem>

#include "base/clock.h"
#include "base/failpoint.h"
#include "store/sqlite/sqlite_store.h"
#include "testing/temp_sqlite.h"

namespace semel::powercut {
namespace {

namespace fs = std::filesystem;
using store::Applied;
using store::sqlite::SqliteOptions;
using testing::DiskCall;
using testing::PowerCutDisk;

// When in a life of the store the power is to go.
enum class When : std::uint8_t { opening, working, closing };

constexpr int kLivesPerStore = 25;
constexpr int kStepsPerLife = 60;

SqliteOptions options_for(const std::string& folder, const std::string& vfs, base::Random& random) {
  SqliteOptions options;
  options.path = folder + "/semel.db";
  options.vfs = vfs;
  options.ballast_bytes = 0;
  options.cache_kib = 256;
  options.checkpoint_frames = 16 + static_cast<int>(random.below(40));
  // Sometimes so low that checkpoints also cut the WAL file back.
  options.wal_limit_bytes = random.below(3) == 0 ? options.checkpoint_frames * 4096 : 64 * 1024 * 1024;
  return options;
}

// Tells the disk which calls belong to a checkpoint.
class CheckpointWatch {
 public:
  explicit CheckpointWatch(PowerCutDisk& disk) {
    base::set_failpoint_hook([&disk](std::string_view name) {
      if (name == "sqlite.checkpoint.before") disk.enter_checkpoint(true);
      if (name == "sqlite.checkpoint.after") disk.enter_checkpoint(false);
    });
  }
  ~CheckpointWatch() { base::set_failpoint_hook({}); }
};

}  // namespace

std::string to_string(const Report& report) {
  std::string out = "cuts " + std::to_string(report.cuts) + " (in checkpoints " +
                    std::to_string(report.cuts_in_checkpoint) + ", at open " + std::to_string(report.cuts_at_open) +
                    ", at close " + std::to_string(report.cuts_at_close) + ");";
  for (const auto& [call, count] : report.cuts_by_call) out += " " + call + " " + std::to_string(count) + ",";
  out.back() = ';';
  out += " acknowledged operations " + std::to_string(report.acknowledged) + "; batch in flight kept " +
         std::to_string(report.in_flight_kept) + ", dropped " + std::to_string(report.in_flight_dropped) + "; broken " +
         std::to_string(report.broken.size());
  return out;
}

Report Loop::run(int cuts) {
  for (int life = 0; report_.cuts < cuts && report_.broken.empty(); ++life) {
    if (life % kLivesPerStore == 0) start_over();
    live();
  }
  return report_;
}

void Loop::start_over() {
  if (!folder_.empty()) fs::remove_all(folder_);
  folder_ = testing::temp_folder();
  tasks_.clear();
  lane_ = {};
  session_ = {};
}

void Loop::live() {
  enqueueing_.clear();
  completing_.clear();
  PowerCutDisk disk;
  disk.adopt(folder_);
  if (lying_disk_) disk.lie_about_wal_syncs();
  const CheckpointWatch watch(disk);
  const std::uint64_t dice = random_.below(10);
  const When when = dice == 0 ? When::closing : dice <= 2 ? When::opening : When::working;
  // Only the first open writes much: the file is made and its schema created.
  if (when == When::opening) disk.cut_at({std::nullopt, false, 1 + static_cast<int>(random_.below(80))}, random_);
  auto opened = store::sqlite::open_sqlite(options_for(folder_, disk.name(), random_));
  if (!opened && !disk.is_cut()) return broken("open: " + opened.error().message);
  if (disk.is_cut()) ++report_.cuts_at_open;
  if (opened) {
    if (when == When::working) arm(disk);
    work(**opened, disk, when == When::closing ? 5 : kStepsPerLife);
    const bool well_until_now = !disk.is_cut();
    if (when == When::closing) disk.cut_at({std::nullopt, false, 1 + static_cast<int>(random_.below(30))}, random_);
    // Closing folds the WAL, too.
    disk.enter_checkpoint(true);
    opened->reset();
    if (well_until_now && disk.is_cut()) ++report_.cuts_at_close;
  }
  if (disk.is_cut()) note_cut(disk);
  const std::string after = testing::temp_folder();
  disk.leave_files(after, random_);
  fs::remove_all(folder_);
  folder_ = after;
  check(after);
}

void Loop::arm(PowerCutDisk& disk) {
  testing::CallFilter filter;
  switch (random_.below(8)) {
    case 0:
    case 1:
      filter = {std::nullopt, true, 1 + static_cast<int>(random_.below(40))};
      break;
    case 2:
      filter = {DiskCall::truncate, false, 1 + static_cast<int>(random_.below(2))};
      break;
    case 3:
      filter = {DiskCall::sync, false, 1 + static_cast<int>(random_.below(30))};
      break;
    default:
      filter = {std::nullopt, false, 1 + static_cast<int>(random_.below(250))};
  }
  disk.cut_at(filter, random_);
}

void Loop::work(store::Store& store, PowerCutDisk& disk, int steps) {
  for (int i = 0; i < steps && !disk.is_cut(); ++i) {
    if (!step(store) && !disk.is_cut()) return broken("an operation failed although the disk was well");
  }
}

bool Loop::step(store::Store& store) {
  if (lane_ == core::LaneId{}) {
    store::Batch batch;
    const SessionId session = ids_.next<SessionId>(store.clock().now());
    if (!commit(store,
                {core::LaneEnsure{core::kDefaultTenant, "default", std::nullopt},
                 core::SessionOpen{session, "worker-1", std::chrono::hours(24)}},
                batch)) {
      return false;
    }
    lane_ = std::get<core::LaneAnswer>(batch.answers[0]).lane.id;
    session_ = session;
    return true;
  }
  const std::uint64_t dice = random_.below(100);
  if (dice < 50) return enqueue_some(store);
  return dice < 75 ? claim_some(store) : complete_some(store);
}

bool Loop::commit(store::Store& store, std::vector<core::Operation> operations, store::Batch& batch) {
  batch.id = ids_.next<BatchId>(store.clock().now());
  batch.now = store.clock().now();
  for (core::Operation& operation : operations) batch.operations.push_back(&operation);
  const Applied applied = store.apply(batch);
  if (applied.kind != Applied::Kind::committed) return false;
  report_.acknowledged += static_cast<std::int64_t>(operations.size());
  return true;
}

bool Loop::enqueue_some(store::Store& store) {
  enqueueing_.clear();
  std::vector<core::Operation> operations;
  for (std::uint64_t i = 0, count = 1 + random_.below(6); i < count; ++i) {
    core::TaskEnqueue task;
    task.id = ids_.next<ExecutionId>(store.clock().now());
    task.lane = lane_;
    task.name = "charge";
    task.identity = "task-" + std::to_string(next_number_++);
    task.fingerprint.emplace();
    task.args = std::string(random_.below(10) == 0 ? random_.below(9000) : random_.below(300), 'x');
    enqueueing_.emplace_back(*task.identity, task.id);
    operations.push_back(std::move(task));
  }
  store::Batch batch;
  if (!commit(store, std::move(operations), batch)) return false;
  for (const auto& [name, id] : enqueueing_) tasks_[name] = Task{id, 0, {}};
  enqueueing_.clear();
  return true;
}

bool Loop::claim_some(store::Store& store) {
  core::TaskClaim claim;
  claim.id = ids_.next<ClaimId>(store.clock().now());
  claim.session = session_;
  claim.worker = "worker-1";
  claim.lease = std::chrono::hours(24);
  claim.lanes.push_back({lane_, 1 + static_cast<std::int32_t>(random_.below(5)), false});
  store::Batch batch;
  if (!commit(store, {claim}, batch)) return false;
  for (const auto& one : std::get<core::ClaimAnswer>(batch.answers[0]).tasks) {
    tasks_[*one.execution.identity].claimed_version = one.execution.version;
  }
  return true;
}

bool Loop::complete_some(store::Store& store) {
  completing_.clear();
  std::vector<core::Operation> operations;
  for (const auto& [name, task] : tasks_) {
    if (task.claimed_version == 0 || !task.result.empty() || random_.below(2) == 0) continue;
    completing_.emplace_back(name, "\"" + std::to_string(random_.next()) + "\"");
    operations.push_back(core::TaskComplete{task.id, task.claimed_version, completing_.back().second});
    if (operations.size() == 5) break;
  }
  if (operations.empty()) return true;
  store::Batch batch;
  if (!commit(store, std::move(operations), batch)) return false;
  for (const auto& [name, result] : completing_) tasks_[name].result = result;
  completing_.clear();
  return true;
}

void Loop::note_cut(const PowerCutDisk& disk) {
  ++report_.cuts;
  if (disk.where().in_checkpoint) ++report_.cuts_in_checkpoint;
  last_cut_ = std::string(to_string(disk.where().call)) + " " + disk.where().file;
  ++report_.cuts_by_call[last_cut_];
}

void Loop::check(const std::string& folder) {
  // On a copy: the next life starts from the very files the cut left, and recovers them on the watched disk.
  const std::string copy = testing::temp_folder();
  fs::copy(folder, copy, fs::copy_options::recursive | fs::copy_options::overwrite_existing);
  if (!fs::exists(copy + "/semel.db")) {
    if (!tasks_.empty() || lane_ != core::LaneId{}) broken("the file is gone");
    fs::remove_all(copy);
    return;
  }
  auto opened = store::sqlite::open_sqlite(options_for(copy, "", random_));
  if (!opened) return broken("recovery: " + opened.error().message);
  store::Store& store = **opened;
  const auto verified = store.verify();
  if (!verified) return broken("verify: " + verified.error().message);
  for (const std::string& line : *verified) broken(line);
  store::ExecutionFilter all;
  all.limit = 1'000'000;
  const auto listed = store.execution_list(all);
  if (!listed) return broken("list: " + listed.error().message);
  std::map<ExecutionId, core::Execution> rows;
  for (const auto& view : *listed) rows.emplace(view.execution.id, view.execution);
  check_acknowledged(rows);
  settle_in_flight(rows);
  opened->reset();
  fs::remove_all(copy);
}

void Loop::check_acknowledged(const std::map<ExecutionId, core::Execution>& rows) {
  for (const auto& [name, task] : tasks_) {
    const auto it = rows.find(task.id);
    if (it == rows.end()) {
      broken(name + " was acknowledged and is gone");
    } else if (!task.result.empty()) {
      if (it->second.result != task.result) broken(name + " was completed and lost its result");
    } else if (task.claimed_version != 0 && it->second.version < task.claimed_version) {
      broken(name + " was claimed and its claim is gone");
    }
  }
}

void Loop::settle_in_flight(const std::map<ExecutionId, core::Execution>& rows) {
  std::size_t present = 0;
  for (const auto& [name, id] : enqueueing_) present += rows.count(id);
  for (const auto& [name, result] : completing_)
    present += rows.count(tasks_[name].id) != 0 && rows.at(tasks_[name].id).result == result;
  const std::size_t all = enqueueing_.size() + completing_.size();
  if (all == 0) return;
  if (present != 0 && present != all) broken("half of a batch is there");
  ++(present == all ? report_.in_flight_kept : report_.in_flight_dropped);
  if (present != all) return;
  for (const auto& [name, id] : enqueueing_) tasks_[name] = Task{id, 0, {}};
  for (const auto& [name, result] : completing_) tasks_[name].result = result;
}

void Loop::broken(const std::string& what) {
  report_.broken.push_back("after cut " + std::to_string(report_.cuts) + " (" + last_cut_ + "): " + what);
}

}  // namespace semel::powercut
