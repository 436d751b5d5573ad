// Runs users' callbacks, one at a time and in order, so that they never run on a thread of the engine.
#pragma once

#include <functional>
#include <memory>
#include <thread>
#include <utility>

#include "semel/result.h"

namespace semel::sdk {

class CallbackThread {
 public:
  // Overloaded: the system has no thread for it.
  static Result<std::shared_ptr<CallbackThread>> start();
  ~CallbackThread();
  // The call must not throw. Runs it here when the thread was stopped.
  void post(std::function<void()> call);
  // Runs what was posted before, then ends the thread. From a callback it returns at once.
  void stop();

 private:
  struct State;
  explicit CallbackThread(std::shared_ptr<State> state) : state_(std::move(state)) {}
  static void run(const std::shared_ptr<State>& state);

  std::shared_ptr<State> state_;  // shared with the thread, which may outlive this object by one callback
  std::thread thread_;
};

}  // namespace semel::sdk
