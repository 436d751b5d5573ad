// B5 workflow, B5x workflow --execute, and sleepers: many workflows that wait
#include <atomic>
#include <cmath>
#include <condition_variable>
#include <functional>
#include <mutex>

#include "cli/bench/bench.h"
#include "cli/bench/worker.h"
#include "cli/process.h"
#include "cli/verbs/read_args.h"
#include "sdk/workflow/code.h"
#include "semel/workflow.h"

namespace semel::cli::bench {
namespace {

constexpr int kSteps = 5;
constexpr Duration kPatience{600'000'000};

Workflow<int> local_steps(WorkflowContext& ctx) {
  int sum = 0;
  for (int i = 0; i < kSteps; ++i) {
    auto step = ctx.run("noop", [](int value) { return value; }, i);
    sum += co_await step;
  }
  co_return sum;
}

Workflow<int> task_steps(WorkflowContext& ctx) {
  for (int i = 0; i < kSteps; ++i) {
    auto step = ctx.execute<json::Raw>("noop", i);
    co_await step;
  }
  co_return kSteps;
}

// Of the sleepers: what the code saw when it woke.
struct Wakings {
  std::mutex mutex;
  Samples lag;
  std::int64_t early = 0;
} wakings;

Workflow<int> sleeper(WorkflowContext& ctx, std::int64_t due_micros) {
  const Instant due = from_micros(due_micros);
  auto nap = ctx.sleep_until(due);
  co_await nap;
  const std::lock_guard lock(wakings.mutex);
  wakings.lag.add((ctx.now() - due).count());
  if (ctx.now() < due) ++wakings.early;
  co_return 1;
}

template <class F>
void add_workflow(engine::WorkflowTable& table, std::string name, F function) {
  table.add(name, sdk::make_run_code(workflow(name, function).starter(), sdk::Sealer(nullptr), {}));
}

std::shared_ptr<const engine::WorkflowTable> bench_workflows() {
  auto table = std::make_shared<engine::WorkflowTable>();
  add_workflow(*table, "bench.run", local_steps);
  add_workflow(*table, "bench.execute", task_steps);
  add_workflow(*table, "bench.sleeper", sleeper);
  return table;
}

Result<std::unique_ptr<engine::WorkerPool>> start_bench_worker(engine::Runtime& runtime, const Options& options) {
  engine::WorkerOptions worker;
  worker.name = "bench";
  worker.queues = {options.queue()};
  worker.slots = options.slots;
  return runtime.start_worker(noop_handlers(std::make_shared<HandlerProbe>()), worker, bench_workflows());
}

// Callers that share one event loop: each starts a workflow and, when `follow`, waits for its result before the next.
class Starters {
 public:
  Starters(engine::Runtime& runtime, const Options& options, bool follow,
           std::function<engine::EnqueueRequest(std::int64_t)> request)
      : runtime_(runtime), options_(options), follow_(follow), request_(std::move(request)) {}

  std::optional<Error> run() {
    for (int i = 0; i < options_.callers; ++i) next();
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return ended_ == options_.count || error_; });
    return error_;
  }
  Samples samples;

 private:
  void next() {
    const std::int64_t i = begun_.fetch_add(1);
    if (i >= options_.count) return;
    const std::int64_t at = steady_now();
    runtime_.engine().enqueue(request_(i), [this, at](Result<engine::EnqueueOutcome> started) {
      if (!started) return fail(started.error());
      if (!follow_) return done(at);
      runtime_.engine().wait_result("default", started->execution_id, kEndOfTime,
                                    [this, at](Result<store::ExecutionView> ended) {
                                      if (!ended) return fail(ended.error());
                                      if (ended->execution.status != Status::succeeded)
                                        return fail(make_error(ErrorCode::Internal, "a workflow did not succeed"));
                                      done(at);
                                    });
    });
  }
  void done(std::int64_t began_at) {
    bool last = false;
    {
      const std::lock_guard lock(mutex_);
      samples.add(steady_now() - began_at);
      last = ++ended_ == options_.count;
    }
    if (last) changed_.notify_all();
    else next();
  }
  void fail(const Error& error) {
    {
      const std::lock_guard lock(mutex_);
      error_ = error;
    }
    changed_.notify_all();
  }

  engine::Runtime& runtime_;
  const Options& options_;
  const bool follow_;
  const std::function<engine::EnqueueRequest(std::int64_t)> request_;
  std::atomic<std::int64_t> begun_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::int64_t ended_ = 0;
  std::optional<Error> error_;
};

engine::EnqueueRequest start_request(const Session& session, const Options& options, std::int64_t i, std::string name) {
  engine::EnqueueRequest request;
  request.kind = Kind::workflow;
  request.tenant = session.tenant();
  request.queue = options.queue();
  request.name = std::move(name);
  request.task_id = options.run + "-" + std::to_string(i);
  return request;
}

void add_times(Report& report, std::int64_t count, std::int64_t took) {
  report.add("count", count).add("seconds", std::round(static_cast<double>(took) / 1e4) / 100);
  report.add("rate", rate_of(count, took));
}

}  // namespace

Ran run_workflow(Session& session, const Options& options, Report& report) {
  auto opened = open_for_bench(session, options, true);
  if (!opened) return opened.error();
  engine::Runtime& runtime = **opened;
  const std::string name = options.execute ? "bench.execute" : "bench.run";
  SEMEL_TRY(pool, start_bench_worker(runtime, options));
  const std::int64_t begin = steady_now();
  Starters starters(runtime, options, true, [&](std::int64_t i) { return start_request(session, options, i, name); });
  if (auto error = starters.run()) return *error;
  const std::int64_t took = steady_now() - begin;
  const engine::WriterStats stats = runtime.writer_stats();
  report.add("steps", options.execute ? "execute" : "run").add("callers", options.callers);
  add_times(report, options.count, took);
  report.add("steps_rate", rate_of(options.count * kSteps, took));
  report.add("p50_ms", starters.samples.percentile_ms(0.5)).add("p99_ms", starters.samples.percentile_ms(0.99));
  add_writer(report, stats);
  const double commits = std::max(1.0, static_cast<double>(stats.commits));
  report.add("steps_per_commit", std::round(static_cast<double>(options.count * kSteps) / commits * 10) / 10);
  report.add("replayed_events", pool->run_stats().replayed_events).add("resident_mib", mib(resident_bytes()));
  pool->stop();
  return kDone;
}

// Starts them, waits until all sleep, then until all are over.
Ran run_sleepers(Session& session, const Options& options, Report& report) {
  auto opened = open_for_bench(session, options, true);
  if (!opened) return opened.error();
  engine::Runtime& runtime = **opened;
  SEMEL_TRY(pool, start_bench_worker(runtime, options));
  const std::int64_t idle = resident_bytes();
  const std::int64_t start_time = options.count * 200;  // about 5,000 starts per second
  const Instant first = add_saturated(runtime.store().clock().now(), Duration{start_time + 5'000'000});
  const std::int64_t spread = options.spread.count();
  const std::int64_t begin = steady_now();
  Starters starters(runtime, options, false, [&](std::int64_t i) {
    engine::EnqueueRequest request = start_request(session, options, i, "bench.sleeper");
    request.args = std::to_string(to_micros(first) + spread * i / options.count);
    return request;
  });
  if (auto error = starters.run()) return *error;
  const std::int64_t started = steady_now() - begin;
  const auto total = static_cast<std::uint64_t>(options.count);
  wait_until([&] { return pool->run_stats().advances >= total; }, kPatience, Duration{50'000});
  const engine::KeeperStats asleep = pool->run_stats();
  const std::int64_t resident = resident_bytes();
  std::int64_t peak = resident;
  const bool all = wait_until(
      [&] {
        peak = std::max(peak, resident_bytes());
        progress("sleepers over " + std::to_string(pool->run_stats().closed));
        return pool->run_stats().closed >= total;
      },
      kPatience, Duration{20'000});
  const std::int64_t took = (runtime.store().clock().now() - first).count();
  add_times(report, options.count, took);
  report.add("spread_seconds", static_cast<double>(spread) / 1e6).add("start_rate", rate_of(options.count, started));
  const std::lock_guard lock(wakings.mutex);
  report.add("early", wakings.early).add("lost", options.count - static_cast<std::int64_t>(pool->run_stats().closed));
  report.add("lag_p50_ms", wakings.lag.percentile_ms(0.5)).add("lag_p99_ms", wakings.lag.percentile_ms(0.99));
  report.add("hot", asleep.hot).add("evicted", asleep.evicted);
  const std::int64_t hot = std::max<std::int64_t>(1, static_cast<std::int64_t>(asleep.hot));
  report.add("bytes_per_hot_run", (resident - idle) / hot).add("resident_mib", mib(resident));
  report.add("peak_resident_mib", mib(peak));
  add_writer(report, runtime.writer_stats());
  pool->stop();
  return all && wakings.early == 0 ? kDone : kRefused;
}

}  // namespace semel::cli::bench
