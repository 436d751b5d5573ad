#include "api/json/parts.h"
#include "api/json/render.h"

namespace semel::api {
namespace {

using base::JsonWriter;

void object_field(JsonWriter& json, std::string_view name, const std::string& text) {
  if (text.empty()) json.null_field(name);
  else json.raw_field(name, payload_json(text, false));
}

}  // namespace

std::string run_json(const engine::RunView& view) {
  std::string out;
  JsonWriter json(out);
  json.begin_object();
  write_execution_fields(json, view.execution);
  object_field(json, "state", view.run.state.value_or(""));
  object_field(json, "memo", view.run.memo);
  object_field(json, "attributes", view.run.attributes);
  json.field("event_count", view.run.events).field("history_bytes", view.run.bytes);
  json.field("unread_count", view.unread_count).end_object();
  return out;
}

std::string started_json(const engine::EnqueueOutcome& outcome) {
  std::string out;
  JsonWriter json(out);
  json.begin_object().field("execution_id", outcome.execution_id).field("workflow_id", outcome.task_id);
  write_outcome_fields(json, outcome);
  json.end_object();
  return out;
}

std::string signal_json(const engine::SignalRequest& request, const core::SignalAnswer& answer) {
  std::string out;
  JsonWriter json(out);
  json.begin_object().field("execution_id", answer.run).field("name", request.name);
  json.field("dedupe_id", request.dedupe_id).field("created", answer.created).end_object();
  return out;
}

}  // namespace semel::api
