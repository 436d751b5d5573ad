// task enqueue, enqueue-batch, get, list
#include <iostream>

#include "api/json/render.h"
#include "base/duration.h"
#include "base/json_value.h"
#include "cli/table.h"
#include "cli/verbs/enqueue_args.h"
#include "cli/verbs/listing.h"
#include "cli/verbs/read_args.h"
#include "cli/verbs/verbs.h"
#include "engine/request_json.h"

namespace semel::cli {
namespace {

std::string text_of(const std::optional<Instant>& at) { return at ? base::format_instant(*at) : std::string(); }

std::string outcome_table(const engine::EnqueueOutcome& outcome) {
  Lines lines;
  lines.add(outcome.created ? "created" : "existing", outcome.execution_id.to_string());
  lines.add("task_id", outcome.task_id).add("status", std::string(to_string(outcome.status)));
  lines.add_if("completed_at", text_of(outcome.completed_at)).add_if("result", outcome.result.value_or(""));
  if (outcome.result_expired) lines.add("result", "expired: the idempotency key outlived it");
  return lines.print();
}

Result<int> enqueue(Session& session, const Args& args) {
  SEMEL_TRY(request, enqueue_request_of(session, args));
  SEMEL_TRY(runtime, session.writer());
  if (auto applied = apply_queue_defaults(session, *runtime); !applied) return applied.error();
  SEMEL_TRY(outcome, session.ask<engine::EnqueueOutcome>(
                         [&](auto done) { runtime->engine().enqueue(std::move(request), std::move(done)); }));
  session.print(api::enqueue_json(outcome), [&] { return outcome_table(outcome); });
  return kDone;
}

// {"tasks":[...]}, or one object per line.
Result<std::vector<engine::EnqueueRequest>> requests_of(Session& session, const std::string& text) {
  std::vector<engine::EnqueueRequest> out;
  const auto add = [&](std::string json, const std::string& where) -> Result<void> {
    auto request = engine::enqueue_request_from_json(std::move(json));
    if (!request) return make_error(request.error().code, where + ": " + request.error().message);
    request->tenant = session.tenant();
    out.push_back(*std::move(request));
    return {};
  };
  if (auto document = base::JsonDocument::parse(text, base::kMaxPayloadDepth); document) {
    const auto tasks = document->root().find("tasks");
    if (tasks && tasks->kind() == base::JsonKind::array) {
      for (std::size_t i = 0; i < tasks->size(); ++i) {
        if (auto added = add(std::string(tasks->at(i).raw()), "tasks[" + std::to_string(i) + "]"); !added)
          return added.error();
      }
      return out;
    }
  }
  std::size_t begin = 0;
  for (int line = 1; begin < text.size(); ++line) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    if (text.find_first_not_of(" \t\r", begin) < end) {
      if (auto added = add(text.substr(begin, end - begin), "line " + std::to_string(line)); !added)
        return added.error();
    }
    begin = end + 1;
  }
  return out;
}

Result<int> enqueue_batch(Session& session, const Args& args) {
  SEMEL_TRY(text, read_input(args.text("FILE")));
  SEMEL_TRY(requests, requests_of(session, text));
  SEMEL_TRY(runtime, session.writer());
  if (auto applied = apply_queue_defaults(session, *runtime); !applied) return applied.error();
  using Outcomes = std::vector<Result<engine::EnqueueOutcome>>;
  SEMEL_TRY(outcomes, session.ask<Outcomes>(
                          [&](auto done) { runtime->engine().enqueue_batch(std::move(requests), std::move(done)); }));
  int refused = 0;
  for (const auto& outcome : outcomes) refused += outcome.ok() ? 0 : 1;
  session.print(api::enqueue_batch_json(outcomes), [&] {
    Table table{"TASK", "OUTCOME", "STATUS", "EXECUTION"};
    for (const auto& outcome : outcomes) {
      if (outcome) {
        table.add({outcome->task_id, outcome->created ? "created" : "existing", std::string(to_string(outcome->status)),
                   outcome->execution_id.to_string()});
      } else {
        table.add({"", std::string(error_info(outcome.error().code).name), "", outcome.error().message});
      }
    }
    return table.print();
  });
  return refused == 0 ? kDone : kRefused;
}

std::string view_table(const store::ExecutionView& view) {
  const core::Execution& e = view.execution;
  Lines lines;
  lines.add("execution_id", e.id.to_string()).add("task_id", api::task_id_of(e)).add("name", e.name);
  lines.add("tenant", view.tenant).add("queue", view.queue).add("status", std::string(to_string(e.status)));
  lines.add("attempt", std::to_string(e.attempt) + " of " + std::to_string(e.max_attempts));
  lines.add("version", std::to_string(e.version)).add("priority", std::to_string(e.priority));
  lines.add("args", view.payload.args).add_if("result", e.result.value_or("")).add_if("error", e.error.value_or(""));
  lines.add_if("progress", e.progress.value_or("")).add_if("worker", e.worker.value_or(""));
  lines.add_if("lease_expires_at", text_of(e.lease_expires_at)).add("created_at", base::format_instant(e.created_at));
  lines.add("scheduled_at", base::format_instant(e.scheduled_at)).add_if("started_at", text_of(e.started_at));
  lines.add_if("completed_at", text_of(e.completed_at)).add_if("timeout_at", text_of(e.timeout_at));
  lines.add_if("cancel_requested_at", text_of(e.cancel_requested_at));
  lines.add_if("concurrency_key", e.concurrency_key.value_or(""))
      .add_if("idempotency_key", e.idempotency_key.value_or(""));
  if (e.previous) lines.add("previous", e.previous->to_string());
  if (e.next) lines.add("next", e.next->to_string());
  return lines.print();
}

Result<int> get(Session& session, const Args& args) {
  if (!is_addressed(args)) return session.bad_usage("give an EXECUTION_ID or --task-id ID");
  SEMEL_TRY(runtime, session.reader());
  SEMEL_TRY(view, addressed(session, *runtime, args));
  session.print(api::execution_json(view), [&] { return view_table(view); });
  return kDone;
}

Result<int> list(Session& session, const Args& args) {
  SEMEL_TRY(runtime, session.reader());
  SEMEL_TRY(filter, filter_of(session, *runtime, args));
  SEMEL_TRY(page, list_page(session, *runtime, args, filter));
  session.print(api::executions_json(page.views, page.next), [&] {
    Table table{"EXECUTION", "TASK", "NAME", "QUEUE", "STATUS", "ATTEMPT", "CREATED"};
    for (const auto& view : page.views) {
      const auto& e = view.execution;
      table.add({e.id.to_string(), e.identity.value_or("-"), e.name, view.queue, std::string(to_string(e.status)),
                 std::to_string(e.attempt) + "/" + std::to_string(e.max_attempts), base::format_instant(e.created_at)});
    }
    return table.print() + page.more();
  });
  return kDone;
}

}  // namespace

void add_task_verbs(std::vector<Verb>& out) {
  out.push_back({"task enqueue",
                 "put a task in a queue; with a task_id at most once",
                 {{"NAME", "name of the task: which handler runs it"}},
                 {{"args", "JSON", "its arguments, kept byte for byte; @FILE reads a file (null)"},
                  {"task-id", "ID", "identity: a second enqueue answers the first execution"},
                  {"queue", "NAME", "queue (default)"},
                  {"priority", "N", "0..32767, smaller first (100)"},
                  {"delay", "DURATION", "not before this much later, e.g. 5s"},
                  {"scheduled-at", "INSTANT", "not before, e.g. 2026-03-01T09:00:00Z"},
                  {"timeout", "DURATION", "from enqueue to the end; then timed_out"},
                  {"attempt-timeout", "DURATION", "per attempt; then it is retried"},
                  {"max-attempts", "N", "attempts until it fails (queue's, else 3)"},
                  retry_flag(),
                  {"concurrency-key", "KEY", "shares the queue's concurrency_per_key"},
                  {"on-duplicate", "WORD", "return (default) or reject"},
                  {"reuse", "WORD", "failed_only (default), never, always"},
                  {"match-args", "BOOL", "false: other args are no mismatch"},
                  {"idempotency-key", "KEY", "a second identity that may outlive the execution"},
                  {"idempotency-key-ttl-seconds", "N", "how long after the end (86400)"},
                  {"unique-period", "DURATION", "task_id derived from name, args and this period"}},
                 "  semel task enqueue charge --args '{\"order\":1}' --task-id pay-1 --queue payments\n"
                 "  semel task enqueue report --delay 5m --max-attempts 5 --timeout 1h\n"
                 "  semel task enqueue charge --task-id pay-1 --on-duplicate reject -o json\n",
                 enqueue});
  out.push_back(
      {"task enqueue-batch",
       "enqueue up to 1,000 tasks; outcomes in order",
       {{"FILE", "{\"tasks\":[...]} or one JSON object per line; - reads standard input"}},
       {},
       "  echo '{\"name\":\"mail\",\"args\":{\"to\":7},\"task_id\":\"mail-7\"}' | semel task enqueue-batch -\n",
       enqueue_batch});
  out.push_back({"task get",
                 "show one execution",
                 {{"EXECUTION_ID", "the execution", false}},
                 {{"task-id", "ID", "the newest execution of this id"}},
                 "  semel task get --task-id pay-1\n  semel task get 018f3c1e-0000-7000-8000-000000000000 -o json\n",
                 get});
  std::vector<Flag> flags = filter_flags();
  flags.push_back({"task-id", "ID", "only executions of this id"});
  flags.push_back({"kind", "WORD", "task or workflow"});
  for (auto& flag : page_flags()) flags.push_back(flag);
  out.push_back({"task list",
                 "list executions, newest first",
                 {},
                 flags,
                 "  semel task list --queue payments --status failed,dead_lettered\n",
                 list});
}

}  // namespace semel::cli
