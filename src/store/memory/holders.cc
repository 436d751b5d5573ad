// docs/rules.md, "Holder's writes": only the current version counts, and a lost response can be asked for again.
#include "store/memory/model.h"

namespace semel::store::memory {

using core::AttemptEnd;
using core::EndAnswer;
using core::Execution;
using core::LedgerRule;

namespace {

bool holds(const Execution& e, std::int32_t version) { return is_held(e) && e.version == version; }

// The write under `version` was the one that ended that attempt.
bool just_closed(const Execution& e, std::int32_t version) { return e.version == version + 1 && !is_held(e); }

// The worker stopped because cancel was requested. An operator's cancel of a queued row requests nothing.
bool stopped_by_holder(const Execution& e) { return e.last_end == AttemptEnd::cancelled && e.cancel_requested_at; }

EndAnswer end_answer(const Execution& e, bool existing) {
  return {e.status, existing, e.status == Status::queued ? e.scheduled_at : Instant{}};
}

Error not_found() {
  Error error = make_error(ErrorCode::ExecutionNotFound, "no such execution");
  error.details.push_back({"precondition", R"("missing")"});
  return error;
}

// What stands where the writer expected its own claim.
const char* found_instead(Status status) {
  switch (status) {
    case Status::claimed:
    case Status::running:
      return R"("concurrent-claim")";
    case Status::succeeded:
      return R"("already-completed")";
    case Status::queued:
    case Status::suspended:
      return R"("unexpected-nonterminal")";
    default:
      return R"("unexpected-terminal")";
  }
}

}  // namespace

Model::Standing Model::standing(const Execution& e, const core::TaskComplete& q) const {
  if (holds(e, q.version)) return Standing::holder;
  if (!just_closed(e, q.version)) return Standing::lost;
  if (e.last_end == AttemptEnd::succeeded) return e.result == q.result ? Standing::repeated : Standing::other_outcome;
  const bool failed = e.last_end == AttemptEnd::failed || stopped_by_holder(e);
  return failed ? Standing::other_outcome : Standing::lost;
}

Model::Standing Model::standing(const Execution& e, const core::TaskFail& q) const {
  if (holds(e, q.version)) return Standing::holder;
  if (!just_closed(e, q.version)) return Standing::lost;
  if (e.last_end == AttemptEnd::succeeded) return Standing::other_outcome;
  const bool stopped = stopped_by_holder(e);
  if (e.last_end != AttemptEnd::failed && !stopped) return Standing::lost;
  const bool same_write = e.error == q.error && (q.cancelled || !stopped);
  return same_write ? Standing::repeated : Standing::other_outcome;
}

Model::Standing Model::standing(const Execution& e, const core::TaskRelease& q) const {
  if (holds(e, q.version)) return Standing::holder;
  return just_closed(e, q.version) && e.last_end == AttemptEnd::released ? Standing::repeated : Standing::lost;
}

Model::Standing Model::standing(const Execution& e, const core::TaskHeartbeat& q) const {
  return holds(e, q.version) ? Standing::holder : Standing::lost;
}

core::Answer Model::answer_stranger(const Execution& e, Standing standing) {
  if (standing == Standing::lost) {
    note(e, LedgerRule::stale_version);
    Error error = make_error(ErrorCode::LeaseLost, "the version is not that of the current claim");
    error.details.push_back({"precondition", found_instead(e.status)});
    return error;
  }
  note(e, LedgerRule::repeated_completion);
  if (standing == Standing::other_outcome)
    return make_error(ErrorCode::FingerprintMismatch, "this version closed the attempt with another outcome");
  return end_answer(e, true);
}

core::Answer Model::run(const core::TaskHeartbeat& q) {
  Execution* e = find_row(t_.executions, q.execution);
  if (!e) return not_found();
  if (e->kind == Kind::workflow) return make_error(ErrorCode::InvalidTransition, "a workflow is advanced");
  if (standing(*e, q) != Standing::holder) return answer_stranger(*e, Standing::lost);
  ++effects_.changes;
  e->status = Status::running;
  e->lease_expires_at = add_saturated(now_, q.lease);
  if (q.progress) e->progress = q.progress;
  return core::HeartbeatAnswer{*e->lease_expires_at, e->cancel_requested_at.has_value()};
}

core::Answer Model::run(const core::TaskComplete& q) {
  Execution* e = find_row(t_.executions, q.execution);
  if (!e) return not_found();
  if (e->kind == Kind::workflow) return make_error(ErrorCode::InvalidTransition, "a workflow is advanced");
  if (const Standing s = standing(*e, q); s != Standing::holder) return answer_stranger(*e, s);
  e->result = q.result;
  e->error.reset();
  return end_answer(end(*e, Status::succeeded, AttemptEnd::succeeded), false);
}

core::Answer Model::run(const core::TaskFail& q) {
  Execution* e = find_row(t_.executions, q.execution);
  if (!e) return not_found();
  if (e->kind == Kind::workflow) return make_error(ErrorCode::InvalidTransition, "a workflow is advanced");
  if (const Standing s = standing(*e, q); s != Standing::holder) return answer_stranger(*e, s);
  if (q.cancelled && e->cancel_requested_at) {
    e->error = q.error;
    return end_answer(end(*e, Status::cancelled, AttemptEnd::cancelled), false);
  }
  return end_answer(
      fail_attempt(*e, {q.error_name, q.error, AttemptEnd::failed, q.retryable, q.next_delay, q.random_bits}), false);
}

core::Answer Model::run(const core::TaskRelease& q) {
  Execution* e = find_row(t_.executions, q.execution);
  if (!e) return not_found();
  if (const Standing s = standing(*e, q); s != Standing::holder) return answer_stranger(*e, s);
  if (e->kind == Kind::task) e->attempt -= 1;
  if (q.no_handler) e->flags |= core::kNoHandler;
  return end_answer(requeue(*e, AttemptEnd::released, add_saturated(now_, q.delay)), false);
}

}  // namespace semel::store::memory
