// Enqueue: the answer to every duplicate. The order of the checks is that of docs/rules.md, "TaskEnqueue".
#include <algorithm>

#include "base/duration.h"
#include "base/json.h"
#include "base/mutant.h"
#include "core/decide_parts.h"
#include "core/run.h"
#include "core/transition.h"

namespace semel::core {

std::optional<Identity> identity_to_win(const TaskEnqueue& q) {
  if (!q.identity) return std::nullopt;
  Identity row;
  row.id = {q.tenant, identity_space(q.kind), *q.identity};
  row.target = q.id;
  row.target_kind = q.kind;
  return row;
}

namespace {

IdentityKey id_key(const TaskEnqueue& q) { return {q.tenant, identity_space(q.kind), *q.identity}; }
IdentityKey key_key(const TaskEnqueue& q) { return {q.tenant, Space::key, *q.idempotency_key}; }

// What the request meets: the row of its id, the row of its key, the execution that would be the answer.
struct Met {
  const Identity* by_id = nullptr;
  const Identity* by_key = nullptr;  // expired ones count as absent
  const Execution* existing = nullptr;
  bool through_key = false;
};

Met meet(const TaskEnqueue& q, const RowCache& rows, Instant now) {
  Met met;
  if (q.identity) met.by_id = peek(rows.identities, id_key(q));
  if (q.idempotency_key) met.by_key = peek(rows.identities, key_key(q));
  if (met.by_key && met.by_key->expires_at && *met.by_key->expires_at <= now) met.by_key = nullptr;
  if (met.by_id) met.existing = peek(rows.executions, met.by_id->target);
  return met;
}

// A row this very request won blindly, whose execution does not exist yet.
bool won_blindly(const TaskEnqueue& q, const Met& met, const RowCache& rows) {
  return met.by_id && met.by_id->target == q.id && !peek(rows.executions, q.id);
}

void add_existing(Error& error, const Execution& e) {
  error.details.push_back({"existing_execution_id", base::quote_json(e.id.to_string())});
  error.details.push_back({"status", base::quote_json(to_string(e.status))});
  if (e.completed_at)
    error.details.push_back({"completed_at", base::quote_json(base::format_instant(*e.completed_at))});
  if (e.status == Status::succeeded && e.result) error.details.push_back({"result", *e.result});
}

std::string name_of(const TaskEnqueue& q) {
  const std::string noun = q.kind == Kind::task ? "task" : "workflow";
  if (q.identity) return noun + " id '" + *q.identity + "'";
  return "idempotency key '" + q.idempotency_key.value_or("") + "'";
}

void note_enqueue(RowCache& rows, const TaskEnqueue& q, LedgerRule rule, ExecutionId winner, Instant now) {
  const bool about_key = rule == LedgerRule::key_conflict || rule == LedgerRule::result_expired;
  const bool by_id = q.identity.has_value() && !about_key;
  rows.notes.push_back({q.tenant, by_id ? identity_space(q.kind) : Space::key, by_id ? *q.identity : *q.idempotency_key,
                        rule, now, winner});
}

Error mismatch(const TaskEnqueue& q, ExecutionId existing, const std::optional<Fingerprint>& stored, const char* what) {
  Error error =
      make_error(ErrorCode::FingerprintMismatch,
                 name_of(q) + " was used with " + what + "; use another id, or match_args = false to ignore args");
  error.details.push_back({"existing_execution_id", base::quote_json(existing.to_string())});
  if (stored) error.details.push_back({"fingerprint", base::quote_json(stored->to_string())});
  return error;
}

Error rejected(const TaskEnqueue& q, const Execution& e) {
  const bool task = q.kind == Kind::task;
  ErrorCode code = task ? ErrorCode::TaskAlreadyCompleted : ErrorCode::WorkflowAlreadyCompleted;
  if (!is_terminal(e.status)) code = task ? ErrorCode::TaskAlreadyExists : ErrorCode::WorkflowAlreadyStarted;
  if (e.status == Status::dead_lettered) code = task ? ErrorCode::TaskDeadLettered : ErrorCode::WorkflowDeadLettered;
  Error error = make_error(code, name_of(q) + " is already " + std::string(to_string(e.status)));
  add_existing(error, e);
  return error;
}

Error key_conflict(const TaskEnqueue& q, const Identity& key) {
  Error error = make_error(ErrorCode::KeyConflict,
                           "idempotency key '" + *q.idempotency_key + "' leads to another execution; use another key");
  error.details.push_back({"existing_kind", base::quote_json(to_string(key.target_kind))});
  error.details.push_back({"existing_id", base::quote_json(key.target.to_string())});
  return error;
}

// Would a new execution take the id over from `e`?
bool makes_way(const Execution& e, Reuse reuse) {
  switch (e.status) {
    case Status::succeeded:
      return reuse == Reuse::always;
    case Status::failed:
    case Status::cancelled:
    case Status::timed_out:
      return reuse != Reuse::never;
    default:
      return false;
  }
}

Answer answer_existing(const TaskEnqueue& q, RowCache& rows, const Execution& e, bool through_key, Instant now) {
  const bool same_args = !q.match_args || q.fingerprint == e.fingerprint;
  if (e.name != q.name || !same_args) {
    note_enqueue(rows, q, LedgerRule::fingerprint_mismatch, e.id, now);
    Error error = mismatch(q, e.id, e.fingerprint, e.name != q.name ? "another name" : "other args");
    error.details.push_back({"status", base::quote_json(to_string(e.status))});
    return error;
  }
  if (q.group && e.group != q.group)
    return make_error(ErrorCode::InvalidArgument, name_of(q) + " exists outside group " + q.group->to_string());
  if (q.on_duplicate == OnDuplicate::reject) {
    note_enqueue(rows, q, LedgerRule::rejected, e.id, now);
    return rejected(q, e);
  }
  const LedgerRule rule = through_key             ? LedgerRule::key_existing
                          : is_terminal(e.status) ? LedgerRule::existing_completed
                                                  : LedgerRule::existing_live;
  note_enqueue(rows, q, rule, e.id, now);
  EnqueueAnswer answer{e.id, e.status, false, {}, e.completed_at, false};
  if (e.status == Status::succeeded) answer.result = e.result;
  return answer;
}

Answer answer_tombstone(const TaskEnqueue& q, RowCache& rows, const Identity& key, Instant now) {
  if (q.match_args && key.fingerprint != q.fingerprint) {
    note_enqueue(rows, q, LedgerRule::fingerprint_mismatch, key.target, now);
    return mismatch(q, key.target, key.fingerprint, "other args");
  }
  note_enqueue(rows, q, LedgerRule::result_expired, key.target, now);
  return EnqueueAnswer{key.target, Status::succeeded, false, {}, {}, true};
}

Execution new_execution(const TaskEnqueue& q, Instant now) {
  Execution e;
  e.id = q.id;
  e.tenant = q.tenant;
  e.lane = q.lane;
  e.kind = q.kind;
  e.name = q.name;
  e.identity = q.identity;
  e.priority = q.priority;
  e.max_attempts = q.max_attempts;
  e.attempt_timeout = q.attempt_timeout;
  e.concurrency_key = q.concurrency_key;
  e.idempotency_key = q.idempotency_key;
  e.idempotency_key_ttl_seconds = q.idempotency_key ? q.idempotency_key_ttl_seconds : 0;
  e.fingerprint = q.fingerprint;
  e.group = q.group;
  e.created_at = now;
  e.scheduled_at = std::max(now, q.scheduled_at ? *q.scheduled_at : add_saturated(now, q.delay.value_or(Duration{0})));
  if (q.timeout) e.timeout_at = add_saturated(now, *q.timeout);
  if (q.kind == Kind::workflow) {  // both are about what runs at once: a run waits most of its life
    e.attempt_timeout = Duration{0};
    e.concurrency_key.reset();
  }
  if (q.timeout || e.attempt_timeout.count() > 0) e.flags |= kHasTimer;
  if (q.idempotency_key) e.flags |= kHasKey;
  if (q.group) e.flags |= kHasGroup;
  if (q.drop_at_end) e.flags |= kDropAtEnd;
  if (!q.policy.empty()) e.flags |= kHasPolicy;
  if (q.parent) {
    e.parent_run = q.parent->run;
    e.parent_workflow_id = q.parent->workflow_id;
    e.parent_command = q.parent->command;
    e.flags |= kHasParent;
  }
  return e;
}

void point_identity(RowCache& rows, const IdentityKey& key, Identity fresh) {
  if (const Identity* old = rows.identities.find(key)) {
    if (old->target == fresh.target) return;  // won blindly
    fresh.revision = old->revision + 1;
    rows.identities.update(key) = std::move(fresh);
  } else {
    rows.identities.insert(key, std::move(fresh));
  }
}

std::optional<Error> group_refuses(const TaskEnqueue& q, const RowCache& rows) {
  if (!q.group) return std::nullopt;
  const Group* group = rows.groups.find(*q.group);
  if (!group || group->tenant != q.tenant)
    return make_error(ErrorCode::InvalidArgument, "group " + q.group->to_string() + " does not exist; create it first");
  if (group->joined >= group->total)
    return make_error(ErrorCode::InvalidArgument,
                      "group " + q.group->to_string() + " is full: total is " + std::to_string(group->total));
  return std::nullopt;
}

// The rows of a new execution, key and group apart. `chain`: of a run that follows another.
void add(const TaskEnqueue& q, RowCache& rows, Execution row, ExecutionId chain, Instant now) {
  if (q.identity) point_identity(rows, id_key(q), *identity_to_win(q));
  if (row.timeout_at) rows.timers.add({*row.timeout_at, TimerKind::timeout, row.id, 0});
  rows.payloads.insert(q.id, Payload{q.id, q.encoding, q.args, q.policy});
  if (q.kind == Kind::workflow) start_run(rows, row, Run{{}, 0, 0, {}, q.memo, q.attributes, chain}, now);
  enter(rows, rows.executions.insert(q.id, std::move(row)), now);
}

// `previous` may be live: it is replaced.
Answer create(const TaskEnqueue& q, RowCache& rows, const Execution* previous, Instant now) {
  if (auto refused = group_refuses(q, rows)) return *refused;
  Execution row = new_execution(q, now);
  if (previous) row.previous = previous->id;
  if (previous && !is_terminal(previous->status)) {
    Execution& old = rows.executions.update(previous->id);
    old.close_reason = CloseReason::terminated;
    close_history(rows, old, EventKind::run_terminated, now);
    end(rows, old, Status::cancelled, AttemptEnd::cancelled, now);
  }
  if (q.group) rows.groups.update(*q.group).joined += 1;
  if (q.idempotency_key) {
    Identity key;
    key.id = key_key(q);
    key.target = q.id;
    key.target_kind = q.kind;
    key.fingerprint = q.fingerprint;
    point_identity(rows, key_key(q), std::move(key));
  }
  add(q, rows, std::move(row), {}, now);
  return EnqueueAnswer{q.id, Status::queued, true, {}, {}, false};
}

// What is tied to the workflow rather than to one of its runs.
void inherit(Execution& row, const Execution& previous) {
  constexpr std::uint32_t kTied = kHasKey | kHasGroup | kHasParent | kWatched;
  row.previous = previous.id;
  row.idempotency_key = previous.idempotency_key;
  row.idempotency_key_ttl_seconds = previous.idempotency_key_ttl_seconds;
  row.group = previous.group;
  row.parent_run = previous.parent_run;
  row.parent_workflow_id = previous.parent_workflow_id;
  row.parent_command = previous.parent_command;
  row.flags = (row.flags & ~kTied) | (previous.flags & kTied);
  if (previous.timeout_at) row.timeout_at = std::min(*previous.timeout_at, row.timeout_at.value_or(Instant::max()));
  if (row.timeout_at) row.flags |= kHasTimer;
  if (previous.close_reason != CloseReason::retried) return;
  row.attempt = previous.attempt;
  row.max_attempts = previous.max_attempts;
}

Answer decide_met(const TaskEnqueue& q, RowCache& rows, Met met, Instant now) {
  if (q.kind == Kind::task && q.on_duplicate == OnDuplicate::replace)
    return make_error(ErrorCode::InvalidArgument,
                      "on_duplicate = replace is for workflows; use return or reject for tasks");
  const bool mine = won_blindly(q, met, rows);
  if (const Execution* own = peek(rows.executions, q.id)) return EnqueueAnswer{q.id, own->status, true, {}, {}, false};
  const bool id_is_free = !met.by_id || mine;
  if (met.by_key) {
    const bool other_target =
        met.by_key->tombstone ? !id_is_free : q.identity && (id_is_free || met.by_id->target != met.by_key->target);
    if (met.by_key->target_kind != q.kind || other_target) {
      note_enqueue(rows, q, LedgerRule::key_conflict, met.by_key->target, now);
      return key_conflict(q, *met.by_key);
    }
    if (met.by_key->tombstone) return answer_tombstone(q, rows, *met.by_key, now);
    met.existing = rows.executions.find(met.by_key->target);
    met.through_key = true;
  }
  const Execution* e = met.existing;
  // Planted bug: a check that was made before the others of this batch inserted.
  if (SEMEL_MUTANT("check-then-insert") && e && e->created_at == now && e->status == Status::queued) e = nullptr;
  if (!e) return create(q, rows, nullptr, now);
  // A live run that is met through the request's own key was made by this request: repeated, it replaces nothing.
  const bool replaces = q.on_duplicate == OnDuplicate::replace && q.reuse != Reuse::never && !met.through_key;
  const bool replaced = !is_terminal(e->status) && replaces;
  if (replaced || makes_way(*e, q.reuse)) return create(q, rows, e, now);
  return answer_existing(q, rows, *e, met.through_key, now);
}

}  // namespace

void gather_part(const TaskEnqueue& q, const RowCache& rows, Instant now, Needs& needs) {
  if (q.identity) want(rows.identities, id_key(q), needs.identities);
  if (q.idempotency_key) want(rows.identities, key_key(q), needs.identities);
  want(rows.executions, q.id, needs.executions);
  const Met met = meet(q, rows, now);
  if (met.by_id) want(rows.executions, met.by_id->target, needs.executions);
  if (met.by_key && !met.by_key->tombstone) want(rows.executions, met.by_key->target, needs.executions);
  if (q.group) want(rows.groups, *q.group, needs.groups);
  if (q.concurrency_key) {
    want(rows.lanes, q.lane, needs.lanes);
    want(rows.key_slots, SlotKey{q.lane, *q.concurrency_key}, needs.key_slots);
  }
  if (q.on_duplicate == OnDuplicate::replace && met.existing) gather_end(*met.existing, rows, needs);
}

void gather_next(const TaskEnqueue& next, const RowCache& rows, Needs& needs) {
  if (next.identity) want(rows.identities, id_key(next), needs.identities);
}

void start_next(const TaskEnqueue& next, RowCache& rows, const Execution& previous, ExecutionId chain, Instant now) {
  Execution row = new_execution(next, now);
  inherit(row, previous);
  if (row.flags & kHasKey) {
    const IdentityKey key = idempotency_key_of(row);
    if (const Identity* held = rows.identities.find(key); held && held->target == previous.id) {
      Identity& moved = rows.identities.update(key);
      moved.target = row.id;
      moved.revision += 1;
    }
  }
  add(next, rows, std::move(row), chain, now);
}

Answer decide_part(const TaskEnqueue& q, RowCache& rows, Instant now) {
  const Met met = meet(q, rows, now);
  const bool mine = won_blindly(q, met, rows);
  Answer answer = decide_met(q, rows, met, now);
  const auto* enqueued = std::get_if<EnqueueAnswer>(&answer);
  if (mine && !(enqueued && enqueued->created)) rows.identities.erase(id_key(q));
  return answer;
}

}  // namespace semel::core
