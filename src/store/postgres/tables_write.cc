// The grouped, guarded writes: one statement per table and kind of change, rows in ascending primary key, tables in the
// order that migrations/0001_init.sql names. Queued only: commit() sends them.
#include <algorithm>
#include <map>
#include <stdexcept>
#include <tuple>

#include "base/failpoint.h"
#include "base/uuid.h"
#include "store/postgres/codec.h"
#include "store/postgres/guarded.h"
#include "store/postgres/hints.h"
#include "store/postgres/statements.h"

namespace semel::store::postgres {
namespace {

using core::Change;
using core::Presence;

template <class Key, class Row>
struct Changed {
  const Key* key;
  const core::Slot<Row>* slot;
};

// The slots with one kind of change, ascending by key.
template <class Key, class Row>
std::vector<Changed<Key, Row>> changed(const core::SlotMap<Key, Row>& map, std::initializer_list<Change> kinds) {
  std::vector<Changed<Key, Row>> out;
  for (const auto& [key, slot] : map.all())
    if (std::find(kinds.begin(), kinds.end(), slot.change) != kinds.end()) out.push_back({&key, &slot});
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return *a.key < *b.key; });
  return out;
}

// The rows themselves, for changes that leave one.
template <class Key, class Row>
std::vector<const Row*> rows_of(const std::vector<Changed<Key, Row>>& list) {
  std::vector<const Row*> out;
  out.reserve(list.size());
  for (const auto& one : list) out.push_back(&*one.slot->row);
  return out;
}

template <class Row>
std::vector<const Row*> with(const core::RowSet<Row>& set, Presence presence) {
  std::vector<const Row*> out;
  for (const auto& [row, is] : set.all())
    if (is == presence) out.push_back(&row);
  return out;
}

// `FIELD(x)`: reads member x of the row a pointer points at.
#define FIELD(member) [](const auto* row) -> const auto& { return row->member; }

using core::Execution;

bool is_fresh(const Execution& e) {
  Execution fresh;
  return e.status == Status::queued && e.version == fresh.version && e.attempt == 0 && e.last_end == fresh.last_end &&
         e.close_reason == fresh.close_reason && e.suspend_reason == fresh.suspend_reason && !e.started_at &&
         !e.completed_at && !e.cancel_requested_at && !e.lease_expires_at && !e.session && !e.worker && !e.next &&
         !e.result && !e.error && !e.progress;
}

// Claimed in the batch that made it, and nothing else happened to it.
bool is_claimed_at_once(const Execution& e) {
  return e.status == (e.kind == Kind::workflow ? Status::running : Status::claimed) && e.version == 2 &&
         e.attempt == 1 && e.started_at && e.lease_expires_at && e.session && e.worker &&
         e.last_end == Execution{}.last_end && e.close_reason == Execution{}.close_reason &&
         e.suspend_reason == Execution{}.suspend_reason && !e.completed_at && !e.cancel_requested_at && !e.next &&
         !e.result && !e.error && !e.progress;
}

bool is_lean(const Execution& e) {
  return e.attempt_timeout.count() == 0 && !e.concurrency_key && !e.idempotency_key &&
         e.idempotency_key_ttl_seconds == 0 && !e.previous && !e.parent_run && !e.parent_workflow_id && !e.group &&
         !e.timeout_at;
}

// A new row and its payload.
struct Fresh {
  const Execution* execution;
  const core::Payload* payload;
};

// To a Record, or as Params of their own.
constexpr auto put_fresh = [](auto& to, const Fresh& one) {
  const Execution& e = *one.execution;
  to.uuid(e.id).i32(e.tenant).i32(e.lane).i16(e.kind).text(e.name).text(e.identity).i32(e.priority);
  to.i32(e.max_attempts).bytea(e.fingerprint).i64(e.created_at).i64(e.scheduled_at).i32(e.flags);
  to.i16(one.payload->encoding).bytea(one.payload->policy).bytea(one.payload->args);
};

Params insert_params(const std::vector<Fresh>& fresh, std::uint32_t type) {
  return std::move(Params().records(type, fresh, put_fresh));
}

// A row with fields that few have: an array per column.
Params insert_full_params(const std::vector<Fresh>& fresh) {
  std::vector<const Execution*> rows;
  std::vector<const core::Payload*> payloads;
  for (const Fresh& one : fresh) {
    rows.push_back(one.execution);
    payloads.push_back(one.payload);
  }
  Params p;
  p.uuids(rows, FIELD(id)).i32s(rows, FIELD(tenant)).i32s(rows, FIELD(lane)).i16s(rows, FIELD(kind));
  p.texts(rows, FIELD(name)).texts(rows, FIELD(identity)).i32s(rows, FIELD(priority)).i32s(rows, FIELD(max_attempts));
  p.byteas(rows, FIELD(fingerprint))
      .i64s(rows, FIELD(created_at))
      .i64s(rows, FIELD(scheduled_at))
      .i32s(rows, FIELD(flags));
  p.i16s(payloads, FIELD(encoding)).byteas(payloads, FIELD(policy)).byteas(payloads, FIELD(args));
  p.i64s(rows, FIELD(attempt_timeout)).texts(rows, FIELD(concurrency_key)).texts(rows, FIELD(idempotency_key));
  p.i64s(rows, FIELD(idempotency_key_ttl_seconds)).uuids(rows, FIELD(previous)).uuids(rows, FIELD(parent_run));
  p.texts(rows, FIELD(parent_workflow_id)).uuids(rows, FIELD(group)).i64s(rows, FIELD(timeout_at));
  p.i32s(rows, FIELD(parent_command));
  return p;
}

// A row and the version the store has for it.
struct Update {
  const Execution* row;
  std::int32_t read_version;
};

Params update_params(const std::vector<Update>& list) {
#define CELL(member) [](const Update& one) -> const auto& { return one.row->member; }
  Params p;
  p.uuids(list, CELL(id)).i32s(list, [](const Update& one) { return one.read_version; }).i16s(list, CELL(status));
  p.i32s(list, CELL(version)).i32s(list, CELL(attempt)).i32s(list, CELL(flags)).i16s(list, CELL(last_end));
  p.i16s(list, CELL(close_reason)).i16s(list, CELL(suspend_reason)).i64s(list, CELL(scheduled_at));
  p.i64s(list, CELL(started_at)).i64s(list, CELL(completed_at)).i64s(list, CELL(cancel_requested_at));
  p.i64s(list, CELL(lease_expires_at)).uuids(list, CELL(session)).texts(list, CELL(worker)).uuids(list, CELL(next));
  p.byteas(list, CELL(result)).byteas(list, CELL(error)).byteas(list, CELL(progress));
#undef CELL
  return p;
}

}  // namespace

void PostgresTables::write(const core::RowCache& cache, Instant now) {
  guarded([&] {
    if (looked_) give_up_look(cache.ledger.empty());  // counting duplicates comes and goes
    wrote_ = true;
    write_identities(cache);
    write_executions(cache);
    write_runs(cache);
    write_waiting(cache);
    write_limits(cache);
    write_sessions(cache, now);
    write_inbox(cache);
    write_ledger(cache, now);
    if (cache.prune_batch_marks) {
      const Instant before = add_saturated(now, -std::chrono::hours(1));
      queue(statements::batch_mark_prune, Params().bytes(base::uuidv7_lower_bound<BatchId>(before)).i64(before));
    }
    if (hints_) hint_ = encode_hint(batch::wakes_of(cache));
    if (!cache.handed.empty()) handed_ = &cache;
  });
}

void PostgresTables::write_identities(const core::RowCache& cache) {
  const auto tenants = [](const auto& one) { return one.key->tenant; };
  const auto spaces = [](const auto& one) { return one.key->space; };
  const auto keys = [](const auto& one) -> const std::string& { return one.key->key; };
  const auto guards = [](const auto& one) { return one.slot->loaded_version; };
  // Deletes first: a key that one row gives up may be another's in the same batch.
  if (const auto gone = changed(cache.identities, {Change::erased}); !gone.empty())
    queue(statements::identity_delete,
          Params().i32s(gone, tenants).i16s(gone, spaces).texts(gone, keys).i32s(gone, guards));
  if (const auto moved = changed(cache.identities, {Change::updated}); !moved.empty()) {
    const auto rows = rows_of(moved);
    Params p;
    p.i32s(moved, tenants)
        .i16s(moved, spaces)
        .texts(moved, keys)
        .uuids(rows, FIELD(target))
        .i16s(rows, FIELD(target_kind));
    p.flags(rows, FIELD(tombstone)).byteas(rows, FIELD(fingerprint)).i64s(rows, FIELD(expires_at));
    p.i32s(rows, FIELD(revision)).i32s(moved, guards);
    queue(statements::identity_update, p);
  }
  if (const auto fresh = changed(cache.identities, {Change::inserted}); !fresh.empty())
    queue_identities(rows_of(fresh), statements::identity_insert);
}

void PostgresTables::write_executions(const core::RowCache& cache) {
  std::vector<Fresh> lean, full;
  std::map<std::tuple<SessionId, std::string, Instant, Instant>, std::vector<Fresh>> claimed;
  std::vector<Update> updates;
  for (const auto& one : changed(cache.executions, {Change::inserted, Change::updated})) {
    const Execution& row = *one.slot->row;
    if (one.slot->change == Change::updated) {
      updates.push_back({&row, one.slot->loaded_version});
      continue;
    }
    const core::Payload* payload = cache.payloads.find(row.id);
    if (!payload) throw std::logic_error("a new execution has no payload");
    if (is_lean(row) && is_claimed_at_once(row)) {
      claimed[{*row.session, *row.worker, *row.started_at, *row.lease_expires_at}].push_back({&row, payload});
      continue;
    }
    (is_lean(row) ? lean : full).push_back({&row, payload});
    if (!is_fresh(row)) updates.push_back({&row, 1});
  }
  if (!lean.empty())
    queue(statements::execution_insert, insert_params(lean, db_.number_of_type(RowType::new_execution)));
  for (const auto& [holder, rows] : claimed) {
    const auto& [session, worker, started_at, lease_expires_at] = holder;
    Params p;
    const bool lone = rows.size() == 1;
    if (lone) put_fresh(p, rows.front());
    else p = insert_params(rows, db_.number_of_type(RowType::new_execution));
    queue(lone ? statements::execution_insert_claimed_one : statements::execution_insert_claimed,
          std::move(p.i64(started_at).i64(lease_expires_at).bytes(session).bytes(worker)));
  }
  if (!full.empty()) queue(statements::execution_insert_full, insert_full_params(full));
  if (!updates.empty()) queue(statements::execution_update, update_params(updates));
  if (const auto gone = changed(cache.executions, {Change::erased}); !gone.empty()) {
    queue(statements::execution_delete,
          Params().uuids(gone, [](const auto& one) { return *one.key; }).i32s(gone, [](const auto& one) {
            return one.slot->loaded_version;
          }));
  }
}

void PostgresTables::write_runs(const core::RowCache& cache) {
  const auto gone = [&](const ExecutionId& run) { return cache.runs.knows(run) && !cache.runs.find(run); };
  if (const auto puts = rows_of(changed(cache.runs, {Change::inserted, Change::updated})); !puts.empty()) {
    Params p;
    p.uuids(puts, FIELD(execution)).i32s(puts, FIELD(events)).i64s(puts, FIELD(bytes)).byteas(puts, FIELD(state));
    p.texts(puts, FIELD(memo)).texts(puts, FIELD(attributes));
    queue(statements::run_put, p.uuids(puts, FIELD(chain)));
  }
  std::vector<const core::HistoryRow*> history;
  for (const auto& row : cache.history)
    if (!gone(row.run)) history.push_back(&row);
  if (!history.empty()) {
    std::sort(history.begin(), history.end(),
              [](auto* a, auto* b) { return std::tie(a->run, a->first) < std::tie(b->run, b->first); });
    Params p;
    p.uuids(history, FIELD(run)).i32s(history, FIELD(first)).i32s(history, FIELD(count)).i64s(history, FIELD(at));
    queue(statements::history_insert, p.byteas(history, FIELD(events)));
  }
  if (const auto read = changed(cache.mail, {Change::erased}); !read.empty()) {
    Params p;
    p.uuids(read, [](const auto& one) { return one.key->run; }).i64s(read, [](const auto& one) { return one.key->at; });
    queue(statements::mail_delete, p.uuids(read, [](const auto& one) { return one.key->id; }));
  }
  auto mail = rows_of(changed(cache.mail, {Change::inserted}));
  std::erase_if(mail, [&](const core::Mail* row) { return gone(row->key.run); });
  if (!mail.empty()) {
    Params p;
    p.uuids(mail, FIELD(key.run)).i64s(mail, FIELD(key.at)).uuids(mail, FIELD(key.id));
    queue(statements::mail_insert, p.byteas(mail, FIELD(event)));
  }
  const auto watches = [&](Presence presence, const Statement& statement) {
    const auto rows = with(cache.watches, presence);
    if (!rows.empty())
      queue(statement, Params().uuids(rows, FIELD(target)).uuids(rows, FIELD(run)).i32s(rows, FIELD(command)));
  };
  watches(Presence::removed, statements::watch_delete);
  watches(Presence::added, statements::watch_insert);
  const auto keys_of = [](const std::vector<const core::Signal*>& rows) {
    Params p;
    return p.uuids(rows, FIELD(key.chain)).texts(rows, FIELD(key.name)).texts(rows, FIELD(key.dedupe));
  };
  if (const auto taken = rows_of(changed(cache.signals, {Change::inserted})); !taken.empty())
    queue(statements::signal_insert, keys_of(taken).uuids(taken, FIELD(mail)).byteas(taken, FIELD(answer)));
  if (const auto answered = rows_of(changed(cache.signals, {Change::updated})); !answered.empty())
    queue(statements::signal_answer, keys_of(answered).byteas(answered, FIELD(answer)));
  if (!cache.chains_over.empty())
    queue(statements::signal_delete, Params().uuids(cache.chains_over, [](const auto& id) { return id; }));
  if (const auto over = changed(cache.runs, {Change::erased}); !over.empty())
    queue(statements::run_delete, Params().uuids(over, [](const auto& one) { return *one.key; }));
}

void PostgresTables::write_waiting(const core::RowCache& cache) {
  if (const auto gone = with(cache.ready, Presence::removed); !gone.empty()) {
    Params p;
    p.i32s(gone, FIELD(lane)).i16s(gone, FIELD(pool)).i32s(gone, FIELD(priority)).i64s(gone, FIELD(due_at));
    queue(statements::ready_delete, p.uuids(gone, FIELD(execution)));
  }
  if (const auto fresh = with(cache.ready, Presence::added); !fresh.empty()) {
    for (const core::ReadyRow* row : fresh)
      if (entered_.empty() || entered_.back().lane != row->lane || entered_.back().pool != row->pool)
        entered_.push_back(*row);
    queue(statements::ready_insert,
          Params().records(db_.number_of_type(RowType::new_ready), fresh, [](Record& r, const core::ReadyRow* row) {
            r.i32(row->lane).i16(row->pool).i32(row->priority).i64(row->due_at).uuid(row->execution);
          }));
  }
  const auto blocked = [&](Presence presence, const Statement& statement) {
    const auto rows = with(cache.blocked, presence);
    if (rows.empty()) return;
    Params p;
    p.i32s(rows, FIELD(lane)).texts(rows, FIELD(concurrency_key)).i32s(rows, FIELD(priority)).i64s(rows, FIELD(due_at));
    queue(statement, p.uuids(rows, FIELD(execution)));
  };
  blocked(Presence::removed, statements::blocked_delete);
  blocked(Presence::added, statements::blocked_insert);
  const auto timers = [&](Presence presence, const Statement& statement) {
    const auto rows = with(cache.timers, presence);
    if (rows.empty()) return;
    Params p;
    p.i64s(rows, FIELD(due_at)).i16s(rows, FIELD(kind)).uuids(rows, FIELD(execution)).i32s(rows, FIELD(version));
    queue(statement, p);
  };
  timers(Presence::removed, statements::timer_delete);
  timers(Presence::added, statements::timer_insert);
}

void PostgresTables::write_limits(const core::RowCache& cache) {
  const auto slots = [&](Change change, const Statement& statement, bool with_used) {
    const auto list = changed(cache.key_slots, {change});
    if (list.empty()) return;
    Params p;
    p.i32s(list, [](const auto& one) { return one.key->lane; });
    p.texts(list, [](const auto& one) -> const std::string& { return one.key->concurrency_key; });
    if (with_used) p.i32s(list, [](const auto& one) { return one.slot->row->used; });
    queue(statement, p);
  };
  slots(Change::erased, statements::key_slot_delete, false);
  slots(Change::updated, statements::key_slot_update, true);
  slots(Change::inserted, statements::key_slot_insert, true);

  if (const auto rows = rows_of(changed(cache.lanes, {Change::updated, Change::inserted})); !rows.empty()) {
    using MaybeCount = std::optional<std::int64_t>;
    Params p;
    p.i32s(rows, FIELD(id)).i64s(rows, FIELD(config.retention));
    p.i64s(rows, [](const core::Lane* l) {
      return l->config.rate_limit ? MaybeCount(l->config.rate_limit->count) : MaybeCount();
    });
    p.i64s(rows, [](const core::Lane* l) {
      return l->config.rate_limit ? MaybeCount(l->config.rate_limit->per.count()) : MaybeCount();
    });
    p.i32s(rows, FIELD(config.concurrency))
        .i32s(rows, FIELD(config.concurrency_per_key))
        .flags(rows, FIELD(config.dead_letter));
    p.i32s(rows, FIELD(config.max_attempts)).byteas(rows, FIELD(config.retry)).flags(rows, FIELD(config.paused));
    p.i32s(rows, FIELD(running_count))
        .i64s(rows, FIELD(tokens_micro))
        .i64s(rows, FIELD(tokens_at))
        .i32s(rows, FIELD(revision));
    queue(statements::lane_update, p);
  }
}

void PostgresTables::write_sessions(const core::RowCache& cache, Instant now) {
  const auto erase = [&](const auto& map, const Statement& statement) {
    const auto gone = changed(map, {Change::erased});
    if (!gone.empty()) queue(statement, Params().uuids(gone, [](const auto& one) { return *one.key; }));
  };
  const auto kept = std::initializer_list<Change>{Change::inserted, Change::updated};
  erase(cache.sessions, statements::session_delete);
  if (const auto rows = rows_of(changed(cache.sessions, kept)); !rows.empty()) {
    Params p;
    p.uuids(rows, FIELD(id)).texts(rows, FIELD(worker)).i64s(rows, FIELD(opened_at)).i64s(rows, FIELD(expires_at));
    queue(statements::session_put, p);
  }
  erase(cache.leases, statements::lease_delete);
  for (const auto& one : changed(cache.leases, kept)) {
    const core::Lease& lease = *one.slot->row;
    Params p;
    p.bytes(lease.id).bytes(lease.session);
    p.uuids(lease.executions, [](const auto& e) { return e.execution; });
    p.i32s(lease.executions, [](const auto& e) { return e.version; });
    const bool unseen = trusting_ && std::any_of(cache.handed.begin(), cache.handed.end(),
                                                 [&](const auto& handed) { return handed.claim == lease.id; });
    if (unseen) queue(statements::lease_insert_live, p.i64(now));
    else queue(one.slot->change == Change::inserted ? statements::lease_insert : statements::lease_put, p);
  }
  erase(cache.groups, statements::group_delete);
  if (const auto rows = rows_of(changed(cache.groups, kept)); !rows.empty()) {
    Params p;
    p.uuids(rows, FIELD(id)).i32s(rows, FIELD(tenant)).i32s(rows, FIELD(total)).i32s(rows, FIELD(joined));
    p.i32s(rows, FIELD(ended)).i32s(rows, FIELD(failed)).flags(rows, FIELD(completed));
    p.byteas(rows, [](const core::Group* g) { return encode_task(g->completion, g->completion_payload); });
    queue(statements::group_put, p);
  }
  erase(cache.attention, statements::attention_delete);
  if (const auto rows = rows_of(changed(cache.attention, kept)); !rows.empty()) {
    Params p;
    p.uuids(rows, FIELD(execution)).i32s(rows, FIELD(tenant)).i32s(rows, FIELD(lane)).i16s(rows, FIELD(status));
    p.i64s(rows, FIELD(at)).i64s(rows, FIELD(discarded_at)).uuids(rows, FIELD(successor));
    queue(statements::attention_put, p);
  }
}

void PostgresTables::write_inbox(const core::RowCache& cache) {
  if (const auto rows = rows_of(changed(cache.inbox, {Change::updated})); !rows.empty())
    queue(statements::inbox_update, Params().i64s(rows, FIELD(id)).texts(rows, FIELD(error)));
  if (const auto gone = changed(cache.inbox, {Change::erased}); !gone.empty())
    queue(statements::inbox_delete, Params().i64s(gone, [](const auto& one) { return *one.key; }));
}

// A burst of duplicates of one id costs its counters and the notes that will be kept, not a row each.
void PostgresTables::write_ledger(const core::RowCache& cache, Instant now) {
  if (!cache.ledger_forgotten.empty()) {
    const Params ids = key_params(cache.ledger_forgotten);
    for (const Statement* rows : {&statements::ledger_forget, &statements::ledger_note_forget})
      queue(*rows, Params(ids).i64(add_saturated(now, -core::kLedgerLife)));
  }
  if (cache.ledger.empty()) return;
  std::map<std::pair<core::IdentityKey, core::LedgerRule>, std::int64_t> counts;
  std::map<core::IdentityKey, std::vector<const core::LedgerNote*>> by_id;
  for (const core::LedgerNote& note : cache.ledger) {
    const core::IdentityKey key{note.tenant, note.space, note.key};
    ++counts[{key, note.rule}];
    by_id[key].push_back(&note);
  }
  Params p;
  p.i32s(counts, [](const auto& c) { return c.first.first.tenant; }).i16s(counts, [](const auto& c) {
    return c.first.first.space;
  });
  p.texts(counts, [](const auto& c) -> const std::string& { return c.first.first.key; });
  p.i16s(counts, [](const auto& c) { return c.first.second; }).i64s(counts, [](const auto& c) { return c.second; });
  queue(statements::ledger_count, p);

  std::vector<const core::LedgerNote*> notes;
  for (const auto& [id, list] : by_id)
    notes.insert(notes.end(), list.size() > core::kLedgerRecent ? list.end() - core::kLedgerRecent : list.begin(),
                 list.end());
  Params n;
  n.i32s(notes, FIELD(tenant)).i16s(notes, FIELD(space)).texts(notes, FIELD(key)).i16s(notes, FIELD(rule));
  queue(statements::ledger_note_insert, n.i64s(notes, FIELD(at)).uuids(notes, FIELD(winner)));
  Params t;
  t.i32s(by_id, [](const auto& c) { return c.first.tenant; }).i16s(by_id, [](const auto& c) { return c.first.space; });
  t.texts(by_id, [](const auto& c) -> const std::string& { return c.first.key; });
  queue(statements::ledger_note_trim, t.i32(core::kLedgerRecent));
}

}  // namespace semel::store::postgres
