#include "cli/bench/bench.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <iostream>

#include "base/random.h"
#include "base/text.h"
#include "cli/process.h"
#include "cli/table.h"
#include "cli/verbs/read_args.h"
#include "cli/verbs/verbs.h"
#include "cli/version.h"

namespace semel::cli::bench {

double Samples::percentile_ms(double p) {
  if (all_.empty()) return 0;
  const auto index = std::min(all_.size() - 1, static_cast<std::size_t>(static_cast<double>(all_.size()) * p));
  std::nth_element(all_.begin(), all_.begin() + static_cast<std::ptrdiff_t>(index), all_.end());
  return static_cast<double>(all_[index]) / 1000.0;
}

std::string payload(std::int64_t i, std::size_t bytes) {
  std::string out = "{\"i\":" + std::to_string(i) + ",\"k\":\"noop\",\"pad\":\"";
  if (out.size() + 2 < bytes) out.append(bytes - out.size() - 2, 'x');
  return out + "\"}";
}

std::optional<std::int64_t> payload_index(const std::string& args) {
  constexpr std::string_view kPrefix = "{\"i\":";
  if (!args.starts_with(kPrefix)) return std::nullopt;
  std::int64_t value = 0;
  const auto [at, fault] = std::from_chars(args.data() + kPrefix.size(), args.data() + args.size(), value);
  return fault == std::errc{} ? std::optional(value) : std::nullopt;
}

engine::EnqueueRequest noop_request(const Session& session, const Options& options, std::int64_t i,
                                    std::string task_id) {
  engine::EnqueueRequest request;
  request.tenant = session.tenant();
  request.queue = options.queue();
  request.name = "noop";
  request.args = payload(i, options.payload_bytes);
  request.task_id = std::move(task_id);
  return request;
}

double rate_of(std::int64_t count, std::int64_t micros) {
  return micros <= 0 ? 0 : std::round(static_cast<double>(count) * 1e7 / static_cast<double>(micros)) / 10;
}

double mib(std::int64_t bytes) { return std::round(static_cast<double>(bytes) / 1048576.0 * 10) / 10; }

void add_writer(Report& report, const engine::WriterStats& stats) {
  report.add("commits", stats.commits).add("mean_batch", std::round(stats.mean_batch() * 10) / 10);
}

void progress(const std::string& text) {
  if (::isatty(STDERR_FILENO) != 0) std::cerr << "\r\x1b[K" << text << std::flush;
}

Result<engine::Runtime*> open_for_bench(Session& session, const Options& options, bool clockwork) {
  OpenOptions store;
  store.migrate = true;
  engine::RuntimeOptions runtime;
  runtime.clockwork_runs = clockwork;
  if (options.max_batch) runtime.writer.max_batch = *options.max_batch;
  return session.open(store, std::move(runtime));
}

Result<void> fill(Session& session, engine::Runtime& runtime, const Options& options) {
  constexpr std::int64_t kBatch = 1000;
  using Outcomes = std::vector<Result<engine::EnqueueOutcome>>;
  for (std::int64_t begin = 0; begin < options.count; begin += kBatch) {
    std::vector<engine::EnqueueRequest> requests;
    for (std::int64_t i = begin; i < std::min(begin + kBatch, options.count); ++i)
      requests.push_back(noop_request(session, options, i, options.run + "-" + std::to_string(i)));
    auto outcomes =
        session.ask<Outcomes>([&](auto done) { runtime.engine().enqueue_batch(std::move(requests), std::move(done)); });
    if (!outcomes) return outcomes.error();
    for (const auto& outcome : *outcomes) {
      if (!outcome) return outcome.error();
    }
    progress("filling " + std::to_string(begin + kBatch));
  }
  return {};
}

namespace {

struct Scenario {
  const char* name;
  std::int64_t count;
  Ran (*run)(Session&, const Options&, Report&);
};

constexpr Scenario kScenarios[] = {
    {"enqueue", 150'000, run_enqueue}, {"enqueue-batch", 200'000, run_enqueue_batch}, {"drain", 50'000, run_drain},
    {"latency", 500, run_latency},     {"duplicates", 20'000, run_duplicates},        {"limits", 100'000, run_limits},
    {"workflow", 2'000, run_workflow}, {"sleepers", 100'000, run_sleepers},
};

int callers_of(std::string_view scenario) {
  if (scenario == "duplicates") return 8;
  return scenario == "workflow" ? 100 : 64;
}

Result<Options> options_of(const Args& args, const Scenario& scenario) {
  Options out;
  SEMEL_TRY(count, args.integer("count"));
  SEMEL_TRY(callers, args.integer("callers"));
  SEMEL_TRY(slots, args.integer("slots"));
  SEMEL_TRY(batch, args.integer("max-batch"));
  SEMEL_TRY(bytes, args.integer("payload-bytes"));
  SEMEL_TRY(seconds, duration_flag(args, "seconds"));
  SEMEL_TRY(spread, duration_flag(args, "spread"));
  const auto within = [](const char* name, std::int64_t value, std::int64_t low, std::int64_t high) -> Result<void> {
    if (value >= low && value <= high) return {};
    return make_error(ErrorCode::InvalidArgument, std::string(name) + " must be " + std::to_string(low) + " .. " +
                                                      std::to_string(high) + ", not " + std::to_string(value));
  };
  out.count = count.value_or(scenario.count);
  if (auto valid = within("count", out.count, 1, 9'999'999); !valid) return valid.error();
  if (auto valid = within("callers", callers.value_or(64), 1, 1024); !valid) return valid.error();
  if (auto valid = within("slots", slots.value_or(out.slots), 1, 1024); !valid) return valid.error();
  if (auto valid = within("max_batch", batch.value_or(1000), 1, 1000); !valid) return valid.error();
  if (auto valid = within("payload_bytes", bytes.value_or(300), 0, 512 * 1024); !valid) return valid.error();
  out.callers = static_cast<int>(callers.value_or(callers_of(scenario.name)));
  out.execute = args.has("execute");
  out.spread = spread.value_or(Duration{60'000'000});
  out.slots = static_cast<int>(slots.value_or(out.slots));
  if (batch) out.max_batch = static_cast<std::size_t>(*batch);
  out.payload_bytes = static_cast<std::size_t>(bytes.value_or(300));
  if (seconds) out.seconds = static_cast<double>(seconds->count()) / 1e6;
  out.kill = args.has("kill");
  out.blocking = args.has("blocking");
  base::SystemRandom random;
  const std::uint64_t bits = random.next();
  std::array<std::uint8_t, 4> marks{};
  for (std::size_t i = 0; i < marks.size(); ++i) marks[i] = static_cast<std::uint8_t>(bits >> (8 * i));
  out.run = base::to_hex(marks);
  return out;
}

Result<int> bench(Session& session, const Args& args) {
  const std::string name = args.text("SCENARIO");
  const Scenario* scenario = nullptr;
  for (const auto& known : kScenarios) {
    if (name == known.name) scenario = &known;
  }
  if (scenario == nullptr) {
    return session.bad_usage("unknown scenario " + base::printable(name) +
                             "; known are enqueue, enqueue-batch, drain, latency, duplicates, workflow, sleepers, "
                             "limits");
  }
  SEMEL_TRY(options, options_of(args, *scenario));
  if (options.kill && name != "drain") return session.bad_usage("--kill goes with drain");
  if (options.execute && name != "workflow") return session.bad_usage("--execute goes with workflow");
  Report report;
  const std::string url = session.settings().store;
  const std::string variant = options.kill ? " --kill" : options.execute ? " --execute" : "";
  report.add("scenario", name + variant).add("store", url.substr(0, url.find(':')));
  report.add("version", kVersion).add("payload_bytes", options.payload_bytes);
  SEMEL_TRY(code, scenario->run(session, options, report));
  progress("");
  std::cout << report.finish() << std::endl;
  return code;
}

}  // namespace
}  // namespace semel::cli::bench

namespace semel::cli {

void add_bench_verbs(std::vector<Verb>& out) {
  out.push_back({"bench",
                 "measure a store: enqueue, enqueue-batch, drain, latency, duplicates, workflow, sleepers, limits",
                 {{"SCENARIO", "what to measure"}},
                 {{"count", "N", "how many operations"},
                  {"seconds", "DURATION", "stop after this long, e.g. 5s"},
                  {"callers", "N", "concurrent callers (64; duplicates 8, workflow 100)"},
                  {"execute", "", "workflow: steps are tasks instead of bodies of ctx.run"},
                  {"spread", "DURATION", "sleepers: due over this long (60s; 0s: all at once)"},
                  {"blocking", "", "a thread per caller; otherwise the callers share one event loop"},
                  {"slots", "N", "tasks the worker has in flight at most (256)"},
                  {"max-batch", "N", "operations per transaction at most (1000)"},
                  {"payload-bytes", "N", "size of args (300)"},
                  {"kill", "", "drain: SIGKILL the worker in the middle, restart it, count what ran twice"},
                  {"json", "", "one JSON object; always so"}},
                 "  semel bench enqueue --store sqlite:bench.db --json\n"
                 "  semel bench drain --kill --store postgres://postgres@/bench --json\n",
                 bench::bench});
  out.push_back({"bench-worker",
                 "the worker process of a benchmark",
                 {},
                 {{"queue", "NAME", ""},
                  {"slots", "N", ""},
                  {"lease", "DURATION", ""},
                  {"target", "N", ""},
                  {"effects", "FILE", ""},
                  {"stamps", "", ""},
                  {"max-batch", "N", ""}},
                 "",
                 bench::worker_process,
                 true});
}

}  // namespace semel::cli
