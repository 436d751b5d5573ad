// Starting workflows, and what their handles do.
#include <algorithm>
#include <utility>

#include "base/json_writer.h"
#include "engine/history_json.h"
#include "sdk/host.h"
#include "sdk/workflow/code.h"
#include "semel/engine.h"

namespace semel {
namespace {

std::string object_of(const std::map<std::string, std::string>& members) {
  if (members.empty()) return {};
  std::string out;
  base::JsonWriter json(out);
  json.begin_object();
  for (const auto& [name, value] : members) json.raw_field(name, value);
  json.end_object();
  return out;
}

Result<engine::EnqueueRequest> to_start(std::string name, std::string workflow_id, Result<Payload> argument,
                                        const StartOptions& options, sdk::Host& host) {
  if (!argument) return std::move(argument).error();
  const sdk::Sealer& sealer = host.sealer();
  Payload args = sealer.seal(*std::move(argument));
  engine::EnqueueRequest out;
  out.kind = Kind::workflow;
  out.tenant = options.tenant().value_or(host.tenant());
  out.queue = options.queue().value_or("default");
  out.name = std::move(name);
  out.task_id = std::move(workflow_id);
  out.encoding = static_cast<core::Encoding>(args.encoding);
  out.args = std::move(args.bytes);
  out.priority = options.priority().value_or(100);
  out.delay = options.delay();
  out.scheduled_at = options.scheduled_at();
  out.timeout = options.timeout();
  out.max_attempts = options.max_attempts();
  if (options.retry()) out.retry = sdk::to_overrides(*options.retry());
  out.on_duplicate = options.on_duplicate().value_or(OnDuplicate::return_existing);
  out.reuse = options.reuse().value_or(Reuse::failed_only);
  out.match_args = options.match_args().value_or(true) && sealer.same_in_same_out();
  out.idempotency_key = options.idempotency_key();
  if (const auto ttl = options.idempotency_key_ttl())
    out.idempotency_key_ttl_seconds = std::chrono::floor<std::chrono::seconds>(*ttl).count();
  out.memo = object_of(options.memo());
  out.attributes = object_of(options.attributes());
  return out;
}

Result<engine::SignalRequest> to_signal(std::string name, Result<Payload> value, std::string dedupe_id,
                                        const sdk::Host& host) {
  if (!value) return std::move(value).error();
  Payload sealed = host.sealer().seal(*std::move(value));
  engine::SignalRequest out;
  out.name = std::move(name);
  out.encoding = static_cast<core::Encoding>(sealed.encoding);
  out.data = std::move(sealed.bytes);
  if (!dedupe_id.empty()) out.dedupe_id = std::move(dedupe_id);
  return out;
}

// Data of a history: sealed if a codec wrote it.
Payload opened(std::string data, const sdk::Sealer& sealer) {
  auto plain = sealer.open(Payload{Encoding::opaque, data});
  return Payload{Encoding::json, plain ? std::move(plain->bytes) : std::move(data)};
}

}  // namespace

Result<RawHandle> Engine::start_raw(std::string name, std::string workflow_id, Result<Payload> argument,
                                    const StartOptions& options) {
  auto request = to_start(std::move(name), std::move(workflow_id), std::move(argument), options, *host_);
  if (!request) return std::move(request).error();
  const std::string tenant = request->tenant;
  auto outcome = host_->ask<engine::EnqueueOutcome>(
      [&](engine::Engine& engine, auto done) { engine.enqueue(*std::move(request), std::move(done)); });
  if (!outcome) return std::move(outcome).error();
  return host_->handle(*outcome, tenant);
}

Result<RawHandle> Engine::signal_with_start_raw(std::string name, std::string workflow_id, Result<Payload> argument,
                                                std::string signal, Result<Payload> value, std::string dedupe_id,
                                                const StartOptions& options) {
  auto start = to_start(std::move(name), std::move(workflow_id), std::move(argument), options, *host_);
  if (!start) return std::move(start).error();
  auto request = to_signal(std::move(signal), std::move(value), std::move(dedupe_id), *host_);
  if (!request) return std::move(request).error();
  engine::EnqueueOutcome outcome;
  outcome.task_id = *start->task_id;
  const std::string tenant = start->tenant;
  auto answer = host_->ask<core::SignalAnswer>([&](engine::Engine& engine, auto done) {
    engine.signal_with_start(*std::move(request), *std::move(start), std::move(done));
  });
  if (!answer) return std::move(answer).error();
  outcome.execution_id = answer->run;
  outcome.created = answer->started;
  return host_->handle(outcome, tenant);
}

Result<RawHandle> Engine::find_workflow_raw(std::string_view name, std::string_view workflow_id) {
  return host_->with<RawHandle>([&](sdk::Driver& driver) -> Result<RawHandle> {
    auto view = driver.engine().get_task(host_->tenant(), workflow_id, Kind::workflow);
    if (!view) return std::move(view).error();
    if (view->execution.name != name)
      return make_error(ErrorCode::InvalidArgument, "workflow_id " + std::string(workflow_id) + " runs '" +
                                                        view->execution.name + "', not '" + std::string(name) + "'");
    return host_->handle(*view);
  });
}

Result<bool> Engine::resume(ExecutionId run) {
  auto answer = host_->ask<core::ResumeAnswer>(
      [&](engine::Engine& engine, auto done) { engine.resume(host_->tenant(), run, std::move(done)); });
  if (!answer) return std::move(answer).error();
  return answer->resumed;
}

Result<std::string> Engine::export_history(ExecutionId run) {
  return host_->with<std::string>([&](sdk::Driver& driver) -> Result<std::string> {
    auto view = driver.engine().get(host_->tenant(), run);
    if (!view) return std::move(view).error();
    auto events = driver.engine().history(host_->tenant(), run);
    if (!events) return std::move(events).error();
    return engine::history_json(engine::history_document(*view, *std::move(events)));
  });
}

// ---- handles -------------------------------------------------------------------------------------------------------

Result<bool> RawHandle::signal_raw(std::string name, Result<Payload> value, std::string dedupe_id) const {
  auto request = to_signal(std::move(name), std::move(value), std::move(dedupe_id), *host_);
  if (!request) return std::move(request).error();
  request->tenant = tenant_;
  request->workflow_id = task_id_;
  auto answer = host_->ask<core::SignalAnswer>(
      [&](engine::Engine& engine, auto done) { engine.signal(*std::move(request), std::move(done)); });
  if (!answer) return std::move(answer).error();
  return answer->created;
}

Result<Payload> RawHandle::update_raw(std::string name, Result<Payload> argument, const UpdateOptions& options) const {
  const auto& id = options.id();
  auto request = to_signal(std::move(name), std::move(argument), id ? *id : host_->fresh_id(), *host_);
  if (!request) return std::move(request).error();
  request->tenant = tenant_;
  request->workflow_id = task_id_;
  auto answer = host_->ask<engine::UpdateOutcome>([&](engine::Engine& engine, auto done) {
    const auto timeout = options.timeout();
    const Instant deadline = timeout ? add_saturated(engine.env().store.clock().now(), *timeout) : kEndOfTime;
    engine.update(*std::move(request), deadline, std::move(done));
  });
  if (!answer) return std::move(answer).error();
  if (!answer->rejected) return opened(std::move(answer->data), host_->sealer());
  const Failure why = sdk::to_failure(answer->data);
  return make_error(ErrorCode::TaskFailed, "the workflow rejected it: " + why.name + ": " + why.message);
}

Result<Payload> RawHandle::query_raw(std::string name, Result<Payload> argument) const {
  if (!argument) return std::move(argument).error();
  auto answer = host_->query(tenant_, task_id_, std::move(name), std::move(argument->bytes));
  if (!answer) return std::move(answer).error();
  return Payload{Encoding::json, *std::move(answer)};
}

Result<std::optional<Payload>> RawHandle::state_raw() const {
  using State = std::optional<Payload>;
  return host_->with<State>([&](sdk::Driver& driver) -> Result<State> {
    auto view = driver.engine().run_get(tenant_, task_id_);
    if (!view) return std::move(view).error();
    if (!view->run.state) return State();
    return State(opened(*std::move(view->run.state), host_->sealer()));
  });
}

Result<Status> RawHandle::terminate_raw() const {
  auto newest = host_->with<ExecutionId>([&](sdk::Driver& driver) -> Result<ExecutionId> {
    auto view = driver.engine().get_task(tenant_, task_id_, Kind::workflow);  // what continued it, if something did
    if (!view) return std::move(view).error();
    return view->execution.id;
  });
  if (!newest) return std::move(newest).error();
  auto answer = host_->ask<core::CancelAnswer>(
      [&](engine::Engine& engine, auto done) { engine.terminate(tenant_, *newest, std::move(done)); });
  if (!answer) return std::move(answer).error();
  return answer->status;
}

}  // namespace semel
