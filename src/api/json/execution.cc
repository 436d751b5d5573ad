#include "api/json/parts.h"
#include "api/json/render.h"
#include "base/base64.h"
#include "base/json.h"

namespace semel::api {
namespace {

using base::JsonWriter;

std::optional<std::string_view> word(core::CloseReason reason) {
  switch (reason) {
    case core::CloseReason::none:
      return std::nullopt;
    case core::CloseReason::continued:
      return "continued";
    case core::CloseReason::terminated:
      return "terminated";
    case core::CloseReason::retried:
      return "retried";
  }
  return std::nullopt;
}

std::optional<std::string_view> word(core::SuspendReason reason) {
  switch (reason) {
    case core::SuspendReason::none:
      return std::nullopt;
    case core::SuspendReason::nondeterminism:
      return "nondeterminism";
    case core::SuspendReason::paused:
      return "paused";
  }
  return std::nullopt;
}

void payload_field(JsonWriter& json, std::string_view name, const std::optional<std::string>& bytes) {
  if (bytes) {
    json.raw_field(name, payload_json(*bytes, false));
  } else {
    json.null_field(name);
  }
}

void write_outcome(JsonWriter& json, const engine::EnqueueOutcome& outcome) {
  json.begin_object().field("execution_id", outcome.execution_id).field("task_id", outcome.task_id);
  write_outcome_fields(json, outcome);
  json.end_object();
}

}  // namespace

void write_outcome_fields(JsonWriter& json, const engine::EnqueueOutcome& outcome) {
  json.field("status", to_string(outcome.status)).field("created", outcome.created);
  if (outcome.result || outcome.result_expired) payload_field(json, "result", outcome.result);
  if (outcome.completed_at) json.field("completed_at", *outcome.completed_at);
  if (outcome.result_expired) json.field("result_expired", true);
}

std::string payload_json(std::string_view bytes, bool known_to_be_json) {
  if (known_to_be_json || base::validate_json(bytes)) return bytes.empty() ? "null" : std::string(bytes);
  return R"({"encoding":"opaque","base64":")" + base::to_base64(bytes) + "\"}";
}

std::string task_id_of(const core::Execution& execution) {
  return execution.identity ? *execution.identity : execution.id.to_string();
}

std::string_view reason_of(const core::Execution& execution) {
  const auto suspended = word(execution.suspend_reason);
  return suspended ? *suspended : word(execution.close_reason).value_or("");
}

void write_execution_fields(JsonWriter& json, const store::ExecutionView& view) {
  const core::Execution& e = view.execution;
  const bool task = e.kind == Kind::task;
  json.field("execution_id", e.id).field("tenant", view.tenant);
  json.field("kind", to_string(e.kind)).field("name", e.name).field("queue", view.queue);
  json.field("task_id", task ? std::optional(task_id_of(e)) : std::nullopt);
  json.field("workflow_id", task ? std::nullopt : e.identity);
  json.field("status", to_string(e.status));
  json.field("suspend_reason", word(e.suspend_reason)).field("close_reason", word(e.close_reason));
  json.field("priority", e.priority);
  json.raw_field("args", payload_json(view.payload.args, view.payload.encoding == core::Encoding::json));
  payload_field(json, "result", e.result);
  payload_field(json, "error", e.error);
  json.field("attempt", e.attempt).field("max_attempts", e.max_attempts).field("version", e.version);
  json.field("worker", e.worker).field("lease_expires_at", e.lease_expires_at);
  json.field("scheduled_at", e.scheduled_at).field("created_at", e.created_at);
  json.field("started_at", e.started_at).field("completed_at", e.completed_at);
  json.field("timeout_at", e.timeout_at).field("cancel_requested_at", e.cancel_requested_at);
  json.field("parent_workflow_id", e.parent_workflow_id).field("parent_run_id", e.parent_run);
  json.field("previous_execution_id", e.previous).field("next_execution_id", e.next);
  json.field("idempotency_key", e.idempotency_key);
  json.field("fingerprint", e.fingerprint ? std::optional(e.fingerprint->to_string()) : std::nullopt);
  json.field("concurrency_key", e.concurrency_key);
  payload_field(json, "progress", e.progress);
}

void write_execution(JsonWriter& json, const store::ExecutionView& view) {
  json.begin_object();
  write_execution_fields(json, view);
  json.end_object();
}

std::string execution_json(const store::ExecutionView& view) {
  std::string out;
  JsonWriter json(out);
  write_execution(json, view);
  return out;
}

std::string executions_json(std::span<const store::ExecutionView> views, std::optional<ExecutionId> next) {
  std::string out;
  JsonWriter json(out);
  json.begin_object().key("executions").begin_array();
  for (const auto& view : views) write_execution(json, view);
  json.end_array().field("next_cursor", next).end_object();
  return out;
}

std::string enqueue_json(const engine::EnqueueOutcome& outcome) {
  std::string out;
  JsonWriter json(out);
  write_outcome(json, outcome);
  return out;
}

std::string enqueue_batch_json(std::span<const Result<engine::EnqueueOutcome>> outcomes) {
  std::string out;
  JsonWriter json(out);
  json.begin_object().key("results").begin_array();
  for (const auto& outcome : outcomes) {
    if (outcome) {
      write_outcome(json, *outcome);
    } else {
      json.raw(outcome.error().to_json());
    }
  }
  json.end_array().end_object();
  return out;
}

std::string claimed_json(std::span<const store::ExecutionView> views) {
  std::string out;
  JsonWriter json(out);
  json.begin_object().key("tasks").begin_array();
  for (const auto& view : views) write_execution(json, view);
  json.end_array().end_object();
  return out;
}

std::string delivery_json(const engine::DeliverOutcome& outcome) {
  std::string out;
  JsonWriter json(out);
  json.begin_object().field("outcome", engine::to_string(outcome.outcome)).key("execution");
  write_execution(json, outcome.execution);
  json.end_object();
  return out;
}

}  // namespace semel::api
