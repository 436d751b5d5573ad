// The process that gets killed: enqueues, claims and completes as fast as it can and says through a pipe what was begun
// and what was acknowledged. Usage: crash_child STORE LABEL CALLERS WORKERS CLAIM
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <latch>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/failpoint.h"
#include "engine/threads.h"
#include "tests/crash/child_protocol.h"
#include "tests/crash/open_store.h"

namespace semel::crash {
namespace {

constexpr Duration kLease = std::chrono::seconds(1);

struct Options {
  std::string store;
  std::string label;  // prefix of its task ids; unique per process
  int callers = 0;
  int workers = 0;
  int claim = 0;  // at most this many per claim
};

[[noreturn]] void give_up(const char* what, const Error& error) {
  std::fprintf(stderr, "%s: %s\n", what, error.message.c_str());
  std::_Exit(1);
}

void enqueue_for_ever(engine::Runtime& runtime, const std::string& label, int caller) {
  for (int n = 0;; ++n) {
    engine::EnqueueRequest request;
    request.name = "work";
    request.task_id = label + "-" + std::to_string(caller) + "-" + std::to_string(n);
    request.args = R"({"n":)" + std::to_string(n) + "}";
    request.max_attempts = 1000;
    if (n % 8 == 3) request.delay = std::chrono::milliseconds(2);  // so that timers fire
    const std::string id = *request.task_id;
    say("b " + id);
    auto outcome = runtime.wait<engine::EnqueueOutcome>(
        [&](auto done) { runtime.engine().enqueue(std::move(request), std::move(done)); });
    if (!outcome) give_up("enqueue", outcome.error());
    say("a " + id + " " + outcome->execution_id.to_string());
  }
}

// All at once, so that completions share commits.
void complete_all(engine::Runtime& runtime, const std::vector<store::ExecutionView>& tasks, const std::string& label) {
  std::latch left(static_cast<std::ptrdiff_t>(tasks.size()));
  for (const auto& task : tasks) {
    const std::string id = task.execution.id.to_string();
    const std::string token = "\"" + label + "/" + std::to_string(task.execution.attempt) + "\"";
    say("B " + id);
    runtime.engine().complete({task.execution.id, task.execution.version, token},
                              [&left, id, token](Result<core::EndAnswer> ended) {
                                if (ended) say("C " + id + " " + token);
                                left.count_down();
                              });
  }
  left.wait();
}

void work_for_ever(engine::Runtime& runtime, const Options& options, SessionId session) {
  for (;;) {
    engine::ClaimRequest request;
    request.worker = options.label;
    request.max = options.claim;
    request.lease = kLease;
    request.wait = std::chrono::milliseconds(50);
    request.session = session;
    auto tasks = runtime.wait<std::vector<store::ExecutionView>>(
        [&](auto done) { runtime.engine().claim(request, std::move(done)); });
    if (tasks) complete_all(runtime, *tasks, options.label);
  }
}

// The embedded pool beside them; what it records is checked like the rest, only nobody hears its acknowledgements.
std::unique_ptr<engine::WorkerPool> start_pool(engine::Runtime& runtime, const std::string& label) {
  auto handlers = std::make_shared<engine::HandlerTable>();
  handlers->add("work", [label](engine::Run& run) {
    return engine::HandlerOutcome::success("\"" + label + "/" + std::to_string(run.task.execution.attempt) + "\"");
  });
  engine::WorkerOptions options;
  options.name = label;
  options.slots = 2;
  options.max_prefetch = 4;  // what a killed process held comes back one by one
  options.lease = kLease;
  return runtime.start_worker(handlers, options).value();
}

void renew_for_ever(engine::Runtime& runtime, SessionId session) {
  for (;;) {
    (void)runtime.wait<Instant>([&](auto done) { runtime.engine().session_renew(session, kLease, std::move(done)); });
    pause_millis(200);
  }
}

void report_visits() {
  static std::mutex mutex;
  static std::set<std::string, std::less<>> seen;
  base::set_failpoint_hook([](std::string_view name) {
    std::lock_guard lock(mutex);
    if (seen.find(name) != seen.end()) return;
    seen.insert(std::string(name));
    say("V " + std::string(name));
  });
}

int run(const Options& options) {
  report_visits();
  auto store = open_store(options.store, /*migrate=*/false);
  if (!store) give_up("open", store.error());
  engine::RuntimeOptions runtime_options;
  runtime_options.clockwork.session_interval = std::chrono::milliseconds(200);
  auto opened = engine::Runtime::open(std::move(*store), runtime_options);
  if (!opened) give_up("start", opened.error());
  engine::Runtime& runtime = **opened;
  auto session = runtime.wait<SessionId>(
      [&](auto done) { runtime.engine().session_open(options.label, kLease, std::move(done)); });
  if (!session) give_up("session", session.error());
  say("R");
  const auto pool = start_pool(runtime, options.label);
  std::vector<std::thread> threads;
  for (int i = 0; i < options.callers; ++i)
    threads.emplace_back([&, i] { enqueue_for_ever(runtime, options.label, i); });
  for (int i = 0; i < options.workers; ++i) threads.emplace_back([&] { work_for_ever(runtime, options, *session); });
  threads.emplace_back([&] { renew_for_ever(runtime, *session); });
  for (auto& thread : threads) thread.join();
  return 0;
}

}  // namespace
}  // namespace semel::crash

int main(int argc, char** argv) {
  if (argc != 6) return 2;
  return semel::crash::run({argv[1], argv[2], std::atoi(argv[3]), std::atoi(argv[4]), std::atoi(argv[5])});
}
