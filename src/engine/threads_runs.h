// The threads of workflow code and of the bodies of ctx.run.
#pragma once

#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "engine/run_code.h"

namespace semel::engine {

// One more thread than bodies that are under way: one is always there for workflow code, which must not wait. A body
// that a job asks for is carried out on the job's own thread while that leaves one free. Begins with a few threads; a
// body that finds none gets a new one.
class RunPool final : public RunExecutor {
 public:
  explicit RunPool(int bodies);
  ~RunPool() override;
  // Starts the threads. False: the system has too few; close() ends those that were started.
  bool start();
  void decide(std::function<void()> job) override;
  void call(std::function<void()> job) override;
  // Ends the threads; those that are still in user code a moment later are left to themselves. What was not begun is
  // dropped.
  void close();

 private:
  struct Shared;
  static void thread_main(std::shared_ptr<Shared> shared);
  bool add_thread();  // mutex held; false: the system has no more
  const std::shared_ptr<Shared> shared_;
  std::vector<std::thread> threads_;
};

}  // namespace semel::engine
