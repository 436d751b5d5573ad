// Claims and deliveries, and the limits of a lane.
#include <algorithm>

#include "base/json.h"
#include "base/mutant.h"
#include "core/decide_parts.h"
#include "core/transition.h"

namespace semel::core {
namespace {

constexpr std::int64_t kToken = 1'000'000;  // one claim, in millionths of a token

// Fills the bucket up to `now`. A bucket never seen before is full. One that a writer with a later `now` filled stays
// as it is: `tokens_at` never goes back, or the time between would be credited twice.
void refill(Lane& lane, const RateLimit& rate, Instant now) {
  const std::int64_t full = rate.count * kToken;
  if (!lane.tokens_at) {
    lane.tokens_micro = full;
  } else {
    const __int128 elapsed = std::max<std::int64_t>(0, (now - *lane.tokens_at).count());
    const __int128 added = elapsed * rate.count * kToken / rate.per.count();
    lane.tokens_micro = static_cast<std::int64_t>(std::min<__int128>(full, lane.tokens_micro + added));
  }
  const bool never_back = lane.tokens_at && !SEMEL_MUTANT("bucket-goes-back");
  lane.tokens_at = never_back ? std::max(*lane.tokens_at, now) : now;
}

// Of a bucket that was just refilled.
Instant next_token_at(const Lane& lane, const RateLimit& rate) {
  const __int128 missing = kToken - lane.tokens_micro;
  const __int128 unit = static_cast<__int128>(rate.count) * kToken;
  const __int128 wait = (missing * rate.per.count() + unit - 1) / unit;
  return add_saturated(*lane.tokens_at, Duration{static_cast<std::int64_t>(wait)});
}

}  // namespace

Grant grant_claims(Lane& lane, std::int32_t wanted, Instant now) {
  Grant grant{wanted, {}};
  if (lane.config.concurrency) grant.count = std::clamp(*lane.config.concurrency - lane.running_count, 0, grant.count);
  if (lane.config.rate_limit) {
    refill(lane, *lane.config.rate_limit, now);
    const auto tokens = static_cast<std::int32_t>(std::min<std::int64_t>(lane.tokens_micro / kToken, grant.count));
    lane.tokens_micro -= tokens * kToken;
    if (tokens < grant.count) grant.retry_at = next_token_at(lane, *lane.config.rate_limit);
    grant.count = tokens;
  }
  if (lane.config.concurrency) lane.running_count += grant.count;
  return grant;
}

void return_grant(Lane& lane, std::int32_t unused) {
  if (lane.config.concurrency) lane.running_count -= unused;
  if (lane.config.rate_limit) lane.tokens_micro += unused * kToken;
}

void record_claim(RowCache& rows, const TaskClaim& claim, const std::vector<ClaimedTask>& tasks, Instant now) {
  if (tasks.empty() && claim.takes != Takes::nothing) return;
  if (!peek(rows.leases, claim.id)) rows.leases.insert(claim.id, Lease{claim.id, claim.session, {}});
  Lease& lease = rows.leases.update(claim.id);
  for (const ClaimedTask& task : tasks) {
    const Execution& e = task.execution;
    lease.executions.push_back({e.id, e.version});
    if (e.attempt_timeout.count() > 0)
      rows.timers.add({add_saturated(now, e.attempt_timeout), TimerKind::attempt_timeout, e.id, e.version});
  }
}

void claim_fresh(RowCache& rows, const TaskClaim& claim, LaneId lane, std::int32_t limit,
                 const std::unordered_set<ExecutionId>& fresh, Instant now, std::vector<ClaimedTask>& out) {
  std::vector<ReadyRow> taken;
  for (const auto& [row, presence] : rows.ready.all()) {
    if (static_cast<std::int32_t>(taken.size()) >= limit) break;
    if (row.lane == lane && row.pool == claim.pool && presence == Presence::added && fresh.contains(row.execution))
      taken.push_back(row);
  }
  for (const ReadyRow& row : taken) {
    Execution& e = rows.executions.update(row.execution);
    rows.ready.take_back(row);
    mark_claimed(rows, e, claim.session, claim.worker, claim.lease, now);
    if (claim.takes == Takes::fresh) rows.handed.push_back({claim.id, e.id, claim.tell});
    out.push_back({e, rows.payloads.at(row.execution)});
  }
}

// ---- claim: only the repeat is decided here -------------------------------------------------------------------------

void gather_part(const TaskClaim& claim, const RowCache& rows, Instant, Needs& needs) {
  if (!want(rows.leases, claim.id, needs.leases)) return;
  const Lease* lease = rows.leases.find(claim.id);
  if (!lease) return;
  for (const LeasedExecution& leased : lease->executions) {
    want(rows.executions, leased.execution, needs.executions);
    want(rows.payloads, leased.execution, needs.payloads);
  }
}

Answer decide_part(const TaskClaim& claim, RowCache& rows, Instant) {
  ClaimAnswer answer;
  const Lease* lease = rows.leases.find(claim.id);
  if (!lease) return answer;
  for (const LeasedExecution& leased : lease->executions) {
    const Execution* e = rows.executions.find(leased.execution);
    const Payload* payload = rows.payloads.find(leased.execution);
    if (e && payload && is_claimed(*e) && e->version == leased.version) answer.tasks.push_back({*e, *payload});
  }
  return answer;
}

// ---- deliver --------------------------------------------------------------------------------------------------------

namespace {

const Execution* addressed(const TaskDeliver& op, const RowCache& rows) {
  const Execution* e = nullptr;
  if (op.execution) {
    e = peek(rows.executions, *op.execution);
  } else if (const Identity* id = peek(rows.identities, IdentityKey{op.tenant, Space::task, op.identity})) {
    e = peek(rows.executions, id->target);
  }
  return e && e->tenant == op.tenant && e->kind == Kind::task ? e : nullptr;
}

Answer delivered(RowCache& rows, DeliveryOutcome outcome, const Execution& e) {
  return DeliverAnswer{outcome, {e, rows.payloads.at(e.id)}};
}

Error not_ready(const Execution& e, const char* reason, Duration retry_after) {
  Error error =
      make_error(ErrorCode::NotReady, "job " + e.identity.value_or(e.id.to_string()) + " may not start yet: " + reason);
  error.details.push_back({"reason", base::quote_json(reason)});
  error.details.push_back({"retry_after", std::to_string((retry_after.count() + 999) / 1000)});  // never too early
  return error;
}

constexpr Duration kLookAgain = std::chrono::seconds(1);

// Due but not yet entered, or waiting for its key.
bool needs_slot(const Execution& e, const Lane& lane) {
  return e.concurrency_key && lane.config.concurrency_per_key && !(e.flags & kHoldsSlot);
}

void take_slot(RowCache& rows, Execution& e) {
  const SlotKey key = slot_key_of(e);
  if (rows.key_slots.find(key)) rows.key_slots.update(key).used += 1;
  else rows.key_slots.insert(key, KeySlot{key.lane, key.concurrency_key, 1});
  e.flags |= kHoldsSlot;
}

// The limits that a delivery meets as any claim does. None: `e` may start, and its grant is taken. A claim that it
// takes over counts as given back: its slot and its place among the running are its own.
std::optional<Error> take_grant(RowCache& rows, const Execution& e, Instant now) {
  Lane lane = rows.lanes.at(e.lane);
  const bool counted = e.flags & kCountedInLane;
  if (counted) lane.running_count -= 1;
  if (!is_claimed(e) && e.scheduled_at > now) return not_ready(e, "not_due", e.scheduled_at - now);
  if (lane.config.paused) return not_ready(e, "paused", kLookAgain);
  if (needs_slot(e, lane)) {
    const KeySlot* slot = rows.key_slots.find(slot_key_of(e));
    if (slot && slot->used >= *lane.config.concurrency_per_key) return not_ready(e, "concurrency_key", kLookAgain);
  }
  if (lane.config.concurrency && lane.running_count >= *lane.config.concurrency)
    return not_ready(e, "concurrency", kLookAgain);
  if (!lane.config.concurrency && !lane.config.rate_limit && !counted) return std::nullopt;
  const Grant grant = grant_claims(lane, 1, now);
  if (grant.count == 0) return not_ready(e, "rate_limit", grant.retry_at ? *grant.retry_at - now : kLookAgain);
  rows.lanes.update(e.lane) = lane;
  return std::nullopt;
}

Answer end_with_lease(RowCache& rows, ExecutionId id, Instant now) {
  const Payload payload = *rows.payloads.find(id);
  lose_lease(rows, rows.executions.update(id), now);
  const Execution* after = rows.executions.find(id);
  return DeliverAnswer{DeliveryOutcome::no_op_terminal, {after ? *after : *rows.dropped, payload}};
}

}  // namespace

void gather_part(const TaskDeliver& op, const RowCache& rows, Instant, Needs& needs) {
  want(rows.leases, op.claim, needs.leases);
  if (op.execution) want(rows.executions, *op.execution, needs.executions);
  else if (want(rows.identities, IdentityKey{op.tenant, Space::task, op.identity}, needs.identities))
    if (const Identity* id = rows.identities.find({op.tenant, Space::task, op.identity}))
      want(rows.executions, id->target, needs.executions);
  const Execution* e = addressed(op, rows);
  if (!e) return;
  want(rows.payloads, e->id, needs.payloads);
  if (is_terminal(e->status)) return;
  want(rows.lanes, e->lane, needs.lanes);
  if (e->session) want(rows.sessions, *e->session, needs.sessions);
  if (e->concurrency_key) want(rows.key_slots, slot_key_of(*e), needs.key_slots);
  if (is_claimed(*e)) gather_fail(*e, rows, needs);
}

Answer decide_part(const TaskDeliver& op, RowCache& rows, Instant now) {
  const Execution* found = addressed(op, rows);
  if (!found) return make_error(ErrorCode::JobNotFound, "job '" + op.identity + "' does not exist");
  if (is_terminal(found->status)) {
    note(rows, *found, LedgerRule::delivery_terminal, now);
    return delivered(rows, DeliveryOutcome::no_op_terminal, *found);
  }
  if (const Lease* repeat = rows.leases.find(op.claim))
    for (const LeasedExecution& leased : repeat->executions)
      if (leased.execution == found->id && leased.version == found->version)
        return delivered(rows, DeliveryOutcome::claimed, *found);
  if (is_claimed(*found)) {
    const Session* session = found->session ? rows.sessions.find(*found->session) : nullptr;
    if (lease_is_live(*found, session, now)) {
      note(rows, *found, LedgerRule::delivery_already_claimed, now);
      return delivered(rows, DeliveryOutcome::already_claimed, *found);
    }
    if (ends_with_its_lease(*found)) return end_with_lease(rows, found->id, now);
  }
  if (auto refused = take_grant(rows, *found, now)) return *refused;
  Execution& e = rows.executions.update(found->id);
  if (is_claimed(e)) take_over(rows, e, now);
  else withdraw(rows, e);
  const Lane& lane = rows.lanes.at(e.lane);
  if (needs_slot(e, lane)) take_slot(rows, e);
  if (lane.config.concurrency) e.flags |= kCountedInLane;
  mark_claimed(rows, e, op.session, op.worker, op.lease, now);
  Lease record{op.claim, op.session, {{e.id, e.version}}};
  if (rows.leases.find(op.claim)) rows.leases.update(op.claim) = std::move(record);
  else rows.leases.insert(op.claim, std::move(record));
  return delivered(rows, DeliveryOutcome::claimed, e);
}

}  // namespace semel::core
