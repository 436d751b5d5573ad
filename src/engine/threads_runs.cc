#include "engine/threads_runs.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>

#include "engine/threads_start.h"

namespace semel::engine {

using Job = std::function<void()>;

struct RunPool::Shared {
  std::mutex mutex;
  std::condition_variable work, gone;
  std::deque<Job> turns, bodies;
  std::size_t most_bodies = 1;
  std::size_t in_bodies = 0;
  std::size_t idle = 0;
  std::size_t alive = 0;
  bool stopping = false;

  bool may_start_body() const { return in_bodies < std::min(most_bodies, alive - 1); }
  bool has_work() const { return !turns.empty() || (!bodies.empty() && may_start_body()); }
  void run_body(Job& job) {
    job();
    job = nullptr;
    const std::lock_guard lock(mutex);
    --in_bodies;
    if (!bodies.empty() && idle > 0) work.notify_one();
  }
};

namespace {
constexpr std::size_t kFirstBodies = 8;
thread_local void* pool_of_this_thread = nullptr;
}  // namespace

RunPool::RunPool(int bodies) : shared_(std::make_shared<Shared>()) {
  shared_->most_bodies = static_cast<std::size_t>(std::max(1, bodies));
}

bool RunPool::start() {
  const std::lock_guard lock(shared_->mutex);
  for (std::size_t i = 0; i < std::min(shared_->most_bodies, kFirstBodies) + 1; ++i)
    if (!add_thread()) return false;
  return true;
}

bool RunPool::add_thread() {
  auto thread = start_thread([shared = shared_] { thread_main(shared); });
  if (!thread) return false;
  threads_.push_back(*std::move(thread));
  ++shared_->alive;
  return true;
}

RunPool::~RunPool() { close(); }

void RunPool::decide(Job job) {
  const std::lock_guard lock(shared_->mutex);
  if (shared_->stopping) return;
  shared_->turns.push_back(std::move(job));
  if (shared_->idle > 0) shared_->work.notify_one();
}

void RunPool::call(Job job) {
  {
    const std::lock_guard lock(shared_->mutex);
    if (shared_->stopping) return;
    if (pool_of_this_thread != shared_.get() || !shared_->may_start_body()) {
      shared_->bodies.push_back(std::move(job));
      if (shared_->idle > 0) shared_->work.notify_one();
      // Those that wait count too: threads that were just woken have not taken them yet. Where there are no more
      // threads to be had, it waits until a body ended.
      const std::size_t wanted = shared_->in_bodies + shared_->bodies.size();
      if (wanted >= shared_->alive && shared_->alive <= shared_->most_bodies) (void)add_thread();
      return;
    }
    ++shared_->in_bodies;
  }
  shared_->run_body(job);
}

void RunPool::close() {
  bool all_gone = false;
  std::deque<Job> turns, bodies;
  {
    std::unique_lock lock(shared_->mutex);
    shared_->stopping = true;
    turns.swap(shared_->turns);
    bodies.swap(shared_->bodies);
    shared_->work.notify_all();
    all_gone = shared_->gone.wait_for(lock, std::chrono::milliseconds(100), [this] { return shared_->alive == 0; });
  }
  for (auto& thread : threads_) {
    if (all_gone) thread.join();
    else thread.detach();
  }
  threads_.clear();
}

void RunPool::thread_main(std::shared_ptr<Shared> shared) {
  pool_of_this_thread = shared.get();
  while (true) {
    Job job;
    bool body = false;
    {
      std::unique_lock lock(shared->mutex);
      while (!shared->has_work() && !shared->stopping) {
        ++shared->idle;
        shared->work.wait(lock);
        --shared->idle;
      }
      if (shared->stopping) break;
      body = shared->turns.empty();
      auto& from = body ? shared->bodies : shared->turns;
      job = std::move(from.front());
      from.pop_front();
      if (body) ++shared->in_bodies;
    }
    if (body) shared->run_body(job);
    else job();
  }
  const std::lock_guard lock(shared->mutex);
  --shared->alive;
  shared->gone.notify_all();
}

}  // namespace semel::engine
