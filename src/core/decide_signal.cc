// Signals and updates: what is told to a run from outside. docs/rules.md, "RunSignal".
#include "base/json.h"
#include "core/decide_parts.h"
#include "core/run.h"

namespace semel::core {
namespace {

std::optional<ExecutionId> addressed(const RunSignal& op, const RowCache& rows) {
  if (op.execution) return op.execution;
  const Identity* id = peek(rows.identities, IdentityKey{op.tenant, Space::workflow, op.identity});
  return id ? std::optional(id->target) : std::nullopt;
}

// An update and a signal of one name know nothing of each other; no name has a control character in it.
SignalKey key_of(const RunSignal& op, ExecutionId run) {
  return {run, op.update ? "\x1f" + op.name : op.name, op.dedupe};
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
  event.id = op.dedupe;
  event.data = op.data;
  return event;
}

}  // namespace

void gather_part(const RunSignal& op, const RowCache& rows, Instant, Needs& needs) {
  if (!op.execution) want(rows.identities, IdentityKey{op.tenant, Space::workflow, op.identity}, needs.identities);
  const auto run = addressed(op, rows);
  if (!run) return;
  gather_mail(*run, rows, needs);
  if (!op.dedupe.empty()) want(rows.signals, key_of(op, *run), needs.signals);
}

Answer decide_part(const RunSignal& op, RowCache& rows, Instant now) {
  if (op.update && op.dedupe.empty())
    return make_error(ErrorCode::InvalidArgument, "update '" + op.name + "' has no id: it is known by it");
  const auto id = addressed(op, rows);
  const Execution* e = id ? rows.executions.find(*id) : nullptr;
  if (!e || e->tenant != op.tenant || e->kind != Kind::workflow)
    return make_error(ErrorCode::ExecutionNotFound, op.execution
                                                        ? "run " + op.execution->to_string() + " does not exist"
                                                        : "workflow '" + op.identity + "' does not exist");
  const SignalKey key = key_of(op, e->id);
  if (!op.dedupe.empty() && rows.signals.find(key)) return SignalAnswer{e->id, false};
  if (is_terminal(e->status)) return finished(e->id, e->status);
  if (!op.dedupe.empty()) rows.signals.insert(key, Signal{key});
  const ExecutionId run = e->id;
  put_mail(rows, run, event_of(op), op.mail, now);
  return SignalAnswer{run, true};
}

}  // namespace semel::core
