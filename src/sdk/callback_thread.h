// Runs users' callbacks, one at a time and in order, so that they never run on a thread of the engine.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace semel::sdk {

class CallbackThread {
 public:
  ~CallbackThread() { stop(); }
  // Starts the thread at first use. Runs the call here when the thread was stopped.
  void post(std::function<void()> call);
  // Runs what was posted before, then ends the thread.
  void stop();

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> calls_;
  std::thread thread_;
  bool stopping_ = false;
};

}  // namespace semel::sdk
