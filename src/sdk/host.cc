#include "sdk/host.h"

#include <algorithm>

#include "base/duration.h"
#include "core/validate.h"

namespace semel::sdk {

engine::WorkerStats Pool::stats() {
  const std::lock_guard lock(mutex);
  return driver != nullptr ? driver->stats() : last;
}

void Pool::stop(Duration grace) {
  const std::lock_guard lock(mutex);
  if (driver == nullptr) return;
  driver->stop(grace);
  last = driver->stats();
  driver.reset();
}

Error Host::closed() { return make_error(ErrorCode::ShuttingDown, "the engine was shut down"); }

Error Host::idle() {
  return make_error(ErrorCode::NotReady,
                    "it is not over and nothing can happen at this time: start a worker or advance the clock");
}

RawHandle Host::handle(const engine::EnqueueOutcome& outcome, std::string tenant) {
  RawHandle out;
  out.host_ = shared_from_this();
  out.execution_id_ = outcome.execution_id;
  out.task_id_ = outcome.task_id;
  out.tenant_ = std::move(tenant);
  out.created_ = outcome.created;
  out.result_expired_ = outcome.result_expired;
  return out;
}

RawHandle Host::handle(const store::ExecutionView& view) {
  engine::EnqueueOutcome outcome;
  outcome.execution_id = view.execution.id;
  outcome.task_id = view.execution.identity.value_or(view.execution.id.to_string());
  return handle(outcome, view.tenant);
}

Result<Execution> Host::wait(const RawHandle& handle, std::optional<Duration> timeout) {
  if (handle.result_expired_) {
    return make_error(ErrorCode::ExecutionNotFound,
                      "execution " + handle.execution_id_.to_string() +
                          " succeeded and its retention has passed; only its key is left");
  }
  auto view = ask<store::ExecutionView>([&](engine::Engine& engine, auto done) {
    const Instant deadline = timeout ? add_saturated(engine.env().store.clock().now(), *timeout) : kEndOfTime;
    engine.wait_result(handle.tenant_, handle.execution_id_, deadline, std::move(done));
  });
  if (!view) return std::move(view).error();
  if (!is_terminal(view->execution.status)) {
    return make_error(ErrorCode::NotReady, "task " + handle.task_id_ + " is still " +
                                               std::string(to_string(view->execution.status)) + " after " +
                                               base::format_duration(timeout.value_or(Duration{0})) + "; ask again");
  }
  return to_execution(*view, sealer());
}

namespace {

Result<engine::WorkerOptions> to_worker_options(const WorkerOptions& options, const std::string& tenant) {
  engine::WorkerOptions out;
  out.name = options.name().value_or("worker");
  out.tenants = options.tenants().value_or(std::vector<std::string>{tenant});
  out.queues = options.queues().value_or(std::vector<std::string>{});
  out.slots = options.concurrency().value_or(8);
  out.lease = options.lease().value_or(core::kDefaultLease);
  if (options.handlers().empty()) {
    return make_error(ErrorCode::InvalidArgument, "handlers: a worker without task functions; use WorkerOptions::add");
  }
  if (out.slots < 1 || out.slots > 10'000) {
    return make_error(ErrorCode::InvalidArgument,
                      "concurrency: " + std::to_string(out.slots) + " is not from 1 to 10000");
  }
  for (const auto& [name, handler] : options.handlers()) {
    if (auto valid = core::validate_name(name); !valid) return std::move(valid).error();
    if (!handler) return make_error(ErrorCode::InvalidArgument, "handler: task '" + name + "' has no function");
  }
  for (const auto& queue : out.queues) {
    if (auto valid = core::validate_queue(queue); !valid) return std::move(valid).error();
  }
  if (auto valid = core::validate_id("worker", out.name); !valid) return std::move(valid).error();
  if (auto valid = core::validate_lease(out.lease); !valid) return std::move(valid).error();
  return out;
}

void add(WorkerMetrics& sum, const engine::WorkerStats& stats) {
  sum.claimed += stats.claimed;
  sum.succeeded += stats.succeeded;
  sum.failed += stats.failed;
  sum.cancelled += stats.cancelled;
  sum.released += stats.released;
  sum.lease_lost += stats.lease_lost;
  sum.no_handler += stats.no_handler;
  sum.running += stats.running;
}

}  // namespace

Result<std::shared_ptr<Pool>> Host::start_worker(const WorkerOptions& options) {
  auto settings = to_worker_options(options, options_.tenant);
  if (!settings) return std::move(settings).error();
  const auto middleware = std::make_shared<const std::vector<Middleware>>(options.middleware());
  auto table = std::make_shared<engine::HandlerTable>();
  for (const auto& [name, handler] : options.handlers())
    table->add(name, make_handler(options_.env, handler, middleware));
  return with<std::shared_ptr<Pool>>([&](Driver& driver) -> Result<std::shared_ptr<Pool>> {
    for (const auto& tenant : settings->tenants) {
      if (auto known = driver.engine().tenant(tenant); !known) return std::move(known).error();
    }
    const std::lock_guard lock(pools_mutex_);
    if (closing_.load()) return closed();
    auto pool = std::make_shared<Pool>();
    pool->driver = driver.start_worker(std::move(table), *std::move(settings));
    pools_.push_back(pool);
    return pool;
  });
}

MetricsSnapshot Host::metrics() {
  MetricsSnapshot out;
  {
    const std::lock_guard lock(pools_mutex_);
    for (const auto& pool : pools_) add(out.workers, pool->stats());
  }
  const std::shared_lock lock(door_);
  if (driver_ == nullptr) return out;
  const auto writer = driver_->writer_stats();
  const auto clockwork = driver_->clockwork_stats();
  out.commits = writer.commits;
  out.operations = writer.operations;
  out.refused = writer.refused;
  out.queued = writer.queued;
  out.timers_fired = clockwork.timers_fired;
  out.leases_expired = clockwork.leases_expired;
  out.rows_cleaned = clockwork.rows_cleaned;
  return out;
}

void Host::count_inline(int change) {
  const std::lock_guard lock(inline_mutex_);
  inline_count_ += change;
  inline_changed_.notify_all();
}

void Host::wait_for_inline(Duration grace) {
  std::unique_lock lock(inline_mutex_);
  inline_changed_.wait_for(lock, grace, [this] { return inline_count_ == 0; });
}

void Host::shutdown(Duration grace) {
  std::call_once(shut_down_, [&] {
    closing_.store(true);
    std::vector<std::shared_ptr<Pool>> pools;
    {
      const std::lock_guard lock(pools_mutex_);
      pools = pools_;
    }
    for (const auto& pool : pools) pool->stop(grace);
    wait_for_inline(grace);
    driver_->stop();
    if (options_.drain_callbacks) options_.drain_callbacks();
    const std::unique_lock lock(door_);
    driver_.reset();
  });
}

}  // namespace semel::sdk

namespace semel {

WorkerMetrics Worker::metrics() const {
  WorkerMetrics out;
  sdk::add(out, pool_->stats());
  return out;
}

void Worker::stop(Duration grace) { pool_->stop(grace); }

}  // namespace semel
