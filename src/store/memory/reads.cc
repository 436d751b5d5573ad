// Reads of the memory store.
#include <algorithm>

#include "store/memory/memory_store.h"

namespace semel::store::memory {

ExecutionView MemoryStore::view(const core::Execution& e) const {
  return {e, tables_.payloads.at(e.id), tables_.tenants.at(e.tenant), tables_.lanes.at(e.lane).queue};
}

Result<std::optional<core::TenantId>> MemoryStore::tenant_find(std::string_view name) {
  const std::lock_guard lock(mutex_);
  for (const auto& [id, known] : tables_.tenants)
    if (known == name) return std::optional(id);
  return std::optional<core::TenantId>{};
}

Result<std::vector<std::pair<core::TenantId, std::string>>> MemoryStore::tenant_list() {
  const std::lock_guard lock(mutex_);
  return std::vector<std::pair<core::TenantId, std::string>>(tables_.tenants.begin(), tables_.tenants.end());
}

Result<std::vector<core::Lane>> MemoryStore::lane_list() {
  const std::lock_guard lock(mutex_);
  std::vector<core::Lane> out;
  for (const auto& [id, lane] : tables_.lanes) out.push_back(lane);
  return out;
}

Result<LaneStats> MemoryStore::lane_stats(core::LaneId id) {
  const std::lock_guard lock(mutex_);
  const core::Lane* lane = find_row(tables_.lanes, id);
  if (!lane) return make_error(ErrorCode::QueueNotFound, "no such queue");
  LaneStats out{*lane, 0, 0};
  for (const auto& row : tables_.ready) out.ready_count += row.lane == id;
  for (const auto& row : tables_.blocked) out.blocked_count += row.lane == id;
  out.ready_count = std::min(out.ready_count, kStatsCap);
  out.blocked_count = std::min(out.blocked_count, kStatsCap);
  return out;
}

Result<std::optional<ExecutionView>> MemoryStore::execution_get(core::TenantId tenant, ExecutionId id) {
  const std::lock_guard lock(mutex_);
  const core::Execution* e = find_row(tables_.executions, id);
  if (!e || e->tenant != tenant) return std::optional<ExecutionView>{};
  return std::optional(view(*e));
}

Result<std::optional<ExecutionView>> MemoryStore::execution_find(core::TenantId tenant, core::Space space,
                                                                 std::string_view key) {
  const std::lock_guard lock(mutex_);
  const core::Identity* row = find_row(tables_.identities, core::IdentityKey{tenant, space, std::string(key)});
  const core::Execution* e = row ? find_row(tables_.executions, row->target) : nullptr;
  if (!e) return std::optional<ExecutionView>{};
  return std::optional(view(*e));
}

Result<std::vector<ExecutionView>> MemoryStore::execution_list(const ExecutionFilter& filter) {
  const std::lock_guard lock(mutex_);
  const auto fits = [&](const core::Execution& e) {
    const auto& wanted = filter.statuses;
    return e.tenant == filter.tenant && (!filter.kind || e.kind == *filter.kind) &&
           (wanted.empty() || std::find(wanted.begin(), wanted.end(), e.status) != wanted.end()) &&
           (!filter.queue || tables_.lanes.at(e.lane).queue == *filter.queue) &&
           (!filter.name || e.name == *filter.name) && (!filter.identity || e.identity == filter.identity) &&
           (!filter.created_before || e.created_at < *filter.created_before) &&
           (!filter.before || e.id < *filter.before);
  };
  std::vector<ExecutionView> out;
  for (auto it = tables_.executions.rbegin(); it != tables_.executions.rend(); ++it) {
    if (static_cast<std::int32_t>(out.size()) >= filter.limit) break;
    if (!fits(it->second)) continue;
    out.push_back(view(it->second));
    out.back().payload.args.clear();
  }
  return out;
}

Result<Whereabouts> MemoryStore::execution_whereabouts(const core::Execution& e) {
  const std::lock_guard lock(mutex_);
  if (tables_.ready.contains(ready_row(e))) return Whereabouts::ready;
  if (tables_.blocked.contains(blocked_row(e))) return Whereabouts::blocked;
  if (tables_.timers.find(e.id, core::TimerKind::due)) return Whereabouts::timer;
  return Whereabouts::nowhere;
}

Result<std::optional<core::Attention>> MemoryStore::attention_get(ExecutionId id) {
  const std::lock_guard lock(mutex_);
  const core::Attention* row = find_row(tables_.attention, id);
  return row ? std::optional(*row) : std::nullopt;
}

Result<std::optional<core::Identity>> MemoryStore::key_get(core::TenantId tenant, std::string_view key) {
  const std::lock_guard lock(mutex_);
  const core::Identity* row =
      find_row(tables_.identities, core::IdentityKey{tenant, core::Space::key, std::string(key)});
  return row ? std::optional(*row) : std::nullopt;
}

Result<std::vector<core::Identity>> MemoryStore::key_list(core::TenantId tenant, std::string_view after,
                                                          std::int32_t limit) {
  const std::lock_guard lock(mutex_);
  std::vector<core::Identity> out;
  for (auto it = tables_.identities.upper_bound({tenant, core::Space::key, std::string(after)});
       it != tables_.identities.end() && static_cast<std::int32_t>(out.size()) < limit; ++it) {
    if (it->first.tenant != tenant || it->first.space != core::Space::key) break;
    out.push_back(it->second);
  }
  return out;
}

Result<std::optional<LedgerView>> MemoryStore::ledger_get(const core::IdentityKey& id) {
  const std::lock_guard lock(mutex_);
  const LedgerEntry* entry = find_row(tables_.ledger, id);
  if (!entry) return std::optional<LedgerView>{};
  LedgerView out;
  out.id = id;
  out.counts.assign(entry->counts.begin(), entry->counts.end());
  out.recent.assign(entry->recent.begin(), entry->recent.end());
  return std::optional(std::move(out));
}

Result<std::optional<core::Session>> MemoryStore::session_get(SessionId id) {
  const std::lock_guard lock(mutex_);
  const core::Session* row = find_row(tables_.sessions, id);
  return row ? std::optional(*row) : std::nullopt;
}

Result<std::vector<ClaimId>> MemoryStore::session_leases(SessionId id) {
  const std::lock_guard lock(mutex_);
  std::vector<ClaimId> out;
  for (const auto& [claim, lease] : tables_.leases)
    if (lease.session == id) out.push_back(claim);
  return out;
}

Result<std::optional<core::Run>> MemoryStore::run_get(ExecutionId run) {
  const std::lock_guard lock(mutex_);
  const core::Run* row = find_row(tables_.runs, run);
  return row ? std::optional(*row) : std::nullopt;
}

Result<std::vector<core::HistoryRow>> MemoryStore::history_get(ExecutionId run, std::int32_t after,
                                                               std::int64_t limit) {
  const std::lock_guard lock(mutex_);
  std::vector<core::HistoryRow> out;
  std::int64_t bytes = 0;
  for (const auto& [key, row] : tables_.history) {
    if (key.first != run || row.first + row.count <= after + 1 || bytes >= limit) continue;
    out.push_back(row);
    bytes += static_cast<std::int64_t>(row.events.size());
  }
  return out;
}

Result<std::vector<core::Mail>> MemoryStore::mail_list(std::span<const ExecutionId> runs) {
  const std::lock_guard lock(mutex_);
  std::vector<core::Mail> out;
  for (const auto& [key, row] : tables_.mail)
    if (std::ranges::find(runs, key.run) != runs.end()) out.push_back(row);
  return out;
}

Result<std::vector<ReadyLane>> MemoryStore::ready_lanes() {
  const std::lock_guard lock(mutex_);
  std::vector<ReadyLane> out;
  for (auto it = tables_.ready.begin(); it != tables_.ready.end();) {
    out.push_back({it->lane, it->pool});
    it = tables_.ready.lower_bound({it->lane, it->pool, INT32_MAX, Instant::max(), {}});
    if (it != tables_.ready.end() && it->lane == out.back().lane && it->pool == out.back().pool) ++it;
  }
  return out;
}

Result<std::optional<Instant>> MemoryStore::next_timer() {
  const std::lock_guard lock(mutex_);
  const auto& timers = tables_.timers.all();
  return timers.empty() ? std::nullopt : std::optional(timers.begin()->due_at);
}

}  // namespace semel::store::memory
