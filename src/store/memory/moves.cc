// How an execution enters the queue, leaves a claim and ends.
#include "core/error_text.h"
#include "core/retry.h"
#include "store/memory/model.h"

namespace semel::store::memory {

using core::AttemptEnd;
using core::Execution;
using core::Identity;
using core::TimerKind;

core::Answer Model::apply(const core::Operation& operation) {
  core::Answer answer = std::visit([this](const auto& q) -> core::Answer { return run(q); }, operation);
  core::for_each_start(operation, [this](const core::TaskEnqueue& start) { made_.insert(start.id); });
  return answer;
}

void Model::put_ready(const Execution& e) {
  const core::ReadyRow row = ready_row(e);
  t_.ready.insert(row);
  auto& wakes = effects_.wakes;
  (row.pool == core::Pool::alone  ? wakes.alone
   : row.pool == core::Pool::runs ? wakes.runs
                                  : wakes.lanes)
      .push_back(e.lane);
}

void Model::put_timer(const core::TimerRow& row) {
  t_.timers.add(row);
  auto& earliest = effects_.wakes.timer_at;
  if (!earliest || row.due_at < *earliest) earliest = row.due_at;
}

bool Model::key_is_full(const Execution& e) const {
  if (!e.concurrency_key) return false;
  const auto limit = t_.lanes.at(e.lane).config.concurrency_per_key;
  if (!limit) return false;
  const auto* used = find_row(t_.key_slots, SlotName{e.lane, *e.concurrency_key});
  return used && *used >= *limit;
}

void Model::take_slot(Execution& e) {
  if (!e.concurrency_key || !t_.lanes.at(e.lane).config.concurrency_per_key) return;
  t_.key_slots[{e.lane, *e.concurrency_key}] += 1;
  e.flags |= core::kHoldsSlot;
}

void Model::enters(Execution& e) {
  ++effects_.changes;
  if (e.scheduled_at > now_) return put_timer({e.scheduled_at, TimerKind::due, e.id, 0});
  if (key_is_full(e)) {
    t_.blocked.insert(blocked_row(e));
    return;
  }
  take_slot(e);
  put_ready(e);
}

void Model::free_slot(core::LaneId lane, const std::string& key) {
  auto& used = t_.key_slots.at({lane, key});
  const auto limit = t_.lanes.at(lane).config.concurrency_per_key;
  const auto first = t_.blocked.lower_bound({lane, key, INT32_MIN, Instant::min(), {}});
  const bool someone_waits = first != t_.blocked.end() && first->lane == lane && first->concurrency_key == key;
  if (someone_waits && limit && used <= *limit) {
    Execution& next = t_.executions.at(first->execution);
    t_.blocked.erase(first);
    next.flags |= core::kHoldsSlot;
    put_ready(next);
    return;
  }
  if (--used == 0) t_.key_slots.erase({lane, key});
}

void Model::leaves(Execution& e) {
  t_.timers.remove(e.id, TimerKind::attempt_timeout);
  if (e.flags & core::kCountedInLane) t_.lanes.at(e.lane).running_count -= 1;
  const bool held_slot = e.flags & core::kHoldsSlot;
  e.flags &= ~(core::kCountedInLane | core::kHoldsSlot);
  if (held_slot) free_slot(e.lane, *e.concurrency_key);
}

Execution Model::requeue(Execution& e, AttemptEnd how, Instant at) {
  if (e.kind == Kind::workflow) return give_up(e, how, at);
  if (e.cancel_requested_at) return end(e, Status::cancelled, how);
  leaves(e);
  e.status = Status::queued;
  e.version += 1;
  e.last_end = how;
  e.lease_expires_at.reset();
  e.session.reset();
  e.scheduled_at = at;
  if (how == AttemptEnd::lease_lost) e.flags |= core::kClaimAlone;
  else e.flags &= ~core::kClaimAlone;
  enters(e);
  return e;
}

Execution Model::end(Execution& e, Status status, AttemptEnd how) {
  ++effects_.changes;
  t_.ready.erase(ready_row(e));
  t_.blocked.erase(blocked_row(e));
  t_.timers.remove(e.id, TimerKind::due);
  t_.timers.remove(e.id, TimerKind::timeout);
  leaves(e);
  e.status = status;
  e.last_end = how;
  e.version += 1;
  e.completed_at = now_;
  e.lease_expires_at.reset();
  e.session.reset();
  e.flags &= ~core::kNoHandler;
  e.suspend_reason = core::SuspendReason::none;
  settle_key(e);
  if (status == Status::failed || status == Status::timed_out || status == Status::dead_lettered)
    t_.attention[e.id] = {e.id, e.tenant, e.lane, status, now_, {}, {}};
  effects_.wakes.ended.push_back(e.id);
  if (!e.next) {  // else the workflow goes on, and only its last run tells
    tell_outcome(e);
    if (e.group) count_in_group(e);
  }
  Execution recorded = e;
  if ((e.flags & core::kDropAtEnd) && status != Status::dead_lettered) drop(recorded);
  return recorded;
}

void Model::settle_key(const Execution& e) {
  if (!e.idempotency_key) return;
  Identity* key = find_row(t_.identities, key_row_key(e));
  if (!key || key->target != e.id || e.status == Status::dead_lettered) return;
  if (e.status != Status::succeeded) {
    t_.identities.erase(key_row_key(e));
    return;
  }
  key->expires_at = add_saturated(now_, std::chrono::seconds(e.idempotency_key_ttl_seconds));
  key->revision += 1;
}

void Model::count_in_group(const Execution& e) {
  core::Group& group = t_.groups.at(*e.group);
  group.ended += 1;
  if (e.status != Status::succeeded) group.failed += 1;
  if (group.ended < group.total || group.completed) return;
  group.completed = true;
  Execution& completion = t_.executions[group.completion.id] = group.completion;
  completion.created_at = completion.scheduled_at = now_;
  t_.payloads[completion.id] = group.completion_payload;
  enters(completion);
}

void Model::drop(const Execution& e) {
  if (e.identity) {
    const Identity* row = find_row(t_.identities, id_row_key(e));
    if (row && row->target == e.id) t_.identities.erase(id_row_key(e));
  }
  if (e.idempotency_key) {
    Identity* row = find_row(t_.identities, key_row_key(e));
    if (row && row->target == e.id) row->tombstone = true;
  }
  t_.attention.erase(e.id);
  t_.payloads.erase(e.id);
  forget_run(e);
  t_.executions.erase(e.id);
}

Status Model::spent_status(const Execution& e) const {
  return t_.lanes.at(e.lane).config.dead_letter ? Status::dead_lettered : Status::failed;
}

Execution Model::lose_lease(Execution& e) {
  if (e.kind == Kind::workflow) return give_up(e, AttemptEnd::lease_lost, now_);
  e.error = std::string(core::kLeaseLostError);
  if (e.cancel_requested_at) return end(e, Status::cancelled, AttemptEnd::lease_lost);
  if (e.attempt >= e.max_attempts) return end(e, spent_status(e), AttemptEnd::lease_lost);
  return requeue(e, AttemptEnd::lease_lost, now_);
}

Execution Model::fail_attempt(Execution& e, const Failure& failure) {
  e.error = std::string(failure.error);
  if (e.cancel_requested_at) return end(e, Status::cancelled, failure.how);
  const auto call = core::decode_overrides(t_.payloads.at(e.id).policy);
  const auto queue = core::decode_overrides(t_.lanes.at(e.lane).config.retry);
  const core::RetryPolicy policy =
      core::resolve_policy(call ? *call : core::RetryOverrides{}, queue ? *queue : core::RetryOverrides{});
  bool listed = false;
  for (const std::string& name : policy.non_retryable) listed = listed || name == failure.name;
  if (!failure.retryable || listed) return end(e, Status::failed, failure.how);
  if (e.attempt >= e.max_attempts) return end(e, spent_status(e), failure.how);
  const Duration delay = failure.delay ? *failure.delay : core::backoff(policy, e.attempt, failure.random_bits);
  return requeue(e, failure.how, add_saturated(now_, delay));
}

bool Model::lease_is_live(const Execution& e) const {
  if (!is_held(e)) return false;
  if (e.lease_expires_at && *e.lease_expires_at > now_) return true;
  const auto* session = e.session ? find_row(t_.sessions, *e.session) : nullptr;
  return session && session->expires_at > now_;
}

Execution* Model::find_execution(core::TenantId tenant, ExecutionId id) {
  Execution* e = find_row(t_.executions, id);
  return e && e->tenant == tenant ? e : nullptr;
}

void Model::note(const Execution& winner, core::LedgerRule rule) {
  effects_.notes.push_back({winner.tenant, core::identity_space(winner.kind),
                            winner.identity ? *winner.identity : winner.id.to_string(), rule, now_, winner.id});
}

}  // namespace semel::store::memory
