// A pool of threads that claims tasks and workflows and runs their functions.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "semel/options.h"
#include "semel/task.h"
#include "semel/workflow.h"

namespace semel {

namespace sdk {
struct Pool;
}

class WorkerOptions {
 public:
  // The functions this worker runs, one for each name. A claimed task with another name is given back unburnt.
  template <class R, class A>
  WorkerOptions& add(const Task<R, A>& task) {
    return add(task.name(), task.handler());
  }
  WorkerOptions& add(std::string name, RawHandler handler) {
    handlers_.emplace_back(std::move(name), std::move(handler));
    return *this;
  }
  // The workflows this worker runs: their code, the bodies of ctx.run, and their memory while they wait.
  template <class R, class A>
  WorkerOptions& add(const WorkflowType<R, A>& workflow) {
    return add_workflow(workflow.name(), workflow.starter());
  }
  WorkerOptions& add_workflow(std::string name, WorkflowStarter starter) {
    workflows_.emplace_back(std::move(name), std::move(starter));
    return *this;
  }
  const std::vector<std::pair<std::string, WorkflowStarter>>& workflows() const { return workflows_; }
  // Wraps every task function; the first one added is the outermost.
  WorkerOptions& use(Middleware middleware) {
    middleware_.push_back(std::move(middleware));
    return *this;
  }
  const std::vector<std::pair<std::string, RawHandler>>& handlers() const { return handlers_; }
  const std::vector<Middleware>& middleware() const { return middleware_; }

  SEMEL_OPTION(WorkerOptions, std::string, name)                  // told in `worker`; default "worker"
  SEMEL_OPTION(WorkerOptions, std::vector<std::string>, queues)   // default: all
  SEMEL_OPTION(WorkerOptions, std::vector<std::string>, tenants)  // default: the engine's; not empty
  // Tasks begun whose outcome is not durable yet, and bodies of ctx.run, at most; default 8. After a crash no more than
  // these run again. Many cost threads only while handlers wait: a worker of short handlers is fastest with some 200.
  SEMEL_OPTION(WorkerOptions, int, concurrency)
  // Workflows kept in memory while they wait; beyond it the longest waiting ones are rebuilt from their history when
  // something happens. Default 10,000.
  SEMEL_OPTION(WorkerOptions, int, max_hot_workflows)
  // How long a claim outlives its process; renewed while the process lives. Default 30 s, 1 s .. 7 d.
  SEMEL_OPTION(WorkerOptions, Duration, lease)

 private:
  std::vector<std::pair<std::string, RawHandler>> handlers_;
  std::vector<std::pair<std::string, WorkflowStarter>> workflows_;
  std::vector<Middleware> middleware_;
};

struct WorkerMetrics {
  std::uint64_t claimed = 0;
  std::uint64_t succeeded = 0;
  std::uint64_t failed = 0;
  std::uint64_t cancelled = 0;
  std::uint64_t released = 0;
  std::uint64_t lease_lost = 0;
  std::uint64_t no_handler = 0;
  std::uint64_t running = 0;  // now
  // Workflows.
  std::uint64_t runs_closed = 0;
  std::uint64_t runs_parked = 0;      // code that no longer fits its history
  std::uint64_t runs_evicted = 0;     // left memory while they waited
  std::uint64_t workflows_stuck = 0;  // code that blocked or span between two awaits
  std::uint64_t runs_hot = 0;         // in memory now
};

// A running pool. The engine owns it: dropping this object leaves it running until stop() or Engine::shutdown.
class Worker {
 public:
  explicit Worker(std::shared_ptr<sdk::Pool> pool) : pool_(std::move(pool)) {}

  WorkerMetrics metrics() const;

  // Stops claiming, gives back what has not started, waits for running handlers, tells them to stop when a sixth of
  // `grace` is left, and at last leaves them to their leases. Returns within `grace`, also where the store does not
  // answer; where it does, outcomes of handlers that ended are durable by then. Idempotent.
  void stop(Duration grace = std::chrono::seconds(30));

 private:
  std::shared_ptr<sdk::Pool> pool_;
};

}  // namespace semel
