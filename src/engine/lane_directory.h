// Tenants and lanes by name and number, cached. Refreshed from the store about once a second and by every answer that
// carries a lane, so a pause or a new limit reaches every node within a second. Thread-safe.
//
// Empty again as soon as the store has another history (in_history.h): the numbers of before may be others' now.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/retry.h"
#include "core/row_cache.h"
#include "store/port.h"

namespace semel::engine {

struct LaneEntry {
  core::Lane lane;
  std::string tenant;
  core::RetryOverrides retry;  // decoded from the lane's config
  bool limited() const { return lane.config.rate_limit.has_value() || lane.config.concurrency.has_value(); }
};
using LaneRef = std::shared_ptr<const LaneEntry>;

class LaneDirectory {
 public:
  explicit LaneDirectory(store::Store& store) : store_(store) {}

  // In which it reads and answers now. To be asked before the names whose numbers are to be used.
  std::uint64_t history() const;

  // Reads all tenants and lanes. Lanes whose config changed since the last look are returned.
  Result<std::vector<LaneRef>> refresh();

  // Asks the store once when the name is not cached. TenantNotFound when it does not exist.
  Result<core::TenantId> tenant(std::string_view name);
  std::optional<std::string> tenant_name(core::TenantId id) const;

  LaneRef find(core::TenantId tenant, std::string_view queue) const;  // null: not known yet
  LaneRef find(core::LaneId id) const;
  std::vector<LaneRef> all() const;
  Duration shortest_retention() const;  // no known lane lets a finished task go earlier

  void learn(const core::Lane& lane);  // a newer revision replaces an older one
  void learn(core::TenantId id, std::string_view name);

 private:
  // Mutex held:
  void turn() const;        // forgets what belongs to another history
  bool is_of_past() const;  // this thread works with numbers of another history
  LaneRef put(const core::Lane& lane);

  store::Store& store_;
  mutable std::mutex mutex_;
  mutable std::uint64_t history_ = 0;
  mutable std::map<std::string, core::TenantId, std::less<>> tenants_;
  mutable std::unordered_map<core::LaneId, LaneRef, core::KeyHash> lanes_;
  mutable std::map<core::TenantId, std::map<std::string, LaneRef, std::less<>>> names_;
};

}  // namespace semel::engine
