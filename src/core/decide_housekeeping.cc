// Sessions, timers, sweeps. All of it is safe to run anywhere, any number of times, on several nodes at once.
#include <algorithm>

#include "base/uuid.h"
#include "core/decide_parts.h"
#include "core/run.h"
#include "core/transition.h"

namespace semel::core {

// ---- sessions -------------------------------------------------------------------------------------------------------

void gather_part(const SessionOpen& op, const RowCache& rows, Instant, Needs& needs) {
  want(rows.sessions, op.session, needs.sessions);
}
Answer decide_part(const SessionOpen& op, RowCache& rows, Instant now) {
  const Instant until = add_saturated(now, op.lease);
  if (rows.sessions.find(op.session)) rows.sessions.update(op.session).expires_at = until;
  else rows.sessions.insert(op.session, Session{op.session, op.worker, now, until});
  return SessionAnswer{until};
}

void gather_part(const SessionRenew& op, const RowCache& rows, Instant, Needs& needs) {
  want(rows.sessions, op.session, needs.sessions);
}
Answer decide_part(const SessionRenew& op, RowCache& rows, Instant now) {
  const Session* found = rows.sessions.find(op.session);
  if (!found || found->expires_at <= now)
    return make_error(ErrorCode::LeaseLost, "session " + op.session.to_string() + " is over; open a new one");
  const Instant until = add_saturated(now, op.lease);
  rows.sessions.update(op.session).expires_at = until;
  return SessionAnswer{until};
}

void gather_part(const SessionClose& op, const RowCache& rows, Instant, Needs& needs) {
  want(rows.sessions, op.session, needs.sessions);
}
Answer decide_part(const SessionClose& op, RowCache& rows, Instant now) {
  if (rows.sessions.find(op.session)) rows.sessions.update(op.session).expires_at = now;
  return SessionAnswer{now};
}

void gather_part(const LeaseForget& op, const RowCache& rows, Instant, Needs& needs) {
  for (const ClaimId& id : op.claims) want(rows.leases, id, needs.leases);
}
Answer decide_part(const LeaseForget& op, RowCache& rows, Instant) {
  for (const ClaimId& id : op.claims)
    if (rows.leases.find(id)) rows.leases.erase(id);
  return NoAnswer{};
}

// ---- expired sessions -----------------------------------------------------------------------------------------------

namespace {

// By a store whose history changed under its holder: without a session.
bool is_void(const Lease& lease) { return lease.session.is_nil(); }

// As its holder would by a release.
void give_back(RowCache& rows, Execution& e, Instant now) {
  if (e.kind == Kind::task) e.attempt -= 1;
  requeue(rows, e, AttemptEnd::released, now, now);
}

}  // namespace

void gather_part(const SessionsExpire& op, const RowCache& rows, Instant now, Needs& needs) {
  if (!rows.leases_expired) {
    needs.leases_expired = std::max(needs.leases_expired, op.limit);
    return;
  }
  std::map<SlotKey, std::int32_t> frees;
  for (const ClaimId& id : *rows.leases_expired) {
    const Lease* lease = peek(rows.leases, id);
    if (!lease) continue;
    for (const LeasedExecution& leased : lease->executions) {
      if (!want(rows.executions, leased.execution, needs.executions)) continue;
      const Execution* e = rows.executions.find(leased.execution);
      if (!e || !is_claimed(*e) || e->version != leased.version) continue;
      if (!is_void(*lease) && lease_is_live(*e, nullptr, now)) continue;
      gather_fail(*e, rows, needs);
      if (e->flags & kHoldsSlot) ++frees[slot_key_of(*e)];
    }
  }
  gather_frees(frees, rows, needs);
}

namespace {

// What of the lease is still held; the rest is returned or ended.
std::vector<LeasedExecution> expire_lease(RowCache& rows, const Lease& lease, Instant now, SweepAnswer& answer) {
  std::vector<LeasedExecution> held;
  for (const LeasedExecution& leased : lease.executions) {
    answer.looked_at += 1;
    const Execution* e = rows.executions.find(leased.execution);
    if (!e || !is_claimed(*e) || e->version != leased.version) continue;
    if (is_void(lease)) {
      give_back(rows, rows.executions.update(e->id), now);
    } else if (lease_is_live(*e, nullptr, now)) {
      held.push_back(leased);
      continue;
    } else {
      lose_lease(rows, rows.executions.update(e->id), now);
    }
    answer.changed += 1;
  }
  return held;
}

}  // namespace

Answer decide_part(const SessionsExpire& op, RowCache& rows, Instant now) {
  SweepAnswer answer;
  for (const ClaimId& id : *rows.leases_expired) {
    const Lease* lease = rows.leases.find(id);
    if (!lease) continue;
    std::vector<LeasedExecution> held = expire_lease(rows, *lease, now, answer);
    if (held.empty()) rows.leases.erase(id);
    else if (held != lease->executions) rows.leases.update(id).executions = std::move(held);
  }
  if (rows.sessions_over)
    for (const SessionId& id : *rows.sessions_over)
      if (const Session* session = rows.sessions.find(id); session && session->expires_at <= now)
        rows.sessions.erase(id);
  answer.more = answer.looked_at >= op.limit;
  return answer;
}

// ---- timers ---------------------------------------------------------------------------------------------------------

void gather_part(const TimersFire& op, const RowCache& rows, Instant, Needs& needs) {
  if (!rows.timers_due) {
    needs.timers_due = std::max(needs.timers_due, op.limit);
    return;
  }
  std::map<SlotKey, std::int32_t> frees;  // whoever is promoted meanwhile may time out too
  for (const TimerRow& timer : *rows.timers_due) {
    if (!want(rows.executions, timer.execution, needs.executions)) continue;
    const Execution* e = rows.executions.find(timer.execution);
    if (!e || is_terminal(e->status)) continue;
    if (timer.kind == TimerKind::run) continue;
    if (timer.kind != TimerKind::due && e->concurrency_key) ++frees[slot_key_of(*e)];
    if (timer.kind == TimerKind::due) gather_enter(*e, rows, needs);
    if (timer.kind == TimerKind::timeout) gather_end(*e, rows, needs);
    if (timer.kind == TimerKind::attempt_timeout) gather_fail(*e, rows, needs);
  }
  gather_frees(frees, rows, needs);
}

namespace {

// Tasks that time out together must not come back together: each takes its own bits.
std::uint64_t bits_for(const ExecutionId& id, std::uint64_t random_bits) {
  std::uint64_t own = 0;
  for (int i = 8; i < 16; ++i) own = own << 8 | id.bytes[i];
  return random_bits ^ own;
}

// A run that was given back with a delay.
bool waits_for_claim(const Execution& e) {
  return e.kind == Kind::workflow && e.status == Status::running && !e.session;
}

// What waited for its time can be claimed.
bool fire_due(RowCache& rows, const TimerRow& timer, const Execution& found, Instant now) {
  const bool waits = found.status == Status::queued || waits_for_claim(found) || is_parked(found);
  if (!waits || found.scheduled_at != timer.due_at) return false;
  Execution& e = rows.executions.update(timer.execution);
  if (is_parked(e)) unpark(rows, e, timer.due_at, now);
  else enter(rows, e, now);
  return true;
}

bool fire(RowCache& rows, const TimerRow& timer, std::uint64_t random_bits, Instant now) {
  const Execution* found = rows.executions.find(timer.execution);
  if (!found || is_terminal(found->status)) return false;
  switch (timer.kind) {
    case TimerKind::due:
      return fire_due(rows, timer, *found, now);
    case TimerKind::timeout: {
      Execution& e = rows.executions.update(timer.execution);
      e.error = std::string(kTimedOutError);
      close_history(rows, e, EventKind::run_timed_out, now);
      end(rows, e, Status::timed_out, AttemptEnd::timed_out, now);
      return true;
    }
    case TimerKind::attempt_timeout:
      if (!is_claimed(*found) || found->version != timer.version) return false;
      fail_attempt(rows, rows.executions.update(timer.execution),
                   {"AttemptTimeout",
                    kAttemptTimeoutError,
                    AttemptEnd::attempt_timeout,
                    true,
                    {},
                    bits_for(timer.execution, random_bits)},
                   now);
      return true;
    case TimerKind::run: {
      Event fired;
      fired.kind = EventKind::timer_fired;
      fired.command = timer.version;
      put_mail(rows, timer.execution, fired, mail_id_of(timer.version), now);
      return true;
    }
  }
  return false;
}

}  // namespace

Answer decide_part(const TimersFire& op, RowCache& rows, Instant now) {
  SweepAnswer answer;
  for (const TimerRow& timer : *rows.timers_due) {
    // Somebody in this batch may have removed it already (a cancel, an end).
    auto present = rows.timers.all().find(timer);
    if (present != rows.timers.all().end() && present->second == Presence::removed) continue;
    rows.timers.remove(timer);
    answer.looked_at += 1;
    if (fire(rows, timer, op.random_bits, now)) answer.changed += 1;
  }
  answer.more = answer.looked_at >= op.limit;
  return answer;
}

// ---- blocked --------------------------------------------------------------------------------------------------------

void gather_part(const BlockedSweep& op, const RowCache& rows, Instant, Needs& needs) {
  want(rows.lanes, op.lane, needs.lanes);
  if (!rows.blocked_lane) {
    needs.blocked_lane = {op.lane, op.limit};
    return;
  }
  for (const BlockedRow& row : *rows.blocked_lane) {
    want(rows.executions, row.execution, needs.executions);
    want(rows.key_slots, SlotKey{row.lane, row.concurrency_key}, needs.key_slots);
  }
}
Answer decide_part(const BlockedSweep& op, RowCache& rows, Instant now) {
  SweepAnswer answer;
  const Lane* lane = rows.lanes.find(op.lane);
  if (!lane) return answer;
  for (const BlockedRow& row : *rows.blocked_lane) {
    answer.looked_at += 1;
    auto present = rows.blocked.all().find(row);
    if (present != rows.blocked.all().end() && present->second == Presence::removed) continue;
    const Execution* e = rows.executions.find(row.execution);
    if (!e || e->status != Status::queued) continue;
    const KeySlot* slot = rows.key_slots.find({row.lane, row.concurrency_key});
    const auto limit = lane->config.concurrency_per_key;
    if (limit && slot && slot->used >= *limit) continue;
    rows.blocked.remove(row);
    // It was due when it was blocked, by the `now` of a writer who may have been ahead of this one.
    enter(rows, rows.executions.update(row.execution), std::max(now, row.due_at));
    answer.changed += 1;
  }
  answer.more = answer.looked_at >= op.limit;
  return answer;
}

// ---- retention ------------------------------------------------------------------------------------------------------

void gather_part(const RetentionSweep& op, const RowCache& rows, Instant now, Needs& needs) {
  if (!rows.retention) {
    const Instant before = std::max(Instant{}, add_saturated(now, -op.min_age));
    needs.retention = RetentionScan{op.after, base::uuidv7_lower_bound<ExecutionId>(before), op.limit};
    return;
  }
  for (const ExecutionId& id : *rows.retention) {
    const Execution* e = peek(rows.executions, id);
    if (!e || !is_terminal(e->status)) continue;
    want(rows.lanes, e->lane, needs.lanes);
    if (e->identity) want(rows.identities, identity_key_of(*e), needs.identities);
    if (e->idempotency_key) want(rows.identities, idempotency_key_of(*e), needs.identities);
    if (e->status != Status::succeeded) want(rows.attention, id, needs.attention);
    if (e->parent_run) want(rows.executions, *e->parent_run, needs.executions);
    if (e->kind == Kind::workflow) want(rows.runs, id, needs.runs);
  }
}

namespace {

bool may_be_deleted(const RowCache& rows, const Execution& e, Instant now) {
  if (!is_terminal(e.status)) return false;
  Instant from = *e.completed_at;
  if (e.status == Status::dead_lettered) {
    const Attention* attention = rows.attention.find(e.id);
    if (!attention || (!attention->discarded_at && !attention->successor)) return false;
    if (attention->discarded_at) from = *attention->discarded_at;
  }
  if (e.parent_run)
    if (const Execution* parent = rows.executions.find(*e.parent_run); parent && !is_terminal(parent->status))
      return false;
  return add_saturated(from, retention_of(rows.lanes.at(e.lane), e.kind)) <= now;
}

void delete_finished(RowCache& rows, const Execution& e, Instant now) {
  const ExecutionId id = e.id;
  if (e.identity)
    if (const Identity* row = rows.identities.find(identity_key_of(e)); row && row->target == id)
      rows.identities.erase(identity_key_of(e));
  if (e.idempotency_key) {
    const IdentityKey key = idempotency_key_of(e);
    const Identity* row = rows.identities.find(key);
    if (row && row->target == id && !row->tombstone) {
      if (row->expires_at && *row->expires_at > now) {
        Identity& kept = rows.identities.update(key);
        kept.tombstone = true;
        kept.revision += 1;
      } else {
        rows.identities.erase(key);
      }
    }
  }
  if (e.status != Status::succeeded && rows.attention.find(id)) rows.attention.erase(id);
  if (e.kind == Kind::workflow) erase_run(rows, e);
  rows.executions.erase(id);
}

}  // namespace

Answer decide_part(const RetentionSweep& op, RowCache& rows, Instant now) {
  SweepAnswer answer;
  answer.next_after = op.after;
  for (const ExecutionId& id : *rows.retention) {
    answer.looked_at += 1;
    answer.next_after = id;
    const Execution* e = rows.executions.find(id);
    if (!e || !may_be_deleted(rows, *e, now)) continue;
    delete_finished(rows, *e, now);
    answer.changed += 1;
  }
  answer.more = answer.looked_at >= op.limit;
  return answer;
}

void gather_part(const KeysExpire& op, const RowCache& rows, Instant, Needs& needs) {
  if (!rows.keys_expired) needs.keys_expired = std::max(needs.keys_expired, op.limit);
}
Answer decide_part(const KeysExpire& op, RowCache& rows, Instant now) {
  SweepAnswer answer;
  for (const IdentityKey& key : *rows.keys_expired) {
    answer.looked_at += 1;
    const Identity* row = rows.identities.find(key);
    if (!row || !row->expires_at || *row->expires_at > now) continue;
    rows.identities.erase(key);
    answer.changed += 1;
  }
  rows.prune_batch_marks = true;
  answer.more = answer.looked_at >= op.limit;
  return answer;
}

// What has no id of its own is noted under its execution_id.
void gather_part(const LedgerSweep& op, const RowCache& rows, Instant now, Needs& needs) {
  if (!rows.noted) {
    needs.ledger = LedgerScan{op.after, op.limit};
    return;
  }
  for (const auto& [id, at] : *rows.noted) {
    if (add_saturated(at, kLedgerLife) > now) continue;
    want(rows.identities, id, needs.identities);
    if (const auto execution = ExecutionId::parse(id.key)) want(rows.executions, *execution, needs.executions);
  }
}
Answer decide_part(const LedgerSweep& op, RowCache& rows, Instant now) {
  SweepAnswer answer;
  answer.next_key = op.after;
  const auto is_there = [&](const IdentityKey& id) {
    const auto execution = ExecutionId::parse(id.key);
    return peek(rows.identities, id) || (execution && peek(rows.executions, *execution));
  };
  const auto noted_now = [&](const IdentityKey& id) {
    return std::ranges::any_of(rows.ledger, [&](const LedgerNote& note) {
      return note.key == id.key && note.space == id.space && note.tenant == id.tenant;
    });
  };
  for (const auto& [id, at] : *rows.noted) {
    answer.looked_at += 1;
    answer.next_key = id;
    if (add_saturated(at, kLedgerLife) > now || is_there(id) || noted_now(id)) continue;
    rows.ledger_forgotten.push_back(id);
    answer.changed += 1;
  }
  answer.more = answer.looked_at >= op.limit;
  return answer;
}

// ---- inbox, transactional enqueue, ledger ---------------------------------------------------------------------------

void gather_part(const InboxFeed& op, const RowCache& rows, Instant now, Needs& needs) {
  want(rows.inbox, op.inbox, needs.inbox);
  if (op.task) gather_part(*op.task, rows, now, needs);
}
Answer decide_part(const InboxFeed& op, RowCache& rows, Instant now) {
  const InboxRow* row = rows.inbox.find(op.inbox);
  if (!row || row->error) return InboxAnswer{false};
  if (!op.task) {
    rows.inbox.update(op.inbox).error = op.error;
    return InboxAnswer{false};
  }
  Answer answer = decide_part(*op.task, rows, now);
  if (const Error* refused = std::get_if<Error>(&answer)) {
    rows.inbox.update(op.inbox).error = refused->to_json();
    return InboxAnswer{false};
  }
  rows.inbox.erase(op.inbox);
  return InboxAnswer{true};
}

void gather_part(const EnqueueWithin& op, const RowCache& rows, Instant now, Needs& needs) {
  for (const TaskEnqueue& task : op.tasks) gather_part(task, rows, now, needs);
}
Answer decide_part(const EnqueueWithin& op, RowCache& rows, Instant now) {
  EnqueueWithinAnswer answers;
  for (const TaskEnqueue& task : op.tasks) {
    Answer answer = decide_part(task, rows, now);
    if (auto* refused = std::get_if<Error>(&answer)) return std::move(*refused);
    answers.tasks.push_back(std::move(std::get<EnqueueAnswer>(answer)));
  }
  return answers;
}

void gather_part(const LedgerAdd&, const RowCache&, Instant, Needs&) {}
Answer decide_part(const LedgerAdd& op, RowCache& rows, Instant) {
  rows.ledger.insert(rows.ledger.end(), op.notes.begin(), op.notes.end());
  return NoAnswer{};
}

}  // namespace semel::core
