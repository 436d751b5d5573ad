// B3 latency and B4 duplicates: with a live worker, on PostgreSQL in another process
#include <signal.h>

#include <condition_variable>
#include <deque>
#include <mutex>

#include "base/random.h"
#include "cli/bench/bench.h"
#include "cli/bench/callers.h"
#include "cli/bench/worker.h"
#include "cli/process.h"

namespace semel::cli::bench {
namespace {

// A worker and the instants at which its handlers started, wherever it runs.
class LiveWorker {
 public:
  Result<void> start(Session& session, engine::Runtime& runtime, const Options& options) {
    if (runtime.store().backend() == "sqlite") {
      auto probe = std::make_shared<HandlerProbe>();
      probe->on_start = [this](std::int64_t at) {
        const std::lock_guard lock(mutex_);
        stamps_.push_back(at);
        changed_.notify_one();
      };
      engine::WorkerOptions worker;
      worker.name = "bench";
      worker.tenants = {session.tenant()};
      worker.queues = {options.queue()};
      worker.slots = options.slots;
      auto pool = runtime.start_worker(noop_handlers(probe), worker);
      if (!pool) return std::move(pool).error();
      pool_ = *std::move(pool);
      return {};
    }
    auto child = Child::start({"bench-worker", "--store", session.settings().store, "--tenant", session.tenant(),
                               "--queue", options.queue(), "--slots", std::to_string(options.slots), "--stamps"});
    if (!child) return child.error();
    child_.emplace(*std::move(child));
    if (!child_->read_line(Duration{30'000'000}))
      return make_error(ErrorCode::Internal, "the worker process did not start");
    return {};
  }

  // When the next handler started.
  std::optional<std::int64_t> next(Duration at_most) {
    if (child_) {
      auto line = child_->read_line(at_most);
      if (!line || line->starts_with("done")) return std::nullopt;
      return std::strtoll(line->c_str(), nullptr, 10);
    }
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, at_most, [&] { return !stamps_.empty(); })) return std::nullopt;
    const std::int64_t at = stamps_.front();
    stamps_.pop_front();
    return at;
  }

  void stop() {
    if (child_) {
      child_->signal(SIGTERM);
      child_->wait();
    }
    if (pool_) pool_->stop(Duration{2'000'000});
    pool_.reset();
  }

 private:
  std::optional<Child> child_;
  std::unique_ptr<engine::WorkerPool> pool_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::int64_t> stamps_;
};

Result<engine::EnqueueOutcome> enqueue_one(engine::Runtime& runtime, engine::EnqueueRequest request) {
  return runtime.wait<engine::EnqueueOutcome>(
      [&](auto done) { runtime.engine().enqueue(std::move(request), std::move(done)); });
}

}  // namespace

Ran run_latency(Session& session, const Options& options, Report& report) {
  auto opened = open_for_bench(session, options, true);
  if (!opened) return opened.error();
  engine::Runtime& runtime = **opened;
  LiveWorker worker;
  if (auto started = worker.start(session, runtime, options); !started) return started.error();
  pause_for(Duration{500'000});  // an idle system
  Samples to_handler;
  Samples to_answer;
  base::SystemRandom random;
  constexpr std::int64_t kWarmUp = 5;
  for (std::int64_t i = -kWarmUp; i < options.count; ++i) {
    const std::int64_t begin = steady_now();
    auto outcome =
        enqueue_one(runtime, noop_request(session, options, i + kWarmUp, options.run + "-" + std::to_string(i)));
    const std::int64_t answered = steady_now();
    if (!outcome) return outcome.error();
    const auto at = worker.next(Duration{30'000'000});
    if (!at)
      return make_error(ErrorCode::TimedOut, "the handler of task " + std::to_string(i) + " did not start in 30 s");
    if (i >= 0) {
      to_handler.add(*at - begin);
      to_answer.add(answered - begin);
    }
    pause_for(Duration{3'000 + static_cast<std::int64_t>(random.below(4'000))});
    if (i % 50 == 0) progress("latency " + std::to_string(i));
  }
  worker.stop();
  report.add("count", options.count)
      .add("worker", runtime.store().backend() == "sqlite" ? "same process" : "another process");
  report.add("p50_ms", to_handler.percentile_ms(0.5)).add("p99_ms", to_handler.percentile_ms(0.99));
  report.add("enqueue_p50_ms", to_answer.percentile_ms(0.5)).add("enqueue_p99_ms", to_answer.percentile_ms(0.99));
  add_writer(report, runtime.writer_stats());
  report.add("resident_mib", mib(resident_bytes()));
  return kDone;
}

Ran run_duplicates(Session& session, const Options& options, Report& report) {
  auto opened = open_for_bench(session, options, true);
  if (!opened) return opened.error();
  engine::Runtime& runtime = **opened;
  LiveWorker worker;
  if (auto started = worker.start(session, runtime, options); !started) return started.error();
  const std::string id = options.run + "-dup";
  std::int64_t created = 0;
  std::int64_t with_result = 0;
  Calls calls = run_callers(
      runtime, options, [&](std::int64_t) { return noop_request(session, options, 1, id); },
      [&](const engine::EnqueueOutcome& outcome) {
        created += outcome.created ? 1 : 0;
        with_result += outcome.status == Status::succeeded ? 1 : 0;
      });
  if (calls.error) return *calls.error;
  // Late duplicates: after completion, and once more after a pause.
  std::int64_t executions = worker.next(Duration{10'000'000}) ? 1 : 0;
  auto late = enqueue_one(runtime, noop_request(session, options, 1, id));
  if (!late) return late.error();
  created += late->created ? 1 : 0;
  while (worker.next(Duration{500'000})) ++executions;
  const engine::WriterStats stats = runtime.writer_stats();
  worker.stop();
  add_calls(report, options, calls);
  report.add("executions", executions).add("created", created).add("answered_after_completion", with_result);
  add_writer(report, stats);
  report.add("resident_mib", mib(resident_bytes()));
  return executions == 1 && created == 1 ? kDone : kRefused;
}

}  // namespace semel::cli::bench
