// The rows of the memory store: one ordered map or set per table, named as in core/rows.h.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "core/rows.h"

namespace semel::store::memory {

// Timers in the order they fire. An execution has at most one of each kind, a run one of kind `run` for each command,
// so they are also found by execution.
class TimerTable {
 public:
  void add(const core::TimerRow& row) {
    remove(row.execution, row.kind, row.version);
    rows_.insert(row);
    by_execution_[name(row.execution, row.kind, row.version)] = row;
  }
  void remove(ExecutionId execution, core::TimerKind kind, std::int32_t command = 0) {
    const auto it = by_execution_.find(name(execution, kind, command));
    if (it == by_execution_.end()) return;
    rows_.erase(it->second);
    by_execution_.erase(it);
  }
  const core::TimerRow* find(ExecutionId execution, core::TimerKind kind, std::int32_t command = 0) const {
    const auto it = by_execution_.find(name(execution, kind, command));
    return it == by_execution_.end() ? nullptr : &it->second;
  }
  const std::set<core::TimerRow>& all() const { return rows_; }

 private:
  using Name = std::tuple<ExecutionId, core::TimerKind, std::int32_t>;
  static Name name(ExecutionId execution, core::TimerKind kind, std::int32_t command) {
    return {execution, kind, kind == core::TimerKind::run ? command : 0};
  }
  std::set<core::TimerRow> rows_;
  std::map<Name, core::TimerRow> by_execution_;
};

struct LedgerEntry {
  std::map<core::LedgerRule, std::int64_t> counts;
  std::deque<core::LedgerNote> recent;  // newest first, at most kLedgerRecent
};

using SlotName = std::pair<core::LaneId, std::string>;  // (lane, concurrency key)

struct Tables {
  std::map<core::TenantId, std::string> tenants{{core::kDefaultTenant, "default"}};
  std::map<core::LaneId, core::Lane> lanes;
  std::map<core::IdentityKey, core::Identity> identities;
  std::map<ExecutionId, core::Execution> executions;
  std::map<ExecutionId, core::Payload> payloads;
  std::set<core::ReadyRow> ready;
  std::set<core::BlockedRow> blocked;
  TimerTable timers;
  std::map<SlotName, std::int32_t> key_slots;  // never 0
  std::map<SessionId, core::Session> sessions;
  std::map<ClaimId, core::Lease> leases;
  std::map<GroupId, core::Group> groups;
  std::map<ExecutionId, core::Attention> attention;
  std::map<core::IdentityKey, LedgerEntry> ledger;
  std::map<ExecutionId, core::Run> runs;
  std::map<std::pair<ExecutionId, std::int32_t>, core::HistoryRow> history;
  std::map<core::MailKey, core::Mail> mail;
  std::set<core::Watch> watches;
  std::map<core::SignalKey, core::Signal> signals;
};

// The row, or null.
template <class Map, class Key>
auto find_row(Map& map, const Key& key) -> decltype(&map.begin()->second) {
  const auto it = map.find(key);
  return it == map.end() ? nullptr : &it->second;
}

inline core::ReadyRow ready_row(const core::Execution& e) {
  core::Pool pool = (e.flags & core::kClaimAlone) != 0 ? core::Pool::alone : core::Pool::tasks;
  if (e.kind == Kind::workflow) pool = core::Pool::runs;
  return {e.lane, pool, e.priority, e.scheduled_at, e.id};
}
inline core::BlockedRow blocked_row(const core::Execution& e) {
  return {e.lane, e.concurrency_key.value_or(""), e.priority, e.scheduled_at, e.id};
}
inline core::IdentityKey id_row_key(const core::Execution& e) {
  return {e.tenant, core::identity_space(e.kind), e.identity.value_or("")};
}
inline core::IdentityKey key_row_key(const core::Execution& e) {
  return {e.tenant, core::Space::key, e.idempotency_key.value_or("")};
}
// The number of the command in the last four bytes, big endian.
inline MailId mail_number(std::int32_t command) {
  MailId id;
  const auto bits = static_cast<std::uint32_t>(command);
  id.bytes[12] = static_cast<std::uint8_t>(bits >> 24);
  id.bytes[13] = static_cast<std::uint8_t>(bits >> 16);
  id.bytes[14] = static_cast<std::uint8_t>(bits >> 8);
  id.bytes[15] = static_cast<std::uint8_t>(bits);
  return id;
}
inline bool is_parked(const core::Execution& e) {
  return e.status == Status::suspended && e.suspend_reason == core::SuspendReason::nondeterminism;
}
inline bool is_held(const core::Execution& e) {
  if (e.kind == Kind::workflow) return e.session.has_value();
  return e.status == Status::claimed || e.status == Status::running;
}

}  // namespace semel::store::memory
