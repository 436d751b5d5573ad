// Handlers, the context they run in, and middleware around them. Handlers run on handler threads, never on engine
// threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "store/port.h"

namespace semel::engine {

struct HandlerOutcome {
  enum class Kind : std::uint8_t { succeeded, failed, cancelled, released };
  Kind kind = Kind::succeeded;
  std::optional<std::string> result;
  std::string error_name;
  std::string error_message;
  std::optional<std::string> error_details;  // JSON
  bool retryable = true;
  std::optional<Duration> next_delay;

  static HandlerOutcome success(std::optional<std::string> result = std::nullopt);
  static HandlerOutcome failure(std::string name, std::string message, bool retryable = true);
};

// Why a running handler should stop.
enum class StopReason : std::uint8_t { none, cancelled, lease_lost, shutdown };

// One attempt on this worker. Shared by the handler, the heartbeat and the worker.
class Run {
 public:
  store::ExecutionView task;  // as claimed; `task.execution.progress` is what the last attempt left
  ClaimId claim;
  SessionId session;
  std::uint64_t history = 0;  // of the store, in which it was claimed
  Instant started_at{};       // set by the executor when the handler starts

  // ---- for the handler ----
  bool stop_requested() const { return stop_.load(std::memory_order_acquire) != StopReason::none; }
  StopReason stop_reason() const { return stop_.load(std::memory_order_acquire); }
  bool cancel_requested() const { return stop_reason() == StopReason::cancelled; }
  // Kept with the execution at the next heartbeat: readable from outside, handed to the next attempt.
  void set_progress(std::string json);
  // Called once when the handler should stop, from any thread; at once when it already should.
  void on_stop(std::function<void()> call);

  // ---- for the worker ----
  Instant next_beat{};     // guarded by the worker
  HandlerOutcome outcome;  // set when the handler is over
  int end_tries = 0;
  bool no_handler = false;  // released because nobody here knows its name
  void request_stop(StopReason reason);
  std::optional<std::string> take_progress();

 private:
  std::atomic<StopReason> stop_{StopReason::none};
  std::mutex mutex_;
  std::optional<std::string> progress_;
  std::function<void()> on_stop_;
};
using RunRef = std::shared_ptr<Run>;

using Handler = std::function<HandlerOutcome(Run&)>;
// Wraps a handler: call `next` to go on. The first one added is the outermost.
using Middleware = std::function<HandlerOutcome(Run&, const Handler& next)>;

// An exception out of user code becomes a failed attempt.
HandlerOutcome call_guarded(const Handler& handler, Run& run);

// What may be stored of it. A result over the limit, or one that is no JSON where the args are, fails the attempt for
// good: what the handler did is done. A delay is kept within 0 and core::kMaxDelay.
HandlerOutcome storable(HandlerOutcome outcome, core::Encoding encoding);

// Handlers by task name. Filled before the worker starts, then only read.
class HandlerTable {
 public:
  void add(std::string name, Handler handler);
  void use(Middleware middleware);
  void seal();  // builds the chains; called by the worker
  const Handler* find(const std::string& name) const;
  bool empty() const { return handlers_.empty(); }

  // Runs the handler of the task with everything around it.
  HandlerOutcome call(Run& run) const;

 private:
  std::map<std::string, Handler> handlers_;
  std::vector<Middleware> middleware_;
  bool sealed_ = false;
};

}  // namespace semel::engine
