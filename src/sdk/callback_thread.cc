#include "sdk/callback_thread.h"

#include <utility>

namespace semel::sdk {

void CallbackThread::post(std::function<void()> call) {
  {
    const std::lock_guard lock(mutex_);
    if (!stopping_) {
      calls_.push_back(std::move(call));
      if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
      changed_.notify_one();
      return;
    }
  }
  call();
}

void CallbackThread::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_one();
  }
  if (!thread_.joinable()) return;
  if (thread_.get_id() == std::this_thread::get_id()) return;  // from a callback: the destructor joins
  thread_.join();
}

void CallbackThread::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stopping_ || !calls_.empty(); });
    if (calls_.empty()) return;
    auto call = std::move(calls_.front());
    calls_.pop_front();
    lock.unlock();
    call();
    call = nullptr;
    lock.lock();
  }
}

}  // namespace semel::sdk
