#include "sdk/host.h"

#include <unistd.h>

#include <algorithm>
#include <set>
#include <system_error>
#include <thread>

#include "base/clock.h"
#include "base/duration.h"
#include "core/validate.h"
#include "sdk/workflow/code.h"

namespace semel::sdk {
namespace {

constexpr Duration kForWrites = std::chrono::seconds(1);  // of the grace, at most, kept for what ended last
constexpr Duration kLongestGrace = std::chrono::hours(24 * 365);
constexpr Duration kLookAtDoor = std::chrono::milliseconds(5);

}  // namespace

OwnProcess::OwnProcess() : id_(getpid()) {}
bool OwnProcess::is_another() const { return getpid() != id_; }

namespace {

// What returns nothing can only say why it does not do it.
bool refused(const Result<void>& may_wait, const LogSink& log) {
  if (may_wait) return false;
  if (log) log(LogLevel::error, "nothing is stopped: " + may_wait.error().message, {});
  return true;
}

}  // namespace

WorkerMetrics Pool::metrics() {
  if (process.is_another()) return {};
  const std::lock_guard lock(mutex);
  const engine::WorkerStats stats = driver != nullptr ? driver->stats() : last;
  const engine::KeeperStats runs = driver != nullptr ? driver->run_stats() : last_runs;
  WorkerMetrics out;
  out.claimed = stats.claimed;
  out.succeeded = stats.succeeded;
  out.failed = stats.failed;
  out.cancelled = stats.cancelled;
  out.released = stats.released;
  out.lease_lost = stats.lease_lost;
  out.no_handler = stats.no_handler;
  out.running = stats.running;
  out.runs_closed = runs.closed;
  out.runs_parked = runs.parked;
  out.runs_evicted = runs.evicted;
  out.workflows_stuck = runs.stuck;
  out.runs_hot = runs.hot;
  return out;
}

void Pool::stop(Duration grace) {
  if (process.is_another()) return;
  const std::lock_guard lock(mutex);
  if (driver == nullptr || refused(driver->may_wait(), log)) return;
  driver->stop(grace);
  last = driver->stats();
  last_runs = driver->run_stats();
  driver.reset();
}

Error Host::closed() { return make_error(ErrorCode::ShuttingDown, "the engine was shut down"); }

Error Host::inherited() const {
  return make_error(ErrorCode::Unsupported, "the engine belongs to process " + std::to_string(process_.id()) +
                                                ", of which this one is a fork: open an engine here (that of a SQLite "
                                                "file which was open there: after exec)");
}

std::shared_ptr<Host> Host::make(std::unique_ptr<Driver> driver, HostOptions options) {
  return {new Host(std::move(driver), std::move(options)), [](Host* host) {
            if (!host->process_.is_another()) delete host;
          }};
}

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
  if (options.handlers().empty() && options.workflows().empty()) {
    return make_error(ErrorCode::InvalidArgument,
                      "handlers: a worker without task functions and workflows; use WorkerOptions::add");
  }
  if (out.slots < 1 || out.slots > 10'000) {
    return make_error(ErrorCode::InvalidArgument,
                      "concurrency: " + std::to_string(out.slots) + " is not from 1 to 10000");
  }
  if (out.tenants.empty()) {
    return make_error(ErrorCode::InvalidArgument,
                      "tenants: the list is empty; name at least one, or leave it out for the engine's own");
  }
  std::set<std::string_view> tasks, workflows;
  for (const auto& [name, handler] : options.handlers()) {
    if (auto valid = core::validate_name(name); !valid) return std::move(valid).error();
    if (!handler) return make_error(ErrorCode::InvalidArgument, "handler: task '" + name + "' has no function");
    if (!tasks.insert(name).second)
      return make_error(ErrorCode::InvalidArgument,
                        "task '" + name + "' was added twice; one of its functions would never run");
  }
  for (const auto& [name, starter] : options.workflows()) {
    if (auto valid = core::validate_name(name); !valid) return std::move(valid).error();
    if (!starter) return make_error(ErrorCode::InvalidArgument, "workflow '" + name + "' has no function");
    if (!workflows.insert(name).second)
      return make_error(ErrorCode::InvalidArgument,
                        "workflow '" + name + "' was added twice; one of them would never run");
  }
  if (options.max_hot_workflows().value_or(1) < 1)
    return make_error(ErrorCode::InvalidArgument, "max_hot_workflows must be at least 1");
  for (const auto& queue : out.queues) {
    if (auto valid = core::validate_queue(queue); !valid) return std::move(valid).error();
  }
  if (auto valid = core::validate_id("worker", out.name); !valid) return std::move(valid).error();
  if (auto valid = core::validate_lease(out.lease); !valid) return std::move(valid).error();
  return out;
}

void add(WorkerMetrics& sum, const WorkerMetrics& stats) {
  sum.claimed += stats.claimed;
  sum.succeeded += stats.succeeded;
  sum.failed += stats.failed;
  sum.cancelled += stats.cancelled;
  sum.released += stats.released;
  sum.lease_lost += stats.lease_lost;
  sum.no_handler += stats.no_handler;
  sum.running += stats.running;
  sum.runs_closed += stats.runs_closed;
  sum.runs_parked += stats.runs_parked;
  sum.runs_evicted += stats.runs_evicted;
  sum.workflows_stuck += stats.workflows_stuck;
  sum.runs_hot += stats.runs_hot;
}

}  // namespace

Result<std::shared_ptr<Pool>> Host::start_worker(const WorkerOptions& options) {
  auto settings = to_worker_options(options, options_.tenant);
  if (!settings) return std::move(settings).error();
  const auto middleware = std::make_shared<const std::vector<Middleware>>(options.middleware());
  auto table = std::make_shared<engine::HandlerTable>();
  for (const auto& [name, handler] : options.handlers())
    table->add(name, make_handler(options_.env, handler, middleware));
  auto workflows = std::make_shared<engine::WorkflowTable>();
  for (const auto& [name, starter] : options.workflows())
    workflows->add(name, make_run_code(starter, options_.env->sealer, options_.env->log));
  engine::KeeperOptions runs;
  if (options.max_hot_workflows()) runs.max_hot = static_cast<std::size_t>(*options.max_hot_workflows());
  return with<std::shared_ptr<Pool>>([&](Driver& driver) -> Result<std::shared_ptr<Pool>> {
    for (const auto& tenant : settings->tenants) {
      if (auto known = driver.engine().tenant(tenant); !known) return std::move(known).error();
    }
    const std::lock_guard lock(pools_mutex_);
    if (closing_.load()) return closed();
    auto started = driver.start_worker({std::move(table), std::move(workflows), *std::move(settings), runs});
    if (!started) return std::move(started).error();
    for (const auto& [name, starter] : options.workflows())
      workflows_.add(name, make_run_code(starter, options_.env->sealer, {}));
    auto pool = std::make_shared<Pool>();
    pool->driver = *std::move(started);
    pool->log = options_.env->log;
    pools_.push_back(pool);
    return pool;
  });
}

// ---- queries -------------------------------------------------------------------------------------------------------

std::string Host::fresh_id() {
  auto id = with<std::string>(
      [](Driver& driver) -> Result<std::string> { return driver.engine().env().next_id<ExecutionId>().to_string(); });
  return id ? *std::move(id) : std::string("closed");
}

bool Host::query_owner(ExecutionId run, const std::string& name, const std::string& args,
                       const engine::Callback<std::string>& done) {
  const std::lock_guard lock(pools_mutex_);
  for (const auto& pool : pools_) {
    const std::lock_guard pool_lock(pool->mutex);
    if (pool->driver != nullptr && pool->driver->query(run, name, args, done)) return true;
  }
  return false;
}

Result<std::string> Host::query_replayed(engine::Engine& engine, const store::ExecutionView& run,
                                         const std::string& name, const std::string& args) {
  std::unique_ptr<engine::RunCode> code;
  {
    const std::lock_guard lock(pools_mutex_);
    const auto* maker = workflows_.find(run.execution.name);
    if (maker == nullptr)
      return make_error(ErrorCode::Unsupported, "no worker of this engine knows workflow '" + run.execution.name +
                                                    "'; ask where it runs, or read its state");
    code = (*maker)(run);
  }
  auto events = engine.history(run.tenant, run.execution.id);
  if (!events) return std::move(events).error();
  std::vector<core::Event> history;
  for (auto& event : *events) history.push_back(std::move(event.event));
  if (auto replayed = code->replay(history); !replayed) return std::move(replayed).error();
  code->run();
  return code->query(name, args);
}

Result<std::string> Host::query(const std::string& tenant, const std::string& workflow_id, std::string name,
                                std::string args) {
  return ask<std::string>([&](engine::Engine& engine, engine::Callback<std::string> done) {
    auto run = engine.get_task(tenant, workflow_id, Kind::workflow);
    if (!run) return done(std::move(run).error());
    if (!query_owner(run->execution.id, name, args, done)) done(query_replayed(engine, *run, name, args));
  });
}

MetricsSnapshot Host::metrics() {
  MetricsSnapshot out;
  if (process_.is_another()) return out;
  {
    const std::lock_guard lock(pools_mutex_);
    for (const auto& pool : pools_) add(out.workers, pool->metrics());
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

// Beside each other: none goes on claiming while another one drains.
void Host::stop_pools(Duration grace) {
  std::vector<std::shared_ptr<Pool>> pools;
  {
    const std::lock_guard lock(pools_mutex_);
    pools = pools_;
  }
  std::vector<std::thread> others;
  for (std::size_t i = 1; i < pools.size(); ++i) {
    try {
      others.emplace_back([pool = pools[i], grace] { pool->stop(grace); });
    } catch (const std::system_error&) {  // no thread to be had
      pools[i]->stop(grace);
    }
  }
  if (!pools.empty()) pools.front()->stop(grace);
  for (auto& thread : others) thread.join();
}

// Waits for calls under way; those that still wait for the store after the deadline are ended.
std::unique_lock<std::shared_mutex> Host::close_door(std::int64_t deadline) {
  std::unique_lock door(door_, std::try_to_lock);
  while (!door.owns_lock()) {
    if (base::steady_micros() >= deadline) driver_->abandon();
    std::unique_lock lock(inline_mutex_);
    inline_changed_.wait_for(lock, kLookAtDoor);
    door.try_lock();
  }
  return door;
}

bool Host::refuses_to_stop() {
  const std::shared_lock lock(door_);
  return driver_ != nullptr && refused(driver_->may_wait(), options_.env->log);
}

void Host::shutdown(Duration grace) {
  if (process_.is_another() || refuses_to_stop()) return;
  std::call_once(shut_down_, [&] {
    closing_.store(true);
    grace = std::clamp(grace, Duration{0}, kLongestGrace);
    const std::int64_t deadline = base::steady_micros() + grace.count();
    const auto left = [deadline] { return std::max(Duration{0}, Duration{deadline - base::steady_micros()}); };
    const Duration for_writes = std::min(grace / 6, kForWrites);
    stop_pools(grace - for_writes);
    wait_for_inline(std::max(Duration{0}, left() - for_writes));
    driver_->stop(left());
    if (options_.drain_callbacks) options_.drain_callbacks();
    auto door = close_door(deadline);
    const auto driver = std::move(driver_);  // ends when the door is free again: its end takes locks of its own
    door.unlock();
  });
}

}  // namespace semel::sdk

namespace semel {

WorkerMetrics Worker::metrics() const { return pool_->metrics(); }

void Worker::stop(Duration grace) { pool_->stop(grace); }

}  // namespace semel
