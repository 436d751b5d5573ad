#include "engine/threads_handlers.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/clock.h"

namespace semel::engine {
namespace {

constexpr std::int64_t kShortHandlerMicros = 50;
constexpr std::int64_t kQuickHandlerMicros = 200;  // an enqueuer may wait for one
constexpr std::size_t kMaxChunk = 16;
constexpr std::int64_t kLookoutMicros = 1000;

}  // namespace

struct HandlerPool::Shared {
  std::shared_ptr<const HandlerTable> handlers;
  base::Clock* clock = nullptr;
  std::size_t thread_count = 1;
  // How long a handler takes, smoothed. Threads may overwrite each other's: it is an estimate.
  std::atomic<std::int64_t> mean_micros{kQuickHandlerMicros};
  bool take_less_than(std::int64_t micros) const { return mean_micros.load(std::memory_order_relaxed) < micros; }

  std::mutex mutex;
  std::condition_variable work;
  std::deque<RunRef> queue;
  std::size_t idle = 0;
  std::size_t alive = 0;
  bool expected = false;     // nobody looks out for it yet
  std::size_t lookouts = 0;  // threads that look out: they need no waking
  std::atomic<bool> arrived{false};
  bool stopping = false;
  std::condition_variable gone;

  // The worker may be called only between enter and leave.
  Worker* worker = nullptr;
  std::atomic<bool> closed{false};
  std::atomic<int> inside{0};
  bool enter() {
    inside.fetch_add(1);
    if (!closed.load()) return true;
    inside.fetch_sub(1);
    return false;
  }
  void leave() { inside.fetch_sub(1); }

  // Gives the processor away at every look: others may need it more.
  void look_out(std::unique_lock<std::mutex>& lock) {
    ++lookouts;
    lock.unlock();
    const std::int64_t until = base::steady_micros() + kLookoutMicros;
    while (!arrived.load() && base::steady_micros() < until) std::this_thread::yield();
    lock.lock();
    --lookouts;
  }
};

HandlerPool::HandlerPool(std::shared_ptr<const HandlerTable> handlers, base::Clock& clock, int threads)
    : shared_(std::make_shared<Shared>()), thread_count_(std::max(1, threads)) {
  shared_->handlers = std::move(handlers);
  shared_->clock = &clock;
  shared_->thread_count = static_cast<std::size_t>(thread_count_);
}

HandlerPool::~HandlerPool() { close(); }

void HandlerPool::run_for(Worker& worker) {
  shared_->worker = &worker;
  shared_->alive = static_cast<std::size_t>(thread_count_);
  for (int i = 0; i < thread_count_; ++i) threads_.emplace_back(thread_main, shared_);
}

void HandlerPool::expect() {
  {
    std::lock_guard lock(shared_->mutex);
    if (shared_->idle == 0 || !shared_->queue.empty()) return;
    shared_->expected = true;
    shared_->arrived = false;
  }
  shared_->work.notify_one();
}

void HandlerPool::start(std::vector<RunRef> runs) {
  std::size_t sleepers = 0;
  bool looked_for = false;
  const std::size_t count = runs.size();
  {
    std::lock_guard lock(shared_->mutex);
    std::move(runs.begin(), runs.end(), std::back_inserter(shared_->queue));
    sleepers = std::min(shared_->idle, count - std::min(count, shared_->lookouts));
    looked_for = shared_->lookouts > 0;
    shared_->expected = false;
    shared_->arrived = true;
  }
  for (std::size_t i = 0; i < sleepers; ++i) shared_->work.notify_one();
  // Whoever looks out mostly waits for this very processor: it was woken from here. A long handler would keep it.
  if (looked_for && shared_->take_less_than(kQuickHandlerMicros)) std::this_thread::yield();
}

std::vector<RunRef> HandlerPool::take_unstarted() {
  std::lock_guard lock(shared_->mutex);
  std::vector<RunRef> back(std::make_move_iterator(shared_->queue.begin()),
                           std::make_move_iterator(shared_->queue.end()));
  shared_->queue.clear();
  return back;
}

void HandlerPool::close() {
  bool all_gone = false;
  {
    std::unique_lock lock(shared_->mutex);
    shared_->stopping = true;
    shared_->arrived = true;
    shared_->work.notify_all();
    all_gone = shared_->gone.wait_for(lock, std::chrono::milliseconds(100), [this] { return shared_->alive == 0; });
  }
  shared_->closed.store(true);
  while (shared_->inside.load() != 0) std::this_thread::yield();
  for (auto& thread : threads_) {
    if (all_gone) thread.join();
    else thread.detach();
  }
  threads_.clear();
}

void HandlerPool::run_one(Shared& shared, RunRef run) {
  if (!shared.enter()) return;
  const bool go = shared.worker->begin(*run, shared.clock->now());
  shared.leave();
  if (!go) return;
  HandlerOutcome outcome = shared.handlers->call(*run);
  if (!shared.enter()) return;
  shared.worker->finish(std::move(run), std::move(outcome));
  shared.leave();
}

// Short handlers are taken several at a time: the queue's lock would cost more than they do.
void HandlerPool::thread_main(std::shared_ptr<Shared> shared) {
  std::vector<RunRef> mine;
  while (true) {
    {
      std::unique_lock lock(shared->mutex);
      while (shared->queue.empty() && !shared->stopping) {
        ++shared->idle;
        shared->work.wait(lock);
        --shared->idle;
        if (shared->queue.empty() && std::exchange(shared->expected, false)) shared->look_out(lock);
      }
      if (shared->queue.empty()) break;
      const std::size_t share = shared->queue.size() / (2 * shared->thread_count);
      const std::size_t count =
          shared->take_less_than(kShortHandlerMicros) ? std::clamp<std::size_t>(share, 1, kMaxChunk) : 1;
      for (std::size_t i = 0; i < count; ++i) {
        mine.push_back(std::move(shared->queue.front()));
        shared->queue.pop_front();
      }
    }
    const std::int64_t from = base::steady_micros();
    const auto count = static_cast<std::int64_t>(mine.size());
    for (auto& run : mine) run_one(*shared, std::move(run));
    mine.clear();
    const std::int64_t mean = shared->mean_micros.load(std::memory_order_relaxed);
    shared->mean_micros.store((mean * 7 + (base::steady_micros() - from) / count) / 8, std::memory_order_relaxed);
  }
  std::lock_guard lock(shared->mutex);
  --shared->alive;
  shared->gone.notify_all();
}

}  // namespace semel::engine
