// Store over one SQLite file. See sqlite_store.h for what it promises.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "store/port.h"
#include "store/sqlite/ballast.h"
#include "store/sqlite/checkpoints.h"
#include "store/sqlite/connection.h"
#include "store/sqlite/errors.h"
#include "store/sqlite/readers.h"
#include "store/sqlite/sqlite_store.h"
#include "store/sqlite/store_file.h"
#include "store/sqlite/tables.h"

namespace semel::store::sqlite {

class SqliteStore final : public Store {
 public:
  struct Opened {
    StoreFile file;
    std::unique_ptr<Connection> writer;  // none: read-only
    bool disk_is_full = false;
    Duration clock_ahead{0};  // of the wall clock, unless the options bring one
  };
  // `options.path` is that of the file. Throws SqliteFailure.
  SqliteStore(const SqliteOptions& options, Opened opened);
  ~SqliteStore() override;

  Applied apply(Batch& batch) override;
  base::Clock& clock() override { return clock_; }
  std::string_view backend() const override { return "sqlite"; }

  Result<std::optional<core::TenantId>> tenant_find(std::string_view name) override;
  Result<std::vector<std::pair<core::TenantId, std::string>>> tenant_list() override;
  Result<std::vector<core::Lane>> lane_list() override;
  Result<LaneStats> lane_stats(core::LaneId lane) override;
  Result<std::optional<ExecutionView>> execution_get(core::TenantId tenant, ExecutionId id) override;
  Result<std::optional<ExecutionView>> execution_find(core::TenantId tenant, core::Space space,
                                                      std::string_view key) override;
  Result<std::vector<ExecutionView>> execution_list(const ExecutionFilter& filter) override;
  Result<Whereabouts> execution_whereabouts(const core::Execution& execution) override;
  Result<std::optional<core::Attention>> attention_get(ExecutionId id) override;
  Result<std::optional<core::Identity>> key_get(core::TenantId tenant, std::string_view key) override;
  Result<std::vector<core::Identity>> key_list(core::TenantId tenant, std::string_view after,
                                               std::int32_t limit) override;
  Result<std::optional<LedgerView>> ledger_get(const core::IdentityKey& id) override;
  Result<std::optional<core::Session>> session_get(SessionId id) override;
  Result<std::vector<ClaimId>> session_leases(SessionId id) override;
  Result<std::optional<core::Run>> run_get(ExecutionId run) override;
  Result<std::vector<core::HistoryRow>> history_get(ExecutionId run, std::int32_t after, std::int64_t limit) override;
  Result<std::vector<core::Mail>> mail_list(std::span<const ExecutionId> runs) override;
  Result<std::vector<ReadyLane>> ready_lanes() override;
  Result<std::optional<Instant>> next_timer() override;

  Result<std::vector<std::string>> verify() override;
  Result<std::string> snapshot() override;

 private:
  // Lends a reader to `work`; a failure becomes the result's error.
  template <class Work>
  auto reading(Work&& work, bool limited = true) -> Result<decltype(work(std::declval<Connection&>()))> {
    try {
      try {
        return read_once(work, limited);
      } catch (const SqliteFailure& failure) {
        if (!is_full(failure) || !ballast_.release()) throw;
      }
      return read_once(work, limited);
    } catch (const SqliteFailure& failure) {
      return read_error(failure);
    } catch (const core::InvariantBroken& broken) {  // of one row: the others are as good as ever
      return make_error(ErrorCode::StoreCorrupt, "sqlite:" + options_.path + ": " + broken.what());
    }
  }
  template <class Work>
  auto read_once(Work& work, bool limited) -> Result<decltype(work(std::declval<Connection&>()))> {
    Readers::Loan loan = readers_.lend(limited);
    if (!file_.is_in_place()) return file_is_gone(ErrorCode::StoreUnavailable);
    return work(*loan);
  }
  Error read_error(const SqliteFailure& failure);
  Error file_is_gone(ErrorCode code) const;

  void prepare_to_write(bool disk_is_full);
  void note_clock();
  Applied run(Batch& batch);
  Applied run_once(Batch& batch);
  // The disk was full: only batches that free space may run until the ballast is back.
  Applied run_in_reserve(Batch& batch);
  Applied clean_in_reserve(Batch& batch);
  bool make_room();
  void tidy_up();
  void look_after_ballast(Instant now);
  Applied stop(Error error);

  StoreFile file_;  // first: every connection is closed before it
  const SqliteOptions options_;
  base::LogSink& log_;
  std::optional<base::SystemClock> own_clock_;
  base::Clock& clock_;
  std::unique_ptr<Connection> writer_;
  std::optional<SqliteTables> tables_;
  std::optional<Checkpoints> checkpoints_;
  Ballast ballast_;
  bool in_reserve_ = false;
  Instant ballast_looked_at_{};
  Readers readers_;
  // Set once, by the first I/O error or damaged page: nothing is written after it.
  std::mutex fault_mutex_;
  std::optional<Error> fault_;
  std::atomic<bool> faulty_{false};
};

}  // namespace semel::store::sqlite
