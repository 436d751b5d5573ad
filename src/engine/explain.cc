#include "engine/explain.h"

#include <algorithm>

#include "base/duration.h"
#include "base/json_value.h"
#include "base/text.h"
#include "engine/engine.h"
#include "engine/explain_run.h"

namespace semel::engine {

std::string_view to_string(WaitReason reason) {
  switch (reason) {
    case WaitReason::none:
      return "none";
    case WaitReason::ready:
      return "ready";
    case WaitReason::not_due:
      return "not_due";
    case WaitReason::backoff:
      return "backoff";
    case WaitReason::queue_paused:
      return "queue_paused";
    case WaitReason::rate_limited:
      return "rate_limited";
    case WaitReason::concurrency:
      return "concurrency";
    case WaitReason::concurrency_key:
      return "concurrency_key";
    case WaitReason::no_handler:
      return "no_handler";
    case WaitReason::cancel_pending:
      return "cancel_pending";
    case WaitReason::outcomes:
      return "outcomes";
    case WaitReason::signals:
      return "signals";
    case WaitReason::parked:
      return "parked";
  }
  return "";
}

std::string_view to_string(core::LedgerRule rule) {
  switch (rule) {
    case core::LedgerRule::existing_live:
      return "existing_live";
    case core::LedgerRule::existing_completed:
      return "existing_completed";
    case core::LedgerRule::rejected:
      return "rejected";
    case core::LedgerRule::fingerprint_mismatch:
      return "fingerprint_mismatch";
    case core::LedgerRule::key_existing:
      return "key_existing";
    case core::LedgerRule::key_conflict:
      return "key_conflict";
    case core::LedgerRule::result_expired:
      return "result_expired";
    case core::LedgerRule::delivery_already_claimed:
      return "delivery_already_claimed";
    case core::LedgerRule::delivery_terminal:
      return "delivery_terminal";
    case core::LedgerRule::repeated_completion:
      return "repeated_completion";
    case core::LedgerRule::stale_version:
      return "stale_version";
    case core::LedgerRule::repeated_redrive:
      return "repeated_redrive";
  }
  return "";
}

std::string_view to_string(core::AttemptEnd end) {
  switch (end) {
    case core::AttemptEnd::none:
      return "none";
    case core::AttemptEnd::succeeded:
      return "succeeded";
    case core::AttemptEnd::failed:
      return "failed";
    case core::AttemptEnd::released:
      return "released";
    case core::AttemptEnd::lease_lost:
      return "lease_lost";
    case core::AttemptEnd::attempt_timeout:
      return "attempt_timeout";
    case core::AttemptEnd::cancelled:
      return "cancelled";
    case core::AttemptEnd::timed_out:
      return "timed_out";
  }
  return "";
}

namespace {

constexpr int kMaxChain = 50;

std::string error_name_of(const core::Execution& row) {
  if (!row.error) return "";
  auto document = base::JsonDocument::parse(*row.error, base::kMaxPayloadDepth);
  if (!document) return "";
  const auto name = document->root().find("name");
  return name ? name->as_string().value_or("") : "";
}

// Why a row in `ready` is not claimed.
void why_ready(const core::Lane& lane, Instant now, Explanation& out) {
  out.reason = WaitReason::ready;
  if (lane.config.paused) {
    out.reason = WaitReason::queue_paused;
  } else if (lane.config.concurrency && lane.running_count >= *lane.config.concurrency) {
    out.reason = WaitReason::concurrency;
  } else if (lane.config.rate_limit && lane.tokens_at) {
    const auto& rate = *lane.config.rate_limit;
    const Instant filled = std::max(now, *lane.tokens_at);
    const double gained = static_cast<double>((filled - *lane.tokens_at).count()) * static_cast<double>(rate.count) *
                          1e6 / static_cast<double>(rate.per.count());
    const double missing = 1e6 - (static_cast<double>(lane.tokens_micro) + gained);
    if (missing > 0) {
      out.reason = WaitReason::rate_limited;
      const double wait = missing * static_cast<double>(rate.per.count()) / (static_cast<double>(rate.count) * 1e6);
      out.not_before = add_saturated(filled, Duration{static_cast<std::int64_t>(wait) + 1});
    }
  }
}

void why_waiting(const core::Execution& row, const core::Lane& lane, Instant now, Explanation& out) {
  switch (out.whereabouts) {
    case store::Whereabouts::nowhere:
      return;
    case store::Whereabouts::blocked:
      out.reason = WaitReason::concurrency_key;
      return;
    case store::Whereabouts::ready:
      why_ready(lane, now, out);
      return;
    case store::Whereabouts::timer:
      out.not_before = row.scheduled_at;
      out.reason =
          row.attempt > 0 && row.last_end != core::AttemptEnd::released ? WaitReason::backoff : WaitReason::not_due;
      if (row.flags & core::kNoHandler) out.reason = WaitReason::no_handler;
      return;
  }
}

std::string reason_words(const Explanation& out) {
  const std::string until = out.not_before ? " until " + base::format_instant(*out.not_before) : "";
  const std::string again = out.not_before ? " at " + base::format_instant(*out.not_before) : "";
  const auto& view = *out.execution;
  switch (out.reason) {
    case WaitReason::none:
      return "";
    case WaitReason::ready:
      return ": ready, no worker has claimed it yet";
    case WaitReason::not_due:
      return ": not due" + until;
    case WaitReason::backoff: {
      const std::string name = error_name_of(view.execution);
      return ": backing off" + until + (name.empty() ? "" : " after error " + name);
    }
    case WaitReason::queue_paused:
      return ": queue " + base::printable(view.queue) + " is paused";
    case WaitReason::rate_limited:
      return ": the rate limit of queue " + base::printable(view.queue) + " holds it" + until;
    case WaitReason::concurrency:
      return ": queue " + base::printable(view.queue) + " is at its concurrency limit";
    case WaitReason::concurrency_key:
      return ": waits behind concurrency_key " + base::printable(view.execution.concurrency_key.value_or(""));
    case WaitReason::no_handler:
      return ": a worker claimed it but has no " +
             std::string(view.execution.kind == Kind::task ? "handler" : "workflow") + " named " +
             base::printable(view.execution.name) + "; offered again" + again;
    case WaitReason::cancel_pending:
      return ": cancel was requested, the worker has not answered yet";
    case WaitReason::outcomes:
      return ": waits for " + open_words(*out.run);
    case WaitReason::signals:
      return ": waits for signals only, nothing that it started is open";
    case WaitReason::parked:
      return ": parked, its code does not fit its history" + parked_words(*out.run) + "; tried again" + again;
  }
  return "";
}

std::string summary_of(const Explanation& out) {
  if (!out.execution) return out.key ? "the key's execution is gone, the key still answers duplicates" : "not known";
  const auto& row = out.execution->execution;
  std::string text = out.run ? "run " : "execution ";
  text += row.id.to_string();
  if (out.run && row.identity) text += " of workflow " + base::printable(*row.identity);
  text += " is " + std::string(to_string(row.status)) + reason_words(out);
  if (out.run) text += end_words(row) + owner_words(row, *out.run);
  // A run has one attempt unless its start asked for more.
  if (!out.run || (row.max_attempts > 1 && row.attempt > 0))
    text += " (attempt " + std::to_string(row.attempt) + " of " + std::to_string(row.max_attempts) + ")";
  std::int64_t duplicates = 0;
  for (const auto& id : out.duplicates)
    for (const auto& [rule, count] : id.counts) duplicates += count;
  if (duplicates > 0) text += "; " + std::to_string(duplicates) + " duplicates answered";
  return text;
}

Result<void> add_duplicates(store::Store& store, const core::IdentityKey& id, Explanation& out) {
  auto ledger = store.ledger_get(id);
  if (!ledger) return ledger.error();
  if (*ledger) out.duplicates.push_back({id.space, id.key, (*ledger)->counts, (*ledger)->recent});
  return {};
}

// Task ids and workflow ids know nothing of each other: one text may be both, and neither is the better guess.
Result<Kind> kind_of_id(store::Store& store, core::TenantId tenant, std::string_view id) {
  auto task = store.execution_find(tenant, core::Space::task, id);
  if (!task) return task.error();
  auto run = store.execution_find(tenant, core::Space::workflow, id);
  if (!run) return run.error();
  if (!*task && !*run && !ExecutionId::parse(id))
    return make_error(ErrorCode::ExecutionNotFound,
                      base::printable(id) + " is no task_id, workflow_id or execution_id");
  if (!*task || !*run) return *run ? Kind::workflow : Kind::task;
  Error error = make_error(ErrorCode::InvalidArgument,
                           base::printable(id) + " is a task_id and a workflow_id: say which of them is meant");
  error.details = {{"task_execution_id", base::quote_json((*task)->execution.id.to_string())},
                   {"workflow_execution_id", base::quote_json((*run)->execution.id.to_string())}};
  return error;
}

}  // namespace

Result<Explanation> Engine::explain_view(core::TenantId tenant, store::ExecutionView view) {
  Explanation out;
  auto& store = env_.store;
  const core::Execution row = view.execution;
  out.execution = std::move(view);
  auto where = store.execution_whereabouts(row);
  if (!where) return where.error();
  out.whereabouts = *where;
  auto lane = store.lane_stats(row.lane);
  if (!lane) return lane.error();
  const Instant now = store.clock().now();
  why_waiting(row, lane->lane, now, out);
  const bool held = row.kind == Kind::task ? row.status == Status::claimed || row.status == Status::running
                                           : row.status == Status::running && row.session;
  if (held && row.cancel_requested_at) out.reason = WaitReason::cancel_pending;
  out.lease_expires_at = row.lease_expires_at;
  if (row.session) {
    auto session = store.session_get(*row.session);
    if (!session) return session.error();
    if (*session && out.lease_expires_at)
      out.lease_expires_at = std::max(*out.lease_expires_at, (*session)->expires_at);
  }
  if (row.kind == Kind::workflow) {
    auto run = explain_run(store, row);
    if (!run) return run.error();
    run->owner_lost = row.session && out.lease_expires_at.value_or(Instant{}) <= now;
    if (const WaitReason why = why_suspended(row, *run); why != WaitReason::none) out.reason = why;
    out.run = *std::move(run);
  }
  auto attention = store.attention_get(row.id);
  if (!attention) return attention.error();
  out.attention = *std::move(attention);

  const std::string shown = row.identity ? *row.identity : row.id.to_string();
  if (auto ok = add_duplicates(store, {tenant, core::identity_space(row.kind), shown}, out); !ok) return ok.error();
  if (row.idempotency_key) {
    if (auto ok = add_duplicates(store, {tenant, core::Space::key, *row.idempotency_key}, out); !ok) return ok.error();
    auto key = store.key_get(tenant, *row.idempotency_key);
    if (!key) return key.error();
    out.key = *std::move(key);
  }
  auto previous = row.previous;
  for (int i = 0; previous && i < kMaxChain; ++i) {
    auto earlier = store.execution_get(tenant, *previous);
    if (!earlier) return earlier.error();
    if (!*earlier) break;
    previous = (*earlier)->execution.previous;
    out.chain.push_back(**std::move(earlier));
  }
  out.summary = summary_of(out);
  return out;
}

Result<Explanation> Engine::explain(std::string_view tenant, std::string_view id_or_execution,
                                    std::optional<Kind> kind) {
  auto id = directory_.tenant(tenant);
  if (!id) return id.error();
  if (!kind) {
    auto found = kind_of_id(env_.store, *id, id_or_execution);
    if (!found) return found.error();
    kind = *found;
  }
  auto view = get_task(tenant, id_or_execution, *kind);
  if (!view) return view.error();
  return explain_view(*id, *std::move(view));
}

Result<Explanation> Engine::explain_key(std::string_view tenant, std::string_view key) {
  auto id = directory_.tenant(tenant);
  if (!id) return id.error();
  auto identity = key_get(tenant, key);
  if (!identity) return identity.error();
  auto view = env_.store.execution_get(*id, identity->target);
  if (!view) return view.error();
  Explanation out;
  if (*view) {
    auto explained = explain_view(*id, **std::move(view));
    if (!explained) return explained;
    out = *std::move(explained);
  } else if (auto ok = add_duplicates(env_.store, identity->id, out); !ok) {
    return ok.error();
  }
  out.key = *std::move(identity);
  out.summary = summary_of(out);
  return out;
}

}  // namespace semel::engine
