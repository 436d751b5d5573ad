// Who makes the engine move: threads in a program (runtime_driver), or the test kit step by step.
#pragma once

#include <functional>
#include <memory>

#include "engine/clockwork.h"
#include "engine/engine.h"
#include "engine/handler.h"
#include "engine/run_keeper.h"
#include "engine/worker.h"

namespace semel::sdk {

class PoolDriver {
 public:
  virtual ~PoolDriver() = default;
  virtual engine::WorkerStats stats() const = 0;
  virtual engine::KeeperStats run_stats() const = 0;
  // From the memory of a run that is owned here. False: it is not.
  virtual bool query(ExecutionId run, std::string name, std::string args, engine::Callback<std::string> done) = 0;
  virtual void stop(Duration grace) = 0;
  virtual Result<void> may_wait() const { return {}; }  // see Driver
};

class Driver {
 public:
  virtual ~Driver() = default;
  virtual engine::Engine& engine() = 0;

  // Calls `start` and returns true once `done` was called. False: nothing more can happen at this time (test kit only);
  // `done` may still be called later.
  using Start = std::function<void(std::function<void()> done)>;
  virtual bool wait(const Start& start) = 0;
  // Refuses the threads on which a call that waits would wait for itself.
  virtual Result<void> may_wait() const { return {}; }

  struct WorkerSetup {
    std::shared_ptr<engine::HandlerTable> handlers;
    std::shared_ptr<const engine::WorkflowTable> workflows;
    engine::WorkerOptions options;
    engine::KeeperOptions runs;
  };
  virtual Result<std::unique_ptr<PoolDriver>> start_worker(WorkerSetup setup) = 0;
  virtual Result<engine::DeliverOutcome> deliver(engine::DeliverRequest request, const engine::Handler& handler) = 0;
  virtual engine::WriterStats writer_stats() const = 0;
  virtual engine::ClockworkStats clockwork_stats() const = 0;
  // Answers everybody, within `grace` and a little; later calls are refused. The pools are stopped before.
  virtual void stop(Duration grace) = 0;
  // Ends calls that wait for the store itself.
  virtual void abandon() = 0;
};

}  // namespace semel::sdk
