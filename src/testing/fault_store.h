// A store that fails on purpose: before the commit, after it, or by losing the answer. Wraps any backend.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string_view>

#include "store/port.h"

namespace semel::testing {

enum class Fault : std::uint8_t {
  none,
  retry,          // serialization failure: nothing happened
  lost_before,    // connection died before the commit: unknown to the caller, nothing happened
  lost_after,     // connection died after the commit: unknown to the caller, it happened
  halve,          // some operation raises
  locked,         // a stranger's lock
  full,           // disk full
  read_only,      // the store refuses writes
  unavailable,    // cannot be reached
  fatal,          // I/O error
  lost_wakes,     // commits; hints are lost
  doubled_wakes,  // commits; hints come twice
  slow,           // commits; `on_slow` runs before the answer
  crash_before,   // throws Crash before the commit
  crash_after,    // throws Crash after the commit
};
inline constexpr int kFaultCount = 15;
std::string_view to_string(Fault fault);

// The process died here. Thrown through the engine by simulated crashes; caught by the world that owns the node.
struct Crash {
  std::string_view where;
};

class FaultStore final : public store::Store {
 public:
  // `clock` replaces the clock of `inner` when given.
  explicit FaultStore(store::Store& inner, base::Clock* clock = nullptr) : inner_(inner), clock_(clock) {}

  void push(Fault fault) { script_.push_back(fault); }  // for the next applies, in order
  std::function<Fault(const store::Batch&)> choose;     // asked when the script is empty
  std::function<void()> on_slow;
  std::function<void(const store::Batch&)> on_commit;  // what the store has decided, before anybody is told
  std::function<bool()> reads_fail;
  std::function<void(const core::TaskClaim&)> on_offer;  // when set: there are other processes to be told
  FaultStore* slow = nullptr;                            // what slow_lane answers
  FaultStore* second = nullptr;                          // another line beside this one; set before a writer is made
  std::uint64_t applied = 0;
  std::uint64_t turns = 0;  // raised: from now on the store has another history

  store::Applied apply(store::Batch& batch) override;
  std::vector<store::Store*> lines() override {
    if (second == nullptr) return {this};
    return {this, second};
  }
  store::Store* slow_lane() override { return slow; }
  base::Clock& clock() override { return clock_ != nullptr ? *clock_ : inner_.clock(); }
  std::string_view backend() const override { return inner_.backend(); }
  std::uint64_t history() const override { return turns; }

  Result<std::optional<core::TenantId>> tenant_find(std::string_view name) override;
  Result<std::vector<std::pair<core::TenantId, std::string>>> tenant_list() override;
  Result<std::vector<core::Lane>> lane_list() override;
  Result<store::LaneStats> lane_stats(core::LaneId lane) override;
  Result<std::optional<store::ExecutionView>> execution_get(core::TenantId tenant, ExecutionId id) override;
  Result<std::optional<store::ExecutionView>> execution_find(core::TenantId tenant, core::Space space,
                                                             std::string_view key) override;
  Result<std::vector<store::ExecutionView>> execution_list(const store::ExecutionFilter& filter) override;
  Result<store::Whereabouts> execution_whereabouts(const core::Execution& execution) override;
  Result<std::optional<core::Attention>> attention_get(ExecutionId id) override;
  Result<std::optional<core::Identity>> key_get(core::TenantId tenant, std::string_view key) override;
  Result<std::vector<core::Identity>> key_list(core::TenantId tenant, std::string_view after,
                                               std::int32_t limit) override;
  Result<std::optional<store::LedgerView>> ledger_get(const core::IdentityKey& id) override;
  Result<std::optional<core::Session>> session_get(SessionId id) override;
  Result<std::vector<ClaimId>> session_leases(SessionId id) override;
  Result<std::optional<core::Run>> run_get(ExecutionId run) override;
  Result<std::vector<core::HistoryRow>> history_get(ExecutionId run, std::int32_t after, std::int64_t limit) override;
  Result<std::vector<core::Mail>> mail_list(std::span<const ExecutionId> runs) override;
  Result<std::vector<store::ReadyLane>> ready_lanes() override;
  Result<std::optional<Instant>> next_timer() override;
  Result<std::vector<core::InboxRow>> inbox_list(std::int32_t limit) override;
  bool hears_hints() const override { return on_offer != nullptr; }
  void offer(const core::TaskClaim& claim) override { on_offer(claim); }
  std::vector<std::string> hindered_by;  // what alarms() answers
  Result<std::vector<std::string>> alarms() override { return hindered_by; }
  Result<std::vector<std::string>> verify() override { return inner_.verify(); }
  Result<std::string> snapshot() override { return inner_.snapshot(); }

 private:
  Fault next_fault(const store::Batch& batch);
  store::Applied pass_on(store::Batch& batch);

  store::Store& inner_;
  base::Clock* clock_;
  std::deque<Fault> script_;
};

}  // namespace semel::testing
