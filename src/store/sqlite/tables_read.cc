#include <sqlite3.h>

#include "store/sqlite/row_codec.h"
#include "store/sqlite/tables.h"

namespace semel::store::sqlite {
namespace {

constexpr auto kExecution = [](const Statement& s) { return read_execution(s); };
constexpr auto kPayload = [](const Statement& s) { return read_payload(s); };

}  // namespace

// The row of a lookup by primary key, which is bound already.
template <class Read>
auto SqliteTables::one_row(Statement& statement, Read read) -> std::optional<decltype(read(statement))> {
  const ResetAtEnd reset{statement};
  if (!statement.step()) return std::nullopt;
  return unless_damaged_([&] { return read(statement); });
}

template <class Read>
auto SqliteTables::all_rows(Statement& statement, Read read) {
  const ResetAtEnd reset{statement};
  std::vector<decltype(read(statement))> rows;
  while (statement.step())
    if (auto row = unless_damaged_([&] { return read(statement); })) rows.push_back(*std::move(row));
  return rows;
}

void SqliteTables::read(const core::Needs& needs, core::RowCache& cache, Instant now) {
  guarded([&] {
    read_lanes(needs, cache);
    read_by_key(needs, cache);
    read_runs(needs, cache);
    read_waiting(needs, cache, now);
    read_expired(needs, cache, now);
  });
}

void SqliteTables::read_by_key(const core::Needs& needs, core::RowCache& cache) {
  Statement& identity = db_.prepared("identity_get");
  for (const auto& key : needs.identities) {
    cache.identities.load(key, one_row(identity.bind(key.tenant, key.space, key.key), read_identity));
  }
  Statement& execution = db_.prepared("execution_get");
  for (const auto& id : needs.executions) cache.executions.load(id, one_row(execution.bind(id), kExecution));
  Statement& payload = db_.prepared("payload_get");
  for (const auto& id : needs.payloads) cache.payloads.load(id, one_row(payload.bind(id), kPayload));
  for (const auto& id : needs.groups) cache.groups.load(id, one_row(db_.prepared("group_get").bind(id), read_group));
  for (const auto& id : needs.sessions)
    cache.sessions.load(id, one_row(db_.prepared("session_get").bind(id), read_session));
  Statement& lease = db_.prepared("lease_get");
  for (const auto& id : needs.leases) cache.leases.load(id, one_row(lease.bind(id), read_lease));
  Statement& attention = db_.prepared("attention_get");
  for (const auto& id : needs.attention) cache.attention.load(id, one_row(attention.bind(id), read_attention));
  for (const auto id : needs.inbox) cache.inbox.load(id, std::nullopt);
}

void SqliteTables::read_runs(const core::Needs& needs, core::RowCache& cache) {
  for (const auto& id : needs.runs) cache.runs.load(id, one_row(db_.prepared("run_get").bind(id), read_run));
  for (const auto& id : needs.mail) {
    for (auto& mail : all_rows(db_.prepared("mail_of").bind(id), read_mail)) cache.mail.load(mail.key, mail);
    cache.mail_known.insert(id);
  }
  for (const auto& id : needs.watches) {
    for (const auto& watch : all_rows(db_.prepared("watch_of").bind(id), read_watch)) cache.watches.load(watch);
    cache.watches_known.insert(id);
  }
  for (const auto& key : needs.signals) {
    Statement& find = db_.prepared("signal_get").bind(key.chain, key.name, key.dedupe);
    cache.signals.load(key, one_row(find, read_signal));
  }
}

void SqliteTables::read_lanes(const core::Needs& needs, core::RowCache& cache) {
  for (const std::string& name : needs.tenant_names) cache.tenant_names.try_emplace(name, find_or_create(name));
  for (const core::LaneName& name : needs.lane_names) {
    const core::FoundLane found = find_or_create(name);
    cache.lanes.load(found.lane.id, found.lane);
    cache.lane_names.try_emplace(name, found);
  }
  for (const auto id : needs.lanes) cache.lanes.load(id, one_row(db_.prepared("lane_get").bind(id), read_lane));
  for (const core::SlotKey& key : needs.key_slots) {
    cache.key_slots.load(key, one_row(db_.prepared("key_slot_get").bind(key.lane, key.concurrency_key), read_key_slot));
  }
}

core::FoundTenant SqliteTables::find_or_create(const std::string& tenant) {
  const auto id = [](const Statement& s) { return static_cast<core::TenantId>(s.integer(0)); };
  if (const auto found = one_row(db_.prepared("tenant_find").bind(tenant), id)) return {*found, false};
  db_.prepared("tenant_insert").bind(tenant).run();
  return {*one_row(db_.prepared("tenant_find").bind(tenant), id), true};
}

core::FoundLane SqliteTables::find_or_create(const core::LaneName& name) {
  if (auto found = one_row(db_.prepared("lane_find").bind(name.tenant, name.queue), read_lane)) return {*found, false};
  db_.prepared("lane_insert").bind(name.tenant, name.queue).run();
  return {*one_row(db_.prepared("lane_find").bind(name.tenant, name.queue), read_lane), true};
}

void SqliteTables::read_waiting(const core::Needs& needs, core::RowCache& cache, Instant now) {
  for (const core::BlockedNeed& need : needs.blocked) {
    Statement& first = db_.prepared("blocked_first").bind(need.key.lane, need.key.concurrency_key, need.limit);
    const auto rows = all_rows(first, read_blocked);
    for (const core::BlockedRow& row : rows) cache.blocked.load(row);
    const auto count = static_cast<std::int32_t>(rows.size());
    cache.blocked_windows[need.key] = core::BlockedWindow{count, count < need.limit};
  }
  if (needs.blocked_lane) {
    const auto& [lane, limit] = *needs.blocked_lane;
    cache.blocked_lane = all_rows(db_.prepared("blocked_of_lane").bind(lane, limit), read_blocked);
    for (const core::BlockedRow& row : *cache.blocked_lane) cache.blocked.load(row);
  }
  if (needs.timers_due > 0) {
    cache.timers_due = all_rows(db_.prepared("timer_due").bind(now, needs.timers_due), read_timer);
    for (const core::TimerRow& row : *cache.timers_due) cache.timers.load(row);
  }
}

void SqliteTables::read_expired(const core::Needs& needs, core::RowCache& cache, Instant now) {
  if (needs.leases_expired > 0) {
    auto& leases = cache.leases_expired.emplace();
    const auto yes = [](const Statement&) { return true; };
    if (one_row(db_.prepared("lease_any_expired").bind(now), yes)) {
      Statement& expired = db_.prepared("lease_expired").bind(now);
      const ResetAtEnd reset{expired};
      std::int64_t executions = 0;
      while (executions < needs.leases_expired && expired.step()) {
        auto lease = unless_damaged_([&] { return read_lease(expired); });
        if (!lease) continue;
        executions += static_cast<std::int64_t>(lease->executions.size());
        const ClaimId id = lease->id;
        leases.push_back(id);
        cache.leases.load(id, *std::move(lease));
      }
    }
    auto& over = cache.sessions_over.emplace();
    for (core::Session& session :
         all_rows(db_.prepared("session_over").bind(now, needs.leases_expired), read_session)) {
      const SessionId id = session.id;
      over.push_back(id);
      cache.sessions.load(id, std::move(session));
    }
  }
  if (needs.keys_expired > 0) {
    auto& keys = cache.keys_expired.emplace();
    for (core::Identity& row :
         all_rows(db_.prepared("identity_expired").bind(now, needs.keys_expired), read_identity)) {
      keys.push_back(row.id);
      cache.identities.load(row.id, row);
    }
  }
  if (needs.ledger) {
    const auto& [after, limit] = *needs.ledger;
    cache.noted = all_rows(db_.prepared("ledger_noted").bind(after.tenant, after.space, after.key, limit), read_noted);
  }
  if (needs.retention) {
    auto& ids = cache.retention.emplace();
    const core::RetentionScan& scan = *needs.retention;
    for (auto& row :
         all_rows(db_.prepared("execution_retention").bind(scan.after, scan.before, scan.limit), kExecution)) {
      const ExecutionId id = row.id;
      ids.push_back(id);
      cache.executions.load(id, std::move(row));
    }
  }
}

}  // namespace semel::store::sqlite
