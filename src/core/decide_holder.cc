// The writes of the holder of a claim. `version` is the fence: only the current one may write, the one that closed the
// attempt is answered, every other is refused.
#include "base/mutant.h"
#include "core/decide_parts.h"
#include "core/precondition.h"
#include "core/transition.h"

namespace semel::core {
namespace {

bool is_holder(const Execution& e, std::int32_t version) {
  return is_claimed(e) && (e.version == version || SEMEL_MUTANT("complete-without-version"));
}

// Did the attempt held under this version end?
bool closed_under(const Execution& e, std::int32_t version) { return !is_claimed(e) && e.version == version + 1; }

// The worker stopped because it was asked to; an operator's cancel of a queued row asks nobody.
bool holder_stopped(const Execution& e) { return e.last_end == AttemptEnd::cancelled && e.cancel_requested_at; }

// A worker's outcome, which another one under the same version contradicts.
bool has_outcome(const Execution& e) {
  return e.last_end == AttemptEnd::succeeded || e.last_end == AttemptEnd::failed || holder_stopped(e);
}

Error not_found(ExecutionId id) {
  Error error = make_error(ErrorCode::ExecutionNotFound, "execution " + id.to_string() + " does not exist");
  add_precondition(error, Precondition::missing);
  return error;
}

Error not_a_task(const Execution& e) {
  return make_error(ErrorCode::InvalidTransition,
                    "execution " + e.id.to_string() + " is a workflow: its owner advances it, nobody completes it");
}

Answer stale(RowCache& rows, const Execution& e, std::int32_t version, Instant now) {
  note(rows, e, LedgerRule::stale_version, now);
  Error error =
      make_error(ErrorCode::LeaseLost, "version " + std::to_string(version) + " no longer holds execution " +
                                           e.id.to_string() + " (" + std::string(to_string(e.status)) + ", version " +
                                           std::to_string(e.version) + "); stop working on it");
  add_precondition(error, classify(e.status));
  return error;
}

Answer repeated(RowCache& rows, const Execution& e, bool same, Instant now) {
  note(rows, e, LedgerRule::repeated_completion, now);
  if (same) return EndAnswer{e.status, true, e.status == Status::queued ? e.scheduled_at : Instant{}};
  return make_error(ErrorCode::FingerprintMismatch, "the attempt of execution " + e.id.to_string() +
                                                        " was closed under this version with another outcome");
}

// An error the holder cannot get past, or none and `e` is claimed under `version`.
template <class Op, class Same>
std::optional<Answer> refuse(const Op& op, RowCache& rows, Instant now, Same same) {
  const Execution* e = rows.executions.find(op.execution);
  if (!e) return not_found(op.execution);
  if (e->kind == Kind::workflow && !std::is_same_v<Op, TaskRelease>) return not_a_task(*e);
  if (is_holder(*e, op.version)) return std::nullopt;
  if (closed_under(*e, op.version)) {
    if (same(*e)) return repeated(rows, *e, true, now);
    if (!std::is_same_v<Op, TaskRelease> && has_outcome(*e)) return repeated(rows, *e, false, now);
  }
  return stale(rows, *e, op.version, now);
}

}  // namespace

// ---- heartbeat ------------------------------------------------------------------------------------------------------

void gather_part(const TaskHeartbeat& op, const RowCache& rows, Instant, Needs& needs) {
  want(rows.executions, op.execution, needs.executions);
}

Answer decide_part(const TaskHeartbeat& op, RowCache& rows, Instant now) {
  const Execution* found = rows.executions.find(op.execution);
  if (!found) return not_found(op.execution);
  if (found->kind == Kind::workflow) return not_a_task(*found);
  if (!is_holder(*found, op.version)) return stale(rows, *found, op.version, now);
  Execution& e = rows.executions.update(op.execution);
  e.status = Status::running;
  e.lease_expires_at = add_saturated(now, op.lease);
  if (op.progress) e.progress = op.progress;
  return HeartbeatAnswer{*e.lease_expires_at, e.cancel_requested_at.has_value()};
}

// ---- complete -------------------------------------------------------------------------------------------------------

void gather_part(const TaskComplete& op, const RowCache& rows, Instant, Needs& needs) {
  if (!want(rows.executions, op.execution, needs.executions)) return;
  if (const Execution* e = rows.executions.find(op.execution); e && is_holder(*e, op.version))
    gather_end(*e, rows, needs);
}

Answer decide_part(const TaskComplete& op, RowCache& rows, Instant now) {
  auto same = [&](const Execution& e) { return e.last_end == AttemptEnd::succeeded && e.result == op.result; };
  if (auto refused = refuse(op, rows, now, same)) return *refused;
  Execution& e = rows.executions.update(op.execution);
  e.result = op.result;
  e.error.reset();
  end(rows, e, Status::succeeded, AttemptEnd::succeeded, now);
  return EndAnswer{Status::succeeded, false, {}};
}

// ---- fail -----------------------------------------------------------------------------------------------------------

void gather_part(const TaskFail& op, const RowCache& rows, Instant, Needs& needs) {
  if (!want(rows.executions, op.execution, needs.executions)) return;
  if (const Execution* e = rows.executions.find(op.execution); e && is_holder(*e, op.version))
    gather_fail(*e, rows, needs);
}

Answer decide_part(const TaskFail& op, RowCache& rows, Instant now) {
  auto same = [&](const Execution& e) {
    const bool failed = e.last_end == AttemptEnd::failed || (op.cancelled && holder_stopped(e));
    return failed && e.error == op.error;
  };
  if (auto refused = refuse(op, rows, now, same)) return *refused;
  Execution& e = rows.executions.update(op.execution);
  if (op.cancelled && e.cancel_requested_at) {
    e.error = op.error;
    end(rows, e, Status::cancelled, AttemptEnd::cancelled, now);
    return EndAnswer{Status::cancelled, false, {}};
  }
  return fail_attempt(rows, e,
                      {op.error_name, op.error, AttemptEnd::failed, op.retryable, op.next_delay, op.random_bits}, now);
}

// ---- release --------------------------------------------------------------------------------------------------------

void gather_part(const TaskRelease& op, const RowCache& rows, Instant, Needs& needs) {
  if (!want(rows.executions, op.execution, needs.executions)) return;
  if (const Execution* e = rows.executions.find(op.execution); e && is_holder(*e, op.version))
    gather_requeue(*e, rows, needs);
}

Answer decide_part(const TaskRelease& op, RowCache& rows, Instant now) {
  auto same = [](const Execution& e) { return e.last_end == AttemptEnd::released; };
  if (auto refused = refuse(op, rows, now, same)) return *refused;
  Execution& e = rows.executions.update(op.execution);
  if (e.kind == Kind::task) e.attempt -= 1;
  if (op.no_handler) e.flags |= kNoHandler;
  const Instant at = add_saturated(now, op.delay);
  const Status status = requeue(rows, e, AttemptEnd::released, at, now);
  return EndAnswer{status, false, status == Status::queued ? at : Instant{}};
}

}  // namespace semel::core
