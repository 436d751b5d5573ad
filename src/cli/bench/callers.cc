#include "cli/bench/callers.h"

#include <atomic>
#include <cmath>
#include <mutex>
#include <thread>

#include "cli/process.h"
#include "engine/threads.h"

namespace semel::cli::bench {
namespace {

using Outcome = Result<engine::EnqueueOutcome>;

// What every caller shares.
struct Plan {
  engine::Runtime& runtime;
  const Options& options;
  const std::function<engine::EnqueueRequest(std::int64_t i)>& request;
  const std::function<void(const engine::EnqueueOutcome&)>& look;
  std::int64_t begin = steady_now();
  std::int64_t deadline = begin + (options.seconds ? static_cast<std::int64_t>(*options.seconds * 1e6) : 3'600'000'000);
};

// One thread, all callers: what an event loop does with the answers.
class EventLoop {
 public:
  explicit EventLoop(const Plan& plan) : plan_(plan) {}

  void run(Calls& calls) {
    for (int caller = 0; caller < plan_.options.callers; ++caller) start_next(steady_now());
    std::vector<Answered> batch;
    while (open_ > 0) {
      bell_.wait(Duration{1'000'000});
      {
        const std::lock_guard lock(mutex_);
        batch.swap(answered_);
      }
      const std::int64_t now = steady_now();
      for (const Answered& one : batch) take(one, now, calls);
      batch.clear();
    }
  }

 private:
  struct Answered {
    std::int64_t begin;
    Outcome outcome;
  };

  void start_next(std::int64_t now) {
    if (next_ >= plan_.options.count || now >= plan_.deadline) return;
    ++open_;
    plan_.runtime.engine().enqueue(plan_.request(next_++), [this, now](Outcome outcome) {
      {
        const std::lock_guard lock(mutex_);
        answered_.push_back({now, std::move(outcome)});
      }
      bell_.ring();
    });
  }

  void take(const Answered& one, std::int64_t now, Calls& calls) {
    --open_;
    if (!one.outcome) {
      calls.error = one.outcome.error();
      next_ = plan_.options.count;
      return;
    }
    calls.samples.add(now - one.begin);
    plan_.look(*one.outcome);
    start_next(now);
    if (next_ % 4096 == 0) progress(std::to_string(next_) + " calls");
  }

  const Plan& plan_;
  std::int64_t next_ = 0;
  std::int64_t open_ = 0;
  std::mutex mutex_;
  std::vector<Answered> answered_;
  engine::Bell bell_;
};

void run_threads(const Plan& plan, Calls& calls) {
  std::atomic<std::int64_t> next{0};
  std::mutex mutex;  // of calls and look
  const auto call_until = [&] {
    Samples mine;
    for (;;) {
      const std::int64_t i = next.fetch_add(1, std::memory_order_relaxed);
      const std::int64_t begin = steady_now();
      if (i >= plan.options.count || begin >= plan.deadline) break;
      auto outcome = plan.runtime.wait<engine::EnqueueOutcome>(
          [&](auto done) { plan.runtime.engine().enqueue(plan.request(i), std::move(done)); });
      const std::lock_guard lock(mutex);
      if (!outcome) {
        calls.error = outcome.error();
        next = plan.options.count;
        break;
      }
      mine.add(steady_now() - begin);
      plan.look(*outcome);
    }
    const std::lock_guard lock(mutex);
    calls.samples.add(mine);
  };
  std::vector<std::jthread> threads;
  for (int caller = 0; caller < plan.options.callers; ++caller) threads.emplace_back(call_until);
}

}  // namespace

Calls run_callers(engine::Runtime& runtime, const Options& options,
                  const std::function<engine::EnqueueRequest(std::int64_t i)>& request,
                  const std::function<void(const engine::EnqueueOutcome&)>& look) {
  const Plan plan{runtime, options, request, look};
  Calls calls;
  if (options.blocking) run_threads(plan, calls);
  else EventLoop(plan).run(calls);
  calls.took = steady_now() - plan.begin;
  return calls;
}

void add_calls(Report& report, const Options& options, Calls& calls) {
  const auto done = static_cast<std::int64_t>(calls.samples.size());
  report.add("callers", options.callers).add("form", options.blocking ? "blocking" : "event loop").add("count", done);
  report.add("seconds", std::round(static_cast<double>(calls.took) / 1e4) / 100).add("rate", rate_of(done, calls.took));
  report.add("p50_ms", calls.samples.percentile_ms(0.5)).add("p99_ms", calls.samples.percentile_ms(0.99));
}

}  // namespace semel::cli::bench
