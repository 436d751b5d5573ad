// How far the claims of a lane have come. Claimed ready rows stay in the index until a vacuum, and while somebody's old
// transaction is open not even that helps: a claim that began at the very front would walk through all of them.
//
// What this process puts before the place makes it forgotten; what another one puts there is seen kMaxAge later at
// most. Thread-safe: one for all lines of a store.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "core/rows.h"

namespace semel::store::postgres {

class Fronts {
 public:
  static constexpr Duration kMaxAge{100'000};

  // A row before every other of the lane.
  static core::ReadyRow very_front(core::LaneId lane, core::Pool pool) {
    return {lane, pool, INT32_MIN, Instant::min(), {}};
  }

  core::ReadyRow where(core::LaneId lane, core::Pool pool, Instant now) const {
    const std::lock_guard lock(mutex_);
    const auto known = lanes_.find({lane, pool});
    const bool fresh = known != lanes_.end() && now - known->second.began_at < kMaxAge;
    return fresh ? known->second.reached : very_front(lane, pool);
  }
  // A claim took all it wanted, the last one here. `began_at`: it began at the very front.
  void reached(const core::ReadyRow& row, std::optional<Instant> began_at) {
    const std::lock_guard lock(mutex_);
    Front& front = lanes_[{row.lane, row.pool}];
    front.reached = row;
    if (began_at) front.began_at = *began_at;
  }
  void forget(core::LaneId lane, core::Pool pool) {
    const std::lock_guard lock(mutex_);
    lanes_.erase({lane, pool});
  }
  void forget_all() {
    const std::lock_guard lock(mutex_);
    lanes_.clear();
  }
  // Ready now, committed.
  void entered(const std::vector<core::ReadyRow>& rows) {
    const std::lock_guard lock(mutex_);
    for (const auto& row : rows)
      if (const auto known = lanes_.find({row.lane, row.pool}); known != lanes_.end() && row < known->second.reached)
        lanes_.erase(known);
  }

 private:
  struct Front {
    core::ReadyRow reached;
    Instant began_at{};
  };
  mutable std::mutex mutex_;
  std::map<std::pair<core::LaneId, core::Pool>, Front> lanes_;
};

}  // namespace semel::store::postgres
