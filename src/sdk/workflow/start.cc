// Starting workflows, and what their handles do.
#include <algorithm>
#include <utility>

#include "base/json_writer.h"
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
  return out;
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

}  // namespace semel
