// Which lanes a worker asks next: tenants in turn, then the lanes of a tenant in turn, so that one
// tenant's flood leaves the others their share. Not thread-safe; no clock.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "core/operations.h"
#include "engine/lane_directory.h"

namespace semel::engine {

class LanePicker {
 public:
  LanePicker(std::vector<std::string> tenants, std::vector<std::string> queues)
      : tenants_(std::move(tenants)), queues_(std::move(queues)) {}

  void mark_ready(core::LaneId lane);
  void mark_empty(core::LaneId lane);
  void hold(core::LaneId lane, Instant until);  // a limited lane said when it may grant again
  bool any_ready() const { return !ready_.empty(); }
  // The earliest instant a held lane may be asked again.
  Instant next_release(Instant now) const;

  // Up to `limit` executions shared over the ready lanes. Lanes that are paused, held or not for this worker are left
  // out.
  std::vector<core::TaskClaim::Want> pick(const LaneDirectory& directory, std::int32_t limit, Instant now);
  bool serves(const LaneEntry& lane) const;

 private:
  struct State {
    Instant held_until{};
  };
  std::vector<std::string> tenants_;
  std::vector<std::string> queues_;
  std::map<core::LaneId, State> ready_;
  core::TenantId last_tenant_{};
  std::map<core::TenantId, core::LaneId> last_lane_;
};

}  // namespace semel::engine
