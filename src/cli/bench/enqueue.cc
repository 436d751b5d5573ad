// B1 enqueue, B1b enqueue-batch
#include <atomic>
#include <cmath>
#include <thread>

#include "cli/bench/bench.h"
#include "cli/process.h"

namespace semel::cli::bench {
namespace {

engine::EnqueueRequest request_of(const Session& session, const Options& options, std::int64_t i) {
  engine::EnqueueRequest request;
  request.tenant = session.tenant();
  request.queue = options.queue();
  request.name = "noop";
  request.args = payload(i, options.payload_bytes);
  request.task_id = options.run + "-" + std::to_string(i);
  return request;
}

struct Caller {
  Samples samples;
  std::optional<Error> error;
};

// Each call waits for its durable answer before the next one is made.
void call_until(engine::Runtime& runtime, const Session& session, const Options& options,
                std::atomic<std::int64_t>& next, std::int64_t deadline, Caller& out) {
  for (;;) {
    const std::int64_t i = next.fetch_add(1, std::memory_order_relaxed);
    const std::int64_t begin = steady_now();
    if (i >= options.count || begin >= deadline) return;
    auto outcome = runtime.wait<engine::EnqueueOutcome>(
        [&](auto done) { runtime.engine().enqueue(request_of(session, options, i), std::move(done)); });
    if (!outcome) {
      out.error = outcome.error();
      return;
    }
    out.samples.add(steady_now() - begin);
  }
}

}  // namespace

Ran run_enqueue(Session& session, const Options& options, Report& report) {
  auto opened = open_for_bench(session, options, false);
  if (!opened) return opened.error();
  engine::Runtime& runtime = **opened;
  std::vector<Caller> callers(static_cast<std::size_t>(options.callers));
  std::atomic<std::int64_t> next{0};
  const std::int64_t begin = steady_now();
  const std::int64_t deadline =
      begin + (options.seconds ? static_cast<std::int64_t>(*options.seconds * 1e6) : 3'600'000'000);
  {
    std::vector<std::jthread> threads;
    for (auto& caller : callers) {
      threads.emplace_back([&] { call_until(runtime, session, options, next, deadline, caller); });
    }
    while (next.load() < options.count && steady_now() < deadline) {
      progress("enqueue " + std::to_string(next.load()));
      pause_for(Duration{20'000});
      for (const auto& caller : callers) {
        if (caller.error) next = options.count;
      }
    }
  }
  const std::int64_t took = steady_now() - begin;
  Samples all;
  for (const auto& caller : callers) {
    if (caller.error) return *caller.error;
    all.add(caller.samples);
  }
  const auto done = static_cast<std::int64_t>(all.size());
  report.add("callers", options.callers)
      .add("count", done)
      .add("seconds", std::round(static_cast<double>(took) / 1e4) / 100);
  report.add("rate", rate_of(done, took)).add("p50_ms", all.percentile_ms(0.5)).add("p99_ms", all.percentile_ms(0.99));
  add_writer(report, runtime.writer_stats());
  report.add("resident_mib", mib(resident_bytes()));
  return kDone;
}

Ran run_enqueue_batch(Session& session, const Options& options, Report& report) {
  auto opened = open_for_bench(session, options, false);
  if (!opened) return opened.error();
  engine::Runtime& runtime = **opened;
  constexpr std::int64_t kBatch = 1000;
  using Outcomes = std::vector<Result<engine::EnqueueOutcome>>;
  Samples samples;
  std::int64_t rows = 0;
  const std::int64_t begin = steady_now();
  const std::int64_t deadline =
      begin + (options.seconds ? static_cast<std::int64_t>(*options.seconds * 1e6) : 3'600'000'000);
  while (rows < options.count && steady_now() < deadline) {
    std::vector<engine::EnqueueRequest> requests;
    const std::int64_t end = std::min(rows + kBatch, options.count);
    for (std::int64_t i = rows; i < end; ++i) requests.push_back(request_of(session, options, i));
    const std::int64_t call = steady_now();
    auto outcomes = runtime.wait<Outcomes>(
        [&](auto done) { runtime.engine().enqueue_batch(std::move(requests), std::move(done)); });
    if (!outcomes) return outcomes.error();
    samples.add(steady_now() - call);
    for (const auto& outcome : *outcomes) {
      if (!outcome) return outcome.error();
    }
    rows = end;
    progress("enqueue-batch " + std::to_string(rows));
  }
  const std::int64_t took = steady_now() - begin;
  report.add("batch", kBatch).add("count", rows).add("seconds", std::round(static_cast<double>(took) / 1e4) / 100);
  report.add("rate", rate_of(rows, took))
      .add("p50_ms", samples.percentile_ms(0.5))
      .add("p99_ms", samples.percentile_ms(0.99));
  add_writer(report, runtime.writer_stats());
  report.add("resident_mib", mib(resident_bytes()));
  return kDone;
}

}  // namespace semel::cli::bench
