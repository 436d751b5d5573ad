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

// Begins with a few threads and adds some only where handlers wait, up to one per slot of the worker: many slots cost
// nothing while handlers are short.
class HandlerPool final : public Executor {
 public:
  HandlerPool(std::shared_ptr<const HandlerTable> handlers, base::Clock& clock, int slots);
  ~HandlerPool() override;

  // Starts the threads. False: the system has too few; close() ends those that were started.
  bool run_for(Worker& worker);
  void start(std::vector<RunRef> runs) override;
  // Wakes a thread that sleeps; it looks out for the run while the sync lasts, and sleeps again when none comes.
  void expect() override;
  std::vector<RunRef> take_unstarted() override;
  // Where nothing moved for a millisecond, whatever waits gets a thread of its own.
  Instant step(Instant now) override;

  // No thread calls the worker after this returned. Threads whose handler does not end are left behind; they hold what
  // they still need and end with their handler.
  void close();

 private:
  struct Shared;
  struct Lot;
  static void thread_main(std::shared_ptr<Shared> shared, std::shared_ptr<Lot> lot);
  static void run_one(Shared& shared, RunRef run);
  bool add_thread();  // mutex held; false: the system has no more

  const std::shared_ptr<Shared> shared_;
  const std::size_t most_threads_;
  std::vector<std::thread> threads_;  // guarded by the mutex until it stops
  // Of `step`, which one thread calls:
  bool watching_ = false;
  Instant look_at_{};
  std::uint64_t seen_taken_ = 0;
};

}  // namespace semel::engine
