#include "api/json/parts.h"
#include "api/json/render.h"
#include "base/duration.h"
#include "core/retry.h"

namespace semel::api {
namespace {

using base::JsonWriter;

std::optional<std::string> text_of(const std::optional<Duration>& value) {
  return value ? std::optional(base::format_duration(*value)) : std::nullopt;
}

void write_retry(JsonWriter& json, std::string_view encoded) {
  const auto retry = core::decode_overrides(encoded);
  if (encoded.empty() || !retry) {
    json.null();
    return;
  }
  json.begin_object();
  if (retry->initial_interval) json.field("initial_interval", base::format_duration(*retry->initial_interval));
  if (retry->factor) json.field("factor", *retry->factor);
  if (retry->max_interval) json.field("max_interval", base::format_duration(*retry->max_interval));
  if (retry->max_attempts) json.field("max_attempts", *retry->max_attempts);
  if (retry->jitter) json.field("jitter", *retry->jitter);
  if (retry->non_retryable) {
    json.key("non_retryable").begin_array();
    for (const auto& name : *retry->non_retryable) json.value(name);
    json.end_array();
  }
  json.end_object();
}

void write_queue(JsonWriter& json, const engine::QueueView& queue) {
  const core::Lane& lane = queue.stats.lane;
  const core::LaneConfig& config = lane.config;
  json.begin_object().field("tenant", queue.tenant).field("queue", lane.queue);
  json.field("retention", text_of(config.retention));
  json.field("rate_limit", config.rate_limit
                               ? std::optional(base::format_rate({config.rate_limit->count, config.rate_limit->per}))
                               : std::nullopt);
  json.field("concurrency", config.concurrency).field("concurrency_per_key", config.concurrency_per_key);
  json.field("dead_letter", config.dead_letter).field("max_attempts", config.max_attempts);
  json.key("retry");
  write_retry(json, config.retry);
  json.field("paused", config.paused);
  json.field("ready_count", queue.stats.ready_count).field("blocked_count", queue.stats.blocked_count);
  json.field("running_count", config.concurrency ? std::optional(lane.running_count) : std::nullopt);
  json.field("revision", lane.revision).end_object();
}

void write_key(JsonWriter& json, const core::Identity& key) {
  json.begin_object().field("key", key.id.key).field("target_kind", to_string(key.target_kind));
  json.field("target_id", key.target).field("expires_at", key.expires_at).field("result_expired", key.tombstone);
  json.field("fingerprint", key.fingerprint ? std::optional(key.fingerprint->to_string()) : std::nullopt);
  json.end_object();
}

}  // namespace

std::string heartbeat_json(ExecutionId execution, const core::HeartbeatAnswer& answer) {
  std::string out;
  JsonWriter json(out);
  json.begin_object().field("execution_id", execution).field("lease_expires_at", answer.lease_expires_at);
  json.field("cancel_requested", answer.cancel_requested).end_object();
  return out;
}

std::string end_json(ExecutionId execution, const core::EndAnswer& answer) {
  std::string out;
  JsonWriter json(out);
  json.begin_object().field("execution_id", execution).field("status", to_string(answer.status));
  json.field("existing", answer.existing);
  if (answer.status == Status::queued) json.field("scheduled_at", answer.scheduled_at);
  json.end_object();
  return out;
}

std::string cancel_json(ExecutionId execution, const core::CancelAnswer& answer) {
  std::string out;
  JsonWriter json(out);
  json.begin_object().field("execution_id", execution).field("status", to_string(answer.status));
  json.field("cancel_requested", answer.requested).end_object();
  return out;
}

std::string redrive_json(ExecutionId execution, const core::RedriveAnswer& answer) {
  std::string out;
  JsonWriter json(out);
  json.begin_object().field("execution_id", answer.successor).field("previous_execution_id", execution);
  json.field("created", answer.created).end_object();
  return out;
}

std::string discard_json(ExecutionId execution, const core::DiscardAnswer& answer) {
  std::string out;
  JsonWriter json(out);
  json.begin_object().field("execution_id", execution).field("discarded", answer.discarded).end_object();
  return out;
}

std::string bulk_json(engine::Verb verb, bool dry_run, std::span<const engine::BulkItem> items) {
  std::string out;
  JsonWriter json(out);
  std::int64_t refused = 0;
  for (const auto& item : items) refused += item.error ? 1 : 0;
  json.begin_object().field("verb", engine::to_string(verb)).field("dry_run", dry_run);
  json.field("count", static_cast<std::int64_t>(items.size()) - refused).field("refused_count", refused);
  json.key("executions").begin_array();
  for (const auto& item : items) {
    json.begin_object().field("execution_id", item.execution);
    if (item.successor) json.field("next_execution_id", *item.successor);
    if (item.error) json.raw_field("error", item.error->to_json());
    json.end_object();
  }
  json.end_array().end_object();
  return out;
}

std::string queue_json(const engine::QueueView& queue) {
  std::string out;
  JsonWriter json(out);
  write_queue(json, queue);
  return out;
}

std::string queues_json(std::span<const engine::QueueView> queues) {
  std::string out;
  JsonWriter json(out);
  json.begin_object().key("queues").begin_array();
  for (const auto& queue : queues) write_queue(json, queue);
  json.end_array().end_object();
  return out;
}

std::string key_json(const core::Identity& key) {
  std::string out;
  JsonWriter json(out);
  write_key(json, key);
  return out;
}

std::string keys_json(std::span<const core::Identity> keys, std::optional<std::string> next) {
  std::string out;
  JsonWriter json(out);
  json.begin_object().key("keys").begin_array();
  for (const auto& key : keys) write_key(json, key);
  json.end_array().field("next_cursor", next).end_object();
  return out;
}

std::string key_released_json(std::string_view key, const core::KeyAnswer& answer) {
  std::string out;
  JsonWriter json(out);
  json.begin_object().field("key", key).field("released", answer.released).end_object();
  return out;
}

std::string tenant_json(std::string_view name, bool created) {
  std::string out;
  JsonWriter json(out);
  json.begin_object().field("tenant", name).field("created", created).end_object();
  return out;
}

std::string tenants_json(std::span<const std::string> names) {
  std::string out;
  JsonWriter json(out);
  json.begin_object().key("tenants").begin_array();
  for (const auto& name : names) json.begin_object().field("tenant", name).end_object();
  json.end_array().end_object();
  return out;
}

}  // namespace semel::api
