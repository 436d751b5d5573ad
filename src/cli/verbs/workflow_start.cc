// workflow start
#include "api/json/render.h"
#include "base/duration.h"
#include "cli/table.h"
#include "cli/verbs/enqueue_args.h"
#include "cli/verbs/read_args.h"
#include "cli/verbs/verbs.h"
#include "cli/verbs/workflow_args.h"

namespace semel::cli {
namespace {

std::string started_table(const engine::EnqueueOutcome& outcome) {
  Lines lines;
  lines.add(outcome.created ? "started" : "existing", outcome.execution_id.to_string());
  lines.add("workflow_id", outcome.task_id).add("status", std::string(to_string(outcome.status)));
  if (outcome.completed_at) lines.add("completed_at", base::format_instant(*outcome.completed_at));
  lines.add_if("result", outcome.result.value_or(""));
  if (outcome.result_expired) lines.add("result", "expired: the idempotency key outlived it");
  return lines.print();
}

Result<int> start(Session& session, const Args& args) {
  const auto id = args.has("id") ? args.get("id") : args.get("workflow-id");
  if (!id) return session.bad_usage("--id ID is required: a second start with the same id answers the first run");
  SEMEL_TRY(request, enqueue_request_of(session, args));
  request.kind = Kind::workflow;
  request.task_id = id;
  SEMEL_TRY(memo, json_flag(args, "memo"));
  SEMEL_TRY(attributes, attributes_of(args));
  request.memo = memo.value_or("");
  request.attributes = attributes;
  SEMEL_TRY(runtime, session.writer());
  if (auto applied = apply_queue_defaults(session, *runtime); !applied) return applied.error();
  SEMEL_TRY(outcome, session.ask<engine::EnqueueOutcome>(
                         [&](auto done) { runtime->engine().enqueue(std::move(request), std::move(done)); }));
  session.print(api::started_json(outcome), [&] { return started_table(outcome); });
  return kDone;
}

}  // namespace

void add_workflow_start_verbs(std::vector<Verb>& out) {
  out.push_back({"workflow start",
                 "start a workflow; a second start with the same id answers the first run",
                 {{"NAME", "name of the workflow: which code runs it"}},
                 {{"id", "ID", "its workflow_id, required"},
                  {"workflow-id", "ID", "the same as --id"},
                  {"args", "JSON", "its arguments, kept byte for byte; @FILE reads a file (null)"},
                  {"queue", "NAME", "queue (default)"},
                  {"memo", "JSON", "an object kept with the run, shown by get; or @FILE"},
                  {"attr", "KEY=VALUE", "an attribute to list by; may be given many times", true},
                  {"priority", "N", "0..32767, smaller first (100)"},
                  {"delay", "DURATION", "not before this much later, e.g. 5s"},
                  {"scheduled-at", "INSTANT", "not before, e.g. 2026-03-01T09:00:00Z"},
                  {"timeout", "DURATION", "from start to the end; then timed_out"},
                  {"max-attempts", "N", "runs until it fails: another one follows a failed one (1)"},
                  retry_flag(),
                  {"on-duplicate", "WORD", "return (default), reject, or replace the live run"},
                  {"reuse", "WORD", "failed_only (default), never, always"},
                  {"match-args", "BOOL", "false: other args are no mismatch"},
                  {"idempotency-key", "KEY", "a second identity that may outlive the run"},
                  {"idempotency-key-ttl-seconds", "N", "how long after the end (86400)"}},
                 "  semel workflow start checkout --id order-7 --args '{\"order\":7}'\n"
                 "  semel workflow start checkout --id order-8 --args @order.json --attr tier=gold --attr amount=12\n"
                 "  semel workflow start checkout --id order-7 --on-duplicate replace -o json\n",
                 start});
}

}  // namespace semel::cli
