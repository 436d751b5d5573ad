#include "engine/threads_handlers.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/clock.h"
#include "engine/threads_start.h"

namespace semel::engine {
namespace {

constexpr std::int64_t kShortHandlerMicros = 50;
constexpr std::int64_t kQuickHandlerMicros = 200;  // an enqueuer may wait for one
constexpr std::size_t kMaxLot = 16;
constexpr std::int64_t kLookoutMicros = 1000;
constexpr std::size_t kFirstThreads = 8;
constexpr Duration kStandstill{1'000};

const std::size_t kProcessors = std::max<std::size_t>(1, std::thread::hardware_concurrency());

}  // namespace

// What one thread took out of the queue. It begins them one by one; what it has not begun may be taken back from it.
struct HandlerPool::Lot {
  std::vector<RunRef> runs;          // filled and taken back under the mutex
  std::atomic<std::size_t> next{0};  // whoever moves it owns what it passed
  std::size_t seen = 0;              // by the last look
  RunRef begin_next() {
    const std::size_t i = next.fetch_add(1);
    return i < runs.size() ? std::move(runs[i]) : nullptr;
  }
  std::size_t left() const { return runs.size() - std::min(runs.size(), next.load()); }
  void give_back(std::deque<RunRef>& queue) {
    const std::size_t from = std::min(runs.size(), next.exchange(runs.size()));
    queue.insert(queue.begin(), std::make_move_iterator(runs.begin() + static_cast<std::ptrdiff_t>(from)),
                 std::make_move_iterator(runs.end()));
  }
};

struct HandlerPool::Shared {
  std::shared_ptr<const HandlerTable> handlers;
  base::Clock* clock = nullptr;
  // How long a handler takes, smoothed. Threads may overwrite each other's: it is an estimate.
  std::atomic<std::int64_t> mean_micros{kQuickHandlerMicros};
  bool take_less_than(std::int64_t micros) const { return mean_micros.load(std::memory_order_relaxed) < micros; }

  std::mutex mutex;
  std::condition_variable work;
  std::deque<RunRef> queue;
  std::vector<std::shared_ptr<Lot>> lots;
  std::uint64_t taken = 0;  // out of the queue, ever
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

HandlerPool::HandlerPool(std::shared_ptr<const HandlerTable> handlers, base::Clock& clock, int slots)
    : shared_(std::make_shared<Shared>()), most_threads_(static_cast<std::size_t>(std::max(1, slots))) {
  shared_->handlers = std::move(handlers);
  shared_->clock = &clock;
}

HandlerPool::~HandlerPool() { close(); }

bool HandlerPool::run_for(Worker& worker) {
  shared_->worker = &worker;
  const std::lock_guard lock(shared_->mutex);
  for (std::size_t i = 0; i < std::min(kFirstThreads, most_threads_); ++i)
    if (!add_thread()) return false;
  return true;
}

bool HandlerPool::add_thread() {
  auto lot = std::make_shared<Lot>();
  auto thread = start_thread([shared = shared_, lot] { thread_main(shared, lot); });
  if (!thread) return false;
  threads_.push_back(*std::move(thread));
  shared_->lots.push_back(std::move(lot));
  ++shared_->alive;
  return true;
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
    if (shared_->take_less_than(kShortHandlerMicros)) sleepers = std::min(sleepers, kProcessors);
    looked_for = shared_->lookouts > 0;
    shared_->expected = false;
    shared_->arrived = true;
  }
  for (std::size_t i = 0; i < sleepers; ++i) shared_->work.notify_one();
  // Whoever looks out mostly waits for this very processor: it was woken from here. A long handler would keep it.
  if (looked_for && shared_->take_less_than(kQuickHandlerMicros)) std::this_thread::yield();
}

Instant HandlerPool::step(Instant now) {
  if (watching_ && now < look_at_) return look_at_;
  const std::lock_guard lock(shared_->mutex);
  bool waiting = !shared_->queue.empty();
  for (const auto& lot : shared_->lots) waiting = waiting || lot->left() > 0;
  if (!std::exchange(watching_, waiting)) seen_taken_ = shared_->taken + 1;  // not watched so far
  if (!waiting || shared_->stopping) return kEndOfTime;
  for (const auto& lot : shared_->lots) {
    if (lot->left() > 0 && lot->seen == lot->next.load()) lot->give_back(shared_->queue);
    lot->seen = lot->next.load();
  }
  if (std::exchange(seen_taken_, shared_->taken) == shared_->taken) {
    const std::size_t threadless = shared_->queue.size() - std::min(shared_->queue.size(), shared_->idle);
    const std::size_t more = std::min(threadless, most_threads_ - shared_->alive);
    // Where there are no more to be had, those that are there go on, and the next look tries again.
    for (std::size_t i = 0; i < more && add_thread(); ++i) {
    }
    shared_->work.notify_all();
  }
  return look_at_ = add_saturated(now, kStandstill);
}

std::vector<RunRef> HandlerPool::take_unstarted() {
  std::lock_guard lock(shared_->mutex);
  for (const auto& lot : shared_->lots) lot->give_back(shared_->queue);
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
void HandlerPool::thread_main(std::shared_ptr<Shared> shared, std::shared_ptr<Lot> lot) {
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
      const std::size_t share = shared->queue.size() / (2 * kProcessors);
      const std::size_t count =
          shared->take_less_than(kShortHandlerMicros) ? std::clamp<std::size_t>(share, 1, kMaxLot) : 1;
      const auto end = shared->queue.begin() + static_cast<std::ptrdiff_t>(count);
      lot->runs.assign(std::make_move_iterator(shared->queue.begin()), std::make_move_iterator(end));
      shared->queue.erase(shared->queue.begin(), end);
      shared->taken += count;
      lot->next = 0;
    }
    const std::int64_t from = base::steady_micros();
    std::int64_t count = 0;
    while (RunRef run = lot->begin_next()) {
      run_one(*shared, std::move(run));
      ++count;
    }
    if (count == 0) continue;
    const std::int64_t mean = shared->mean_micros.load(std::memory_order_relaxed);
    shared->mean_micros.store((mean * 7 + (base::steady_micros() - from) / count) / 8, std::memory_order_relaxed);
  }
  std::lock_guard lock(shared->mutex);
  --shared->alive;
  shared->gone.notify_all();
}

}  // namespace semel::engine
