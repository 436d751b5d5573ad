#include "core/transition.h"

#include <algorithm>

#include "core/lifecycle.h"
#include "core/run.h"

namespace semel::core {

namespace {

// Attempts this many blocked rows at once, so that a batch of ends on one key needs few reads.
constexpr std::int32_t kBlockedWindow = 8;

void move_to(Execution& e, Status status) {
  if (!can_move(e.kind, e.status, status))
    throw InvariantBroken("execution " + e.id.to_string() + " cannot move from " + std::string(to_string(e.status)) +
                          " to " + std::string(to_string(status)));
  e.status = status;
}

// The best blocked row of a key, in claim order.
const BlockedRow* first_blocked(const RowCache& rows, const SlotKey& key) {
  const auto& all = rows.blocked.all();
  for (auto it = all.lower_bound(BlockedRow{key.lane, key.concurrency_key, INT32_MIN, Instant::min(), {}});
       it != all.end() && it->first.lane == key.lane && it->first.concurrency_key == key.concurrency_key; ++it)
    if (it->second != Presence::removed) return &it->first;
  return nullptr;
}

std::int32_t blocked_in_window(const RowCache& rows, const SlotKey& key) {
  std::int32_t count = 0;
  const auto& all = rows.blocked.all();
  for (auto it = all.lower_bound(BlockedRow{key.lane, key.concurrency_key, INT32_MIN, Instant::min(), {}});
       it != all.end() && it->first.lane == key.lane && it->first.concurrency_key == key.concurrency_key; ++it)
    if (it->second == Presence::loaded) ++count;
  return count;
}

// The rows that `frees` ends of one operation may promote.
void gather_slot(const SlotKey& key, const RowCache& rows, Needs& needs, std::int32_t frees = 1) {
  want(rows.lanes, key.lane, needs.lanes);
  want(rows.key_slots, key, needs.key_slots);
  auto window = rows.blocked_windows.find(key);
  const bool known = window != rows.blocked_windows.end();
  if (!known || (!window->second.complete && blocked_in_window(rows, key) < frees)) {
    needs.blocked.push_back({key, (known ? window->second.loaded : 0) + std::max(kBlockedWindow, frees)});
    return;
  }
  const auto& all = rows.blocked.all();
  for (auto it = all.lower_bound(BlockedRow{key.lane, key.concurrency_key, INT32_MIN, Instant::min(), {}});
       frees > 0 && it != all.end() && it->first.lane == key.lane && it->first.concurrency_key == key.concurrency_key;
       ++it) {
    if (it->second == Presence::removed) continue;
    want(rows.executions, it->first.execution, needs.executions);
    --frees;
  }
}

void free_slot(RowCache& rows, const SlotKey& key) {
  KeySlot* slot = rows.key_slots.find(key);
  if (!slot || slot->used < 1) throw InvariantBroken("concurrency key " + key.concurrency_key + " was not in use");
  const auto limit = rows.lanes.at(key.lane).config.concurrency_per_key;
  const BlockedRow* next = limit && slot->used <= *limit ? first_blocked(rows, key) : nullptr;
  if (next) {
    const ExecutionId id = next->execution;
    rows.blocked.remove(BlockedRow(*next));
    Execution& promoted = rows.executions.update(id);
    promoted.flags |= kHoldsSlot;
    rows.ready.add(ready_row_of(promoted));
    return;
  }
  if (slot->used == 1) rows.key_slots.erase(key);
  else rows.key_slots.update(key).used -= 1;
}

void remove_timers(RowCache& rows, const Execution& e) {
  if (e.timeout_at) rows.timers.remove({*e.timeout_at, TimerKind::timeout, e.id, 0});
}

void remove_attempt_timer(RowCache& rows, const Execution& e) {
  if (e.attempt_timeout.count() > 0 && e.started_at && is_claimed(e))
    rows.timers.remove({add_saturated(*e.started_at, e.attempt_timeout), TimerKind::attempt_timeout, e.id, e.version});
}

void settle_key(RowCache& rows, const Execution& e, Instant now) {
  const IdentityKey key = idempotency_key_of(e);
  const Identity* row = rows.identities.find(key);
  if (!row || row->target != e.id || row->tombstone) return;
  if (e.status == Status::dead_lettered) return;
  if (e.status != Status::succeeded) return rows.identities.erase(key);
  Identity& kept = rows.identities.update(key);
  kept.expires_at = add_saturated(now, std::chrono::seconds(e.idempotency_key_ttl_seconds));
  kept.revision += 1;
}

void count_in_group(RowCache& rows, const Execution& e, Instant now) {
  if (!rows.groups.find(*e.group)) throw InvariantBroken("group " + e.group->to_string() + " is missing");
  Group& group = rows.groups.update(*e.group);
  group.ended += 1;
  if (e.status != Status::succeeded) group.failed += 1;
  if (group.ended < group.total || group.completed) return;
  group.completed = true;
  Execution completion = group.completion;
  completion.created_at = completion.scheduled_at = now;
  Payload payload = group.completion_payload;
  const ExecutionId id = completion.id;
  Execution& row = rows.executions.insert(id, std::move(completion));
  rows.payloads.insert(id, std::move(payload));
  enter(rows, row, now);
}

void drop(RowCache& rows, const Execution& e) {
  const ExecutionId id = e.id;
  if (e.identity) {
    const IdentityKey key = identity_key_of(e);
    if (const Identity* row = rows.identities.find(key); row && row->target == id) rows.identities.erase(key);
  }
  if (e.flags & kHasKey) {
    const IdentityKey key = idempotency_key_of(e);
    if (const Identity* row = rows.identities.find(key); row && row->target == id)
      rows.identities.update(key).tombstone = true;
  }
  rows.dropped = e;
  if (e.kind == Kind::workflow) erase_run(rows, e);
  if (rows.attention.knows(id) && rows.attention.find(id)) rows.attention.erase(id);
  if (rows.payloads.knows(id) && rows.payloads.find(id)) rows.payloads.erase(id);
  rows.executions.erase(id);
}

}  // namespace

// ---- enter ----------------------------------------------------------------------------------------------------------

void gather_enter(const Execution& e, const RowCache& rows, Needs& needs) {
  if (!e.concurrency_key) return;
  want(rows.lanes, e.lane, needs.lanes);
  want(rows.key_slots, slot_key_of(e), needs.key_slots);
}

void enter(RowCache& rows, Execution& e, Instant now) {
  if (e.scheduled_at > now) return rows.timers.add({e.scheduled_at, TimerKind::due, e.id, 0});
  if (e.concurrency_key) {
    if (const auto limit = rows.lanes.at(e.lane).config.concurrency_per_key) {
      const SlotKey key = slot_key_of(e);
      const KeySlot* slot = rows.key_slots.find(key);
      if (slot && slot->used >= *limit) return rows.blocked.add(blocked_row_of(e));
      if (slot) rows.key_slots.update(key).used += 1;
      else rows.key_slots.insert(key, KeySlot{key.lane, key.concurrency_key, 1});
      e.flags |= kHoldsSlot;
    }
  }
  rows.ready.add(ready_row_of(e));
}

void withdraw(RowCache& rows, const Execution& e) {
  rows.ready.remove(ready_row_of(e));
  rows.timers.remove({e.scheduled_at, TimerKind::due, e.id, 0});
  if (e.concurrency_key) rows.blocked.remove(blocked_row_of(e));
}

// ---- leave, requeue -------------------------------------------------------------------------------------------------

void gather_leave(const Execution& e, const RowCache& rows, Needs& needs) {
  if (e.flags & kCountedInLane) want(rows.lanes, e.lane, needs.lanes);
  if (e.flags & kHoldsSlot) gather_slot(slot_key_of(e), rows, needs);
}

void gather_frees(const std::map<SlotKey, std::int32_t>& frees, const RowCache& rows, Needs& needs) {
  for (const auto& [key, count] : frees) gather_slot(key, rows, needs, count);
}

void leave(RowCache& rows, Execution& e) {
  remove_attempt_timer(rows, e);
  if (e.flags & kCountedInLane) rows.lanes.update(e.lane).running_count -= 1;
  if (e.flags & kHoldsSlot) free_slot(rows, slot_key_of(e));
  e.flags &= ~(kCountedInLane | kHoldsSlot);
}

namespace {

// The row of a claim that ended and is to be made again at `at`.
void close_claim(Execution& e, AttemptEnd how, Instant at) {
  move_to(e, Status::queued);
  e.flags = how == AttemptEnd::lease_lost ? e.flags | kClaimAlone : e.flags & ~kClaimAlone;
  e.version += 1;
  e.last_end = how;
  e.lease_expires_at.reset();
  e.session.reset();
  e.scheduled_at = at;
}

}  // namespace

void gather_requeue(const Execution& e, const RowCache& rows, Needs& needs) {
  if (e.kind == Kind::workflow) return gather_give_up(e, rows, needs);
  gather_leave(e, rows, needs);
  gather_enter(e, rows, needs);
  gather_end(e, rows, needs);  // a requested cancel ends it instead
}

Status requeue(RowCache& rows, Execution& e, AttemptEnd how, Instant at, Instant now) {
  if (e.kind == Kind::workflow) {
    give_up(rows, e, how, at, now);
    return e.status;
  }
  if (e.cancel_requested_at) {
    end(rows, e, Status::cancelled, how, now);
    return Status::cancelled;
  }
  leave(rows, e);
  close_claim(e, how, at);
  enter(rows, e, now);
  return Status::queued;
}

// ---- end ------------------------------------------------------------------------------------------------------------

void gather_end(const Execution& e, const RowCache& rows, Needs& needs) {
  gather_leave(e, rows, needs);
  if (e.flags & kHasKey) want(rows.identities, idempotency_key_of(e), needs.identities);
  if ((e.flags & kDropAtEnd) && e.identity) want(rows.identities, identity_key_of(e), needs.identities);
  if ((e.flags & kHasGroup) && want(rows.groups, *e.group, needs.groups))
    if (const Group* group = rows.groups.find(*e.group); group && !group->completed)
      gather_enter(group->completion, rows, needs);
  gather_outcome(e, rows, needs);
  gather_close(e, rows, needs);
}

void end(RowCache& rows, Execution& e, Status status, AttemptEnd how, Instant now) {
  const ExecutionId id = e.id;
  if (e.status == Status::queued || (e.kind == Kind::workflow && !e.session)) withdraw(rows, e);
  remove_timers(rows, e);
  leave(rows, e);
  move_to(e, status);
  e.last_end = how;
  e.version += 1;
  e.completed_at = now;
  e.lease_expires_at.reset();
  e.session.reset();
  e.flags &= ~kNoHandler;
  e.suspend_reason = SuspendReason::none;
  if (e.flags & kHasKey) settle_key(rows, e, now);
  if (status == Status::failed || status == Status::timed_out || status == Status::dead_lettered)
    rows.attention.insert(id, Attention{id, e.tenant, e.lane, status, now, {}, {}});
  rows.ended.push_back(id);
  if (e.flags & (kHasParent | kWatched)) tell_outcome(rows, e, now);
  if (e.flags & kHasGroup) count_in_group(rows, e, now);  // may insert a row: `e` is not used after it
  Execution& ended = rows.executions.at(id);
  if ((ended.flags & kDropAtEnd) && status != Status::dead_lettered) drop(rows, ended);
}

// ---- failed attempts ------------------------------------------------------------------------------------------------

void gather_fail(const Execution& e, const RowCache& rows, Needs& needs) {
  if (e.kind == Kind::workflow) return gather_requeue(e, rows, needs);
  want(rows.lanes, e.lane, needs.lanes);
  if (e.flags & kHasPolicy) want(rows.payloads, e.id, needs.payloads);
  gather_requeue(e, rows, needs);
}

namespace {

RetryPolicy policy_of(const RowCache& rows, const Execution& e) {
  RetryOverrides call, queue;
  if (e.flags & kHasPolicy)
    if (const Payload* payload = rows.payloads.find(e.id))
      if (auto decoded = decode_overrides(payload->policy)) call = *decoded;
  if (auto decoded = decode_overrides(rows.lanes.at(e.lane).config.retry)) queue = *decoded;
  return resolve_policy(call, queue);
}

Status spent_status(const RowCache& rows, const Execution& e) {
  return rows.lanes.at(e.lane).config.dead_letter ? Status::dead_lettered : Status::failed;
}

EndAnswer ended(RowCache& rows, Execution& e, Status status, AttemptEnd how, Instant now) {
  end(rows, e, status, how, now);
  return {status, false, {}};
}

}  // namespace

EndAnswer fail_attempt(RowCache& rows, Execution& e, const AttemptFailure& failure, Instant now) {
  e.error = std::string(failure.error);
  if (e.cancel_requested_at) return ended(rows, e, Status::cancelled, failure.how, now);
  const RetryPolicy policy = policy_of(rows, e);
  if (!failure.retryable || !is_retryable(policy, failure.error_name))
    return ended(rows, e, Status::failed, failure.how, now);
  if (e.attempt >= e.max_attempts) return ended(rows, e, spent_status(rows, e), failure.how, now);
  const Duration delay = failure.delay ? *failure.delay : backoff(policy, e.attempt, failure.random_bits);
  const Instant at = add_saturated(now, delay);
  return {requeue(rows, e, failure.how, at, now), false, at};
}

EndAnswer lose_lease(RowCache& rows, Execution& e, Instant now) {
  if (e.kind == Kind::workflow) return {requeue(rows, e, AttemptEnd::lease_lost, now, now), false, now};
  e.error = kLeaseLostError;
  if (e.cancel_requested_at) return ended(rows, e, Status::cancelled, AttemptEnd::lease_lost, now);
  if (e.attempt >= e.max_attempts) return ended(rows, e, spent_status(rows, e), AttemptEnd::lease_lost, now);
  return {requeue(rows, e, AttemptEnd::lease_lost, now, now), false, now};
}

bool ends_with_its_lease(const Execution& e) { return e.cancel_requested_at || e.attempt >= e.max_attempts; }

void take_over(RowCache& rows, Execution& e, Instant now) {
  remove_attempt_timer(rows, e);
  e.error = kLeaseLostError;
  e.flags &= ~kCountedInLane;
  close_claim(e, AttemptEnd::lease_lost, now);
}

bool lease_is_live(const Execution& e, const Session* session, Instant now) {
  if (!is_claimed(e)) return false;
  if (e.lease_expires_at && *e.lease_expires_at > now) return true;
  return session && session->expires_at > now;
}

// ---- claim ----------------------------------------------------------------------------------------------------------

void mark_claimed(RowCache& rows, Execution& e, SessionId session, const std::string& worker, Duration lease,
                  Instant now) {
  const bool run = e.kind == Kind::workflow;
  if (!run) move_to(e, Status::claimed);
  else if (e.status != Status::running) move_to(e, Status::running);
  e.version += 1;
  if (!run || !e.started_at) e.attempt += 1;  // a run is one attempt however often it is claimed
  e.session = session;
  e.worker = worker;
  e.lease_expires_at = add_saturated(now, lease);
  if (!run || !e.started_at) e.started_at = now;
  e.flags &= ~kNoHandler;
  if (e.attempt_timeout.count() > 0)
    rows.timers.add({add_saturated(now, e.attempt_timeout), TimerKind::attempt_timeout, e.id, e.version});
}

Duration retention_of(const Lane& lane, Kind kind) {
  if (lane.config.retention) return *lane.config.retention;
  return kind == Kind::task ? std::chrono::hours(24 * 7) : std::chrono::hours(24 * 30);
}

void note(RowCache& rows, const Execution& winner, LedgerRule rule, Instant now) {
  const std::string key = winner.identity ? *winner.identity : winner.id.to_string();
  rows.notes.push_back({winner.tenant, identity_space(winner.kind), key, rule, now, winner.id});
}

}  // namespace semel::core
