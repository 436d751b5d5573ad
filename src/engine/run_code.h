// The code of one run in memory, as the engine sees it: history in, commands out. The SDK implements it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/history.h"
#include "engine/requests.h"

namespace semel::engine {

// What the code asked for. `start` is what a step, a child or the next run is made of.
struct RunCommand {
  core::Event event;
  std::optional<EnqueueRequest> start;
};

// A body of ctx.run: called once, on a thread that may wait, while the code lives or not. Answers the input to record.
struct LocalCall {
  std::int32_t command = 0;
  std::string name;
  std::function<core::Event()> body;
};

// User code runs inside; one call at a time, never on an engine thread. Nothing throws.
class RunCode {
 public:
  virtual ~RunCode() = default;
  // Everything that is recorded, once, before anything else. What the code does about the last inputs of it, or, when
  // there are none, its begin, waits for `run`. NondeterminismError: the code does not fit it. Unsupported: a later
  // version wrote it.
  virtual Result<void> replay(std::span<const core::Event> history) = 0;
  // A live input as it has to be recorded: with `issued`, `joined` and `at` as they are now.
  virtual core::Event stamp(core::Event input, Instant now) const = 0;
  // A stamped input lies ready for the code.
  virtual void hand_over(const core::Event& input) = 0;
  // The code learns all that lies ready at once, and goes on. Take the commands after it, and record all of it in that
  // order.
  virtual void run() = 0;
  virtual bool closed() const = 0;
  virtual std::vector<RunCommand> take_commands() = 0;
  virtual std::vector<LocalCall> take_locals() = 0;
  // Signals that no code asked for and updates without an answer, for the next run of a workflow that continues as new.
  virtual std::vector<core::Event> unread() const = 0;
  virtual Result<std::string> query(const std::string& name, const std::string& args) = 0;
  // Did the code ask for the idempotency key of that call? For tests that look for effects that may happen twice.
  virtual bool key_read(std::int32_t command) const = 0;
};

// Workflows by name. Filled before the worker starts, then only read.
class WorkflowTable {
 public:
  using Maker = std::function<std::unique_ptr<RunCode>(const store::ExecutionView& run)>;
  void add(std::string name, Maker maker) { makers_.insert_or_assign(std::move(name), std::move(maker)); }
  const Maker* find(const std::string& name) const {
    const auto it = makers_.find(name);
    return it == makers_.end() ? nullptr : &it->second;
  }
  bool empty() const { return makers_.empty(); }
  const std::map<std::string, Maker>& makers() const { return makers_; }

 private:
  std::map<std::string, Maker> makers_;
};

// Runs jobs elsewhere. `decide` is for code that must not wait; `call` for bodies of ctx.run, which may, and may be
// carried out before it returns when it comes from a job.
class RunExecutor {
 public:
  virtual ~RunExecutor() = default;
  virtual void decide(std::function<void()> job) = 0;
  virtual void call(std::function<void()> job) = 0;
};

}  // namespace semel::engine
