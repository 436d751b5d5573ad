// Signals and updates: what is told from outside to a run that is there, or to one that is started for it. The order of
// the checks is that of docs/rules.md, "RunSignal".
#include "base/json.h"
#include "base/mutant.h"
#include "core/decide_parts.h"
#include "core/run.h"

namespace semel::core {
namespace {

std::optional<ExecutionId> addressed(const RunSignal& op, const RowCache& rows) {
  if (op.execution) return op.execution;
  const Identity* id = peek(rows.identities, IdentityKey{op.tenant, Space::workflow, op.identity});
  return id ? std::optional(id->target) : std::nullopt;
}

// The caller gave no dedupe id. Its mail's is the request's own: who brings it again is the same request.
bool is_unnamed(const RunSignal& op) { return !op.update && op.dedupe == op.mail.to_string(); }

SignalKey key_of(const RunSignal& op, const Run& run) {
  const ExecutionId chain = SEMEL_MUTANT("signals-of-one-run") ? run.execution : run.chain;
  return {chain, op.update ? std::string(kUpdateName) : op.name, op.dedupe};
}

bool went_on(const Execution& e) {
  return e.identity && (e.close_reason == CloseReason::continued || e.close_reason == CloseReason::retried);
}

// The run in which the chain of `e` goes on now. Its identity leads there, unless another chain has the id by now.
const Execution& newest_of(const Execution& e, const RowCache& rows) {
  const Identity* id = went_on(e) ? peek(rows.identities, identity_key_of(e)) : nullptr;
  const Execution* last = id ? peek(rows.executions, id->target) : nullptr;
  const Run* from = peek(rows.runs, e.id);
  const Run* to = last ? peek(rows.runs, last->id) : nullptr;
  return from && to && from->chain == to->chain ? *last : e;
}

Error finished(ExecutionId run, Status status) {
  Error error =
      make_error(ErrorCode::WorkflowAlreadyCompleted,
                 "run " + run.to_string() + " is already " + std::string(to_string(status)) + ": it takes no signals");
  error.details.push_back({"existing_execution_id", base::quote_json(run.to_string())});
  error.details.push_back({"status", base::quote_json(to_string(status))});
  return error;
}

Event event_of(const RunSignal& op) {
  Event event;
  event.kind = op.update ? EventKind::update_received : EventKind::signal_received;
  event.name = op.name;
  if (!is_unnamed(op)) event.id = op.dedupe;
  event.data = op.data;
  return event;
}

std::optional<Error> malformed(const RunSignal& op) {
  if (op.update && op.dedupe.empty())
    return make_error(ErrorCode::InvalidArgument, "update '" + op.name + "' has no id: it is known by it");
  if (!op.start) return std::nullopt;
  const TaskEnqueue& q = *op.start;
  if (op.execution || q.kind != Kind::workflow || q.tenant != op.tenant || q.identity != op.identity)
    return make_error(ErrorCode::InvalidArgument, "a signal can start the workflow that it names, and no other");
  return std::nullopt;
}

void gather_run(const RunSignal& op, ExecutionId run, const RowCache& rows, Needs& needs) {
  want(rows.runs, run, needs.runs);
  gather_mail(run, rows, needs);
  if (const Run* header = peek(rows.runs, run); header && !op.dedupe.empty())
    want(rows.signals, key_of(op, *header), needs.signals);
  const Execution* e = peek(rows.executions, run);
  if (!e || !went_on(*e) || !want(rows.identities, identity_key_of(*e), needs.identities)) return;
  const Identity* id = rows.identities.find(identity_key_of(*e));
  if (!id) return;
  want(rows.runs, id->target, needs.runs);
  gather_mail(id->target, rows, needs);
}

// The answer to whoever says again what was taken before: the same request, or another one.
Answer repeated(const RunSignal& op, const Signal& taken, ExecutionId run, bool started) {
  SignalAnswer answer{run, is_unnamed(op) || taken.mail == op.mail, started, {}};
  if (!taken.answer) return answer;
  auto event = decode_event(*taken.answer);
  if (!event) throw InvariantBroken("the answer to update '" + op.dedupe + "' cannot be read");
  answer.answer = *std::move(event);
  return answer;
}

Answer tell(const RunSignal& op, RowCache& rows, const Execution& addressed, bool started, Instant now) {
  const Execution& e = newest_of(addressed, rows);
  const Run* header = peek(rows.runs, e.id);
  if (!header) throw InvariantBroken("run " + e.id.to_string() + " has no header");
  const SignalKey key = key_of(op, *header);
  // Of a run that was just made nothing is loaded.
  const Signal* taken = op.dedupe.empty() ? nullptr : peek(rows.signals, key);
  if (taken && !SEMEL_MUTANT("signal-twice")) return repeated(op, *taken, e.id, started);
  if (is_terminal(e.status)) return finished(e.id, e.status);
  if (!op.dedupe.empty() && !taken) rows.signals.insert(key, Signal{key, op.mail, {}});
  const ExecutionId run = e.id;
  put_mail(rows, run, event_of(op), op.mail, now);
  return SignalAnswer{run, true, started};
}

Answer start_and_tell(const RunSignal& op, RowCache& rows, Instant now) {
  TaskEnqueue request = *op.start;
  request.on_duplicate = OnDuplicate::return_existing;
  Answer answer = decide_part(request, rows, now);
  const auto* run = std::get_if<EnqueueAnswer>(&answer);
  if (!run) return answer;
  const Execution* e = peek(rows.executions, run->execution);
  if (!e) return finished(run->execution, run->status);  // only its key is left
  return tell(op, rows, *e, run->created, now);
}

}  // namespace

void gather_part(const RunSignal& op, const RowCache& rows, Instant now, Needs& needs) {
  if (malformed(op)) return;
  if (op.start) gather_part(*op.start, rows, now, needs);
  else if (!op.execution) want(rows.identities, IdentityKey{op.tenant, Space::workflow, op.identity}, needs.identities);
  if (const auto run = addressed(op, rows)) gather_run(op, *run, rows, needs);
  if (op.start && peek(rows.executions, op.start->id)) gather_run(op, op.start->id, rows, needs);  // a repeat
}

Answer decide_part(const RunSignal& op, RowCache& rows, Instant now) {
  if (auto refused = malformed(op)) return *refused;
  if (op.start) return start_and_tell(op, rows, now);
  const auto id = addressed(op, rows);
  const Execution* e = id ? rows.executions.find(*id) : nullptr;
  if (!e || e->tenant != op.tenant || e->kind != Kind::workflow)
    return make_error(ErrorCode::ExecutionNotFound, op.execution
                                                        ? "run " + op.execution->to_string() + " does not exist"
                                                        : "workflow '" + op.identity + "' does not exist");
  return tell(op, rows, *e, false, now);
}

}  // namespace semel::core
