// B1 enqueue, B1b enqueue-batch
#include <cmath>

#include "cli/bench/bench.h"
#include "cli/bench/callers.h"
#include "cli/process.h"

namespace semel::cli::bench {
namespace {

engine::EnqueueRequest request_of(const Session& session, const Options& options, std::int64_t i) {
  return noop_request(session, options, i, options.run + "-" + std::to_string(i));
}

}  // namespace

Ran run_enqueue(Session& session, const Options& options, Report& report) {
  auto opened = open_for_bench(session, options, false);
  if (!opened) return opened.error();
  engine::Runtime& runtime = **opened;
  Calls calls = run_callers(
      runtime, options, [&](std::int64_t i) { return request_of(session, options, i); },
      [](const engine::EnqueueOutcome&) {});
  if (calls.error) return *calls.error;
  add_calls(report, options, calls);
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
