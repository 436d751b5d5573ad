// B2 drain, B6 memory, B7 drain --kill: the worker is a process of its own
#include <signal.h>

#include <cmath>

#include "base/json_value.h"
#include "cli/bench/bench.h"
#include "cli/bench/worker.h"
#include "cli/process.h"

namespace semel::cli::bench {
namespace {

constexpr Duration kPatience{600'000'000};

std::vector<std::string> worker_arguments(const Session& session, const Options& options) {
  std::vector<std::string> out = {"bench-worker",  "--store",        session.settings().store,
                                  "--tenant",      session.tenant(), "--queue",
                                  options.queue(), "--slots",        std::to_string(options.slots)};
  if (options.max_batch) {
    out.push_back("--max-batch");
    out.push_back(std::to_string(*options.max_batch));
  }
  return out;
}

Error died(const char* when) {
  return make_error(ErrorCode::Internal, std::string("the worker process ended ") + when + "; see its words above");
}

Result<base::JsonDocument> read_done(Child& child) {
  const std::int64_t end = steady_now() + kPatience.count();
  while (steady_now() < end) {
    auto line = child.read_line(Duration{1'000'000});
    if (line && line->starts_with("done ")) return base::JsonDocument::parse(line->substr(5));
    if (!line && ::kill(child.pid(), 0) != 0) break;
  }
  return died("before it was done");
}

std::int64_t number(const base::JsonDocument& document, std::string_view name) {
  const auto value = document.root().find(name);
  return value ? static_cast<std::int64_t>(value->as_double().value_or(0)) : 0;
}

// What is left in the queue of this run, by asking the store.
Result<std::int64_t> unfinished(Session& session, const Options& options) {
  auto runtime = session.reader();
  if (!runtime) return runtime.error();
  store::ExecutionFilter filter;
  auto tenant = (*runtime)->engine().tenant(session.tenant());
  if (!tenant) return tenant.error();
  filter.tenant = *tenant;
  filter.queue = options.queue();
  filter.statuses = {Status::queued, Status::claimed, Status::running, Status::failed, Status::dead_lettered};
  filter.limit = 1000;
  auto rows = (*runtime)->engine().list(session.tenant(), filter);
  if (!rows) return rows.error();
  return static_cast<std::int64_t>(rows->size());
}

Ran plain_drain(Session& session, const Options& options, Report& report) {
  auto arguments = worker_arguments(session, options);
  arguments.insert(arguments.end(), {"--target", std::to_string(options.count)});
  auto child = Child::start(arguments);
  if (!child) return child.error();
  auto done = read_done(*child);
  if (!done) return done.error();
  child->wait();
  auto left = unfinished(session, options);
  if (!left) return left.error();
  const std::int64_t took = number(*done, "end") - number(*done, "first_start");
  report.add("count", options.count).add("slots", options.slots);
  report.add("seconds", std::round(static_cast<double>(took) / 1e4) / 100).add("rate", rate_of(options.count, took));
  report.add("commits", number(*done, "commits"));
  const auto mean = done->root().find("mean_batch");
  report.add("mean_batch", mean ? std::round(mean->as_double().value_or(0) * 10) / 10 : 0.0);
  report.add("left", *left).add("idle_resident_mib", mib(number(*done, "idle_bytes")));
  report.add("resident_mib", mib(number(*done, "after_bytes")));
  return *left == 0 ? kDone : kRefused;
}

Ran kill_drain(Session& session, const Options& options, Report& report) {
  const ScratchFolder scratch;
  const std::string effects = scratch.file("effects");
  auto arguments = worker_arguments(session, options);
  arguments.insert(arguments.end(), {"--effects", effects, "--lease", "2s"});
  auto first = Child::start(arguments);
  if (!first) return first.error();
  const std::int64_t enough = options.count * 2 / 5;
  if (!wait_until([&] { return effect_lines(effects) >= enough; }, kPatience, Duration{500})) return died("or stalled");
  first->signal(SIGKILL);
  first->wait();
  const std::int64_t killed_at = steady_now();
  const std::int64_t at_kill = effect_lines(effects);
  auto second = Child::start(arguments);
  if (!second) return second.error();
  // The second worker cannot know how much is left. The effects tell when every index was there at least once; only
  // then is the store asked, what ran before the kill may have to run again.
  const bool ran_all = wait_until(
      [&] { return effect_lines(effects) >= options.count && count_effects(effects, options.count).missing == 0; },
      kPatience, Duration{20'000});
  const bool ended = ran_all && wait_until(
                                    [&] {
                                      auto left = unfinished(session, options);
                                      return !left || *left == 0;
                                    },
                                    kPatience, Duration{20'000});
  const std::int64_t recovered = steady_now() - killed_at;
  second->signal(SIGTERM);
  auto done = read_done(*second);
  second->wait();
  auto left = unfinished(session, options);
  if (!left) return left.error();
  const EffectCount ran = count_effects(effects, options.count);
  report.add("count", options.count).add("slots", options.slots).add("at_kill", at_kill);
  report.add("lost", ran.missing).add("executed_twice", ran.repeated).add("left", *left);
  report.add("recover_seconds", std::round(static_cast<double>(recovered) / 1e4) / 100);
  if (done) report.add("commits", number(*done, "commits"));
  report.add("resident_mib", done ? mib(number(*done, "after_bytes")) : 0.0);
  return ended && ran.missing == 0 && ran.repeated <= options.slots && *left == 0 ? kDone : kRefused;
}

}  // namespace

Ran run_drain(Session& session, const Options& options, Report& report) {
  {
    auto runtime = open_for_bench(session, options, false);
    if (!runtime) return runtime.error();
    if (auto filled = fill(session, **runtime, options); !filled) return filled.error();
  }
  session.close();
  return options.kill ? kill_drain(session, options, report) : plain_drain(session, options, report);
}

}  // namespace semel::cli::bench
