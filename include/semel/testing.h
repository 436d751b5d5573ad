// A test kit for programs with durable tasks (component semel::testing): the engine in memory, on one thread, with a
// clock that only the test moves. Same Engine class, same rules, no sleeping, no randomness beyond the seed.
//
//   semel::testing::TestEngine kit;
//   auto worker = kit->start_worker(semel::WorkerOptions().add(charge)).value();
//   auto handle = kit->enqueue(charge, order, semel::EnqueueOptions().delay(std::chrono::days(30))).value();
//   kit.advance(std::chrono::days(30));          // a millisecond of real time
//   EXPECT_EQ(handle.result().value().charged, 4200);
//
// Not thread-safe. Handlers run inside run_until_idle, advance, Handle::result and Handle::wait, never inside enqueue.
// A wait that nothing can end at the present time answers NotReady instead of blocking.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "semel/engine.h"

namespace semel::testing {

struct Kit;  // the kit's own tools

class TestOptions {
 public:
  SEMEL_OPTION(TestOptions, std::uint64_t, seed)  // of ids and jitter; default 1
  SEMEL_OPTION(TestOptions, Instant, start)       // default 2026-03-01T09:00:00Z
  SEMEL_OPTION(TestOptions, Options, engine)      // tenant, codec and log are used
  // false: nothing that is over is ever removed, however much time passes. Default true: as retention says.
  SEMEL_OPTION(TestOptions, bool, cleanup)
};

class TestEngine {
 public:
  explicit TestEngine(const TestOptions& options = {});
  ~TestEngine();
  TestEngine(const TestEngine&) = delete;
  TestEngine& operator=(const TestEngine&) = delete;

  Engine& engine();
  Engine* operator->() { return &engine(); }

  Instant now() const;
  // Runs everything that can happen now. Answers how many attempts ran.
  int run_until_idle();
  // Moves the clock. Timers, retries, expired leases and cleanup on the way happen at their own instants, in order.
  int advance(Duration by);
  int advance_to(Instant at);
  // Moves the clock to the next timer, retry or expired lease and runs it; false: nothing is pending.
  bool advance_to_next();

  // ---- faults
  // --------------------------------------------------------------------------------------------------------

  // The next `count` attempts of that task fail with this error; the function is not called.
  void fail_next(std::string_view task, int count = 1, std::string_view error_name = "Injected", bool retryable = true);
  // The worker that runs the next attempt of that task dies: its outcome is lost and its leases have to expire. A new
  // worker with the same functions takes its place.
  enum class Crash : std::uint8_t {
    before_function,  // claimed, nothing done
    after_function,   // done, but never recorded: the task will run again
  };
  void crash_next(std::string_view task, Crash when = Crash::after_function);

  // ---- stubs
  // ---------------------------------------------------------------------------------------------------------

  // From now on attempts of that task call `function` instead of the real one, which need not exist in any worker. It
  // has the form of a task function and returns what the task returns; it counts in `calls`, faults hit it as they hit
  // any attempt, the workers' middleware does not wrap it. A second stub replaces the first.
  template <class R, class A, class F>
  void stub(const TaskRef<R, A>& task, F function) {
    const auto made = semel::task(task.name(), std::move(function));
    using Made = std::remove_const_t<decltype(made)>;
    static_assert(std::is_same_v<typename Made::result_type, R>, "the stub must return what the task returns");
    static_assert(std::is_same_v<typename Made::argument_type, A> || std::is_same_v<typename Made::argument_type, None>,
                  "the stub must take what the task takes, or nothing");
    stub_raw(made.name(), made.handler());
  }
  template <class F>
  void stub(std::string task, F function) {
    const auto made = semel::task(std::move(task), std::move(function));
    stub_raw(made.name(), made.handler());
  }
  void stub_raw(std::string task, RawHandler handler);

  // ---- looking
  // ---------------------------------------------------------------------------------------------------------

  // How often the function of that task, or its stub, was called.
  int calls(std::string_view task) const;
  // Every execution of the engine's tenant, oldest first, without arguments.
  std::vector<Execution> executions();
  // Every row of the store as text; equal worlds print equal text.
  std::string snapshot();
  // Broken invariants of the store; empty: sound.
  std::vector<std::string> verify();

 private:
  friend struct Kit;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Does today's code still do what a history records? Takes what Engine::export_history and `semel workflow history -o
// json` print: keep some of production's as tests of later code. NondeterminismError names the event where they part;
// InvalidArgument: it is not a history of this workflow. Nothing is written, no task and no body of ctx.run is called.
Result<void> replay_raw(const std::string& name, const WorkflowStarter& starter, std::string history_json,
                        const std::shared_ptr<const PayloadCodec>& codec = nullptr);

template <class R, class A>
Result<void> replay(const WorkflowType<R, A>& workflow, std::string history_json,
                    const std::shared_ptr<const PayloadCodec>& codec = nullptr) {
  return replay_raw(workflow.name(), workflow.starter(), std::move(history_json), codec);
}

}  // namespace semel::testing
