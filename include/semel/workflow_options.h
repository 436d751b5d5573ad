// Settings of what a workflow starts. Classes with setters, like those of options.h.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "semel/json.h"
#include "semel/options.h"
#include "semel/status.h"
#include "semel/time.h"

namespace semel {

// Of Engine::start.
class StartOptions {
 public:
  SEMEL_OPTION(StartOptions, std::string, queue)   // default "default"; steps go there too unless they name another
  SEMEL_OPTION(StartOptions, std::string, tenant)  // default: the engine's
  SEMEL_OPTION(StartOptions, int, priority)        // 0..32767, smaller first; default 100
  SEMEL_OPTION(StartOptions, Duration, delay)
  SEMEL_OPTION(StartOptions, Instant, scheduled_at)
  SEMEL_OPTION(StartOptions, Duration, timeout)  // of the whole workflow, with what continues it; then timed_out
  // Runs of a workflow that fails; default 1. A retry is a new run with an empty history.
  SEMEL_OPTION(StartOptions, int, max_attempts)
  SEMEL_OPTION(StartOptions, RetryPolicy, retry)
  // What a second start of the workflow_id is told: the existing run (default), an error, or a new run that replaces a
  // live one.
  SEMEL_OPTION(StartOptions, OnDuplicate, on_duplicate)
  SEMEL_OPTION(StartOptions, Reuse, reuse)  // which finished runs a new one may follow; default failed_only
  SEMEL_OPTION(StartOptions, bool, match_args)
  // The id of this request: sent twice, it is answered with the same run and replaces nothing. (on_duplicate = reject
  // answers the second one with an error that names the run.)
  SEMEL_OPTION(StartOptions, std::string, idempotency_key)
  SEMEL_OPTION(StartOptions, Duration, idempotency_key_ttl)

  // Kept with the run for people to read; no rule looks at it.
  template <class T>
  StartOptions& memo(std::string name, const T& value) {
    memo_[std::move(name)] = json::encode(value);
    return *this;
  }
  // The same, and runs can be listed by it: strings, numbers, booleans.
  template <class T>
  StartOptions& attribute(std::string name, const T& value) {
    attributes_[std::move(name)] = json::encode(value);
    return *this;
  }
  // Name -> JSON text.
  const std::map<std::string, std::string>& memo() const { return memo_; }
  const std::map<std::string, std::string>& attributes() const { return attributes_; }

 private:
  std::map<std::string, std::string> memo_, attributes_;
};

// Of WorkflowHandle::update.
class UpdateOptions {
 public:
  SEMEL_OPTION(UpdateOptions, std::string, id)  // of the request: asked again, it is answered, not done again
  SEMEL_OPTION(UpdateOptions, Duration, timeout)
};

// Of WorkflowContext::execute. What is not set comes from the queue, then from the defaults of tasks.
class StepOptions {
 public:
  // The identity of the step's task. A task of this id that already exists is attached to: its outcome is the step's.
  SEMEL_OPTION(StepOptions, std::string, task_id)
  SEMEL_OPTION(StepOptions, std::string, queue)  // default: the run's
  SEMEL_OPTION(StepOptions, int, priority)
  SEMEL_OPTION(StepOptions, Duration, delay)
  SEMEL_OPTION(StepOptions, Duration, timeout)          // from the call to the end; then TimedOut
  SEMEL_OPTION(StepOptions, Duration, attempt_timeout)  // of one attempt; a retryable failure
  SEMEL_OPTION(StepOptions, int, max_attempts)
  SEMEL_OPTION(StepOptions, RetryPolicy, retry)
  SEMEL_OPTION(StepOptions, std::string, concurrency_key)
  // When the run is cancelled the step is asked to stop. true: its await then answers how it really ended, instead of
  // throwing Cancelled at once; for steps whose effect has to be known to undo it.
  SEMEL_OPTION(StepOptions, bool, wait_for_end)
};

// Of WorkflowContext::child.
class ChildOptions {
 public:
  SEMEL_OPTION(ChildOptions, std::string, workflow_id)  // default: "<run id>:<number of the call>"
  SEMEL_OPTION(ChildOptions, std::string, queue)        // default: the run's
  SEMEL_OPTION(ChildOptions, Duration, timeout)
  SEMEL_OPTION(ChildOptions, OnDuplicate, on_duplicate)
  SEMEL_OPTION(ChildOptions, Reuse, reuse)
  SEMEL_OPTION(ChildOptions, bool, wait_for_end)  // as for steps
};

}  // namespace semel
