// workflow signal, cancel, terminate
#include "api/json/render.h"
#include "cli/verbs/read_args.h"
#include "cli/verbs/verbs.h"
#include "cli/verbs/workflow_args.h"

namespace semel::cli {
namespace {

// The newest run of a workflow_id is chosen in the transaction that takes the signal; only what looks like a run_id is
// looked up before.
Result<engine::SignalRequest> signal_request_of(Session& session, engine::Runtime& runtime, const Args& args) {
  engine::SignalRequest request;
  request.tenant = session.tenant();
  request.workflow_id = args.text("ID");
  if (ExecutionId::parse(request.workflow_id)) {
    SEMEL_TRY(run, run_of(session, runtime, args));
    const core::Execution& e = run.execution.execution;
    if (e.identity != request.workflow_id) request.execution = e.id;
  }
  request.name = args.text("NAME");
  request.dedupe_id = args.get("dedupe-id");
  SEMEL_TRY(data, json_flag(args, "data"));
  request.data = data.value_or("null");
  if (request.data.empty()) return make_error(ErrorCode::InvalidArgument, "data: an empty text is not JSON");
  return request;
}

Result<int> signal(Session& session, const Args& args) {
  SEMEL_TRY(runtime, session.writer());
  SEMEL_TRY(request, signal_request_of(session, *runtime, args));
  SEMEL_TRY(answer,
            session.ask<core::SignalAnswer>([&](auto done) { runtime->engine().signal(request, std::move(done)); }));
  session.print(api::signal_json(request, answer), [&] {
    return answer.run.to_string() +
           (answer.created ? ": signalled\n" : ": this signal was taken before; nothing changed\n");
  });
  return kDone;
}

Result<int> cancel(Session& session, const Args& args) {
  SEMEL_TRY(runtime, session.writer());
  SEMEL_TRY(run, run_of(session, *runtime, args));
  const ExecutionId id = run.execution.execution.id;
  SEMEL_TRY(answer, session.ask<core::CancelAnswer>(
                        [&](auto done) { runtime->engine().cancel(session.tenant(), id, std::move(done)); }));
  session.print(api::cancel_json(id, answer), [&] {
    return id.to_string() + (answer.requested ? ": asked to stop; its code may clean up first\n"
                                              : ": " + std::string(to_string(answer.status)) + "\n");
  });
  return kDone;
}

Result<int> terminate(Session& session, const Args& args) {
  SEMEL_TRY(runtime, session.writer());
  SEMEL_TRY(run, run_of(session, *runtime, args));
  const ExecutionId id = run.execution.execution.id;
  const bool over = is_terminal(run.execution.execution.status);
  SEMEL_TRY(answer, session.ask<core::CancelAnswer>(
                        [&](auto done) { runtime->engine().terminate(session.tenant(), id, std::move(done)); }));
  session.print(api::cancel_json(id, answer), [&] {
    const std::string status(to_string(answer.status));
    return id.to_string() + (over ? ": was " + status + " before; nothing changed\n" : ": terminated\n");
  });
  return kDone;
}

}  // namespace

void add_workflow_control_verbs(std::vector<Verb>& out) {
  out.push_back({"workflow signal",
                 "hand a signal to a run; it is durable before this returns",
                 {run_positional(), {"NAME", "name of the signal"}},
                 {{"data", "JSON", "what it carries; @FILE reads a file (null)"},
                  {"dedupe-id", "ID", "a second signal of this name and id is answered, not delivered"}},
                 "  semel workflow signal order-7 approve --data '{\"by\":\"kim\"}' --dedupe-id mail-81\n",
                 signal});
  out.push_back({"workflow cancel",
                 "end what has not started, ask what runs to stop: its code cleans up first",
                 {run_positional()},
                 {},
                 "  semel workflow cancel order-7\n",
                 cancel});
  out.push_back({"workflow terminate",
                 "end a run now, without its clean-up code",
                 {run_positional()},
                 {},
                 "  semel workflow terminate order-7\n",
                 terminate});
}

}  // namespace semel::cli
