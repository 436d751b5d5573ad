// Exceptions on both sides of a task: what a handler throws to say how its attempt ends, and what `Handle::get` throws.
//
// The engine itself never throws; only `.value()` and `.get()` do.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "semel/result.h"
#include "semel/time.h"

namespace semel {

// ---- thrown by handlers --------------------------------------------------------------------------------------------

// Fails the attempt with a name of its own. The retry policy may list names that end the task at once. Any other
// exception fails the attempt too, with the name "Exception".
class TaskError : public std::runtime_error {
 public:
  TaskError(std::string name, const std::string& message) : std::runtime_error(message), name_(std::move(name)) {}
  const std::string& name() const { return name_; }

  // A JSON value kept with the error.
  TaskError& details(std::string json) {
    details_ = std::move(json);
    return *this;
  }
  const std::optional<std::string>& details() const { return details_; }

 private:
  std::string name_;
  std::optional<std::string> details_;
};

// Fails the task for good, attempts left or not.
class NonRetryable : public TaskError {
 public:
  explicit NonRetryable(const std::string& message) : TaskError("NonRetryable", message) {}
  NonRetryable(std::string name, const std::string& message) : TaskError(std::move(name), message) {}
};

// Fails the attempt and chooses when the next one starts, instead of the backoff. At most 3650 days: a longer one
// counts as that, a negative one as 0.
class RetryAfter : public TaskError {
 public:
  explicit RetryAfter(Duration delay, const std::string& message = "the task asked to be run again later")
      : TaskError("RetryAfter", message), delay_(delay) {}
  Duration delay() const { return delay_; }

 private:
  Duration delay_;
};

// The handler stopped because the process shuts down: gives the attempt back, unburnt.
class Stopped : public std::runtime_error {
 public:
  Stopped() : std::runtime_error("the worker is stopping") {}
};

// ---- thrown by Handle::get -----------------------------------------------------------------------------------------

// Failed or dead-lettered. `error_name` and the message are those of the last attempt.
class TaskFailed : public ErrorException {
 public:
  TaskFailed(Error error, std::string error_name) : ErrorException(std::move(error)), name_(std::move(error_name)) {}
  const std::string& error_name() const { return name_; }

 private:
  std::string name_;
};

// The task was cancelled. A handler throws it to acknowledge that cancel was requested.
class Cancelled : public ErrorException {
 public:
  Cancelled() : ErrorException(make_error(ErrorCode::Cancelled, "cancelled")) {}
  explicit Cancelled(Error error) : ErrorException(std::move(error)) {}
};

// The task's own `timeout` passed.
class TimedOut : public ErrorException {
 public:
  explicit TimedOut(Error error) : ErrorException(std::move(error)) {}
};

}  // namespace semel
