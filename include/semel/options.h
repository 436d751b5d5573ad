// Settings of calls and queues. Classes with setters, so that a call reads like a sentence:
//
//   EnqueueOptions().task_id("pay-1").queue("payments").delay(5s)
//
// Nothing is checked here: the call that takes the options answers InvalidArgument and names the field.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "semel/id.h"
#include "semel/status.h"
#include "semel/time.h"

namespace semel {

// A setter `name(value)` and the stored field `name##_`, readable by whoever takes the options.
#define SEMEL_OPTION(Class, Type, name)                       \
  Class& name(Type value) {                                   \
    name##_ = std::move(value);                               \
    return *this;                                             \
  }                                                           \
  const std::optional<Type>& name() const { return name##_; } \
                                                              \
 private:                                                     \
  std::optional<Type> name##_;                                \
                                                              \
 public:

// What happens after a failed attempt. Fields left unset come from the queue, then from the defaults: 1 s, doubled each
// time up to 60 s, 3 attempts, a tenth of the delay random.
class RetryPolicy {
 public:
  SEMEL_OPTION(RetryPolicy, Duration, initial_interval)
  SEMEL_OPTION(RetryPolicy, double, factor)
  SEMEL_OPTION(RetryPolicy, Duration, max_interval)
  SEMEL_OPTION(RetryPolicy, int, max_attempts)
  SEMEL_OPTION(RetryPolicy, double, jitter)
  SEMEL_OPTION(RetryPolicy, std::vector<std::string>, non_retryable)  // error names that end the task at once
};

class EnqueueOptions {
 public:
  // The identity of the task: 1..255 bytes of UTF-8. While an execution of this id lives, or has succeeded and is kept,
  // enqueueing it again answers that execution. Without one every call makes a new execution. Never put secrets in ids.
  SEMEL_OPTION(EnqueueOptions, std::string, task_id)
  SEMEL_OPTION(EnqueueOptions, std::string, queue)   // default "default"; created by first use
  SEMEL_OPTION(EnqueueOptions, std::string, tenant)  // default: the engine's
  SEMEL_OPTION(EnqueueOptions, int, priority)        // 0..32767, smaller first; default 100

  SEMEL_OPTION(EnqueueOptions, Duration, delay)            // not before: from now, in store time
  SEMEL_OPTION(EnqueueOptions, Instant, scheduled_at)      // not before: this instant
  SEMEL_OPTION(EnqueueOptions, Duration, timeout)          // from enqueue to the end; then timed_out, never retried
  SEMEL_OPTION(EnqueueOptions, Duration, attempt_timeout)  // of one attempt; a retryable failure

  SEMEL_OPTION(EnqueueOptions, int, max_attempts)
  SEMEL_OPTION(EnqueueOptions, RetryPolicy, retry)
  SEMEL_OPTION(EnqueueOptions, std::string, concurrency_key)  // counted by the queue's concurrency_per_key

  // What a duplicate is told: the existing execution (default), or an error.
  SEMEL_OPTION(EnqueueOptions, OnDuplicate, on_duplicate)
  // Which finished executions a new one may follow under the same id; default failed_only.
  SEMEL_OPTION(EnqueueOptions, Reuse, reuse)
  // false: a duplicate may carry other arguments (never another name); default true.
  SEMEL_OPTION(EnqueueOptions, bool, match_args)

  // A second name for the request that may outlive the execution's retention, for this long after its end (default
  // 24 h).
  SEMEL_OPTION(EnqueueOptions, std::string, idempotency_key)
  SEMEL_OPTION(EnqueueOptions, Duration, idempotency_key_ttl)

  SEMEL_OPTION(EnqueueOptions, GroupId, group)  // member of Engine::create_group

  // At most one execution per name, arguments and period; period 0 has no end. Instead of a task_id.
  EnqueueOptions& unique_by_args(Duration period = Duration{0}) { return unique(true, period); }
  // The same, whatever the arguments are.
  EnqueueOptions& unique_by_name(Duration period = Duration{0}) { return unique(false, period); }

  struct Unique {
    bool args = true;
    Duration period{0};
  };
  const std::optional<Unique>& unique() const { return unique_; }

 private:
  EnqueueOptions& unique(bool args, Duration period) {
    unique_ = Unique{args, period};
    return *this;
  }
  std::optional<Unique> unique_;
};

// Settings of a queue, for every process that uses the store; seen by all of them within a second. Replaces the stored
// settings as a whole: what is not set here goes back to its default.
class QueueOptions {
 public:
  SEMEL_OPTION(QueueOptions, Duration, retention)       // of finished tasks; default 7 d; 0: deleted at completion
  SEMEL_OPTION(QueueOptions, int, concurrency)          // claimed or running at once, over all workers
  SEMEL_OPTION(QueueOptions, int, concurrency_per_key)  // the same per concurrency_key
  SEMEL_OPTION(QueueOptions, bool, dead_letter)         // out of attempts: dead_lettered instead of failed
  SEMEL_OPTION(QueueOptions, int, max_attempts)
  SEMEL_OPTION(QueueOptions, RetryPolicy, retry)
  SEMEL_OPTION(QueueOptions, bool, paused)

  // At most `count` claims per `per`, over all workers, in bursts of at most `count`.
  QueueOptions& rate_limit(std::int64_t count, Duration per) {
    rate_limit_ = Rate{count, per};
    return *this;
  }
  struct Rate {
    std::int64_t count = 0;
    Duration per{0};
  };
  const std::optional<Rate>& rate_limit() const { return rate_limit_; }

 private:
  std::optional<Rate> rate_limit_;
};

}  // namespace semel
