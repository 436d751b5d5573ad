// What operators and callers do with runs: signals, terminate, reading a run and its history.
#include <algorithm>
#include <map>
#include <utility>

#include "base/json.h"
#include "base/json_value.h"
#include "core/run.h"
#include "core/validate.h"
#include "engine/history_pages.h"
#include "engine/in_history.h"
#include "engine/prepare.h"
#include "engine/send.h"

namespace semel::engine {
namespace {

constexpr std::int64_t kPageBytes = 8 << 20;
constexpr std::int32_t kRowsLookedAt = 1000;

using Members = std::map<std::string, std::string>;

Result<void> check(const SignalRequest& request) {
  if (!request.execution) {
    if (auto ok = core::validate_id("workflow_id", request.workflow_id); !ok) return ok;
  }
  if (auto ok = core::validate_id(request.update ? "update name" : "signal name", request.name); !ok) return ok;
  if (request.dedupe_id) {
    if (auto ok = core::validate_id("dedupe_id", *request.dedupe_id); !ok) return ok;
  }
  if (auto ok = core::validate_payload_size("data", request.data.size()); !ok) return ok;
  if (request.encoding != core::Encoding::json) return {};
  auto json = base::validate_json(request.data);
  return json ? json : make_error(json.error().code, "data: " + json.error().message);
}

Error no_run(ExecutionId id) {
  return make_error(ErrorCode::ExecutionNotFound,
                    "run " + id.to_string() + " does not exist (or its retention is over)");
}

Result<void> check_workflow(const store::ExecutionView& view) {
  if (view.execution.kind == Kind::workflow) return {};
  return make_error(ErrorCode::ExecutionNotFound,
                    "execution " + view.execution.id.to_string() + " is a task, not a run of a workflow");
}

// Name and canonical value of each member: equal texts mean equal values.
Result<Members> members_of(const std::string& object) {
  auto document = base::JsonDocument::parse(object, base::kMaxPayloadDepth);
  if (!document) return make_error(ErrorCode::InvalidArgument, "attributes: " + document.error().message);
  const base::JsonValue root = document->root();
  if (root.kind() != base::JsonKind::object)
    return make_error(ErrorCode::InvalidArgument, "attributes must be a JSON object");
  Members out;
  for (std::size_t i = 0; i < root.size(); ++i) {
    auto value = base::canonical_json(root.at(i).raw());
    if (!value) return value.error();
    out[root.name_at(i)] = *std::move(value);
  }
  return out;
}

}  // namespace

Result<core::RunSignal> prepare_signal(SignalRequest request, core::TenantId tenant, MailId mail) {
  if (request.data.empty() && request.encoding == core::Encoding::json) request.data = "null";
  if (auto ok = check(request); !ok) return ok.error();
  core::RunSignal operation;
  operation.tenant = tenant;
  operation.identity = std::move(request.workflow_id);
  operation.execution = request.execution;
  operation.name = std::move(request.name);
  // One of its own, so that the store can tell a signal that it took from one that never came, when the commit was lost
  // from sight. The code does not see it.
  operation.dedupe = std::move(request.dedupe_id).value_or(request.update ? "" : mail.to_string());
  operation.data = std::move(request.data);
  operation.mail = mail;
  operation.update = request.update;
  return operation;
}

void Engine::signal(SignalRequest request, Callback<core::SignalAnswer> done) {
  const InHistory in(directory_.history());
  auto tenant = directory_.tenant(request.tenant);
  if (!tenant) return done(tenant.error());
  auto operation = prepare_signal(std::move(request), *tenant, env_.next_id<MailId>());
  if (!operation) return done(std::move(operation).error());
  send(*std::move(operation), std::move(done));
}

// ---- updates --------------------------------------------------------------------------------------------------------

void Engine::update(SignalRequest request, Instant deadline, Callback<UpdateOutcome> done) {
  const InHistory in(directory_.history());
  auto tenant = directory_.tenant(request.tenant);
  if (!tenant) return done(tenant.error());
  request.update = true;
  const std::string id = request.dedupe_id.value_or("");
  signal(std::move(request), [this, tenant = *tenant, id, deadline, done](Result<core::SignalAnswer> sent) {
    if (!sent) return done(std::move(sent).error());
    if (const auto& answer = sent->answer)
      return done(UpdateOutcome{sent->run, answer->kind == core::EventKind::update_rejected, answer->data});
    await_update(tenant, sent->run, id, deadline, done);
  });
}

namespace {

// The answer to the update among the events after `*seen`; none yet: nullopt.
Result<std::optional<UpdateOutcome>> find_answer(store::Store& store, ExecutionId run, const std::string& id,
                                                 std::int32_t& seen) {
  std::optional<UpdateOutcome> found;
  auto read = read_history(store, run, seen, kPageBytes, [&](const Append& append) -> Result<void> {
    for (const auto& event : append.events) {
      const bool rejected = event.kind == core::EventKind::update_rejected;
      if (!found && event.id == id && (rejected || event.kind == core::EventKind::update_completed))
        found = UpdateOutcome{run, rejected, event.data};
    }
    return {};
  });
  if (!read) return std::move(read).error();
  seen = *read;
  return found;
}

}  // namespace

// A run that goes on in another one hands on what it did not answer.
void Engine::await_update(core::TenantId tenant, ExecutionId first, std::string update_id, Instant deadline,
                          Callback<UpdateOutcome> done) {
  struct Place {
    ExecutionId run;
    std::int32_t past = 0;
  };
  auto look = [this, tenant, update_id, deadline, done, place = std::make_shared<Place>(Place{first})](
                  Instant now, const SeenExecutions& seen) -> std::optional<ExecutionId> {
    while (true) {
      // Read before the history: what was answered before the end is found after it.
      auto view = seen.get(tenant, place->run);
      auto answer = find_answer(env_.store, place->run, update_id, place->past);
      if (!view || !answer) return done(!view ? view.error() : answer.error()), std::nullopt;
      if (*answer) return done(**std::move(answer)), std::nullopt;
      if (*view && !is_terminal((*view)->execution.status)) break;
      if (!*view || !(*view)->execution.next)
        return done(make_error(
                   ErrorCode::WorkflowAlreadyCompleted,
                   "run " + place->run.to_string() + " ended before it answered update '" + update_id + "'")),
               std::nullopt;
      *place = {*(*view)->execution.next};
    }
    if (now < deadline) return place->run;
    return done(make_error(ErrorCode::NotReady,
                           "update '" + update_id + "' is not answered yet; ask again with its id")),
           std::nullopt;
  };
  waiting_.wait_for_end(tenant, first, deadline, look, [done](const Error& why) { done(why); });
  look_wake();
}

void Engine::terminate(std::string_view tenant, ExecutionId execution, Callback<core::CancelAnswer> done) {
  const InHistory in(directory_.history());
  auto id = directory_.tenant(tenant);
  if (!id) return done(id.error());
  core::ExecutionCancel operation{*id, execution};
  operation.terminate = true;
  send(operation, std::move(done));
}

void Engine::resume(std::string_view tenant, ExecutionId execution, Callback<core::ResumeAnswer> done) {
  const InHistory in(directory_.history());
  auto id = directory_.tenant(tenant);
  if (!id) return done(id.error());
  send(core::RunResume{*id, execution}, std::move(done));
}

Result<RunView> Engine::run_get(std::string_view tenant, std::string_view workflow_id_or_execution_id) {
  auto view = get_task(tenant, workflow_id_or_execution_id, Kind::workflow);
  if (!view) return view.error();
  if (auto ok = check_workflow(*view); !ok) return ok.error();
  const ExecutionId id = view->execution.id;
  auto run = env_.store.run_get(id);
  if (!run) return run.error();
  if (!*run) return no_run(id);  // retention removed it between the two reads
  auto mail = env_.store.mail_list({&id, 1});
  if (!mail) return mail.error();
  return RunView{*std::move(view), **std::move(run), static_cast<std::int64_t>(mail->size())};
}

Result<RunPage> Engine::run_list(std::string_view tenant, store::ExecutionFilter filter,
                                 const std::string& attributes) {
  auto wanted = members_of(attributes);
  if (!wanted) return wanted.error();
  const auto most = static_cast<std::size_t>(std::max(filter.limit, 0));
  filter.kind = Kind::workflow;
  if (filter.limit >= 1 && filter.limit <= kRowsLookedAt) filter.limit = kRowsLookedAt;
  auto views = list(tenant, filter);
  if (!views) return views.error();
  RunPage out;
  std::size_t looked = 0;
  for (; looked < views->size() && out.runs.size() < most; ++looked) {
    auto& view = (*views)[looked];
    out.next = view.execution.id;
    auto run = env_.store.run_get(view.execution.id);
    if (!run) return run.error();
    auto has = *run && !(*run)->attributes.empty() ? members_of((*run)->attributes) : Result(Members{});
    if (!has) return has.error();
    if (std::includes(has->begin(), has->end(), wanted->begin(), wanted->end())) out.runs.push_back(std::move(view));
  }
  if (looked == views->size() && looked < kRowsLookedAt) out.next.reset();
  return out;
}

Result<std::vector<HistoryEvent>> Engine::history(std::string_view tenant, ExecutionId execution, std::int32_t after) {
  auto view = get(tenant, execution);
  if (!view) return view.error();
  if (auto ok = check_workflow(*view); !ok) return ok.error();
  after = std::clamp(after, 0, core::kMaxEvents);
  std::vector<HistoryEvent> out;
  // An append is one row: its events before `after` are left out.
  auto read = read_history(env_.store, execution, after, kPageBytes, [&](Append append) -> Result<void> {
    std::int32_t seq = append.row.first;
    for (auto& event : append.events) {
      if (seq > after) out.push_back({seq, append.row.at, std::move(event)});
      ++seq;
    }
    return {};
  });
  if (!read) return std::move(read).error();
  return out;
}

}  // namespace semel::engine
