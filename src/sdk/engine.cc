#include "semel/engine.h"

#include <utility>

#include "engine/explain.h"
#include "sdk/host.h"

namespace semel {

std::string_view to_string(DeliveryOutcome outcome) {
  return engine::to_string(static_cast<core::DeliveryOutcome>(outcome));
}

Engine& Engine::operator=(Engine&& other) noexcept {
  if (this != &other) {
    if (host_ != nullptr) shutdown();
    host_ = std::move(other.host_);
  }
  return *this;
}

Engine::~Engine() {
  if (host_ != nullptr) shutdown();
}

void Engine::shutdown(Duration grace) { host_->shutdown(grace); }
MetricsSnapshot Engine::metrics() const { return host_->metrics(); }

Result<Worker> Engine::start_worker(const WorkerOptions& options) {
  auto pool = host_->start_worker(options);
  if (!pool) return std::move(pool).error();
  return Worker(*std::move(pool));
}

// ---- look up -------------------------------------------------------------------------------------------------------

Result<RawHandle> Engine::find_raw(std::string_view name, std::string_view task_id) {
  return host_->with<RawHandle>([&](sdk::Driver& driver) -> Result<RawHandle> {
    auto view = driver.engine().get_task(host_->tenant(), task_id);
    if (!view) return std::move(view).error();
    if (view->execution.name != name) {
      return make_error(ErrorCode::InvalidArgument, "task_id " + std::string(task_id) + " runs '" +
                                                        view->execution.name + "', not '" + std::string(name) + "'");
    }
    return host_->handle(*view);
  });
}

Result<Execution> Engine::get(ExecutionId id) {
  return host_->with<Execution>([&](sdk::Driver& driver) -> Result<Execution> {
    auto view = driver.engine().get(host_->tenant(), id);
    if (!view) return std::move(view).error();
    return sdk::to_execution(*view, host_->sealer());
  });
}

Result<Execution> Engine::get_task(std::string_view task_id) {
  return host_->with<Execution>([&](sdk::Driver& driver) -> Result<Execution> {
    auto view = driver.engine().get_task(host_->tenant(), task_id);
    if (!view) return std::move(view).error();
    return sdk::to_execution(*view, host_->sealer());
  });
}

Result<std::vector<Execution>> Engine::list(const ExecutionQuery& query) {
  using List = std::vector<Execution>;
  return host_->with<List>([&](sdk::Driver& driver) -> Result<List> {
    store::ExecutionFilter filter;
    filter.statuses = query.statuses;
    filter.queue = query.queue;
    filter.name = query.name;
    filter.identity = query.task_id;
    filter.before = query.before;
    filter.limit = query.limit;
    auto views = driver.engine().list(host_->tenant(), std::move(filter));
    if (!views) return std::move(views).error();
    List out;
    for (const auto& view : *views) {
      auto execution = sdk::to_execution(view, host_->sealer());
      if (!execution) return std::move(execution).error();
      out.push_back(*std::move(execution));
    }
    return out;
  });
}

Result<Explanation> Engine::explain(std::string_view id, std::optional<Kind> kind) {
  return host_->with<Explanation>([&](sdk::Driver& driver) -> Result<Explanation> {
    auto facts = driver.engine().explain(host_->tenant(), id, kind);
    if (!facts) return std::move(facts).error();
    Explanation out;
    if (facts->execution) {
      auto execution = sdk::to_execution(*facts->execution, host_->sealer());
      if (!execution) return std::move(execution).error();
      out.execution = *std::move(execution);
    }
    out.summary = std::move(facts->summary);
    out.waits_for = std::string(engine::to_string(facts->reason));
    for (const auto& of : facts->duplicates) {
      for (const auto& [rule, count] : of.counts) out.duplicates.emplace_back(engine::to_string(rule), count);
    }
    return out;
  });
}

// ---- operators -----------------------------------------------------------------------------------------------------

Result<Status> Engine::cancel(ExecutionId id) {
  auto answer = host_->ask<core::CancelAnswer>(
      [&](engine::Engine& engine, auto done) { engine.cancel(host_->tenant(), id, std::move(done)); });
  if (!answer) return std::move(answer).error();
  return answer->status;
}

Result<RawHandle> Engine::redrive(ExecutionId id) {
  auto answer = host_->ask<core::RedriveAnswer>(
      [&](engine::Engine& engine, auto done) { engine.redrive(host_->tenant(), id, std::move(done)); });
  if (!answer) return std::move(answer).error();
  return host_->with<RawHandle>([&](sdk::Driver& driver) -> Result<RawHandle> {
    auto view = driver.engine().get(host_->tenant(), answer->successor);
    if (!view) return std::move(view).error();
    engine::EnqueueOutcome outcome;
    outcome.execution_id = answer->successor;
    outcome.task_id = view->execution.identity.value_or(answer->successor.to_string());
    outcome.created = answer->created;
    return host_->handle(outcome, host_->tenant());
  });
}

Result<void> Engine::discard(ExecutionId id) {
  auto answer = host_->ask<core::DiscardAnswer>(
      [&](engine::Engine& engine, auto done) { engine.discard(host_->tenant(), id, std::move(done)); });
  if (!answer) return std::move(answer).error();
  return {};
}

Result<void> Engine::set_queue(std::string_view queue, const QueueOptions& options) {
  auto answer = host_->ask<core::Lane>([&](engine::Engine& engine, auto done) {
    engine.queue_set(host_->tenant(), std::string(queue), sdk::to_config(options), std::move(done));
  });
  if (!answer) return std::move(answer).error();
  return {};
}

namespace {

Result<void> pause(sdk::Host& host, std::string_view queue, bool paused) {
  auto answer = host.ask<core::Lane>([&](engine::Engine& engine, auto done) {
    engine.queue_pause(host.tenant(), std::string(queue), paused, std::move(done));
  });
  if (!answer) return std::move(answer).error();
  return {};
}

}  // namespace

Result<void> Engine::pause_queue(std::string_view queue) { return pause(*host_, queue, true); }
Result<void> Engine::resume_queue(std::string_view queue) { return pause(*host_, queue, false); }

Result<void> Engine::create_tenant(std::string_view tenant) {
  auto answer = host_->ask<core::TenantAnswer>(
      [&](engine::Engine& engine, auto done) { engine.tenant_create(std::string(tenant), std::move(done)); });
  if (!answer) return std::move(answer).error();
  return {};
}

}  // namespace semel
