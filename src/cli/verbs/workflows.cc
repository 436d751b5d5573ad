// workflow get, list, history
#include "api/json/render.h"
#include "base/duration.h"
#include "cli/table.h"
#include "cli/timeline.h"
#include "cli/verbs/listing.h"
#include "cli/verbs/read_args.h"
#include "cli/verbs/verbs.h"
#include "cli/verbs/workflow_args.h"
#include "engine/history_json.h"

namespace semel::cli {
namespace {

std::string text_of(const std::optional<Instant>& at) { return at ? base::format_instant(*at) : std::string(); }
std::string text_of(const std::optional<ExecutionId>& id) { return id ? id->to_string() : std::string(); }

std::string status_of(const core::Execution& e) {
  std::string out(to_string(e.status));
  if (const std::string_view why = api::reason_of(e); !why.empty()) out += " (" + std::string(why) + ")";
  return out;
}

void add_times(Lines& lines, const core::Execution& e) {
  lines.add("created_at", base::format_instant(e.created_at)).add_if("started_at", text_of(e.started_at));
  lines.add_if("completed_at", text_of(e.completed_at)).add_if("timeout_at", text_of(e.timeout_at));
  lines.add_if("cancel_requested_at", text_of(e.cancel_requested_at));
}

void add_relatives(Lines& lines, const core::Execution& e) {
  lines.add_if("parent_workflow_id", e.parent_workflow_id.value_or(""));
  lines.add_if("parent_run_id", text_of(e.parent_run)).add_if("previous", text_of(e.previous));
  lines.add_if("next", text_of(e.next));
}

std::string run_table(const engine::RunView& view) {
  const core::Execution& e = view.execution.execution;
  Lines lines;
  lines.add("workflow_id", e.identity.value_or("")).add("run_id", e.id.to_string()).add("name", e.name);
  lines.add("tenant", view.execution.tenant).add("queue", view.execution.queue).add("status", status_of(e));
  lines.add_if("state", view.run.state.value_or("")).add("args", view.execution.payload.args);
  lines.add_if("result", e.result.value_or("")).add_if("error", e.error.value_or(""));
  lines.add_if("memo", view.run.memo).add_if("attributes", view.run.attributes);
  lines.add("events", std::to_string(view.run.events) + ", " + std::to_string(view.run.bytes) + " bytes");
  lines.add("unread", std::to_string(view.unread_count)).add_if("worker", e.worker.value_or(""));
  lines.add_if("idempotency_key", e.idempotency_key.value_or(""));
  add_times(lines, e);
  add_relatives(lines, e);
  return lines.print();
}

Result<int> get(Session& session, const Args& args) {
  SEMEL_TRY(runtime, session.reader());
  SEMEL_TRY(run, run_of(session, *runtime, args));
  session.print(api::run_json(run), [&] { return run_table(run); });
  return kDone;
}

Result<ListPage> page_by_attributes(Session& session, engine::Runtime& runtime, const Args& args,
                                    store::ExecutionFilter filter) {
  SEMEL_TRY(attributes, attributes_of(args));
  if (auto read = read_page_flags(args, filter); !read) return read.error();
  SEMEL_TRY(found, runtime.engine().run_list(session.tenant(), filter, attributes));
  if (session.json()) fill_payloads(session, runtime, found.runs);
  return ListPage{std::move(found.runs), found.next};
}

Result<int> list(Session& session, const Args& args) {
  SEMEL_TRY(runtime, session.reader());
  SEMEL_TRY(filter, filter_of(session, *runtime, args));
  filter.kind = Kind::workflow;
  filter.identity = args.get("workflow-id");
  SEMEL_TRY(page, args.all("attr").empty() ? list_page(session, *runtime, args, filter)
                                           : page_by_attributes(session, *runtime, args, filter));
  session.print(api::executions_json(page.views, page.next), [&] {
    Table table{"WORKFLOW", "NAME", "QUEUE", "STATUS", "RUN", "CREATED"};
    for (const auto& view : page.views) {
      const auto& e = view.execution;
      table.add({e.identity.value_or("-"), e.name, view.queue, status_of(e), e.id.to_string(),
                 base::format_instant(e.created_at)});
    }
    return table.print() + page.more();
  });
  return kDone;
}

Result<int> history(Session& session, const Args& args) {
  SEMEL_TRY(runtime, session.reader());
  SEMEL_TRY(run, run_of(session, *runtime, args));
  SEMEL_TRY(events, runtime->engine().history(session.tenant(), run.execution.execution.id));
  if (session.json()) {
    session.print(engine::history_json(engine::history_document(run.execution, std::move(events))), {});
  } else {
    session.print({}, [&] { return timeline(run, events, style_of_output(args.has("full"))); });
  }
  return kDone;
}

}  // namespace

void add_workflow_verbs(std::vector<Verb>& out) {
  out.push_back({"workflow get",
                 "show one run: its status, state, memo, attributes, unread mail, relatives",
                 {run_positional()},
                 {},
                 "  semel workflow get order-7\n  semel workflow get 018f3c1e-0000-7000-8000-000000000000 -o json\n",
                 get});
  std::vector<Flag> flags = filter_flags();
  flags.push_back({"workflow-id", "ID", "only runs of this id"});
  flags.push_back({"attr", "KEY=VALUE", "only runs with this attribute; may be given many times", true});
  for (auto& flag : page_flags()) flags.push_back(flag);
  out.push_back({"workflow list",
                 "list runs, newest first",
                 {},
                 flags,
                 "  semel workflow list --name checkout --status suspended,running\n"
                 "  semel workflow list --attr tier=gold --attr amount=12\n",
                 list});
  out.push_back({"workflow history",
                 "what a run did and learned, event by event; with -o json to replay it elsewhere",
                 {run_positional()},
                 {{"full", "", "below each event everything it holds, uncut"}},
                 "  semel workflow history order-7\n"
                 "  semel workflow history order-7 -o json > order-7.json\n",
                 history});
}

}  // namespace semel::cli
