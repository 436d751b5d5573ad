// What operators do: cancel, redrive, discard, queues, tenants, keys, groups. Terminal rows stay as they are.
#include "core/decide_parts.h"
#include "core/run.h"
#include "core/transition.h"

namespace semel::core {
namespace {

const Execution* own(const RowCache& rows, TenantId tenant, ExecutionId id) {
  const Execution* e = peek(rows.executions, id);
  return e && e->tenant == tenant ? e : nullptr;
}

Error not_found(ExecutionId id) {
  return make_error(ErrorCode::ExecutionNotFound, "execution " + id.to_string() + " does not exist");
}

Error illegal(const Execution& e, const std::string& verb, const std::string& why) {
  return make_error(ErrorCode::InvalidTransition, "execution " + e.id.to_string() + " cannot be " + verb + ": " + why);
}

bool is_expired(const Identity& row, Instant now) { return row.expires_at && *row.expires_at <= now; }

}  // namespace

// ---- cancel ---------------------------------------------------------------------------------------------------------

void gather_part(const ExecutionCancel& op, const RowCache& rows, Instant, Needs& needs) {
  if (!want(rows.executions, op.execution, needs.executions)) return;
  const Execution* e = own(rows, op.tenant, op.execution);
  if (e && !is_terminal(e->status) && (e->kind == Kind::workflow || !is_claimed(*e))) gather_end(*e, rows, needs);
}

namespace {

// Its code cleans up and ends it, unless there is no code that waits: then it ends at once.
Answer cancel_run(const ExecutionCancel& op, RowCache& rows, Execution& e, Instant now) {
  const bool at_once = op.terminate || e.status == Status::queued || e.suspend_reason != SuspendReason::none;
  if (at_once) {
    if (op.terminate) e.close_reason = CloseReason::terminated;
    close_history(rows, e, op.terminate ? EventKind::run_terminated : EventKind::run_cancelled, now);
    end(rows, e, Status::cancelled, AttemptEnd::cancelled, now);
    return CancelAnswer{Status::cancelled, false};
  }
  if (!e.cancel_requested_at) {
    e.cancel_requested_at = now;
    Event asked;
    asked.kind = EventKind::cancel_requested;
    put_mail(rows, e.id, asked, mail_id_of(0), now);
  }
  return CancelAnswer{rows.executions.at(op.execution).status, true};
}

}  // namespace

Answer decide_part(const ExecutionCancel& op, RowCache& rows, Instant now) {
  const Execution* found = own(rows, op.tenant, op.execution);
  if (!found) return not_found(op.execution);
  if (is_terminal(found->status)) return CancelAnswer{found->status, false};
  if (op.terminate && found->kind == Kind::task)
    return make_error(ErrorCode::InvalidArgument, "only workflows are terminated; cancel a task");
  Execution& e = rows.executions.update(op.execution);
  if (e.kind == Kind::workflow) return cancel_run(op, rows, e, now);
  if (!is_claimed(e)) {
    end(rows, e, Status::cancelled, AttemptEnd::cancelled, now);
    return CancelAnswer{Status::cancelled, false};
  }
  if (!e.cancel_requested_at) e.cancel_requested_at = now;
  rows.cancel_requested.push_back(e.id);
  return CancelAnswer{e.status, true};
}

// ---- resume ---------------------------------------------------------------------------------------------------------

void gather_part(const RunResume& op, const RowCache& rows, Instant, Needs& needs) {
  want(rows.executions, op.execution, needs.executions);
}

Answer decide_part(const RunResume& op, RowCache& rows, Instant now) {
  const Execution* found = own(rows, op.tenant, op.execution);
  if (!found) return not_found(op.execution);
  if (found->kind != Kind::workflow) return illegal(*found, "resumed", "it is a task");
  if (!is_parked(*found)) return ResumeAnswer{found->status, false};
  unpark(rows, rows.executions.update(op.execution), now, now);
  return ResumeAnswer{Status::running, true};
}

// ---- redrive --------------------------------------------------------------------------------------------------------

void gather_part(const ExecutionRedrive& op, const RowCache& rows, Instant, Needs& needs) {
  if (!want(rows.executions, op.execution, needs.executions)) return;
  const Execution* e = own(rows, op.tenant, op.execution);
  if (!e) return;
  want(rows.attention, e->id, needs.attention);
  want(rows.payloads, e->id, needs.payloads);
  if (e->identity) want(rows.identities, identity_key_of(*e), needs.identities);
  if (e->idempotency_key) want(rows.identities, idempotency_key_of(*e), needs.identities);
  if (e->kind == Kind::workflow) want(rows.runs, e->id, needs.runs);
  gather_enter(*e, rows, needs);
}

namespace {

Execution successor_of(const Execution& e, ExecutionId id, Instant now) {
  Execution next;
  next.id = id;
  next.tenant = e.tenant;
  next.lane = e.lane;
  next.kind = e.kind;
  next.name = e.name;
  next.identity = e.identity;
  next.priority = e.priority;
  next.max_attempts = e.max_attempts;
  next.attempt_timeout = e.attempt_timeout;
  next.concurrency_key = e.concurrency_key;
  next.fingerprint = e.fingerprint;
  next.previous = e.id;
  next.created_at = next.scheduled_at = now;
  next.flags = e.flags & (kDropAtEnd | kHasPolicy);
  if (e.attempt_timeout.count() > 0) next.flags |= kHasTimer;
  return next;
}

// Points the row at the successor, unless it serves somebody else.
bool hand_over(RowCache& rows, const IdentityKey& key, const Execution& from, Execution& to, Instant now) {
  const Identity* row = rows.identities.find(key);
  if (row && row->target != from.id && !is_expired(*row, now)) return false;
  if (!row) {
    rows.identities.insert(key, Identity{key, to.id, to.kind, false, {}, {}, 1});
  } else {
    Identity& moved = rows.identities.update(key);
    moved.target = to.id;
    moved.target_kind = to.kind;
    moved.tombstone = false;
    moved.expires_at.reset();
    moved.revision += 1;
  }
  return true;
}

void hand_over_key(RowCache& rows, const Execution& from, Execution& to, Instant now) {
  const IdentityKey key = idempotency_key_of(from);
  if (!hand_over(rows, key, from, to, now)) return;
  rows.identities.update(key).fingerprint = to.fingerprint;
  to.idempotency_key = from.idempotency_key;
  to.idempotency_key_ttl_seconds = from.idempotency_key_ttl_seconds;
  to.flags |= kHasKey;
}

}  // namespace

Answer decide_part(const ExecutionRedrive& op, RowCache& rows, Instant now) {
  const Execution* found = own(rows, op.tenant, op.execution);
  if (!found) return not_found(op.execution);
  const Execution& e = *found;
  const Attention* attention = rows.attention.find(e.id);
  if (attention && attention->successor) {
    const bool same_request = *attention->successor == op.successor;
    if (!same_request) note(rows, e, LedgerRule::repeated_redrive, now);
    return RedriveAnswer{*attention->successor, same_request};
  }
  if (!is_terminal(e.status)) return illegal(e, "redriven", "it is still " + std::string(to_string(e.status)));
  if (e.status == Status::succeeded) return illegal(e, "redriven", "it succeeded");
  if (e.identity) {
    const Identity* id = rows.identities.find(identity_key_of(e));
    if (id && id->target != e.id)
      return illegal(e, "redriven", "execution " + id->target.to_string() + " is newer under the same id");
  }
  Execution next = successor_of(e, op.successor, now);
  if (e.identity) hand_over(rows, identity_key_of(e), e, next, now);
  if (e.idempotency_key) hand_over_key(rows, e, next, now);
  if (!attention) rows.attention.insert(e.id, Attention{e.id, e.tenant, e.lane, e.status, *e.completed_at, {}, {}});
  rows.attention.update(e.id).successor = op.successor;
  Payload payload = rows.payloads.at(e.id);
  payload.execution = op.successor;
  rows.payloads.insert(op.successor, std::move(payload));
  if (e.kind == Kind::workflow)
    if (const Run* run = rows.runs.find(e.id)) {
      Run header = *run;
      header.chain = {};
      start_run(rows, next, std::move(header), now);
    }
  enter(rows, rows.executions.insert(op.successor, std::move(next)), now);
  return RedriveAnswer{op.successor, true};
}

// ---- discard --------------------------------------------------------------------------------------------------------

void gather_part(const ExecutionDiscard& op, const RowCache& rows, Instant, Needs& needs) {
  if (!want(rows.executions, op.execution, needs.executions)) return;
  const Execution* e = own(rows, op.tenant, op.execution);
  if (!e) return;
  want(rows.attention, e->id, needs.attention);
  if (e->identity) want(rows.identities, identity_key_of(*e), needs.identities);
  if (e->idempotency_key) want(rows.identities, idempotency_key_of(*e), needs.identities);
}

Answer decide_part(const ExecutionDiscard& op, RowCache& rows, Instant now) {
  const Execution* found = own(rows, op.tenant, op.execution);
  if (!found) return not_found(op.execution);
  const Execution& e = *found;
  if (e.status != Status::dead_lettered)
    return illegal(e, "discarded", "it is " + std::string(to_string(e.status)) + ", not dead_lettered");
  const Attention* attention = rows.attention.find(e.id);
  if (!attention) throw InvariantBroken("dead-lettered execution " + e.id.to_string() + " has no attention row");
  if (attention->discarded_at) return DiscardAnswer{false};
  if (attention->successor) return illegal(e, "discarded", "it was redriven as " + attention->successor->to_string());
  rows.attention.update(e.id).discarded_at = now;
  if (e.identity)
    if (const Identity* row = rows.identities.find(identity_key_of(e)); row && row->target == e.id)
      rows.identities.erase(identity_key_of(e));
  if (e.idempotency_key)
    if (const Identity* row = rows.identities.find(idempotency_key_of(e)); row && row->target == e.id)
      rows.identities.erase(idempotency_key_of(e));
  return DiscardAnswer{true};
}

// ---- tenants, queues ------------------------------------------------------------------------------------------------

void gather_part(const TenantEnsure& op, const RowCache& rows, Instant, Needs& needs) {
  if (!rows.tenant_names.count(op.name)) needs.tenant_names.push_back(op.name);
}
Answer decide_part(const TenantEnsure& op, RowCache& rows, Instant) {
  FoundTenant& found = rows.tenant_names.at(op.name);
  return TenantAnswer{found.id, std::exchange(found.created, false)};
}

void gather_part(const LaneEnsure& op, const RowCache& rows, Instant, Needs& needs) {
  auto found = rows.lane_names.find({op.tenant, op.queue});
  if (found == rows.lane_names.end()) needs.lane_names.push_back({op.tenant, op.queue});
  else want(rows.lanes, found->second.lane.id, needs.lanes);
}
Answer decide_part(const LaneEnsure& op, RowCache& rows, Instant) {
  FoundLane& found = rows.lane_names.at({op.tenant, op.queue});
  const bool created = std::exchange(found.created, false);
  const LaneId id = found.lane.id;
  LaneConfig config = op.config.value_or(rows.lanes.at(id).config);
  config.paused = op.paused.value_or(config.paused);
  if (config != rows.lanes.at(id).config) {
    Lane& lane = rows.lanes.update(id);
    if (lane.config.rate_limit != config.rate_limit) lane.tokens_at.reset();
    lane.config = std::move(config);
    lane.revision += 1;
  }
  return LaneAnswer{rows.lanes.at(id), created};
}

// ---- keys -----------------------------------------------------------------------------------------------------------

void gather_part(const KeyRelease& op, const RowCache& rows, Instant, Needs& needs) {
  const IdentityKey key{op.tenant, Space::key, op.key};
  if (!want(rows.identities, key, needs.identities)) return;
  if (const Identity* row = rows.identities.find(key); row && !row->tombstone)
    want(rows.executions, row->target, needs.executions);
}
Answer decide_part(const KeyRelease& op, RowCache& rows, Instant now) {
  const IdentityKey key{op.tenant, Space::key, op.key};
  const Identity* row = rows.identities.find(key);
  if (!row || is_expired(*row, now))
    return make_error(ErrorCode::KeyNotFound, "idempotency key '" + op.key + "' is not in use");
  const Execution* target = row->tombstone ? nullptr : rows.executions.find(row->target);
  const bool live = target && !is_terminal(target->status);
  if (live && !op.force)
    return make_error(ErrorCode::InvalidTransition, "idempotency key '" + op.key + "' belongs to the live execution " +
                                                        target->id.to_string() + "; use force to release it");
  if (live) rows.executions.update(target->id).flags &= ~kHasKey;
  rows.identities.erase(key);
  return KeyAnswer{true};
}

// ---- groups ---------------------------------------------------------------------------------------------------------

void gather_part(const GroupCreate& op, const RowCache& rows, Instant, Needs& needs) {
  want(rows.groups, op.group.id, needs.groups);
}
Answer decide_part(const GroupCreate& op, RowCache& rows, Instant) {
  if (rows.groups.find(op.group.id)) return GroupAnswer{false};
  rows.groups.insert(op.group.id, op.group);
  return GroupAnswer{true};
}

}  // namespace semel::core
