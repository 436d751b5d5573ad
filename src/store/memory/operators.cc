// docs/rules.md, "Operators".
#include "base/json.h"
#include "store/memory/model.h"

namespace semel::store::memory {

using core::Attention;
using core::Execution;
using core::Identity;

namespace {

Error not_found() { return make_error(ErrorCode::ExecutionNotFound, "no such execution"); }
Error wrong_state(std::string message) { return make_error(ErrorCode::InvalidTransition, std::move(message)); }

// What a redrive copies: everything that was fixed at creation but the links to others.
Execution successor_of(const Execution& e, ExecutionId id, Instant now) {
  Execution row;
  row.id = id;
  row.tenant = e.tenant;
  row.lane = e.lane;
  row.kind = e.kind;
  row.name = e.name;
  row.identity = e.identity;
  row.priority = e.priority;
  row.max_attempts = e.max_attempts;
  row.attempt_timeout = e.attempt_timeout;
  row.concurrency_key = e.concurrency_key;
  row.idempotency_key = e.idempotency_key;
  row.idempotency_key_ttl_seconds = e.idempotency_key_ttl_seconds;
  row.fingerprint = e.fingerprint;
  row.previous = e.id;
  row.created_at = row.scheduled_at = now;
  row.flags = e.flags & (core::kDropAtEnd | core::kHasPolicy);
  if (row.attempt_timeout > Duration{0}) row.flags |= core::kHasTimer;
  return row;
}

}  // namespace

core::Answer Model::run(const core::ExecutionCancel& q) {
  Execution* e = find_execution(q.tenant, q.execution);
  if (!e) return not_found();
  if (is_terminal(e->status)) return core::CancelAnswer{e->status, false};
  if (q.terminate && e->kind == Kind::task) return make_error(ErrorCode::InvalidArgument, "a task is cancelled");
  if (e->kind == Kind::workflow) {
    if (q.terminate || e->status == Status::queued || e->suspend_reason != core::SuspendReason::none) {
      if (q.terminate) e->close_reason = core::CloseReason::terminated;
      close_from_outside(*e, q.terminate ? core::EventKind::run_terminated : core::EventKind::run_cancelled);
      end(*e, Status::cancelled, core::AttemptEnd::cancelled);
      return core::CancelAnswer{Status::cancelled, false};
    }
    if (!e->cancel_requested_at) {
      ++effects_.changes;
      e->cancel_requested_at = now_;
      core::Event asked;
      asked.kind = core::EventKind::cancel_requested;
      send_mail(e->id, asked, {});
    }
    return core::CancelAnswer{e->status, true};
  }
  if (e->status == Status::queued || e->status == Status::suspended) {
    end(*e, Status::cancelled, core::AttemptEnd::cancelled);
    return core::CancelAnswer{Status::cancelled, false};
  }
  if (!e->cancel_requested_at) {
    ++effects_.changes;
    e->cancel_requested_at = now_;
    effects_.wakes.cancel_requested.push_back(e->id);
  }
  return core::CancelAnswer{e->status, true};
}

core::Answer Model::run(const core::ExecutionRedrive& q) {
  Execution* e = find_execution(q.tenant, q.execution);
  if (!e) return not_found();
  if (!is_terminal(e->status) || e->status == Status::succeeded)
    return wrong_state("only failed, timed out, cancelled and dead-lettered executions can be redriven");
  Attention* attention = find_row(t_.attention, e->id);
  if (attention && attention->successor) {
    const bool by_itself = attention->successor == q.successor;
    if (!by_itself) note(*e, core::LedgerRule::repeated_redrive);
    return core::RedriveAnswer{*attention->successor, by_itself};
  }
  if (e->identity) {
    const Identity* row = find_row(t_.identities, id_row_key(*e));
    if (row && row->target != e->id) return wrong_state("a newer execution has this id: " + row->target.to_string());
  }
  Execution row = successor_of(*e, q.successor, now_);
  Identity fresh;
  fresh.target = row.id;
  fresh.target_kind = row.kind;
  if (row.identity) point(id_row_key(row), fresh);
  fresh.fingerprint = row.fingerprint;
  if (row.idempotency_key) {
    const Identity* key = find_row(t_.identities, key_row_key(row));
    const bool expired = key && key->expires_at && *key->expires_at <= now_;
    if (!key || expired || key->target == e->id) {
      point(key_row_key(row), fresh);
      row.flags |= core::kHasKey;
    } else {
      row.idempotency_key.reset();
      row.idempotency_key_ttl_seconds = 0;
    }
  }
  if (!attention) attention = &(t_.attention[e->id] = {e->id, e->tenant, e->lane, e->status, *e->completed_at, {}, {}});
  attention->successor = row.id;
  core::Payload payload = t_.payloads.at(e->id);
  payload.execution = row.id;
  t_.payloads[row.id] = std::move(payload);
  if (const core::Run* old = find_row(t_.runs, e->id))
    start_run(row, std::string(old->memo), std::string(old->attributes), row.id);
  enters(t_.executions[row.id] = row);
  return core::RedriveAnswer{q.successor, true};
}

core::Answer Model::run(const core::ExecutionDiscard& q) {
  const Execution* e = find_execution(q.tenant, q.execution);
  if (!e) return not_found();
  if (e->status != Status::dead_lettered) return wrong_state("only dead-lettered executions can be discarded");
  Attention& attention = t_.attention.at(e->id);
  if (attention.discarded_at) return core::DiscardAnswer{false};
  if (attention.successor) return wrong_state("it was redriven; its id belongs to " + attention.successor->to_string());
  ++effects_.changes;
  attention.discarded_at = now_;
  const auto release = [&](const core::IdentityKey& key) {
    const Identity* row = find_row(t_.identities, key);
    if (row && row->target == e->id) t_.identities.erase(key);
  };
  if (e->identity) release(id_row_key(*e));
  if (e->idempotency_key) release(key_row_key(*e));
  return core::DiscardAnswer{true};
}

core::Answer Model::run(const core::TenantEnsure& q) {
  core::TenantId last{};
  for (const auto& [id, name] : t_.tenants) {
    if (name == q.name) return core::TenantAnswer{id, false};
    last = id;
  }
  ++effects_.changes;
  const core::TenantId id{static_cast<std::int32_t>(last) + 1};
  t_.tenants[id] = q.name;
  return core::TenantAnswer{id, true};
}

core::Answer Model::run(const core::LaneEnsure& q) {
  core::Lane* lane = nullptr;
  for (auto& [id, row] : t_.lanes)
    if (row.tenant == q.tenant && row.queue == q.queue) lane = &row;
  const bool created = lane == nullptr;
  if (created) {
    ++effects_.changes;
    const core::LaneId id{t_.lanes.empty() ? 1 : static_cast<std::int32_t>(t_.lanes.rbegin()->first) + 1};
    lane = &(t_.lanes[id] = core::Lane{});
    lane->id = id;
    lane->tenant = q.tenant;
    lane->queue = q.queue;
  }
  core::LaneConfig wanted = q.config ? *q.config : lane->config;
  if (q.paused) wanted.paused = *q.paused;
  if (wanted != lane->config) {
    ++effects_.changes;
    if (wanted.rate_limit != lane->config.rate_limit) lane->tokens_at.reset();
    lane->config = wanted;
    lane->revision += 1;
  }
  return core::LaneAnswer{*lane, created};
}

core::Answer Model::run(const core::KeyRelease& q) {
  const core::IdentityKey id{q.tenant, core::Space::key, q.key};
  const Identity* key = find_row(t_.identities, id);
  if (!key || (key->expires_at && *key->expires_at <= now_)) return make_error(ErrorCode::KeyNotFound, "no such key");
  Execution* target = key->tombstone ? nullptr : find_row(t_.executions, key->target);
  const bool live = target && !is_terminal(target->status);
  if (live && !q.force) return wrong_state("the key's execution is live; use force to release it");
  ++effects_.changes;
  if (live) target->flags &= ~core::kHasKey;
  t_.identities.erase(id);
  return core::KeyAnswer{true};
}

core::Answer Model::run(const core::GroupCreate& q) {
  const bool created = t_.groups.try_emplace(q.group.id, q.group).second;
  if (created) ++effects_.changes;
  return core::GroupAnswer{created};
}

}  // namespace semel::store::memory
