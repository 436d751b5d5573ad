// The only place with threads: one runtime per open store.
//
// Threads: writer, slow lane and hints (where the store has them), clockwork (timers, sweeps, waiters, polls),
// heartbeat, and the handler and workflow threads of each worker. The simulator is the other driver of the same engine
// objects.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/clockwork.h"
#include "engine/engine.h"
#include "engine/run_keeper.h"
#include "engine/worker.h"

namespace semel::engine {

struct RuntimeOptions {
  WriterOptions writer;
  ClockworkOptions clockwork;
  bool clockwork_runs = true;          // false: a client that only enqueues and reads
  std::shared_ptr<base::LogSink> log;  // null: silent
  std::function<void(const Error&)>
      on_fatal;  // the store cannot be trusted any more; called once, from an engine thread
};

// A thread sleeps on it until somebody rings. One sleeper; ringing costs a system call only while it sleeps.
class Bell {
 public:
  void ring();
  // Returns when ring() was called since the last return, or after `at_most`.
  void wait(Duration at_most);
  // Returns when ring() was called, however long it takes. For a bell that rings once.
  void wait_for_ring();

 private:
  std::atomic<std::uint32_t> state_{0};  // 0 quiet, 1 rung, 2 somebody sleeps
};

class Runtime;

// A running worker pool. Destroying it stops it.
class WorkerPool {
 public:
  ~WorkerPool();
  WorkerStats stats() const;
  KeeperStats run_stats() const;  // zeros where no workflow is known
  Worker& worker();
  // Answers from the memory of a run that is owned here. False: it is not.
  bool query(ExecutionId run, std::string name, std::string args, Callback<std::string> done);
  // Stops claiming, releases what has not started, waits for handlers, asks them to stop when a sixth of `grace` is
  // left, and at last leaves them to their leases. Returns within `grace`; outcomes that ended are durable by then if
  // the store answered.
  void stop(Duration grace = Duration{30'000'000});
  Result<void> may_wait() const;  // see Runtime

 private:
  friend class Runtime;
  struct Impl;
  explicit WorkerPool(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

class Runtime {
 public:
  // Starts the threads. The store is closed when the runtime ends. Overloaded: the system has no thread for it; then
  // the store is closed and none runs.
  static Result<std::unique_ptr<Runtime>> open(std::unique_ptr<store::Store> store, RuntimeOptions options);
  ~Runtime();  // stop()
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  Engine& engine();
  store::Store& store();
  WriterStats writer_stats() const;
  ClockworkStats clockwork_stats() const;
  std::optional<Error> fatal_error() const;

  void clean_now();  // starts a cleanup pass

  // `handlers` and `workflows` (null: none) must stay unchanged from now on. The pool must end before the runtime.
  // Overloaded: the system has no threads for it; then none runs.
  Result<std::unique_ptr<WorkerPool>> start_worker(std::shared_ptr<HandlerTable> handlers, WorkerOptions options,
                                                   std::shared_ptr<const WorkflowTable> workflows = nullptr,
                                                   KeeperOptions runs = {});

  // Refuses the threads that move this runtime: a function of theirs (of an EnqueueWithin, a callback, a log sink) that
  // waited for an answer would wait for itself.
  Result<void> may_wait() const;

  // Runs an asynchronous call and waits for its answer:
  //   runtime.wait<EnqueueOutcome>([&](auto done) { runtime.engine().enqueue(std::move(request), std::move(done)); });
  // Refused where may_wait refuses. Where the writer rests, the caller's own thread runs the batch, callbacks of others
  // included.
  template <class T, class Call>
  Result<T> wait(Call&& call) {
    if (auto may = may_wait(); !may) return std::move(may).error();
    Pending<T> pending;
    OwnTurn turn(*impl_);
    call(Callback<T>([&pending](Result<T> result) {
      pending.result.emplace(std::move(result));
      pending.bell.ring();
    }));
    turn.take();
    pending.bell.wait_for_ring();
    return std::move(*pending.result);
  }

  // Delivers one job and runs `handler` on the calling thread when the delivery won the claim; answers when the outcome
  // is durable, with the row as it then is.
  Result<DeliverOutcome> deliver(DeliverRequest request, const Handler& handler);

  // Refuses new work, stops the clockwork, lets the writer write what it holds, for `grace` at most, ends the threads.
  // Then everybody is answered: UnknownCommit where the store did not tell what became of a commit, else ShuttingDown.
  // Pools are to be stopped before. Idempotent.
  void stop(Duration grace = Duration{10'000'000});

 private:
  template <class T>
  struct Pending {
    std::optional<Result<T>> result;
    Bell bell;
  };

  friend class WorkerPool;
  struct Impl;
  explicit Runtime(std::unique_ptr<Impl> impl);
  // A thread that is about to wait for an answer: lines that rest are not woken by what it submits, it steps them
  // itself. Two threads less have to wake for one write.
  class OwnTurn {
   public:
    explicit OwnTurn(Impl& runtime);
    ~OwnTurn();
    OwnTurn(const OwnTurn&) = delete;
    OwnTurn& operator=(const OwnTurn&) = delete;
    void take();

   private:
    friend struct Impl;
    Impl& runtime_;
    OwnTurn* outer_;
    std::uint64_t lines_ = 0;  // that have something to do
    static thread_local OwnTurn* current_;
  };
  std::unique_ptr<Impl> impl_;
};

}  // namespace semel::engine
