#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "base/failpoint.h"
#include "store/sqlite/row_codec.h"
#include "store/sqlite/tables.h"

namespace semel::store::sqlite {
namespace {

using core::Change;
using core::Presence;

// The changed slots in ascending key order.
template <class Key, class Row>
auto changed(const core::SlotMap<Key, Row>& map) {
  std::vector<std::pair<const Key*, const core::Slot<Row>*>> out;
  for (const auto& [key, slot] : map.all()) {
    if (slot.change != Change::none) out.emplace_back(&key, &slot);
  }
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return *a.first < *b.first; });
  return out;
}

// New rows go in several at a time: half of what one costs is the statement around it.
template <class Row, class Add>
void insert(Connection& db, std::string_view name, const std::vector<const Row*>& rows, Add add) {
  for (std::size_t i = 0; i < rows.size();) {
    const bool many = rows.size() - i >= Connection::kRowsAtOnce;
    Statement& statement = many ? db.prepared_for_many(name) : db.prepared(name);
    statement.bind();
    for (const std::size_t end = i + (many ? Connection::kRowsAtOnce : 1); i < end; ++i) add(statement, *rows[i]);
    statement.run();
  }
}

template <class Row, class Add>
void write_presence(Connection& db, const core::RowSet<Row>& rows, std::string_view insertion, Statement& remove,
                    Add add) {
  std::vector<const Row*> fresh;
  for (const auto& [row, presence] : rows.all()) {
    if (presence == Presence::added) fresh.push_back(&row);
    if (presence != Presence::removed) continue;
    add(remove.bind(), row);
    remove.run();
  }
  insert(db, insertion, fresh, add);
}

}  // namespace

void SqliteTables::write(const core::RowCache& cache, Instant now) {
  guarded([&] {
    write_identities(cache);
    write_executions(cache);
    write_runs(cache);
    write_waiting(cache);
    write_limits(cache);
    write_sessions(cache);
    write_ledger(cache);
    constexpr Duration kMarkLife = std::chrono::hours(1);
    if (cache.prune_batch_marks && marks_) db_.prepared("batch_mark_prune").bind(add_saturated(now, -kMarkLife)).run();
    SEMEL_FP("sqlite.write.after");
  });
}

void SqliteTables::write_identities(const core::RowCache& cache) {
  for (const auto& [key, slot] : changed(cache.identities)) {
    if (slot->change == Change::erased) {
      Statement& erase = db_.prepared("identity_delete");
      expect_one(erase.bind(key->tenant, key->space, key->key, slot->loaded_version).run(), "an id");
    } else if (slot->change == Change::inserted) {
      Statement& insert = db_.prepared("identity_insert");
      bind_identity(insert, *slot->row);
      insert.run();
    } else {
      Statement& update = db_.prepared("identity_update");
      bind_identity(update, *slot->row);
      expect_one(update.add(slot->loaded_version).run(), "an id");
    }
  }
}

void SqliteTables::write_executions(const core::RowCache& cache) {
  std::vector<const core::Execution*> fresh;
  for (const auto& [id, slot] : changed(cache.executions)) {
    if (slot->change == Change::inserted) {
      fresh.push_back(&*slot->row);
    } else if (slot->change == Change::updated) {
      Statement& update = db_.prepared("execution_update");
      bind_execution_update(update, *slot->row, slot->loaded_version);
      expect_one(update.run(), "an execution");
    } else {
      expect_one(db_.prepared("execution_delete").bind(*id, slot->loaded_version).run(), "an execution");
      db_.prepared("payload_delete").bind(*id).run();  // goes with its execution, whether or not the batch read it
    }
  }
  insert(db_, "execution_insert", fresh, add_execution);
  std::vector<const core::Payload*> fresh_payloads;
  for (const auto& [id, slot] : changed(cache.payloads)) {
    if (slot->change == Change::inserted) {
      fresh_payloads.push_back(&*slot->row);
    } else if (slot->change == Change::updated) {
      Statement& update = db_.prepared("payload_update");
      add_payload(update.bind(), *slot->row);
      update.run();
    }
  }
  insert(db_, "payload_insert", fresh_payloads, add_payload);
  for (const auto& [id, slot] : changed(cache.attention)) {
    if (slot->change == Change::erased) {
      db_.prepared("attention_delete").bind(*id).run();
    } else {
      Statement& put = db_.prepared("attention_put");
      bind_attention(put, *slot->row);
      put.run();
    }
  }
}

void SqliteTables::write_runs(const core::RowCache& cache) {
  for (const auto& [id, slot] : changed(cache.runs)) {
    if (slot->change == Change::erased) {
      for (const char* rows : {"run_delete", "history_delete", "mail_delete", "watch_delete"})
        db_.prepared(rows).bind(*id).run();
    } else {
      Statement& put = db_.prepared("run_put");
      bind_run(put, *slot->row);
      put.run();
    }
  }
  const auto gone = [&](const ExecutionId& run) { return cache.runs.knows(run) && !cache.runs.find(run); };
  for (const core::HistoryRow& row : cache.history)
    if (!gone(row.run)) db_.prepared("history_add").bind(row.run, row.first, row.count, row.at, Blob(row.events)).run();
  for (const auto& [key, slot] : changed(cache.mail)) {
    if (slot->change == Change::erased) db_.prepared("mail_remove").bind(key->run, key->at, key->id).run();
    else if (!gone(key->run)) db_.prepared("mail_add").bind(key->run, key->at, key->id, Blob(slot->row->event)).run();
  }
  for (const auto& [row, presence] : cache.watches.all()) {
    const bool add = presence == Presence::added && !gone(row.run);
    if (!add && presence != Presence::removed) continue;
    db_.prepared(add ? "watch_add" : "watch_remove").bind(row.target, row.run, row.command).run();
  }
  for (const auto& [key, slot] : changed(cache.signals)) {
    const std::optional<std::string>& answer = slot->row->answer;
    if (slot->change == Change::updated)
      db_.prepared("signal_answer").bind(key->chain, key->name, key->dedupe, Blob(answer)).run();
    else db_.prepared("signal_add").bind(key->chain, key->name, key->dedupe, slot->row->mail, Blob(answer)).run();
  }
  for (const ExecutionId& chain : cache.chains_over) db_.prepared("signal_delete").bind(chain).run();
}

void SqliteTables::write_waiting(const core::RowCache& cache) {
  write_presence(db_, cache.ready, "ready_add", db_.prepared("ready_remove"), [](Statement& to, const auto& row) {
    to.add(row.lane).add(row.pool).add(row.priority).add(row.due_at).add(row.execution);
  });
  write_presence(db_, cache.timers, "timer_add", db_.prepared("timer_remove"), [](Statement& to, const auto& row) {
    to.add(row.due_at).add(row.kind).add(row.execution).add(row.version);
  });
  write_presence(db_, cache.blocked, "blocked_add", db_.prepared("blocked_remove"), [](Statement& to, const auto& row) {
    to.add(row.lane).add(row.concurrency_key).add(row.priority).add(row.due_at).add(row.execution);
  });
}

void SqliteTables::write_limits(const core::RowCache& cache) {
  for (const auto& [id, slot] : changed(cache.lanes)) {
    Statement& update = db_.prepared("lane_update");
    bind_lane(update, *slot->row);
    expect_one(update.run(), "a queue");
  }
  for (const auto& [key, slot] : changed(cache.key_slots)) {
    if (slot->change == Change::erased) {
      db_.prepared("key_slot_delete").bind(key->lane, key->concurrency_key).run();
    } else {
      db_.prepared("key_slot_put").bind(key->lane, key->concurrency_key, slot->row->used).run();
    }
  }
  for (const auto& [id, slot] : changed(cache.groups)) {
    if (slot->change == Change::erased) {
      db_.prepared("group_delete").bind(*id).run();
    } else {
      Statement& put = db_.prepared("group_put");
      bind_group(put, *slot->row);
      put.run();
    }
  }
}

void SqliteTables::write_sessions(const core::RowCache& cache) {
  for (const auto& [id, slot] : changed(cache.sessions)) {
    if (slot->change == Change::erased) {
      db_.prepared("session_delete").bind(*id).run();
    } else {
      const core::Session& row = *slot->row;
      db_.prepared("session_put").bind(row.id, row.worker, row.opened_at, row.expires_at).run();
    }
  }
  for (const auto& [id, slot] : changed(cache.leases)) {
    if (slot->change == Change::erased) {
      db_.prepared("lease_delete").bind(*id).run();
    } else {
      const std::string held = encode_leased(slot->row->executions);
      db_.prepared(slot->change == Change::inserted ? "lease_insert" : "lease_put")
          .bind(slot->row->id, slot->row->session, Blob(held))
          .run();
    }
  }
}

// A burst of duplicates of one id costs its counters and at most a ring of notes, not a row each.
void SqliteTables::write_ledger(const core::RowCache& cache) {
  for (const core::IdentityKey& id : cache.ledger_forgotten)
    for (const char* rows : {"ledger_forget", "ledger_note_forget"})
      db_.prepared(rows).bind(id.tenant, id.space, id.key).run();
  std::map<core::IdentityKey, std::vector<const core::LedgerNote*>> by_id;
  for (const core::LedgerNote& note : cache.ledger) by_id[{note.tenant, note.space, note.key}].push_back(&note);
  for (const auto& [id, notes] : by_id) {
    Statement& total = db_.prepared("ledger_total").bind(id.tenant, id.space, id.key);
    total.step();
    const std::int64_t before = total.integer(0);
    total.reset();

    std::map<core::LedgerRule, std::int64_t> counts;
    for (const core::LedgerNote* note : notes) ++counts[note->rule];
    for (const auto& [rule, count] : counts)
      db_.prepared("ledger_count").bind(id.tenant, id.space, id.key, rule, count).run();

    const std::size_t first = notes.size() > core::kLedgerRecent ? notes.size() - core::kLedgerRecent : 0;
    for (std::size_t i = first; i < notes.size(); ++i) {
      const std::int64_t number = before + static_cast<std::int64_t>(i);
      const core::LedgerNote& note = *notes[i];
      Statement& put = db_.prepared("ledger_note_put");
      put.bind(id.tenant, id.space, id.key, number % core::kLedgerRecent, number, note.rule, note.at, note.winner)
          .run();
    }
  }
}

}  // namespace semel::store::sqlite
