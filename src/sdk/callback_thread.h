// Runs users' callbacks, one at a time and in order, so that they never run on a thread of the engine.
#pragma once

#include <functional>
#include <memory>
#include <thread>

namespace semel::sdk {

class CallbackThread {
 public:
  CallbackThread();
  ~CallbackThread();
  // Starts the thread at first use. Runs the call here when the thread was stopped.
  void post(std::function<void()> call);
  // Runs what was posted before, then ends the thread. From a callback it returns at once.
  void stop();

 private:
  struct State;
  static void run(const std::shared_ptr<State>& state);

  std::shared_ptr<State> state_;  // shared with the thread, which may outlive this object by one callback
  std::thread thread_;
};

}  // namespace semel::sdk
