// How the templates of workflow.h reach the run they belong to. Made in sdk/workflow; not for programs.
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "semel/id.h"
#include "semel/log.h"
#include "semel/payload.h"
#include "semel/time.h"
#include "semel/workflow_options.h"

namespace semel {

class WorkflowContext;

namespace detail {

// How something that was waited for ended.
struct Outcome {
  enum class Kind : std::uint8_t { ok, failed, cancelled, timed_out };
  Kind kind = Kind::ok;
  std::string data;              // ok: the bytes of the result; else the error as JSON, or nothing
  std::shared_ptr<void> object;  // a spawned part's value
  std::exception_ptr thrown;     // what left a spawned part
  std::size_t index = 0;         // any(): which one was first
};

// A coroutine at its start, with its types erased. `take` answers what it returned, or throws what left it.
struct Started {
  std::coroutine_handle<> frame;
  std::function<Outcome()> take;
};

enum class Group : std::uint8_t {
  all,      // settled by the last success or the first failure
  any,      // settled by the first end
  timeout,  // two members: something and its timer
};

using QueryHandler = std::function<std::string(const std::string& args)>;
using UpdateHandler = std::function<Started(WorkflowContext&, const std::string& args)>;

// What is waited for lies in slots of the run, which live as long as the run's code is in memory: futures are two
// words.
class RunPort {
 public:
  virtual ~RunPort() = default;

  // Each takes the next command number, now.
  virtual int local(std::string name, std::function<std::string()> body) = 0;
  virtual int step(std::string name, Payload args, StepOptions options) = 0;
  virtual int child(std::string name, Payload args, ChildOptions options) = 0;
  virtual int timer(Instant due) = 0;
  virtual int signal(std::string name) = 0;
  virtual void send_signal(std::string workflow_id, std::string name, std::string data) = 0;

  // These leave no trace in the history and take no number.
  virtual int spawn(Started part) = 0;
  virtual int group(Group kind, std::vector<int> members) = 0;
  virtual int member(int slot, std::size_t index) const = 0;
  virtual std::size_t member_count(int slot) const = 0;

  virtual bool settled(int slot) const = 0;
  // The same, asked by the code: a signal that lies unread is taken by whoever asks.
  virtual bool ready(int slot) = 0;
  // False: do not suspend, `outcome` throws Cancelled.
  virtual bool wait(int slot, std::coroutine_handle<> waiter) = 0;
  // Throws unless the slot is settled well.
  virtual const Outcome& outcome(int slot) const = 0;
  virtual void cancel(int slot) = 0;
  // A part that had suspended is done: its parent goes on before anything else.
  virtual void go_on(std::coroutine_handle<> parent) noexcept = 0;

  // Of the strand that runs now. The answer is for `unshield`.
  virtual void* shield() = 0;
  virtual void unshield(void* strand) noexcept = 0;

  virtual void prepare_next(std::string args) = 0;
  virtual void continue_as_new() = 0;
  virtual void set_state(std::string data) = 0;
  virtual bool patched(std::string_view id) = 0;
  virtual void on_query(std::string name, QueryHandler handler) = 0;
  virtual void on_update(std::string name, UpdateHandler handler) = 0;

  virtual Instant now() const = 0;
  virtual std::uint64_t random() = 0;
  virtual std::string uuid() = 0;
  virtual std::string idempotency_key() = 0;
  virtual bool cancel_requested() const = 0;
  virtual void log(LogLevel level, std::string_view message, std::span<const LogField> fields) const = 0;
  virtual ExecutionId run_id() const = 0;
  virtual const std::string& workflow_id() const = 0;
  virtual const std::string& workflow_name() const = 0;
};

// The run whose code is running on this thread. Throws std::logic_error when there is none.
RunPort& current_run();

}  // namespace detail
}  // namespace semel
