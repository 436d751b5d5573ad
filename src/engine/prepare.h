// From a request in words to an operation: everything that can be checked without the store.
#pragma once

#include "engine/lane_directory.h"
#include "engine/requests.h"

namespace semel::engine {

// Checks every field and computes fingerprints. Lane and attempts are still open: they need the queue. Moves the texts
// out of `request`; its `retry` then holds everything the call chose, for apply_lane.
Result<core::TaskEnqueue> prepare_enqueue(EnqueueRequest& request, core::TenantId tenant, ExecutionId id, Instant now);

Result<core::RunSignal> prepare_signal(SignalRequest request, core::TenantId tenant, MailId mail);

// Fills in what the queue decides: call > queue > default.
Result<void> apply_lane(core::TaskEnqueue& operation, const core::RetryOverrides& call, const LaneEntry& lane);

// `unique-` + hex SHA-256 of name, canonical args and start of the period.
Result<std::string> unique_task_id(const EnqueueRequest& request, Instant now);

// JSON {"name","message","details"}; texts cut to the limits, so that an error never fails a task.
std::string error_json(std::string_view name, std::string_view message, const std::optional<std::string>& details);

Result<void> validate_lane_config(const core::LaneConfig& config);

}  // namespace semel::engine
