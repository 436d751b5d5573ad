#include "tests/crash/together.h"

#include <barrier>
#include <map>
#include <mutex>
#include <set>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "base/clock.h"
#include "tests/crash/open_store.h"
#include "tests/crash/process.h"

namespace semel::crash {
namespace {

void all_at_once(const std::string& prefix, int threads, int rounds,
                 const std::function<void(const std::string&, int)>& act) {
  std::barrier gate(threads);
  std::vector<std::thread> running;
  for (int i = 0; i < threads; ++i)
    running.emplace_back([&, i] {
      for (int round = 0; round < rounds; ++round) {
        gate.arrive_and_wait();
        act(prefix + "-" + std::to_string(round), i);
      }
    });
  for (auto& thread : running) thread.join();
}

template <class T>
std::string name_of(const Result<T>& result) {
  return result ? "accepted" : std::string(error_info(result.error().code).name);
}

}  // namespace

std::unique_ptr<engine::Runtime> open_runtime(const std::string& url, std::size_t max_batch) {
  engine::RuntimeOptions options;
  options.writer.max_batch = max_batch;
  options.clockwork.session_interval = std::chrono::milliseconds(200);
  return engine::Runtime::open(open_store(url, /*migrate=*/true).value(), options).value();
}

void enqueue_together(engine::Runtime& runtime, const std::string& prefix, int threads, int rounds, const Told& told) {
  std::mutex mutex;
  all_at_once(prefix, threads, rounds, [&](const std::string& id, int) {
    engine::EnqueueRequest request;
    request.name = "work";
    request.task_id = id;
    request.args = "{}";
    auto outcome = runtime.wait<engine::EnqueueOutcome>(
        [&](auto done) { runtime.engine().enqueue(std::move(request), std::move(done)); });
    std::lock_guard lock(mutex);
    if (!outcome) return told(id + " error " + outcome.error().message);
    told(id + " " + (outcome->created ? "created " : "existing ") + outcome->execution_id.to_string());
  });
}

void deliver_together(engine::Runtime& runtime, const std::string& prefix, int threads, int rounds, const Told& told) {
  std::mutex mutex;
  all_at_once(prefix, threads, rounds, [&](const std::string& id, int caller) {
    engine::DeliverRequest request;
    request.job_id = id;
    request.worker = "w" + std::to_string(caller);
    auto outcome = runtime.deliver(
        std::move(request), [caller](engine::Run&) { return engine::HandlerOutcome::success(std::to_string(caller)); });
    std::lock_guard lock(mutex);
    if (!outcome) return told(id + " error " + outcome.error().message);
    told(id + " " + std::string(engine::to_string(outcome->outcome)));
  });
}

std::vector<std::string> late_writes(engine::Runtime& runtime, ExecutionId id, std::int32_t version) {
  engine::Engine& engine = runtime.engine();
  std::vector<std::string> out;
  out.push_back(name_of(runtime.wait<core::HeartbeatAnswer>(
      [&](auto done) { engine.heartbeat({id, version, std::chrono::seconds(30), "\"zombie\""}, std::move(done)); })));
  out.push_back(name_of(runtime.wait<core::EndAnswer>(
      [&](auto done) { engine.complete({id, version, "\"zombie\""}, std::move(done)); })));
  engine::FailRequest failure;
  failure.execution = id;
  failure.version = version;
  failure.error_message = "zombie";
  out.push_back(name_of(runtime.wait<core::EndAnswer>([&](auto done) { engine.fail(failure, std::move(done)); })));
  out.push_back(name_of(runtime.wait<core::EndAnswer>(
      [&](auto done) { engine.release({id, version, Duration{0}, false}, std::move(done)); })));
  return out;
}

store::ExecutionView claim_one(engine::Runtime& runtime, const std::string& worker, Duration lease) {
  engine::ClaimRequest request;
  request.worker = worker;
  request.max = 1;
  request.lease = lease;
  request.wait = std::chrono::seconds(30);
  auto tasks = runtime.wait<std::vector<store::ExecutionView>>(
      [&](auto done) { runtime.engine().claim(request, std::move(done)); });
  if (tasks.value().empty()) throw std::runtime_error("nothing to claim");
  return std::move(tasks->front());
}

int read_past_the_lease(engine::Runtime& runtime, int tasks) {
  auto handlers = std::make_shared<engine::HandlerTable>();
  handlers->add("work", [&runtime](engine::Run&) {
    const std::int64_t end = base::steady_micros() + 2'500'000;
    while (base::steady_micros() < end) (void)runtime.engine().list("default", {});
    return engine::HandlerOutcome::success();
  });
  engine::WorkerOptions options;
  options.slots = tasks;
  options.lease = std::chrono::seconds(1);
  enqueue_together(runtime, "busy", 1, tasks, [](const std::string&) {});
  const auto pool = runtime.start_worker(handlers, options).value();
  wait_until([&] { return pool->stats().succeeded == static_cast<std::uint64_t>(tasks); });
  return static_cast<int>(pool->stats().succeeded);
}

void Tally::add(const std::string& line) { lines_.push_back(line); }

std::string Tally::once(const std::string& prefix, int rounds, const std::string& word, int others) const {
  std::map<std::string, int> hits, rest;
  std::map<std::string, std::set<std::string>> answers;
  for (const auto& line : lines_) {
    std::istringstream words(line);
    std::string id, told, execution;
    words >> id >> told >> execution;
    if (told == "error") return line;
    (told == word ? hits : rest)[id] += 1;
    answers[id].insert(execution);
  }
  for (int round = 0; round < rounds; ++round) {
    const std::string id = prefix + "-" + std::to_string(round);
    if (hits[id] != 1) return id + " was told '" + word + "' " + std::to_string(hits[id]) + " times";
    if (rest[id] != others) return id + " was told something else " + std::to_string(rest[id]) + " times";
    if (answers[id].size() != 1) return id + " led to " + std::to_string(answers[id].size()) + " executions";
  }
  return {};
}

}  // namespace semel::crash
