// docs/rules.md, "TaskEnqueue": what a request meets, and what it is answered.
#include <algorithm>

#include "base/duration.h"
#include "base/json.h"
#include "store/memory/model.h"

namespace semel::store::memory {

using core::EnqueueAnswer;
using core::Execution;
using core::Identity;
using core::IdentityKey;
using core::LedgerRule;
using core::TaskEnqueue;

namespace {

ErrorDetail text_detail(std::string name, std::string_view value) { return {std::move(name), base::quote_json(value)}; }

bool is_unsuccessful(Status status) {
  return status == Status::failed || status == Status::cancelled || status == Status::timed_out;
}

// May a new execution take the place of one with this terminal status?
bool reusable(Status status, Reuse reuse) {
  if (reuse == Reuse::never) return false;
  return is_unsuccessful(status) || (status == Status::succeeded && reuse == Reuse::always);
}

Error mismatch(ExecutionId existing, const std::optional<core::Fingerprint>& stored) {
  Error error = make_error(ErrorCode::FingerprintMismatch, "the id or key was used with another name or other args");
  error.details.push_back(text_detail("existing_execution_id", existing.to_string()));
  if (stored) error.details.push_back(text_detail("fingerprint", stored->to_string()));
  return error;
}

Error key_conflict(const Identity& key) {
  Error error = make_error(ErrorCode::KeyConflict, "the idempotency key leads to another execution than the id");
  error.details.push_back(text_detail("existing_kind", to_string(key.target_kind)));
  error.details.push_back(text_detail("existing_id", key.target.to_string()));
  return error;
}

ErrorCode rejection(Kind kind, Status status) {
  const bool task = kind == Kind::task;
  if (!is_terminal(status)) return task ? ErrorCode::TaskAlreadyExists : ErrorCode::WorkflowAlreadyStarted;
  if (status == Status::dead_lettered) return task ? ErrorCode::TaskDeadLettered : ErrorCode::WorkflowDeadLettered;
  return task ? ErrorCode::TaskAlreadyCompleted : ErrorCode::WorkflowAlreadyCompleted;
}

Execution new_row(const TaskEnqueue& q, Instant now) {
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
  if (q.idempotency_key) e.idempotency_key_ttl_seconds = q.idempotency_key_ttl_seconds;
  e.fingerprint = q.fingerprint;
  e.group = q.group;
  e.created_at = now;
  Instant at = now;
  if (q.scheduled_at) at = *q.scheduled_at;
  else if (q.delay) at = add_saturated(now, *q.delay);
  e.scheduled_at = std::max(now, at);
  if (q.timeout) e.timeout_at = add_saturated(now, *q.timeout);
  if (q.kind == Kind::workflow) {
    e.attempt_timeout = Duration{0};
    e.concurrency_key.reset();
  }
  if (q.timeout || e.attempt_timeout > Duration{0}) e.flags |= core::kHasTimer;
  if (q.idempotency_key) e.flags |= core::kHasKey;
  if (q.group) e.flags |= core::kHasGroup;
  if (q.drop_at_end) e.flags |= core::kDropAtEnd;
  if (!q.policy.empty()) e.flags |= core::kHasPolicy;
  if (q.parent) {
    e.flags |= core::kHasParent;
    e.parent_run = q.parent->run;
    e.parent_workflow_id = q.parent->workflow_id;
    e.parent_command = q.parent->command;
  }
  return e;
}

}  // namespace

core::Answer Model::run(const TaskEnqueue& q) {
  if (q.kind == Kind::task && q.on_duplicate == OnDuplicate::replace)
    return make_error(ErrorCode::InvalidArgument, "on_duplicate = replace is for workflows only");
  if (const Execution* own = find_row(t_.executions, q.id))
    return EnqueueAnswer{q.id, own->status, true, {}, {}, false};

  const Identity* by_id = nullptr;
  const Identity* by_key = nullptr;
  if (q.identity) by_id = find_row(t_.identities, IdentityKey{q.tenant, core::identity_space(q.kind), *q.identity});
  if (q.idempotency_key) by_key = find_row(t_.identities, IdentityKey{q.tenant, core::Space::key, *q.idempotency_key});
  if (by_key && by_key->expires_at && *by_key->expires_at <= now_) by_key = nullptr;

  if (by_key) {
    const bool id_agrees = by_key->tombstone ? by_id == nullptr
                           : q.identity      ? by_id && by_id->target == by_key->target
                                             : true;
    if (by_key->target_kind != q.kind || !id_agrees) {
      note_enqueue(q, LedgerRule::key_conflict, by_key->target);
      return key_conflict(*by_key);
    }
    if (by_key->tombstone) return answer_tombstone(q, *by_key);
  }

  const Identity* found = by_key ? by_key : by_id;
  if (!found) return create(q, nullptr);
  Execution& e = t_.executions.at(found->target);
  const bool replaces = q.on_duplicate == OnDuplicate::replace && q.reuse != Reuse::never && !by_key;
  if (is_terminal(e.status) ? reusable(e.status, q.reuse) : replaces) return create(q, &e);
  return answer_existing(q, e, by_key != nullptr);
}

core::Answer Model::run(const core::EnqueueWithin& q) {
  const Tables before = t_;
  const Effects effects_before = effects_;
  core::EnqueueWithinAnswer answer;
  const auto undo = [&](Error error) {
    t_ = before;
    effects_ = effects_before;
    return error;
  };
  if (auto done = q.function(nullptr); !done) return undo(done.error());
  for (const TaskEnqueue& task : q.tasks) {
    Answer one = run(task);
    if (const Error* error = std::get_if<Error>(&one)) return undo(*error);
    answer.tasks.push_back(std::get<EnqueueAnswer>(std::move(one)));
  }
  return answer;
}

std::optional<Error> Model::group_refuses(const TaskEnqueue& q) const {
  if (!q.group) return std::nullopt;
  const core::Group* group = find_row(t_.groups, *q.group);
  if (!group || group->tenant != q.tenant) return make_error(ErrorCode::InvalidArgument, "group does not exist");
  if (group->joined >= group->total) return make_error(ErrorCode::InvalidArgument, "group is full");
  return std::nullopt;
}

void Model::point(const IdentityKey& key, const Identity& fresh) {
  Identity row = fresh;
  row.id = key;
  if (const Identity* old = find_row(t_.identities, key)) row.revision = old->revision + 1;
  t_.identities[key] = row;
}

core::Answer Model::create(const TaskEnqueue& q, const Execution* previous) {
  if (auto refused = group_refuses(q)) return *refused;
  Execution row = new_row(q, now_);
  if (previous) row.previous = previous->id;
  if (previous && !is_terminal(previous->status)) {
    Execution& live = t_.executions.at(previous->id);
    live.close_reason = core::CloseReason::terminated;
    close_from_outside(live, core::EventKind::run_terminated);
    end(live, Status::cancelled, core::AttemptEnd::cancelled);
  }
  Identity fresh;
  fresh.target = q.id;
  fresh.target_kind = q.kind;
  if (q.identity) point({q.tenant, core::identity_space(q.kind), *q.identity}, fresh);
  fresh.fingerprint = q.fingerprint;
  if (q.idempotency_key) point({q.tenant, core::Space::key, *q.idempotency_key}, fresh);
  if (q.group) t_.groups.at(*q.group).joined += 1;
  if (row.timeout_at) put_timer({*row.timeout_at, core::TimerKind::timeout, row.id, 0});
  t_.payloads[q.id] = {q.id, q.encoding, q.args, q.policy};
  if (q.kind == Kind::workflow) start_run(row, q.memo, q.attributes, row.id);
  enters(t_.executions[q.id] = row);
  return EnqueueAnswer{q.id, Status::queued, true, {}, {}, false};
}

core::Answer Model::answer_existing(const TaskEnqueue& q, const Execution& e, bool through_key) {
  if (q.name != e.name || (q.match_args && q.fingerprint != e.fingerprint)) {
    note_enqueue(q, LedgerRule::fingerprint_mismatch, e.id);
    Error error = mismatch(e.id, e.fingerprint);
    error.details.push_back(text_detail("status", to_string(e.status)));
    return error;
  }
  if (q.group && q.group != e.group)
    return make_error(ErrorCode::InvalidArgument, "the id or key belongs to an execution outside this group");
  const std::optional<std::string> result = e.status == Status::succeeded ? e.result : std::nullopt;
  if (q.on_duplicate == OnDuplicate::reject) {
    note_enqueue(q, LedgerRule::rejected, e.id);
    Error error = make_error(rejection(q.kind, e.status), "the id or key is taken");
    error.details.push_back(text_detail("existing_execution_id", e.id.to_string()));
    error.details.push_back(text_detail("status", to_string(e.status)));
    if (e.completed_at) error.details.push_back(text_detail("completed_at", base::format_instant(*e.completed_at)));
    if (result) error.details.push_back({"result", *result});
    return error;
  }
  LedgerRule rule = is_terminal(e.status) ? LedgerRule::existing_completed : LedgerRule::existing_live;
  if (through_key) rule = LedgerRule::key_existing;
  note_enqueue(q, rule, e.id);
  return EnqueueAnswer{e.id, e.status, false, result, e.completed_at, false};
}

core::Answer Model::answer_tombstone(const TaskEnqueue& q, const Identity& key) {
  if (q.match_args && key.fingerprint != q.fingerprint) {
    note_enqueue(q, LedgerRule::fingerprint_mismatch, key.target);
    return mismatch(key.target, key.fingerprint);
  }
  note_enqueue(q, LedgerRule::result_expired, key.target);
  return EnqueueAnswer{key.target, Status::succeeded, false, {}, {}, true};
}

void Model::note_enqueue(const TaskEnqueue& q, LedgerRule rule, ExecutionId winner) {
  core::LedgerNote note{q.tenant, core::Space::key, q.idempotency_key.value_or(""), rule, now_, winner};
  if (q.identity && rule != LedgerRule::key_conflict && rule != LedgerRule::result_expired) {
    note.space = core::identity_space(q.kind);
    note.key = *q.identity;
  }
  effects_.notes.push_back(std::move(note));
}

}  // namespace semel::store::memory
