// The one place that knows how things look as JSON: what REST answers and what `-o json` prints (CONTRACT 10).
//
// Payloads are copied byte for byte. Bytes that are not JSON print as {"encoding":"opaque","base64":"..."}.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/explain.h"
#include "engine/requests.h"
#include "store/port.h"

namespace semel::api {

// The id an execution is addressed by: its task_id, or its execution_id when none was given.
std::string task_id_of(const core::Execution& execution);

// Why it is suspended or how it was closed, in the contract's word; empty: nothing special.
std::string_view reason_of(const core::Execution& execution);

// GET /executions/{id} and GET /tasks/{task_id}: every field of the contract, null where unset.
std::string execution_json(const store::ExecutionView& view);
// GET /executions. `next` is the last id of a full page.
std::string executions_json(std::span<const store::ExecutionView> views, std::optional<ExecutionId> next);
// POST /tasks.
std::string enqueue_json(const engine::EnqueueOutcome& outcome);
// POST /tasks/batch: one element per item, in order, an error object where the item was refused.
std::string enqueue_batch_json(std::span<const Result<engine::EnqueueOutcome>> outcomes);

// POST /workers/poll.
std::string claimed_json(std::span<const store::ExecutionView> views);
// POST /jobs/{job_id}/deliveries.
std::string delivery_json(const engine::DeliverOutcome& outcome);
std::string heartbeat_json(ExecutionId execution, const core::HeartbeatAnswer& answer);
// POST /executions/{id}/complete, /fail, /release.
std::string end_json(ExecutionId execution, const core::EndAnswer& answer);

// GET /workflows/{workflow_id}: the execution, and what only runs have. The history is in engine/history_json.h.
std::string run_json(const engine::RunView& view);
// POST /workflows.
std::string started_json(const engine::EnqueueOutcome& outcome);
// POST /workflows/{workflow_id}/signals/{name}.
std::string signal_json(const engine::SignalRequest& request, const core::SignalAnswer& answer);

// POST /executions/{id}/cancel, /terminate, /redrive, /discard.
std::string cancel_json(ExecutionId execution, const core::CancelAnswer& answer);
std::string redrive_json(ExecutionId execution, const core::RedriveAnswer& answer);
std::string discard_json(ExecutionId execution, const core::DiscardAnswer& answer);
// The same verbs by filter.
std::string bulk_json(engine::Verb verb, bool dry_run, std::span<const engine::BulkItem> items);

std::string queue_json(const engine::QueueView& queue);
std::string queues_json(std::span<const engine::QueueView> queues);
std::string key_json(const core::Identity& key);
std::string keys_json(std::span<const core::Identity> keys, std::optional<std::string> next);
std::string key_released_json(std::string_view key, const core::KeyAnswer& answer);
std::string tenant_json(std::string_view name, bool created);
std::string tenants_json(std::span<const std::string> names);
std::string explanation_json(const engine::Explanation& explanation);

}  // namespace semel::api
