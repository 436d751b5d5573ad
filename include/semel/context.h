// What a handler knows about the attempt it runs in, and how middleware wraps it.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "semel/exceptions.h"
#include "semel/execution.h"
#include "semel/json.h"
#include "semel/log.h"
#include "semel/payload.h"

namespace semel {

namespace sdk {
struct Attempt;
}

// Why a handler should stop.
enum class StopReason : std::uint8_t {
  none,
  cancelled,   // somebody cancelled the task
  lease_lost,  // another worker may run it by now; whatever this attempt answers is refused
  shutdown,    // this process stops
};

// One attempt. Valid while the handler runs; every method is thread-safe.
class TaskContext {
 public:
  explicit TaskContext(sdk::Attempt& attempt) : attempt_(attempt) {}
  TaskContext(const TaskContext&) = delete;
  TaskContext& operator=(const TaskContext&) = delete;

  // The row as it was claimed.
  const Execution& execution() const;
  ExecutionId execution_id() const { return execution().execution_id; }
  const std::string& task_id() const { return execution().task_id; }
  const std::string& name() const { return execution().name; }
  int attempt() const { return execution().attempt; }
  bool is_last_attempt() const { return execution().attempt >= execution().max_attempts; }

  // The same text in every attempt of this execution and never in another one: hand it to the systems the handler
  // calls, so that they can answer duplicates too. A handler with several calls names each one.
  std::string idempotency_key() const;
  std::string idempotency_key(std::string_view step) const;

  // Tells the store how far the attempt is. `details` are written with the next heartbeat of the worker (a fraction of
  // the lease away, not before this returns) or with the failure that ends the attempt. They are readable from outside
  // as `progress` and handed to the next attempt. The lease itself is renewed by the worker, with or without this call.
  // At most 512 KiB, else it throws PayloadTooLarge.
  template <class T>
  void heartbeat(const T& details) {
    heartbeat_json(json::encode(details).value());
  }
  void heartbeat_json(std::string details);

  // What the last heartbeat of an earlier attempt said; none: there was none. Throws when it is not a T.
  template <class T>
  std::optional<T> last_heartbeat() const {
    const auto& progress = execution().progress;
    if (!progress) return std::nullopt;
    return json::decode<T>(*progress).value();
  }

  // True once somebody cancelled the task. The handler decides when to stop; an outcome it still returns counts.
  bool cancelled() const { return stop_reason() == StopReason::cancelled; }
  bool stop_requested() const { return stop_reason() != StopReason::none; }
  StopReason stop_reason() const;
  // Throws Cancelled or Stopped when the handler should stop: the task ends cancelled, or its attempt is given back.
  void throw_if_stopped() const;
  // Called once, from another thread, when the handler should stop; at once when it already should. Never after the
  // handler returned. A second call replaces the first.
  void on_stop(std::function<void()> call);

  // If this attempt fails, the next one starts after `delay` instead of the backoff. At most 3650 days: a longer one
  // counts as that, a negative one as 0.
  void retry_after(Duration delay);

  // To the engine's log sink, with the task's ids added.
  void log(LogLevel level, std::string_view message, std::initializer_list<LogField> fields = {}) const;

 private:
  sdk::Attempt& attempt_;
};

// How an attempt ended, as middleware sees it.
struct TaskOutcome {
  enum class Kind : std::uint8_t {
    succeeded,
    failed,
    cancelled,
    released,  // given back, attempt not counted
  };
  Kind kind = Kind::succeeded;
  Payload result;
  Failure failure;
  bool retryable = true;
  std::optional<Duration> next_delay;  // within 0 and 3650 days, as TaskContext::retry_after

  bool ok() const { return kind == Kind::succeeded; }
};

// Wraps every handler of a worker: `next()` runs the rest and never throws. The first one added is the outermost. An
// exception out of middleware fails the attempt like one out of the handler.
using Next = std::function<TaskOutcome()>;
using Middleware = std::function<TaskOutcome(TaskContext& context, const Next& next)>;

}  // namespace semel
