// Settings of what a workflow starts. Classes with setters, like those of options.h.
#pragma once

#include <string>

#include "semel/options.h"
#include "semel/status.h"
#include "semel/time.h"

namespace semel {

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
