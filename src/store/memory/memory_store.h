// The oracle behind the store port. Nothing is durable: it lives as long as the object, which outlives the engines of a
// simulated world. Thread-safe; batches and reads take turns.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "store/memory/model.h"
#include "store/memory/tables.h"
#include "store/port.h"

namespace semel::store::memory {

class MemoryStore final : public Store {
 public:
  explicit MemoryStore(base::Clock& clock) : clock_(clock) {}

  Applied apply(Batch& batch) override;
  base::Clock& clock() override { return clock_; }
  std::string_view backend() const override { return "memory"; }

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
  // What a batch was answered, for a caller that never heard it.
  struct Mark {
    Instant at{};
    std::vector<core::Answer> answers;
    std::vector<core::LedgerNote> notes;
    Wakes wakes;
    std::int32_t rows_written = 0;
  };

  ExecutionView view(const core::Execution& e) const;

  base::Clock& clock_;
  std::mutex mutex_;
  Tables tables_;
  std::map<BatchId, Mark> marks_;
};

// Every sentence the tables must satisfy between two batches; each string names one broken row.
std::vector<std::string> broken_invariants(const Tables& tables);

}  // namespace semel::store::memory
