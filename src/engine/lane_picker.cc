#include "engine/lane_picker.h"

#include <algorithm>

namespace semel::engine {

void LanePicker::mark_ready(core::LaneId lane) { ready_.try_emplace(lane); }

void LanePicker::mark_empty(core::LaneId lane) { ready_.erase(lane); }

void LanePicker::hold(core::LaneId lane, Instant until) { ready_[lane].held_until = until; }

Instant LanePicker::next_release(Instant now) const {
  Instant next = kEndOfTime;
  for (const auto& [lane, state] : ready_)
    if (state.held_until > now) next = std::min(next, state.held_until);
  return next;
}

bool LanePicker::serves(const LaneEntry& lane) const {
  const auto among = [](const std::vector<std::string>& names, const std::string& name) {
    return names.empty() || std::find(names.begin(), names.end(), name) != names.end();
  };
  return among(tenants_, lane.tenant) && among(queues_, lane.lane.queue);
}

namespace {

// The elements after `last` first, then the rest: everybody's turn comes.
template <class T, class Key>
void rotate_after(std::vector<T>& all, const Key& last, const Key& (*key)(const T&)) {
  const auto first = std::find_if(all.begin(), all.end(), [&](const T& item) { return last < key(item); });
  std::rotate(all.begin(), first, all.end());
}

struct TenantLanes {
  core::TenantId tenant{};
  std::vector<LaneRef> lanes;
};
const core::TenantId& tenant_key(const TenantLanes& t) { return t.tenant; }
const core::LaneId& lane_key(const LaneRef& l) { return l->lane.id; }

// Splits `amount` over `count` takers, the remainder to the first ones.
std::int32_t part(std::int32_t amount, std::size_t count, std::size_t index) {
  const auto n = static_cast<std::int32_t>(count);
  return amount / n + (static_cast<std::int32_t>(index) < amount % n ? 1 : 0);
}

}  // namespace

std::vector<core::TaskClaim::Want> LanePicker::pick(const LaneDirectory& directory, std::int32_t limit, Instant now) {
  std::map<core::TenantId, TenantLanes> by_tenant;
  for (const auto& [id, state] : ready_) {
    if (state.held_until > now) continue;
    const LaneRef lane = directory.find(id);
    if (!lane || lane->lane.config.paused || !serves(*lane)) continue;
    auto& entry = by_tenant[lane->lane.tenant];
    entry.tenant = lane->lane.tenant;
    entry.lanes.push_back(lane);
  }
  std::vector<TenantLanes> tenants;
  for (auto& [id, entry] : by_tenant) tenants.push_back(std::move(entry));
  rotate_after<TenantLanes, core::TenantId>(tenants, last_tenant_, tenant_key);
  std::vector<core::TaskClaim::Want> wants;
  for (std::size_t t = 0; t < tenants.size(); ++t) {
    const std::int32_t share = part(limit, tenants.size(), t);
    if (share == 0) break;
    auto& lanes = tenants[t].lanes;
    rotate_after<LaneRef, core::LaneId>(lanes, last_lane_[tenants[t].tenant], lane_key);
    for (std::size_t l = 0; l < lanes.size(); ++l) {
      const std::int32_t count = part(share, lanes.size(), l);
      if (count == 0) break;
      wants.push_back({lanes[l]->lane.id, count, lanes[l]->limited()});
    }
    // Next time it is the turn of whoever follows the first one served now.
    last_lane_[tenants[t].tenant] = lanes.front()->lane.id;
  }
  if (!tenants.empty()) last_tenant_ = tenants.front().tenant;
  return wants;
}

}  // namespace semel::engine
