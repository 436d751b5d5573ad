#include "sdk/callback_thread.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>

#include "engine/threads_start.h"

namespace semel::sdk {

struct CallbackThread::State {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> calls;
  bool stopping = false;
};

Result<std::shared_ptr<CallbackThread>> CallbackThread::start() {
  const std::shared_ptr<CallbackThread> out(new CallbackThread(std::make_shared<State>()));
  auto thread = engine::start_thread([state = out->state_] { run(state); });
  if (!thread) return engine::no_thread_for("callbacks");
  out->thread_ = *std::move(thread);
  return out;
}

CallbackThread::~CallbackThread() {
  stop();
  if (thread_.joinable()) thread_.detach();  // destroyed by its own last callback
}

void CallbackThread::post(std::function<void()> call) {
  {
    const std::lock_guard lock(state_->mutex);
    if (!state_->stopping) {
      state_->calls.push_back(std::move(call));
      state_->changed.notify_one();
      return;
    }
  }
  call();
}

void CallbackThread::stop() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->stopping = true;
    state_->changed.notify_one();
  }
  if (thread_.joinable() && thread_.get_id() != std::this_thread::get_id()) thread_.join();
}

void CallbackThread::run(const std::shared_ptr<State>& state) {
  std::unique_lock lock(state->mutex);
  while (true) {
    state->changed.wait(lock, [&] { return state->stopping || !state->calls.empty(); });
    if (state->calls.empty()) return;
    auto call = std::move(state->calls.front());
    state->calls.pop_front();
    lock.unlock();
    call();
    call = nullptr;
    lock.lock();
  }
}

}  // namespace semel::sdk
