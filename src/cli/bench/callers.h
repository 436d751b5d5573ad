// Concurrent callers of a benchmark, each with one enqueue under way at a time: the next one starts when the durable
// answer of the last is there. They share one event loop (`enqueue` with a callback), or are a thread each
// (--blocking).
#pragma once

#include <functional>

#include "cli/bench/bench.h"

namespace semel::cli::bench {

struct Calls {
  Samples samples;
  std::int64_t took = 0;  // microseconds
  std::optional<Error> error;
};

// Makes options.count calls. `look` sees every outcome, one at a time.
Calls run_callers(engine::Runtime& runtime, const Options& options,
                  const std::function<engine::EnqueueRequest(std::int64_t i)>& request,
                  const std::function<void(const engine::EnqueueOutcome&)>& look);

void add_calls(Report& report, const Options& options, Calls& calls);

}  // namespace semel::cli::bench
