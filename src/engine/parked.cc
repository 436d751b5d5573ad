#include "engine/parked.h"

#include <algorithm>
#include <unordered_set>

namespace semel::engine {
namespace {

constexpr std::size_t kRemembered = 4096;

}  // namespace

Parked::Ticket Parked::enter() {
  std::lock_guard lock(mutex_);
  ++entering_;
  return {notes_};
}

void Parked::leave(Ticket) {
  std::lock_guard lock(mutex_);
  --entering_;
}

void Parked::park_for_end(Ticket ticket, ExecutionId execution, Instant now, Instant deadline, Look look, Drop drop) {
  Waiter waiter{execution, deadline, Instant{}, std::move(look), std::move(drop)};
  {
    std::lock_guard lock(mutex_);
    --entering_;
    if (!noted_since(execution, ticket.seen)) waiter.look_at = add_saturated(now, kPollInterval);
  }
  park(std::move(waiter));
}

void Parked::park_for_end(ExecutionId execution, Instant deadline, Look look, Drop drop) {
  park(Waiter{execution, deadline, Instant{}, std::move(look), std::move(drop)});
}

void Parked::park_for_work(Instant deadline, Look look, Drop drop) {
  park(Waiter{ExecutionId{}, deadline, Instant{}, std::move(look), std::move(drop)});
}

void Parked::park(Waiter waiter) {
  {
    std::lock_guard lock(mutex_);
    if (!closed_) {
      waiters_.push_back(std::move(waiter));
      return;
    }
  }
  waiter.drop(closed_why_);
}

bool Parked::note(const store::Wakes& wakes) {
  std::lock_guard lock(mutex_);
  const bool ready = !wakes.lanes.empty() || !wakes.alone.empty();
  if (!ready && wakes.ended.empty()) return false;
  ++notes_;
  if (ready) work_noted_ = notes_;
  if (waiters_.empty() && looking_ == 0 && entering_ == 0) {
    forgotten_ = notes_;
    return false;
  }
  remember(wakes.ended);
  if (waiters_.empty()) return looking_ > 0;
  const std::unordered_set<ExecutionId> ended(wakes.ended.begin(), wakes.ended.end());
  bool due = looking_ > 0;
  for (auto& waiter : waiters_) {
    const bool meant = waiter.execution.is_nil() ? ready : ended.count(waiter.execution) != 0;
    if (!meant) continue;
    waiter.look_at = Instant{};
    due = true;
  }
  return due;
}

void Parked::remember(const std::vector<ExecutionId>& ended) {
  for (const auto& id : ended) {
    ended_[id] = notes_;
    ended_order_.emplace_back(notes_, id);
  }
  while (ended_order_.size() > kRemembered) {
    const auto& [note, id] = ended_order_.front();
    forgotten_ = note;
    if (const auto it = ended_.find(id); it != ended_.end() && it->second == note) ended_.erase(it);
    ended_order_.pop_front();
  }
}

bool Parked::noted_since(const ExecutionId& execution, std::uint64_t seen) const {
  if (execution.is_nil()) return work_noted_ > seen;
  if (forgotten_ > seen) return true;
  const auto it = ended_.find(execution);
  return it != ended_.end() && it->second > seen;
}

Instant Parked::step(Instant now) {
  std::list<Waiter> due;
  std::uint64_t seen = 0;
  {
    std::lock_guard lock(mutex_);
    seen = notes_;
    for (auto it = waiters_.begin(); it != waiters_.end();) {
      const auto next = std::next(it);
      if (it->look_at <= now || it->deadline <= now) due.splice(due.end(), waiters_, it);
      it = next;
    }
    looking_ = due.size();
  }
  for (auto it = due.begin(); it != due.end();) it = it->look(now) ? due.erase(it) : std::next(it);
  std::lock_guard lock(mutex_);
  looking_ = 0;
  // A hint that came while these were being looked at may have been meant for them.
  for (auto& waiter : due)
    waiter.look_at = noted_since(waiter.execution, seen) ? now : add_saturated(now, kPollInterval);
  waiters_.splice(waiters_.end(), due);
  Instant next = kEndOfTime;
  for (const auto& waiter : waiters_) next = std::min({next, waiter.look_at, waiter.deadline});
  return next;
}

void Parked::drop_all(const Error& why) {
  std::list<Waiter> all;
  {
    std::lock_guard lock(mutex_);
    closed_ = true;
    closed_why_ = why;
    all.swap(waiters_);
  }
  for (auto& waiter : all) waiter.drop(why);
}

std::size_t Parked::size() const {
  std::lock_guard lock(mutex_);
  return waiters_.size();
}

}  // namespace semel::engine
