#include "engine/lane_directory.h"

#include <algorithm>

#include "base/text.h"
#include "core/transition.h"
#include "engine/in_history.h"

namespace semel::engine {

std::uint64_t LaneDirectory::history() const {
  std::lock_guard lock(mutex_);
  turn();
  return history_;
}

void LaneDirectory::turn() const {
  const std::uint64_t now = store_.history();
  if (history_ == now) return;
  history_ = now;
  tenants_.clear();
  lanes_.clear();
  names_.clear();
}

bool LaneDirectory::is_of_past() const {
  turn();
  const auto in = InHistory::current();
  return in && *in != history_;
}

Result<std::vector<LaneRef>> LaneDirectory::refresh() {
  const std::uint64_t asked_in = history();
  auto tenants = store_.tenant_list();
  if (!tenants) return tenants.error();
  auto lanes = store_.lane_list();
  if (!lanes) return lanes.error();
  std::lock_guard lock(mutex_);
  turn();
  if (history_ != asked_in)
    return make_error(ErrorCode::StoreUnavailable, "the store's history changed while its queues were read; ask again");
  for (const auto& [id, name] : *tenants) tenants_.insert_or_assign(name, id);
  std::vector<LaneRef> changed;
  for (const auto& lane : *lanes) {
    const auto known = lanes_.find(lane.id);
    const bool fresh =
        known == lanes_.end() || known->second->lane.revision < lane.revision || known->second->tenant.empty();
    if (fresh) changed.push_back(put(lane));
  }
  return changed;
}

Result<core::TenantId> LaneDirectory::tenant(std::string_view name) {
  std::uint64_t asked_in = 0;
  {
    std::lock_guard lock(mutex_);
    turn();
    asked_in = history_;
    if (const auto it = tenants_.find(name); it != tenants_.end()) return it->second;
  }
  auto found = store_.tenant_find(name);
  if (!found) return found.error();
  if (!*found)
    return make_error(ErrorCode::TenantNotFound,
                      "tenant " + base::printable(name) + " does not exist; create it first");
  const InHistory in(asked_in);
  learn(**found, name);
  return **found;
}

std::optional<std::string> LaneDirectory::tenant_name(core::TenantId id) const {
  std::lock_guard lock(mutex_);
  if (is_of_past()) return std::nullopt;
  for (const auto& [name, known] : tenants_)
    if (known == id) return name;
  return std::nullopt;
}

LaneRef LaneDirectory::find(core::TenantId tenant, std::string_view queue) const {
  std::lock_guard lock(mutex_);
  if (is_of_past()) return nullptr;
  const auto queues = names_.find(tenant);
  if (queues == names_.end()) return nullptr;
  const auto it = queues->second.find(queue);
  return it == queues->second.end() ? nullptr : it->second;
}

LaneRef LaneDirectory::find(core::LaneId id) const {
  std::lock_guard lock(mutex_);
  if (is_of_past()) return nullptr;
  const auto it = lanes_.find(id);
  return it == lanes_.end() ? nullptr : it->second;
}

std::vector<LaneRef> LaneDirectory::all() const {
  std::lock_guard lock(mutex_);
  turn();
  std::vector<LaneRef> out;
  out.reserve(lanes_.size());
  for (const auto& [id, lane] : lanes_) out.push_back(lane);
  std::sort(out.begin(), out.end(), [](const LaneRef& a, const LaneRef& b) { return a->lane.id < b->lane.id; });
  return out;
}

Duration LaneDirectory::shortest_retention() const {
  std::lock_guard lock(mutex_);
  Duration shortest = core::retention_of({}, Kind::task);
  for (const auto& [id, lane] : lanes_) shortest = std::min(shortest, core::retention_of(lane->lane, Kind::task));
  return shortest;
}

void LaneDirectory::learn(const core::Lane& lane) {
  std::lock_guard lock(mutex_);
  if (is_of_past()) return;
  const auto known = lanes_.find(lane.id);
  if (known == lanes_.end() || known->second->lane.revision <= lane.revision) put(lane);
}

void LaneDirectory::learn(core::TenantId id, std::string_view name) {
  std::lock_guard lock(mutex_);
  if (is_of_past()) return;
  tenants_.insert_or_assign(std::string(name), id);
}

LaneRef LaneDirectory::put(const core::Lane& lane) {
  auto entry = std::make_shared<LaneEntry>();
  entry->lane = lane;
  for (const auto& [name, id] : tenants_)
    if (id == lane.tenant) entry->tenant = name;
  if (auto retry = core::decode_overrides(lane.config.retry); retry.ok()) entry->retry = *std::move(retry);
  LaneRef ref = std::move(entry);
  lanes_[lane.id] = ref;
  names_[lane.tenant].insert_or_assign(lane.queue, ref);
  return ref;
}

}  // namespace semel::engine
