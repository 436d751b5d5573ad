// Benchmarks as PERFORMANCE defines them. They measure and report; they never judge time. What they do judge is
// correctness: a lost task or a second execution makes the command fail.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json_writer.h"
#include "cli/args.h"
#include "cli/session.h"

namespace semel::cli::bench {

struct Options {
  std::int64_t count = 0;         // operations; each scenario has its own default
  std::optional<double> seconds;  // stop earlier
  int callers = 64;
  int slots = 256;
  std::size_t payload_bytes = 300;
  std::optional<std::size_t> max_batch;  // of the writer
  bool blocking = false;                 // a thread per caller instead of one event loop
  bool kill = false;                     // drain: SIGKILL the worker in the middle
  bool execute = false;                  // workflow: steps are tasks
  Duration spread{0};                    // sleepers: due over this long
  bool cold = true;                      // no row of an earlier run was there
  std::string run;                       // marks ids and queue of this run
  std::string queue() const { return "bench-" + run; }
};

// One JSON object, fields in the order they were added.
class Report {
 public:
  Report() : json_(text_) { json_.begin_object(); }
  template <class T>
  Report& add(std::string_view name, const T& value) {
    json_.field(name, value);
    return *this;
  }
  Report& raw(std::string_view name, std::string_view value) {
    json_.raw_field(name, value);
    return *this;
  }
  std::string finish() {
    json_.end_object();
    return text_;
  }

 private:
  std::string text_;
  base::JsonWriter json_;
};

// Latencies in microseconds.
class Samples {
 public:
  void add(std::int64_t micros) { all_.push_back(micros); }
  void add(const Samples& other) { all_.insert(all_.end(), other.all_.begin(), other.all_.end()); }
  std::size_t size() const { return all_.size(); }
  double percentile_ms(double p);  // 0 without samples
 private:
  std::vector<std::int64_t> all_;
};

// {"i":7,"k":"noop","pad":"..."} of exactly `bytes` bytes where they suffice.
std::string payload(std::int64_t i, std::size_t bytes);
std::optional<std::int64_t> payload_index(const std::string& args);

engine::EnqueueRequest noop_request(const Session& session, const Options& options, std::int64_t i,
                                    std::string task_id);

double rate_of(std::int64_t count, std::int64_t micros);
double mib(std::int64_t bytes);
void add_writer(Report& report, const engine::WriterStats& stats);
// On standard error, when somebody looks at it.
void progress(const std::string& text);

// Opens the session's store for a benchmark: migrated when it is empty.
Result<engine::Runtime*> open_for_bench(Session& session, const Options& options, bool clockwork);
// Enqueues `count` no-op tasks in batches, i = 0 .. count-1.
Result<void> fill(Session& session, engine::Runtime& runtime, const Options& options);

using Ran = Result<int>;
Ran run_enqueue(Session& session, const Options& options, Report& report);
Ran run_enqueue_batch(Session& session, const Options& options, Report& report);
Ran run_drain(Session& session, const Options& options, Report& report);
Ran run_latency(Session& session, const Options& options, Report& report);
Ran run_duplicates(Session& session, const Options& options, Report& report);
Ran run_workflow(Session& session, const Options& options, Report& report);
Ran run_sleepers(Session& session, const Options& options, Report& report);
Ran run_limits(Session& session, const Options& options, Report& report);

Result<void> limits_sqlite(const std::string& path, const Options& options, Report& report);
Result<void> limits_postgres(const std::string& url, const Options& options, Report& report);

// The worker of a benchmark as a process of its own: `semel bench-worker`.
Result<int> worker_process(Session& session, const Args& args);

}  // namespace semel::cli::bench
