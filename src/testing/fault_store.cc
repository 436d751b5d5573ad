#include "testing/fault_store.h"

#include <array>

namespace semel::testing {
namespace {

using Kind = store::Applied::Kind;

store::Applied failed(Kind kind, ErrorCode code, const char* message) { return {kind, make_error(code, message)}; }

Error read_failed() { return make_error(ErrorCode::StoreUnavailable, "injected: the read failed"); }

}  // namespace

std::string_view to_string(Fault fault) {
  static constexpr std::array<std::string_view, kFaultCount> kNames = {
      "none",        "retry", "lost_before", "lost_after",    "halve", "locked",       "full",       "read_only",
      "unavailable", "fatal", "lost_wakes",  "doubled_wakes", "slow",  "crash_before", "crash_after"};
  return kNames[static_cast<std::size_t>(fault)];
}

Fault FaultStore::next_fault(const store::Batch& batch) {
  if (!script_.empty()) {
    const Fault fault = script_.front();
    script_.pop_front();
    return fault;
  }
  return choose ? choose(batch) : Fault::none;
}

store::Applied FaultStore::pass_on(store::Batch& batch) {
  store::Applied applied = inner_.apply(batch);
  if (applied.kind == Kind::committed && on_commit) on_commit(batch);
  return applied;
}

store::Applied FaultStore::apply(store::Batch& batch) {
  ++applied;
  if (batch.history != turns)
    return failed(Kind::another_history, ErrorCode::StoreUnavailable, "injected: another history");
  switch (const Fault fault = next_fault(batch)) {
    case Fault::retry:
      return failed(Kind::retry, ErrorCode::StoreBusy, "injected: serialization failure");
    case Fault::lost_before:
      return failed(Kind::unknown, ErrorCode::UnknownCommit, "injected: connection lost");
    case Fault::halve:
      return failed(Kind::halve, ErrorCode::Internal, "injected: an operation raises");
    case Fault::locked:
      return failed(Kind::locked, ErrorCode::StoreBusy, "injected: a stranger's lock");
    case Fault::full:
      return failed(Kind::unavailable, ErrorCode::StoreFull, "injected: disk full");
    case Fault::read_only:
      return failed(Kind::unavailable, ErrorCode::StoreReadOnly, "injected: read-only");
    case Fault::unavailable:
      return failed(Kind::unavailable, ErrorCode::StoreUnavailable, "injected: not reachable");
    case Fault::fatal:
      return failed(Kind::fatal, ErrorCode::StoreCorrupt, "injected: I/O error");
    case Fault::crash_before:
      throw Crash{"store.before_commit"};
    case Fault::crash_after:
      pass_on(batch);
      throw Crash{"store.after_commit"};
    case Fault::lost_after: {
      store::Applied applied = pass_on(batch);
      if (applied.kind != Kind::committed) return applied;
      batch.answers.clear();
      return failed(Kind::unknown, ErrorCode::UnknownCommit, "injected: connection lost after the commit");
    }
    case Fault::slow: {
      store::Applied applied = pass_on(batch);
      if (on_slow) on_slow();
      return applied;
    }
    case Fault::lost_wakes:
    case Fault::doubled_wakes: {
      store::Applied applied = pass_on(batch);
      auto& wakes = batch.wakes;
      if (fault == Fault::lost_wakes) {
        wakes = {};
      } else {
        const auto twice = [](auto& hints) {
          const auto once = hints;
          hints.insert(hints.end(), once.begin(), once.end());
        };
        twice(wakes.lanes), twice(wakes.runs), twice(wakes.ended), twice(wakes.mailed);
      }
      return applied;
    }
    case Fault::none:
      break;
  }
  return pass_on(batch);
}

#define SEMEL_READ(call)                                \
  if (reads_fail && reads_fail()) return read_failed(); \
  return inner_.call

Result<std::optional<core::TenantId>> FaultStore::tenant_find(std::string_view name) { SEMEL_READ(tenant_find(name)); }
Result<std::vector<std::pair<core::TenantId, std::string>>> FaultStore::tenant_list() { SEMEL_READ(tenant_list()); }
Result<std::vector<core::Lane>> FaultStore::lane_list() { SEMEL_READ(lane_list()); }
Result<store::LaneStats> FaultStore::lane_stats(core::LaneId lane) { SEMEL_READ(lane_stats(lane)); }
Result<std::optional<store::ExecutionView>> FaultStore::execution_get(core::TenantId tenant, ExecutionId id) {
  SEMEL_READ(execution_get(tenant, id));
}
Result<std::optional<store::ExecutionView>> FaultStore::execution_find(core::TenantId tenant, core::Space space,
                                                                       std::string_view key) {
  SEMEL_READ(execution_find(tenant, space, key));
}
Result<std::vector<store::ExecutionView>> FaultStore::execution_list(const store::ExecutionFilter& filter) {
  SEMEL_READ(execution_list(filter));
}
Result<store::Whereabouts> FaultStore::execution_whereabouts(const core::Execution& execution) {
  SEMEL_READ(execution_whereabouts(execution));
}
Result<std::optional<core::Attention>> FaultStore::attention_get(ExecutionId id) { SEMEL_READ(attention_get(id)); }
Result<std::optional<core::Identity>> FaultStore::key_get(core::TenantId tenant, std::string_view key) {
  SEMEL_READ(key_get(tenant, key));
}
Result<std::vector<core::Identity>> FaultStore::key_list(core::TenantId tenant, std::string_view after,
                                                         std::int32_t limit) {
  SEMEL_READ(key_list(tenant, after, limit));
}
Result<std::optional<store::LedgerView>> FaultStore::ledger_get(const core::IdentityKey& id) {
  SEMEL_READ(ledger_get(id));
}
Result<std::optional<core::Session>> FaultStore::session_get(SessionId id) { SEMEL_READ(session_get(id)); }
Result<std::vector<ClaimId>> FaultStore::session_leases(SessionId id) { SEMEL_READ(session_leases(id)); }
Result<std::optional<core::Run>> FaultStore::run_get(ExecutionId run) { SEMEL_READ(run_get(run)); }
Result<std::vector<core::HistoryRow>> FaultStore::history_get(ExecutionId run, std::int32_t after, std::int64_t limit) {
  SEMEL_READ(history_get(run, after, limit));
}
Result<std::vector<core::Mail>> FaultStore::mail_list(std::span<const ExecutionId> runs) {
  SEMEL_READ(mail_list(runs));
}
Result<std::vector<store::ReadyLane>> FaultStore::ready_lanes() { SEMEL_READ(ready_lanes()); }
Result<std::optional<Instant>> FaultStore::next_timer() { SEMEL_READ(next_timer()); }
Result<std::vector<core::InboxRow>> FaultStore::inbox_list(std::int32_t limit) { SEMEL_READ(inbox_list(limit)); }
#undef SEMEL_READ

}  // namespace semel::testing
