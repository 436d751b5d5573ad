// A store with the few operations the SQLite tests need, spelled short. Included by tests only.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/random.h"
#include "base/uuid.h"
#include "core/fingerprint.h"
#include "core/operations.h"
#include "store/port.h"
#include "store/sqlite/sqlite_store.h"
#include "testing/temp_sqlite.h"

namespace semel::store::sqlite {

// Remembers what was logged.
class MemoryLog final : public base::LogSink {
 public:
  bool enabled(base::LogLevel) const override { return true; }
  void write(base::LogLevel, std::string_view message, std::initializer_list<base::LogField> fields) override {
    std::lock_guard lock(mutex_);
    lines_.push_back(base::format_log_line(message, fields));
  }
  bool has(std::string_view part) {
    std::lock_guard lock(mutex_);
    for (const std::string& line : lines_) {
      if (line.find(part) != std::string::npos) return true;
    }
    return false;
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> lines_;
};

class Harness {
 public:
  explicit Harness(const SqliteOptions& options) : store_(std::move(open_sqlite(options)).value()) {
    lane_ = apply<core::LaneAnswer>(core::LaneEnsure{core::kDefaultTenant, "default", std::nullopt}).lane.id;
    session_ = ids_.next<SessionId>(now());
    apply<core::SessionAnswer>(core::SessionOpen{session_, "worker-1", std::chrono::seconds(30)});
  }

  Store& store() { return *store_; }
  Instant now() { return store_->clock().now(); }
  core::LaneId lane() const { return lane_; }
  template <class Id>
  Id next_id() {
    return ids_.next<Id>(now());
  }

  core::TaskEnqueue task(const std::string& id) {
    core::TaskEnqueue task;
    task.id = next_id<ExecutionId>();
    task.lane = lane_;
    task.name = "charge";
    task.args = "{}";
    task.identity = id;
    task.fingerprint = core::fingerprint_of(task.name, task.args).value();
    return task;
  }

  // One batch, whatever becomes of it.
  Applied try_apply(std::vector<core::Operation> operations, Batch& batch) {
    batch = Batch{};
    batch.id = next_id<BatchId>();
    batch.now = now();
    for (core::Operation& operation : operations) batch.operations.push_back(&operation);
    return store_->apply(batch);
  }
  Applied try_apply(core::Operation operation) {
    Batch batch;
    std::vector<core::Operation> one;
    one.push_back(std::move(operation));
    return try_apply(std::move(one), batch);
  }

  // One operation that must be committed and answered so.
  template <class Answer>
  Answer apply(core::Operation operation) {
    Batch batch;
    std::vector<core::Operation> one;
    one.push_back(std::move(operation));
    const Applied applied = try_apply(std::move(one), batch);
    EXPECT_EQ(applied.kind, Applied::Kind::committed) << applied.error.message;
    if (applied.kind != Applied::Kind::committed) return {};
    if (const auto* error = std::get_if<Error>(&batch.answers[0])) {
      ADD_FAILURE() << error->message;
      return {};
    }
    return std::get<Answer>(batch.answers[0]);
  }

  ExecutionId enqueue(const std::string& id) { return apply<core::EnqueueAnswer>(task(id)).execution; }

  core::TaskClaim claim_of(std::int32_t limit, bool limited_lane = false) {
    core::TaskClaim claim;
    claim.id = next_id<ClaimId>();
    claim.session = session_;
    claim.worker = "worker-1";
    claim.lease = std::chrono::seconds(30);
    claim.lanes.push_back({lane_, limit, limited_lane});
    return claim;
  }
  std::vector<core::ClaimedTask> claim(std::int32_t limit, bool limited_lane = false) {
    return apply<core::ClaimAnswer>(claim_of(limit, limited_lane)).tasks;
  }

  core::EndAnswer complete(const core::Execution& execution, const std::string& result) {
    return apply<core::EndAnswer>(core::TaskComplete{execution.id, execution.version, result});
  }

  std::vector<std::string> verify() { return store_->verify().value(); }
  void close() { store_.reset(); }

 private:
  base::SystemRandom random_;
  base::IdSource ids_{random_};
  std::unique_ptr<Store> store_;
  core::LaneId lane_{};
  SessionId session_;
};

}  // namespace semel::store::sqlite
