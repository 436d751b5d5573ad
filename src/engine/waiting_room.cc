#include "engine/waiting_room.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace semel::engine {

void SeenExecutions::read(core::TenantId tenant, std::span<const ExecutionId> ids) {
  auto found = store_.executions_get(tenant, ids);
  if (!found) return;  // each is asked for by itself, and told why
  for (auto& view : *found) {
    const ExecutionId id = view.execution.id;
    views_.insert_or_assign(id, std::move(view));
  }
}

Result<std::optional<store::ExecutionView>> SeenExecutions::get(core::TenantId tenant, ExecutionId id) const {
  if (const auto it = views_.find(id); it != views_.end() && it->second.execution.tenant == tenant)
    return std::optional(it->second);
  return store_.execution_get(tenant, id);
}

void WaitingRoom::wait_for_end(core::TenantId tenant, ExecutionId execution, Instant deadline, Look look, Drop drop) {
  enter(Waiter{tenant, execution, deadline, Instant{}, std::move(look), std::move(drop)});
}

void WaitingRoom::wait_for_work(Instant deadline, Look look, Drop drop) {
  enter(Waiter{{}, ExecutionId{}, deadline, Instant{}, std::move(look), std::move(drop)});
}

void WaitingRoom::enter(Waiter waiter) {
  std::unique_lock lock(mutex_);
  if (!closed_) return waiters_.push_back(std::move(waiter));
  const Error why = *closed_;
  lock.unlock();
  waiter.drop(why);
}

bool WaitingRoom::note(const store::Wakes& wakes) {
  std::lock_guard lock(mutex_);
  const bool ready = !wakes.lanes.empty() || !wakes.alone.empty();
  if (!ready && wakes.ended.empty()) return false;
  if (looking_ > 0) {
    work_noted_ = work_noted_ || ready;
    ended_.insert(wakes.ended.begin(), wakes.ended.end());
  }
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

SeenExecutions WaitingRoom::read_all(const std::list<Waiter>& due) {
  std::map<core::TenantId, std::vector<ExecutionId>> wanted;
  for (const auto& waiter : due)
    if (!waiter.execution.is_nil()) wanted[waiter.tenant].push_back(waiter.execution);
  SeenExecutions seen(store_);
  for (const auto& [tenant, ids] : wanted) seen.read(tenant, ids);
  return seen;
}

// They wait for what has the number of their tenant in another history.
void WaitingRoom::drop_past() {
  std::list<Waiter> past;
  {
    std::lock_guard lock(mutex_);
    if (const auto now = store_.history(); std::exchange(history_, now) != now) past.swap(waiters_);
  }
  for (auto& waiter : past)
    waiter.drop(
        make_error(ErrorCode::StoreUnavailable, "the store has another history than when this was asked; ask again"));
}

Instant WaitingRoom::step(Instant now) {
  drop_past();
  std::list<Waiter> due;
  {
    std::lock_guard lock(mutex_);
    for (auto it = waiters_.begin(); it != waiters_.end();) {
      const auto next = std::next(it);
      if (it->look_at <= now || it->deadline <= now) due.splice(due.end(), waiters_, it);
      it = next;
    }
    looking_ = due.size();
  }
  if (!due.empty()) {
    const SeenExecutions seen = read_all(due);
    for (auto it = due.begin(); it != due.end();) {
      const auto waits_for = it->look(now, seen);
      if (waits_for) it->execution = *waits_for;
      it = waits_for ? std::next(it) : due.erase(it);
    }
  }
  std::unique_lock lock(mutex_);
  if (closed_) {  // while these were being looked at: nobody looks at them again
    const Error why = *closed_;
    lock.unlock();
    for (auto& waiter : due) waiter.drop(why);
    return kEndOfTime;
  }
  // A hint that came while these were being looked at may have been meant for them.
  for (auto& waiter : due) {
    const bool noted = waiter.execution.is_nil() ? work_noted_ : ended_.count(waiter.execution) != 0;
    waiter.look_at = noted ? now : add_saturated(now, kPollInterval);
  }
  looking_ = 0;
  work_noted_ = false;
  ended_.clear();
  waiters_.splice(waiters_.end(), due);
  Instant next = kEndOfTime;
  for (const auto& waiter : waiters_) next = std::min({next, waiter.look_at, waiter.deadline});
  return next;
}

void WaitingRoom::drop_all(const Error& why) {
  std::list<Waiter> all;
  {
    std::lock_guard lock(mutex_);
    closed_ = why;
    all.swap(waiters_);
  }
  for (auto& waiter : all) waiter.drop(why);
}

std::size_t WaitingRoom::size() const {
  std::lock_guard lock(mutex_);
  return waiters_.size();
}

}  // namespace semel::engine
