// The locking reads: everything a batch asks for in one round trip.
//
// Lists arrive sorted by primary key, index scans over arrays and nested loops keep that order, so all nodes lock
// alike.
#include <algorithm>

#include "base/failpoint.h"
#include "store/postgres/codec.h"
#include "store/postgres/guarded.h"
#include "store/postgres/statements.h"

namespace semel::store::postgres {
namespace {

using batch::UnlessDamaged;
using core::Needs;
using core::RowCache;

// Statements queued now, their rows read after the round trip.
class Plan {
 public:
  using Load = std::function<void(const Rows&)>;
  void add(std::size_t at, Load load) { loads_.emplace_back(at, std::move(load)); }
  bool empty() const { return loads_.empty(); }
  void load(const std::vector<Rows>& rows) const {
    for (const auto& [at, load] : loads_) load(rows[at]);
  }

 private:
  std::vector<std::pair<std::size_t, Load>> loads_;
};

// Found rows present, all others asked for absent.
template <class Key, class Row, class Read, class KeyOf>
Plan::Load keyed(const UnlessDamaged& sound, core::SlotMap<Key, Row>& map, const std::vector<Key>& wanted, Read read,
                 KeyOf key_of) {
  return [&sound, &map, &wanted, read, key_of](const Rows& rows) {
    for (int r = 0; r < rows.count(); ++r) {
      auto row = sound([&] { return read(rows, r); });
      if (!row) continue;
      const Key key = key_of(*row);
      map.load(key, *std::move(row));
    }
    for (const Key& key : wanted) map.load(key, std::nullopt);
  };
}

template <class Row, class Read>
std::vector<Row> all(const UnlessDamaged& sound, const Rows& rows, Read read) {
  std::vector<Row> out;
  for (int r = 0; r < rows.count(); ++r)
    if (auto row = sound([&] { return read(rows, r); })) out.push_back(*std::move(row));
  return out;
}

core::Payload payload_row(const Rows& rows, int r) { return read_payload(rows, r, rows.id<ExecutionId>(r, 0), 1); }
core::Execution execution_row(const Rows& rows, int r) { return read_execution(rows, r); }
core::Lane lane_row(const Rows& rows, int r) { return read_lane(rows, r); }

template <class Queue>
void plan_keyed(const Needs& needs, RowCache& cache, Plan& plan, const UnlessDamaged& sound, Queue queue) {
  const auto by_id = [](const auto& row) { return row.id; };
  const auto by_execution = [](const auto& row) { return row.execution; };
  const auto ids = [&](const auto& wanted, const Statement& statement, Plan::Load load) {
    if (!wanted.empty()) plan.add(queue(statement, Params().uuids(wanted)), std::move(load));
  };
  ids(needs.executions, statements::execution_lock,
      keyed(sound, cache.executions, needs.executions, execution_row, by_id));
  ids(needs.payloads, statements::payload_read,
      keyed(sound, cache.payloads, needs.payloads, payload_row, by_execution));
  ids(needs.groups, statements::group_lock, keyed(sound, cache.groups, needs.groups, read_group, by_id));
  ids(needs.sessions, statements::session_lock, keyed(sound, cache.sessions, needs.sessions, read_session, by_id));
  ids(needs.leases, statements::lease_lock, keyed(sound, cache.leases, needs.leases, read_lease, by_id));
  ids(needs.attention, statements::attention_lock,
      keyed(sound, cache.attention, needs.attention, read_attention, by_execution));
  if (!needs.inbox.empty())
    plan.add(queue(statements::inbox_lock, Params().i64s(needs.inbox, [](auto id) { return id; })),
             keyed(sound, cache.inbox, needs.inbox, read_inbox, by_id));
}

template <class Queue>
void plan_runs(const Needs& needs, RowCache& cache, Plan& plan, const UnlessDamaged& sound, Queue queue) {
  if (!needs.runs.empty())
    plan.add(queue(statements::run_lock, Params().uuids(needs.runs)),
             keyed(sound, cache.runs, needs.runs, read_run, [](const auto& row) { return row.execution; }));
  if (!needs.mail.empty())
    plan.add(queue(statements::mail_read, Params().uuids(needs.mail)), [&](const Rows& rows) {
      for (const core::Mail& mail : all<core::Mail>(sound, rows, read_mail)) cache.mail.load(mail.key, mail);
      cache.mail_known.insert(needs.mail.begin(), needs.mail.end());
    });
  if (!needs.watches.empty())
    plan.add(queue(statements::watch_lock, Params().uuids(needs.watches)), [&](const Rows& rows) {
      for (const core::Watch& watch : all<core::Watch>(sound, rows, read_watch)) cache.watches.load(watch);
      cache.watches_known.insert(needs.watches.begin(), needs.watches.end());
    });
  if (needs.signals.empty()) return;
  Params p;
  p.uuids(needs.signals, [](const auto& k) { return k.chain; });
  p.texts(needs.signals, [](const auto& k) -> const std::string& { return k.name; });
  p.texts(needs.signals, [](const auto& k) -> const std::string& { return k.dedupe; });
  plan.add(queue(statements::signal_read, p), [&](const Rows& rows) {
    for (core::Signal& signal : all<core::Signal>(sound, rows, read_signal)) {
      const core::SignalKey key = signal.key;
      cache.signals.load(key, std::move(signal));
    }
    for (const core::SignalKey& key : needs.signals) cache.signals.load(key, std::nullopt);
  });
}

template <class Queue>
void plan_lanes(const Needs& needs, RowCache& cache, Plan& plan, bool& created, const UnlessDamaged& sound,
                Queue queue) {
  if (!needs.tenant_names.empty()) {
    const auto names = Params().texts(needs.tenant_names, [](const auto& n) -> const std::string& { return n; });
    plan.add(queue(statements::tenant_ensure, names), [&](const Rows& rows) {
      for (int r = 0; r < rows.count(); ++r) {
        cache.tenant_names[rows.text(r, 0)].created = rows.flag(r, 1);
        created = created || rows.flag(r, 1);
      }
    });
    plan.add(queue(statements::tenant_by_name, names), [&](const Rows& rows) {
      for (int r = 0; r < rows.count(); ++r) cache.tenant_names[rows.text(r, 0)].id = core::TenantId{rows.i32(r, 1)};
    });
  }
  if (!needs.lane_names.empty()) {
    Params names;
    names.i32s(needs.lane_names, [](const auto& n) { return n.tenant; })
        .texts(needs.lane_names, [](const auto& n) -> const std::string& { return n.queue; });
    plan.add(queue(statements::lane_ensure, names), [&](const Rows& rows) {
      for (int r = 0; r < rows.count(); ++r) {
        cache.lane_names[{core::TenantId{rows.i32(r, 0)}, rows.text(r, 1)}].created = rows.flag(r, 2);
        created = created || rows.flag(r, 2);
      }
    });
    plan.add(queue(statements::lane_lock_by_name, names), [&](const Rows& rows) {
      for (core::Lane& lane : all<core::Lane>(sound, rows, lane_row)) {
        cache.lanes.load(lane.id, lane);
        cache.lane_names[{lane.tenant, lane.queue}].lane = std::move(lane);
      }
    });
  }
  if (!needs.lanes.empty())
    plan.add(queue(statements::lane_lock, Params().i32s(needs.lanes, [](auto id) { return id; })),
             keyed(sound, cache.lanes, needs.lanes, lane_row, [](const auto& row) { return row.id; }));
  if (!needs.key_slots.empty()) {
    Params p;
    p.i32s(needs.key_slots, [](const auto& k) {
       return k.lane;
     }).texts(needs.key_slots, [](const auto& k) -> const std::string& { return k.concurrency_key; });
    plan.add(queue(statements::key_slot_lock, p),
             keyed(sound, cache.key_slots, needs.key_slots, read_key_slot,
                   [](const auto& row) { return core::SlotKey{row.lane, row.concurrency_key}; }));
  }
}

template <class Queue>
void plan_waiting(const Needs& needs, RowCache& cache, Instant now, Plan& plan, const UnlessDamaged& sound,
                  Queue queue) {
  for (const core::BlockedNeed& need : needs.blocked) {
    const auto params = Params().i32(need.key.lane).bytes(need.key.concurrency_key).i32(need.limit);
    plan.add(queue(statements::blocked_lock, params), [&cache, &need, &sound](const Rows& rows) {
      for (const core::BlockedRow& row : all<core::BlockedRow>(sound, rows, read_blocked)) cache.blocked.load(row);
      cache.blocked_windows[need.key] = core::BlockedWindow{rows.count(), rows.count() < need.limit};
    });
  }
  if (needs.blocked_lane)
    plan.add(
        queue(statements::blocked_lock_lane, Params().i32(needs.blocked_lane->first).i32(needs.blocked_lane->second)),
        [&cache, &sound](const Rows& rows) {
          cache.blocked_lane = all<core::BlockedRow>(sound, rows, read_blocked);
          for (const core::BlockedRow& row : *cache.blocked_lane) cache.blocked.load(row);
        });
  if (needs.timers_due > 0)
    plan.add(queue(statements::timer_due, Params().i64(now).i32(needs.timers_due)), [&cache, &sound](const Rows& rows) {
      cache.timers_due = all<core::TimerRow>(sound, rows, read_timer);
      for (const core::TimerRow& row : *cache.timers_due) cache.timers.load(row);
    });
}

// As many leases as hold `limit` executions; always at least one.
void load_expired_leases(const UnlessDamaged& sound, const Rows& rows, RowCache& cache, std::int32_t limit) {
  auto& out = cache.leases_expired.emplace();
  std::int64_t executions = 0;
  for (int r = 0; r < rows.count() && executions < limit; ++r) {
    auto lease = sound([&] { return read_lease(rows, r); });
    if (!lease) continue;
    executions += static_cast<std::int64_t>(lease->executions.size());
    const ClaimId id = lease->id;
    out.push_back(id);
    cache.leases.load(id, *std::move(lease));
  }
}

void load_retention(const UnlessDamaged& sound, const Rows& rows, RowCache& cache) {
  auto& out = cache.retention.emplace();
  for (int r = 0; r < rows.count(); ++r) {
    auto e = sound([&] { return read_execution(rows, r); });
    if (!e) continue;
    const ExecutionId id = e->id;
    out.push_back(id);
    cache.executions.load(id, *std::move(e));
  }
  std::sort(out.begin(), out.end());
}

template <class Queue>
void plan_expired(const Needs& needs, RowCache& cache, Instant now, Plan& plan, const UnlessDamaged& sound,
                  Queue queue) {
  if (needs.leases_expired > 0) {
    const auto params = Params().i64(now).i32(needs.leases_expired);
    plan.add(queue(statements::session_over, params), [&cache, &sound](const Rows& rows) {
      auto& out = cache.sessions_over.emplace();
      for (core::Session& session : all<core::Session>(sound, rows, read_session)) {
        const SessionId id = session.id;
        out.push_back(id);
        cache.sessions.load(id, std::move(session));
      }
    });
    plan.add(queue(statements::lease_expired, params),
             [&cache, &sound, limit = needs.leases_expired](const Rows& rows) {
               load_expired_leases(sound, rows, cache, limit);
             });
  }
  if (needs.keys_expired > 0)
    plan.add(queue(statements::identity_expired, Params().i64(now).i32(needs.keys_expired)),
             [&cache, &sound](const Rows& rows) {
               auto& out = cache.keys_expired.emplace();
               for (core::Identity& row : all<core::Identity>(sound, rows, read_identity)) {
                 out.push_back(row.id);
                 const core::IdentityKey key = row.id;
                 cache.identities.load(key, std::move(row));
               }
             });
  if (needs.ledger) {
    const auto& [after, limit] = *needs.ledger;
    plan.add(
        queue(statements::ledger_noted, Params().i32(after.tenant).i16(after.space).bytes(after.key).i32(limit)),
        [&cache](const Rows& rows) {
          auto& out = cache.noted.emplace();
          for (int r = 0; r < rows.count(); ++r)
            out.push_back({{core::TenantId{rows.i32(r, 0)}, static_cast<core::Space>(rows.i16(r, 1)), rows.text(r, 2)},
                           from_micros(rows.i64(r, 3))});
        });
  }
  if (needs.retention) {
    const auto params =
        Params().bytes(needs.retention->after).bytes(needs.retention->before).i32(needs.retention->limit);
    plan.add(queue(statements::execution_retention, params),
             [&cache, &sound](const Rows& rows) { load_retention(sound, rows, cache); });
  }
}

}  // namespace

std::size_t PostgresTables::queue_targets(const std::vector<core::IdentityKey>& keys) {
  const Params p = key_params(keys);
  const std::size_t at = queue(statements::identity_lock, p);
  queue(statements::execution_lock_by_identity, p);
  return at;
}

void PostgresTables::load_targets(const Rows& identities, const Rows& executions, core::RowCache& cache) const {
  const UnlessDamaged& sound = unless_damaged_;
  for (core::Identity& row : all<core::Identity>(sound, identities, read_identity)) {
    const core::IdentityKey key = row.id;
    cache.identities.load(key, std::move(row));
  }
  for (core::Execution& row : all<core::Execution>(sound, executions, execution_row)) {
    const ExecutionId id = row.id;
    cache.executions.load(id, std::move(row));
  }
}

void PostgresTables::load_looked(const Rows& rows, core::RowCache& cache) {
  for (int r = 0; r < rows.count(); ++r) {
    core::Identity identity = read_identity(rows, r);
    const core::IdentityKey key = identity.id;
    if (!rows.is_null(r, kIdentityWidth)) {
      core::Execution execution = read_execution(rows, r, kIdentityWidth);
      const ExecutionId id = execution.id;
      cache.executions.load(id, std::move(execution));
    } else {
      cache.executions.load(identity.target, std::nullopt);
    }
    cache.identities.load(key, std::move(identity));
  }
}

bool PostgresTables::load_foreseen(const std::vector<core::IdentityKey>& wanted, core::RowCache& cache) const {
  if (!foreseen_ || !std::includes(foreseen_->keys.begin(), foreseen_->keys.end(), wanted.begin(), wanted.end()))
    return false;
  if (foreseen_->locked) load_targets(foreseen_->identities, foreseen_->executions, cache);
  else load_looked(foreseen_->identities, cache);
  for (const core::IdentityKey& key : wanted) cache.identities.load(key, std::nullopt);
  return true;
}

void PostgresTables::read(const core::Needs& needs, core::RowCache& cache, Instant now) {
  guarded([&] {
    send_held();
    Plan plan;
    std::optional<std::size_t> targets_at;
    const auto queue_one = [this](const Statement& statement, const Params& params) {
      return queue(statement, params);
    };
    plan_lanes(needs, cache, plan, wrote_, unless_damaged_, queue_one);
    if (!needs.identities.empty() && !load_foreseen(needs.identities, cache))
      targets_at = queue_targets(needs.identities);
    plan_keyed(needs, cache, plan, unless_damaged_, queue_one);
    plan_runs(needs, cache, plan, unless_damaged_, queue_one);
    plan_waiting(needs, cache, now, plan, unless_damaged_, queue_one);
    plan_expired(needs, cache, now, plan, unless_damaged_, queue_one);
    SEMEL_FP("pg.read.before");
    if (plan.empty() && !targets_at) return;
    if (looked_) give_up_look(true);
    const std::vector<Rows> rows = db_.run();
    if (targets_at) {
      load_targets(rows[*targets_at], rows[*targets_at + 1], cache);
      for (const core::IdentityKey& key : needs.identities) cache.identities.load(key, std::nullopt);
    }
    plan.load(rows);
  });
}

}  // namespace semel::store::postgres
