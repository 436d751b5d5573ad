// A reference to a workflow that was started, cheap to copy. Thread-safe.
//
//   auto handle = engine.start(order_workflow, "order-42", order).value();
//   handle.signal("approved", Approval{"ann"}, "click-1");
//   auto total = handle.query<int>("total");
//   Receipt receipt = handle.get();
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "semel/handle.h"
#include "semel/workflow_options.h"

namespace semel {

// Messages go to the newest run of the workflow_id, so they also reach what continued as new.
template <class R>
class WorkflowHandle : public Handle<R> {
 public:
  WorkflowHandle() = default;
  explicit WorkflowHandle(RawHandle raw) : Handle<R>(std::move(raw)) {}

  const std::string& workflow_id() const { return this->task_id(); }
  ExecutionId run_id() const { return this->execution_id(); }

  // Durable when it returns. True: it is news; false: the workflow took a signal of this name and dedupe id before, in
  // this run or in one that it continues or retries. WorkflowAlreadyCompleted when the workflow is over.
  template <class T = None>
  Result<bool> signal(std::string name, const T& value = {}, std::string dedupe_id = {}) const {
    return this->signal_raw(std::move(name), encode_payload(value), std::move(dedupe_id));
  }

  // Asks the code of the run, in this process: a worker of this engine must know the workflow. Answers from its memory,
  // or from a replay of its history.
  template <class T, class A = None>
  Result<T> query(std::string name, const A& argument = {}) const {
    return unpack<T>(this->query_raw(std::move(name), encode_payload(argument)));
  }

  // A change with an answer: waits until the code answered, or at most for UpdateOptions::timeout (then NotReady: ask
  // again with the same id). TaskFailed when the code rejected it.
  template <class T = void, class A = None>
  Result<T> update(std::string name, const A& argument = {}, const UpdateOptions& options = {}) const {
    return unpack<T>(this->update_raw(std::move(name), encode_payload(argument), options));
  }

  // What the code last gave to ctx.set_state; none before.
  template <class T>
  Result<std::optional<T>> state() const {
    auto stored = this->state_raw();
    if (!stored) return std::move(stored).error();
    if (!*stored) return std::optional<T>();
    auto value = decode_payload<T>(**stored);
    if (!value) return std::move(value).error();
    return std::optional<T>(*std::move(value));
  }

  // Ends it now, without its clean-up code; `cancel` lets it clean up. A finished run is left as it is.
  Result<Status> terminate() const { return this->terminate_raw(); }

 private:
  template <class T>
  static Result<T> unpack(Result<Payload> payload) {
    if (!payload) return std::move(payload).error();
    if constexpr (std::is_void_v<T>) return {};
    else return decode_payload<T>(*payload);
  }
};

}  // namespace semel
