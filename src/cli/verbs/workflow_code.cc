// workflow update, query, replay, resume: what needs the workflow's code, here or in a worker
#include <fstream>
#include <sstream>

#include "api/json/render.h"
#include "base/json.h"
#include "base/json_writer.h"
#include "cli/verbs/read_args.h"
#include "cli/verbs/verbs.h"
#include "cli/verbs/workflow_args.h"
#include "cli/workflows.h"
#include "engine/history_json.h"

namespace semel::cli {
namespace {

std::string object(std::initializer_list<std::pair<const char*, std::string>> raw_fields) {
  std::string out;
  base::JsonWriter json(out);
  json.begin_object();
  for (const auto& [name, value] : raw_fields) json.raw_field(name, value);
  json.end_object();
  return out;
}

Result<int> update(Session& session, const Args& args) {
  SEMEL_TRY(runtime, session.writer(true));
  SEMEL_TRY(data, json_flag(args, "data"));
  SEMEL_TRY(timeout, duration_flag(args, "timeout"));
  engine::SignalRequest request;
  request.tenant = session.tenant();
  request.workflow_id = args.text("ID");
  request.name = args.text("NAME");
  request.data = data.value_or("null");
  request.dedupe_id =
      args.has("update-id") ? args.text("update-id") : runtime->engine().env().next_id<ExecutionId>().to_string();
  const std::string id = *request.dedupe_id;
  const Instant deadline = add_saturated(runtime->store().clock().now(), timeout.value_or(std::chrono::seconds(10)));
  SEMEL_TRY(outcome, session.ask<engine::UpdateOutcome>(
                         [&](auto done) { runtime->engine().update(std::move(request), deadline, std::move(done)); }));
  const char* word = outcome.rejected ? "error" : "result";
  session.print(object({{"run_id", base::quote_json(outcome.run.to_string())},
                        {"update_id", base::quote_json(id)},
                        {"rejected", outcome.rejected ? "true" : "false"},
                        {word, outcome.data}}),
                [&] { return (outcome.rejected ? "rejected: " : "") + outcome.data + "\n"; });
  return outcome.rejected ? kRefused : kDone;
}

Error unknown_code(const std::string& name) {
  return make_error(ErrorCode::Unsupported,
                    "workflow '" + name +
                        "' is not built into this program; ask from the program that has its code "
                        "(WorkflowHandle::query, semel::testing::replay)");
}

std::vector<core::Event> events_of(std::vector<engine::HistoryEvent> history) {
  std::vector<core::Event> out;
  for (auto& event : history) out.push_back(std::move(event.event));
  return out;
}

Result<std::unique_ptr<engine::RunCode>> replayed(const store::ExecutionView& run,
                                                  std::vector<engine::HistoryEvent> history) {
  const auto workflows = builtin_workflows();
  const auto* maker = workflows->find(run.execution.name);
  if (maker == nullptr) return unknown_code(run.execution.name);
  auto code = (*maker)(run);
  if (auto fits = code->replay(events_of(std::move(history))); !fits) return fits.error();
  code->run();
  return code;
}

Result<int> query(Session& session, const Args& args) {
  SEMEL_TRY(runtime, session.reader());
  SEMEL_TRY(data, json_flag(args, "data"));
  SEMEL_TRY(run, run_of(session, *runtime, args));
  SEMEL_TRY(events, runtime->engine().history(session.tenant(), run.execution.execution.id));
  SEMEL_TRY(code, replayed(run.execution, std::move(events)));
  SEMEL_TRY(answer, code->query(args.text("NAME"), data.value_or("null")));
  session.print(object({{"result", answer}}), [&] { return answer + "\n"; });
  return kDone;
}

// A file that `workflow history -o json` wrote, or a run of the store.
struct Recorded {
  store::ExecutionView run;
  std::vector<engine::HistoryEvent> events;
};

Result<Recorded> read_file(const std::string& path) {
  std::ifstream file(path);
  if (!file) return make_error(ErrorCode::InvalidArgument, "cannot read " + path);
  std::stringstream text;
  text << file.rdbuf();
  SEMEL_TRY(document, engine::history_from_json(text.str()));
  Recorded out;
  out.run.execution.id = document.run_id;
  out.run.execution.identity = document.workflow_id;
  out.run.execution.name = document.name;
  out.run.execution.created_at = document.started_at;
  out.run.queue = document.queue;
  out.run.payload.encoding = document.encoding;
  out.run.payload.args = document.args;
  out.events = std::move(document.events);
  return out;
}

Result<Recorded> read_recorded(Session& session, const Args& args) {
  if (const std::string id = args.text("ID"); id.starts_with("@")) return read_file(id.substr(1));
  SEMEL_TRY(runtime, session.reader());
  SEMEL_TRY(run, run_of(session, *runtime, args));
  SEMEL_TRY(events, runtime->engine().history(session.tenant(), run.execution.execution.id));
  return Recorded{std::move(run.execution), std::move(events)};
}

Result<int> replay(Session& session, const Args& args) {
  SEMEL_TRY(recorded, read_recorded(session, args));
  const std::size_t count = recorded.events.size();
  SEMEL_TRY(code, replayed(recorded.run, std::move(recorded.events)));
  (void)code;
  session.print(object({{"events", std::to_string(count)}, {"fits", "true"}}), [&] {
    return "the code of '" + recorded.run.execution.name + "' fits all " + std::to_string(count) + " events\n";
  });
  return kDone;
}

Result<int> resume(Session& session, const Args& args) {
  SEMEL_TRY(runtime, session.writer());
  SEMEL_TRY(run, run_of(session, *runtime, args));
  const ExecutionId id = run.execution.execution.id;
  SEMEL_TRY(answer, session.ask<core::ResumeAnswer>(
                        [&](auto done) { runtime->engine().resume(session.tenant(), id, std::move(done)); }));
  session.print(object({{"run_id", base::quote_json(id.to_string())},
                        {"status", base::quote_json(to_string(answer.status))},
                        {"resumed", answer.resumed ? "true" : "false"}}),
                [&] {
                  return id.to_string() +
                         (answer.resumed ? ": tried again now\n" : ": it is not parked; nothing changed\n");
                });
  return kDone;
}

}  // namespace

void add_workflow_code_verbs(std::vector<Verb>& out) {
  out.push_back({"workflow update",
                 "ask a run for a change and wait for its answer; a worker has to run its code",
                 {run_positional(), {"NAME", "name of the update"}},
                 {{"data", "JSON", "what it carries; @FILE reads a file (null)"},
                  {"update-id", "ID", "asked again with it, the change is answered, not made again"},
                  {"timeout", "DURATION", "how long to wait (10s)"}},
                 "  semel workflow update order-7 note --data '\"call first\"' --update-id mail-82\n",
                 update});
  out.push_back({"workflow query",
                 "ask the code of a run, rebuilt from its history here: built-in workflows only",
                 {run_positional(), {"NAME", "name of the query"}},
                 {{"data", "JSON", "its argument; @FILE reads a file (null)"}},
                 "  semel workflow query order-7 notes\n",
                 query});
  out.push_back({"workflow replay",
                 "does the present code fit a recorded history? Built-in workflows only",
                 {{"ID", "workflow_id, run_id, or @FILE from `workflow history -o json`"}},
                 {},
                 "  semel workflow replay order-7\n  semel workflow replay @history.json\n",
                 replay});
  out.push_back({"workflow resume",
                 "try a run again now that is parked because its code did not fit its history",
                 {run_positional()},
                 {},
                 "  semel workflow resume order-7\n",
                 resume});
}

}  // namespace semel::cli
