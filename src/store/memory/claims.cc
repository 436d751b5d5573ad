// docs/rules.md, "TaskClaim" and "TaskDeliver": who gets the work.
#include <algorithm>

#include "base/json.h"
#include "core/error_text.h"
#include "store/memory/model.h"

namespace semel::store::memory {

using core::ClaimedTask;
using core::DeliverAnswer;
using core::DeliveryOutcome;
using core::Execution;
using core::Lane;
using core::TaskClaim;
using core::TaskDeliver;

namespace {

__extension__ using Wide = __int128;  // micro-tokens x microseconds overflow 64 bits

constexpr std::int64_t kToken = 1'000'000;  // micro-tokens

// Micro-tokens in the bucket at `now`: full when never used, else refilled up to its capacity.
std::int64_t tokens_at(const Lane& lane, Instant now) {
  const core::RateLimit& rate = *lane.config.rate_limit;
  const std::int64_t capacity = rate.count * kToken;
  if (!lane.tokens_at) return capacity;
  const Wide elapsed = std::max<std::int64_t>(0, (now - *lane.tokens_at).count());
  const Wide refilled = lane.tokens_micro + elapsed * rate.count * kToken / rate.per.count();
  return static_cast<std::int64_t>(std::min<Wide>(refilled, capacity));
}

// Up to when time has filled the bucket. Time that another writer, whose clock is ahead, has counted counts no more.
Instant filled_at(const Lane& lane, Instant now) {
  return lane.tokens_at && *lane.tokens_at > now ? *lane.tokens_at : now;
}

// When the bucket next holds a whole token.
Instant next_token_at(const core::RateLimit& rate, std::int64_t tokens, Instant filled) {
  const Wide missing = std::max<std::int64_t>(0, kToken - tokens);
  const Wide rate_micro = static_cast<Wide>(rate.count) * kToken;
  return add_saturated(filled,
                       Duration{static_cast<std::int64_t>((missing * rate.per.count() + rate_micro - 1) / rate_micro)});
}

Error refused(std::string_view reason, Duration retry_after) {
  Error error = make_error(ErrorCode::NotReady, "the job may not start yet: " + std::string(reason));
  error.details.push_back({"reason", base::quote_json(reason)});
  error.details.push_back({"retry_after", std::to_string((retry_after.count() + 999) / 1000)});
  return error;
}

}  // namespace

Model::Grant Model::grant(const Lane& lane, std::int32_t wanted) const {
  Grant out{wanted, std::nullopt};
  if (lane.config.concurrency) out.count = std::clamp(*lane.config.concurrency - lane.running_count, 0, out.count);
  if (lane.config.rate_limit) {
    const std::int64_t tokens = tokens_at(lane, now_);
    const auto whole = static_cast<std::int32_t>(std::min<std::int64_t>(tokens / kToken, out.count));
    if (whole < out.count)
      out.retry_at = next_token_at(*lane.config.rate_limit, tokens - whole * kToken, filled_at(lane, now_));
    out.count = whole;
  }
  return out;
}

void Model::charge(Lane& lane, std::int32_t taken) {
  if (taken == 0) return;
  if (lane.config.concurrency) lane.running_count += taken;
  if (!lane.config.rate_limit) return;
  lane.tokens_micro = tokens_at(lane, now_) - taken * kToken;
  lane.tokens_at = filled_at(lane, now_);
}

ClaimedTask Model::view(const Execution& e) const { return {e, t_.payloads.at(e.id)}; }

void Model::claim_row(Execution& e, const TaskClaim& q, bool counted) {
  ++effects_.changes;
  t_.ready.erase(ready_row(e));
  const bool run = e.kind == Kind::workflow;
  e.status = run ? Status::running : Status::claimed;
  e.version += 1;
  e.attempt += run && e.started_at ? 0 : 1;
  e.session = q.session;
  e.worker = q.worker;
  e.lease_expires_at = add_saturated(now_, q.lease);
  if (!run || !e.started_at) e.started_at = now_;
  e.flags &= ~core::kNoHandler;
  if (counted) e.flags |= core::kCountedInLane;
  if (e.attempt_timeout > Duration{0})
    put_timer({add_saturated(now_, e.attempt_timeout), core::TimerKind::attempt_timeout, e.id, e.version});
}

void Model::record_lease(const TaskClaim& q, const std::vector<ClaimedTask>& tasks) {
  if (tasks.empty() && q.takes != core::Takes::nothing) return;
  core::Lease& lease = t_.leases[q.id] = {q.id, q.session, {}};
  for (const ClaimedTask& task : tasks) lease.executions.push_back({task.execution.id, task.execution.version});
}

core::Answer Model::run(const TaskClaim& q) {
  core::ClaimAnswer answer;
  if (const core::Lease* repeat = find_row(t_.leases, q.id)) {
    for (const core::LeasedExecution& held : repeat->executions) {
      const Execution* e = find_row(t_.executions, held.execution);
      if (e && e->version == held.version) answer.tasks.push_back(view(*e));
    }
    return answer;
  }
  if (q.takes == core::Takes::nothing) {
    ++effects_.changes;
    record_lease(q, {});
    return answer;
  }
  if (q.takes == core::Takes::fresh) return claim_made(q);
  for (const TaskClaim::Want& want : q.lanes) {
    Lane& lane = t_.lanes.at(want.lane);
    Grant granted{want.limit, std::nullopt};
    if (want.limited) granted = grant(lane, want.limit);
    std::int32_t taken = 0;
    for (; taken < granted.count; ++taken) {
      const auto first = t_.ready.lower_bound({want.lane, q.pool, INT32_MIN, Instant::min(), {}});
      if (first == t_.ready.end() || first->lane != want.lane || first->pool != q.pool) break;
      Execution& e = t_.executions.at(first->execution);
      claim_row(e, q, want.limited && lane.config.concurrency);
      answer.tasks.push_back(view(e));
    }
    if (want.limited) charge(lane, taken);
    if (granted.retry_at && taken == granted.count) answer.retry_at.emplace_back(want.lane, *granted.retry_at);
  }
  record_lease(q, answer.tasks);
  return answer;
}

// Only what this batch made, for the worker of another process.
core::Answer Model::claim_made(const TaskClaim& q) {
  core::ClaimAnswer answer;
  const core::Session* session = find_row(t_.sessions, q.session);
  if (!session || session->expires_at <= now_) return answer;
  for (const TaskClaim::Want& want : q.lanes) {
    std::vector<ExecutionId> found;
    for (const core::ReadyRow& row : t_.ready)
      if (row.lane == want.lane && row.pool == q.pool && made_.contains(row.execution) && !want.limited &&
          static_cast<std::int32_t>(found.size()) < want.limit)
        found.push_back(row.execution);
    for (const ExecutionId& id : found) {
      claim_row(t_.executions.at(id), q, false);
      answer.tasks.push_back(view(t_.executions.at(id)));
    }
  }
  record_lease(q, answer.tasks);
  return answer;
}

Execution* Model::find_job(const TaskDeliver& q) {
  if (q.execution) {
    Execution* e = find_execution(q.tenant, *q.execution);
    return e && e->kind == Kind::task ? e : nullptr;
  }
  const core::Identity* row = find_row(t_.identities, core::IdentityKey{q.tenant, core::Space::task, q.identity});
  return row ? find_row(t_.executions, row->target) : nullptr;
}

// Why a queued E cannot be claimed now.
std::optional<Error> Model::not_ready(const Execution& e) const {
  if (!is_held(e) && e.scheduled_at > now_) return refused("not_due", e.scheduled_at - now_);
  Lane lane = t_.lanes.at(e.lane);
  if (e.flags & core::kCountedInLane) lane.running_count -= 1;
  if (lane.config.paused) return refused("paused", std::chrono::seconds(1));
  if (!(e.flags & core::kHoldsSlot) && key_is_full(e)) return refused("concurrency_key", std::chrono::seconds(1));
  if (lane.config.concurrency && lane.running_count >= *lane.config.concurrency)
    return refused("concurrency", std::chrono::seconds(1));
  const Grant granted = grant(lane, 1);
  if (granted.count == 0) return refused("rate_limit", granted.retry_at.value_or(now_) - now_);
  return std::nullopt;
}

core::Answer Model::run(const TaskDeliver& q) {
  Execution* e = find_job(q);
  if (!e) return make_error(ErrorCode::JobNotFound, "no such job");
  if (const core::Lease* repeat = find_row(t_.leases, q.claim))
    for (const core::LeasedExecution& held : repeat->executions)
      if (held.execution == e->id && held.version == e->version)
        return DeliverAnswer{DeliveryOutcome::claimed, view(*e)};
  if (is_terminal(e->status)) {
    note(*e, core::LedgerRule::delivery_terminal);
    return DeliverAnswer{DeliveryOutcome::no_op_terminal, view(*e)};
  }
  if (lease_is_live(*e)) {
    note(*e, core::LedgerRule::delivery_already_claimed);
    return DeliverAnswer{DeliveryOutcome::already_claimed, view(*e)};
  }
  if (is_held(*e) && (e->cancel_requested_at || e->attempt >= e->max_attempts)) {
    const core::Payload payload = t_.payloads.at(e->id);
    return DeliverAnswer{DeliveryOutcome::no_op_terminal, {lose_lease(*e), payload}};
  }
  if (auto refusal = not_ready(*e)) return *refusal;
  if (is_held(*e)) {  // the claim before is over; its slot stays
    t_.timers.remove(e->id, core::TimerKind::attempt_timeout);
    if (e->flags & core::kCountedInLane) t_.lanes.at(e->lane).running_count -= 1;
    e->flags = (e->flags & ~core::kCountedInLane) | core::kClaimAlone;
    e->version += 1;
    e->last_end = core::AttemptEnd::lease_lost;
    e->error = std::string(core::kLeaseLostError);
    e->scheduled_at = now_;
  }
  t_.timers.remove(e->id, core::TimerKind::due);
  t_.blocked.erase(blocked_row(*e));
  t_.ready.erase(ready_row(*e));
  if (!(e->flags & core::kHoldsSlot)) take_slot(*e);
  TaskClaim claim;
  claim.id = q.claim;
  claim.session = q.session;
  claim.worker = q.worker;
  claim.lease = q.lease;
  Lane& lane = t_.lanes.at(e->lane);
  charge(lane, 1);
  claim_row(*e, claim, lane.config.concurrency.has_value());
  record_lease(claim, {view(*e)});
  return DeliverAnswer{DeliveryOutcome::claimed, view(*e)};
}

}  // namespace semel::store::memory
