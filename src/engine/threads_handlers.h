// The handler threads of one worker. Part of the threaded driver.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "engine/worker.h"

namespace semel::engine {

class HandlerPool final : public Executor {
 public:
  HandlerPool(std::shared_ptr<const HandlerTable> handlers, base::Clock& clock, int threads);
  ~HandlerPool() override;

  void run_for(Worker& worker);  // starts the threads
  void start(std::vector<RunRef> runs) override;
  // Wakes a thread that sleeps; it looks out for the run while the sync lasts, and sleeps again when none comes.
  void expect() override;
  std::vector<RunRef> take_unstarted() override;

  // No thread calls the worker after this returned. Threads whose handler does not end are left behind; they hold what
  // they still need and end with their handler.
  void close();

 private:
  struct Shared;
  static void thread_main(std::shared_ptr<Shared> shared);
  static void run_one(Shared& shared, RunRef run);

  std::shared_ptr<Shared> shared_;
  int thread_count_;
  std::vector<std::thread> threads_;
};

}  // namespace semel::engine
