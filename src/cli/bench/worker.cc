#include "cli/bench/worker.h"

#include <sys/stat.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <mutex>
#include <vector>

#include "cli/bench/bench.h"
#include "cli/process.h"
#include "cli/verbs/read_args.h"

namespace semel::cli::bench {

std::shared_ptr<engine::HandlerTable> noop_handlers(std::shared_ptr<HandlerProbe> probe) {
  auto table = std::make_shared<engine::HandlerTable>();
  table->add("noop", [probe](engine::Run& run) {
    if (probe->on_start || probe->first_start.load(std::memory_order_relaxed) == 0) {
      const std::int64_t at = steady_now();
      std::int64_t none = 0;
      probe->first_start.compare_exchange_strong(none, at);
      if (probe->on_start) probe->on_start(at);
    }
    probe->started.fetch_add(1, std::memory_order_relaxed);
    if (probe->effects) {
      char line[16];
      const auto i = payload_index(run.task.payload.args).value_or(0);
      std::snprintf(line, sizeof line, "%7lld\n", static_cast<long long>(i));
      probe->effects->append(line);
    }
    return engine::HandlerOutcome::success("null");
  });
  return table;
}

EffectCount count_effects(const std::string& path, std::int64_t count) {
  EffectCount out;
  std::vector<std::uint16_t> seen(static_cast<std::size_t>(count), 0);
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const long long i = std::atoll(line.c_str());
    ++out.lines;
    if (i >= 0 && i < count) ++seen[static_cast<std::size_t>(i)];
  }
  for (const std::uint16_t times : seen) {
    if (times == 0) ++out.missing;
    else out.repeated += times - 1;
  }
  return out;
}

std::int64_t effect_lines(const std::string& path) {
  struct stat about{};
  return ::stat(path.c_str(), &about) == 0 ? about.st_size / 8 : 0;
}

ScratchFolder::ScratchFolder() {
  const char* base = std::getenv("TMPDIR");
  path_ = std::string(base != nullptr && *base != '\0' ? base : "/tmp") + "/semel.XXXXXX";
  if (::mkdtemp(path_.data()) == nullptr) path_.clear();
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

// Says `ready`, then with --stamps a line per handler start, then `done {json}` once --target tasks succeeded durably.
Result<int> worker_process(Session& session, const Args& args) {
  die_with_parent();
  auto probe = std::make_shared<HandlerProbe>();
  if (const auto path = args.get("effects")) {
    SEMEL_TRY(effects, Effects::open(*path));
    probe->effects = effects;
  }
  auto out_mutex = std::make_shared<std::mutex>();
  if (args.has("stamps")) {
    probe->on_start = [out_mutex](std::int64_t at) {
      const std::lock_guard lock(*out_mutex);
      std::cout << at << std::endl;
    };
  }
  SEMEL_TRY(slots, args.integer("slots"));
  SEMEL_TRY(lease, duration_flag(args, "lease"));
  SEMEL_TRY(target, args.integer("target"));
  SEMEL_TRY(batch, args.integer("max-batch"));
  Options options;
  if (batch) options.max_batch = static_cast<std::size_t>(*batch);
  engine::WorkerOptions worker;
  worker.name = "bench";
  worker.tenants = {session.tenant()};
  worker.queues = {args.text("queue")};
  worker.slots = static_cast<int>(slots.value_or(8));
  if (lease) worker.lease = *lease;
  hold_stop_signals();
  SEMEL_TRY(runtime, open_for_bench(session, options, true));
  pause_for(Duration{200'000});  // lets the engine settle: what is measured next is an idle one
  const std::int64_t idle = resident_bytes();
  SEMEL_TRY(pool, runtime->start_worker(noop_handlers(probe), worker));
  std::cout << "ready" << std::endl;
  const auto succeeded = [&] { return static_cast<std::int64_t>(pool->stats().succeeded); };
  while (!(target && succeeded() >= *target)) {
    if (stop_signal(Duration{target ? 500 : 20'000})) break;
    if (auto fatal = runtime->fatal_error()) return *std::move(fatal);
  }
  const std::int64_t end = steady_now();
  const engine::WriterStats stats = runtime->writer_stats();
  Report report;
  report.add("first_start", probe->first_start.load()).add("end", end).add("succeeded", succeeded());
  report.add("started", probe->started.load()).add("idle_bytes", idle).add("after_bytes", resident_bytes());
  report.add("commits", stats.commits).add("mean_batch", stats.mean_batch());
  pool->stop(Duration{2'000'000});
  pool.reset();
  const std::lock_guard lock(*out_mutex);
  std::cout << "done " << report.finish() << std::endl;
  return kDone;
}

}  // namespace semel::cli::bench
