// A reference to one execution, cheap to copy. Thread-safe. Handles outlive nothing: after Engine::shutdown their calls
// answer ShuttingDown.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "semel/exceptions.h"
#include "semel/execution.h"
#include "semel/result.h"
#include "semel/task.h"

namespace semel {

namespace sdk {
class Host;
}

class UpdateOptions;

// An execution whose types are not known here.
class RawHandle {
 public:
  RawHandle() = default;

  ExecutionId execution_id() const { return execution_id_; }
  const std::string& task_id() const { return task_id_; }  // the execution_id's text when none was given
  const std::string& tenant() const { return tenant_; }
  // Did this call make the execution? False: a duplicate was answered with it.
  bool created() const { return created_; }

  // Reads the store.
  Result<Status> status() const;
  Result<Execution> execution() const;

  // Waits for the end, or at most `timeout` (then NotReady). Follows the chain of executions: the answer may be a
  // successor. ExecutionNotFound when retention removed it. Inside a callback it holds up the other callbacks.
  Result<Execution> wait(std::optional<Duration> timeout = std::nullopt) const;
  // Calls back once it is over, on the engine's callback thread or executor.
  void on_end(std::function<void(Result<Execution>)> call) const;

  // Cancels it: at once when it is queued, else its handler is told. Durable when it returns; a finished execution is
  // left as it is. Answers the status after the call.
  Result<Status> cancel() const;

 protected:
  // Of workflows, see WorkflowHandle.
  Result<bool> signal_raw(std::string name, Result<Payload> value, std::string dedupe_id) const;
  Result<Payload> query_raw(std::string name, Result<Payload> argument) const;
  Result<Payload> update_raw(std::string name, Result<Payload> argument, const UpdateOptions& options) const;
  Result<std::optional<Payload>> state_raw() const;
  Result<Status> terminate_raw() const;

 private:
  friend class sdk::Host;
  std::shared_ptr<sdk::Host> host_;
  ExecutionId execution_id_;
  std::string task_id_;
  std::string tenant_;
  bool created_ = false;
  bool result_expired_ = false;
};

// The recorded outcome: the result, or TaskFailed, TaskDeadLettered, Cancelled, TimedOut with the last attempt's error.
Result<Payload> outcome_of(const Execution& execution);
// Throws TaskFailed, Cancelled, TimedOut or ErrorException.
[[noreturn]] void throw_outcome(Error error);

template <class R>
class Handle : public RawHandle {
 public:
  Handle() = default;
  explicit Handle(RawHandle raw) : RawHandle(std::move(raw)) {}

  // Waits for the outcome. Asking again, here or in another process, answers the same.
  Result<R> result() const { return unpack(wait()); }
  // NotReady when it is not over by then; ask again.
  Result<R> result_for(Duration timeout) const { return unpack(wait(timeout)); }
  // The value, or a typed exception.
  R get() const {
    auto outcome = result();
    if (!outcome) throw_outcome(std::move(outcome).error());
    if constexpr (!std::is_void_v<R>) return *std::move(outcome);
  }
  void on_done(std::function<void(Result<R>)> call) const {
    on_end([call = std::move(call)](Result<Execution> ended) { call(unpack(std::move(ended))); });
  }

 private:
  static Result<R> unpack(Result<Execution> ended) {
    if (!ended) return std::move(ended).error();
    auto payload = outcome_of(*ended);
    if (!payload) return std::move(payload).error();
    if constexpr (std::is_void_v<R>) return {};
    else return decode_payload<R>(*payload);
  }
};

}  // namespace semel
