// worker: runs the built-in handlers until it is told to stop
#include <unistd.h>

#include <iostream>

#include "base/json_writer.h"
#include "cli/handlers.h"
#include "cli/process.h"
#include "cli/verbs/read_args.h"
#include "cli/verbs/verbs.h"
#include "cli/workflows.h"
#include "core/validate.h"

namespace semel::cli {
namespace {

Result<engine::WorkerOptions> options_of(const Session& session, const Args& args) {
  const WorkerSettings& settings = session.settings().worker;
  engine::WorkerOptions options;
  options.tenants = {session.tenant()};
  options.name = args.text("name", settings.name.value_or("worker-" + std::to_string(::getpid())));
  options.queues = args.has("queues") ? split_list(args.text("queues")) : settings.queues;
  SEMEL_TRY(slots, args.integer("slots"));
  const std::int64_t chosen = slots ? *slots : settings.slots.value_or(8);
  if (chosen < 1 || chosen > 10'000) {
    return make_error(ErrorCode::InvalidArgument, "slots must be 1 .. 10000, not " + std::to_string(chosen));
  }
  options.slots = static_cast<int>(chosen);
  SEMEL_TRY(lease, duration_flag(args, "lease"));
  options.lease = lease ? *lease : settings.lease.value_or(options.lease);
  if (auto valid = core::validate_lease(options.lease); !valid) return valid.error();
  if (auto valid = core::validate_id("worker", options.name); !valid) return valid.error();
  return options;
}

std::string stats_json(const engine::WorkerStats& stats) {
  std::string out;
  base::JsonWriter json(out);
  json.begin_object().field("claimed", stats.claimed).field("succeeded", stats.succeeded).field("failed", stats.failed);
  json.field("cancelled", stats.cancelled).field("released", stats.released).field("lease_lost", stats.lease_lost);
  json.field("no_handler", stats.no_handler).end_object();
  return out;
}

Result<int> worker(Session& session, const Args& args) {
  SEMEL_TRY(options, options_of(session, args));
  SEMEL_TRY(run_for, duration_flag(args, "run-for"));
  SEMEL_TRY(until, args.integer("until-succeeded"));
  std::shared_ptr<Effects> effects;
  if (const auto path = args.get("effects")) {
    SEMEL_TRY(opened, Effects::open(*path));
    effects = opened;
  }
  if (args.has("with-parent")) die_with_parent();
  hold_stop_signals();
  if (!args.has("quiet")) session.log_warnings();
  SEMEL_TRY(runtime, session.writer(true));
  if (auto applied = apply_queue_defaults(session, *runtime); !applied) return applied.error();
  SEMEL_TRY(pool, runtime->start_worker(builtin_handlers(effects), options, builtin_workflows()));
  std::cout << "ready worker=" << options.name << " pid=" << ::getpid() << "\n" << std::flush;
  const std::int64_t end = run_for ? steady_now() + run_for->count() : 0;
  while (!stop_signal(Duration{20'000})) {
    if (end != 0 && steady_now() >= end) break;
    if (until && static_cast<std::int64_t>(pool->stats().succeeded) >= *until) break;
    if (auto fatal = runtime->fatal_error()) return *std::move(fatal);
  }
  pool->stop();
  const engine::WorkerStats stats = pool->stats();
  pool.reset();
  session.print(stats_json(stats), [&] {
    return "stopped: " + std::to_string(stats.succeeded) + " succeeded, " + std::to_string(stats.failed) + " failed, " +
           std::to_string(stats.released) + " given back\n";
  });
  return kDone;
}

}  // namespace

void add_worker_verbs(std::vector<Verb>& out) {
  out.push_back({"worker",
                 "run the built-in handlers noop, echo, sleep, fail and crash, and the workflows approval and steps, "
                 "until SIGTERM",
                 {},
                 {{"queues", "NAMES", "only these queues"},
                  {"name", "NAME", "its name in claims (worker-PID)"},
                  {"slots", "N", "tasks begun and not durably ended at once (8)"},
                  {"lease", "DURATION", "how long its work is safe after it died (30s)"},
                  {"run-for", "DURATION", "stop by itself after this long"},
                  {"until-succeeded", "N", "stop by itself after this many successes"},
                  {"effects", "FILE", "handlers append what they ran"},
                  {"with-parent", "", "die when the process that started it ends"},
                  {"quiet", "", "log errors only"}},
                 "  semel worker --queues payments --slots 4\n"
                 "  semel worker --until-succeeded 100 --lease 2s\n",
                 worker});
}

}  // namespace semel::cli
