#include "api/json/parts.h"
#include "api/json/render.h"
#include "engine/explain_run.h"

namespace semel::api {
namespace {

using base::JsonWriter;

std::string_view word(core::Space space) {
  switch (space) {
    case core::Space::task:
      return "task";
    case core::Space::workflow:
      return "workflow";
    case core::Space::key:
      return "key";
    case core::Space::http:
      return "http";
    case core::Space::webhook:
      return "webhook";
    case core::Space::event:
      return "event";
    case core::Space::fire:
      return "fire";
  }
  return "?";
}

std::string_view word(store::Whereabouts place) {
  switch (place) {
    case store::Whereabouts::nowhere:
      return "nowhere";
    case store::Whereabouts::ready:
      return "ready";
    case store::Whereabouts::timer:
      return "timer";
    case store::Whereabouts::blocked:
      return "blocked";
  }
  return "?";
}

void write_duplicates(JsonWriter& json, const engine::ExplainedDuplicates& duplicates) {
  json.begin_object().field("kind", word(duplicates.space)).field("id", duplicates.key);
  json.key("counts").begin_object();
  for (const auto& [rule, count] : duplicates.counts) json.field(engine::to_string(rule), count);
  json.end_object().key("recent").begin_array();
  for (const auto& note : duplicates.recent) {
    json.begin_object().field("rule", engine::to_string(note.rule)).field("at", note.at);
    json.field("winner", note.winner).end_object();
  }
  json.end_array().end_object();
}

void write_attention(JsonWriter& json, const std::optional<core::Attention>& attention) {
  if (!attention) {
    json.null();
    return;
  }
  json.begin_object().field("status", to_string(attention->status)).field("at", attention->at);
  json.field("discarded_at", attention->discarded_at).field("next_execution_id", attention->successor).end_object();
}

void write_open(JsonWriter& json, const engine::OpenCommand& command) {
  json.begin_object().field("kind", engine::noun_of(command.kind)).field("command", command.command);
  json.field("name", command.name).field("id", command.id).field("execution_id", command.execution);
  json.field("status", command.status ? std::optional(to_string(*command.status)) : std::nullopt);
  json.field("due_at", command.due_at).end_object();
}

void write_run(JsonWriter& json, const engine::ExplainedRun& run) {
  json.begin_object().key("waits_for").begin_array();
  for (const auto& command : run.open) write_open(json, command);
  json.end_array().field("waits_for_count", run.open_count).field("unread_count", run.unread_count);
  json.field("session_id", run.session).field("owner_lost", run.owner_lost).key("parked_at");
  if (run.parked_at) {
    json.begin_object().field("seq", run.parked_at->seq).field("expected", run.parked_at->expected);
    json.field("actual", run.parked_at->actual).end_object();
  } else {
    json.null();
  }
  json.end_object();
}

}  // namespace

std::string explanation_json(const engine::Explanation& explanation) {
  std::string out;
  JsonWriter json(out);
  json.begin_object().field("summary", explanation.summary);
  json.field("reason", explanation.reason == engine::WaitReason::none
                           ? std::nullopt
                           : std::optional(engine::to_string(explanation.reason)));
  json.field("waits_in", explanation.whereabouts == store::Whereabouts::nowhere
                             ? std::nullopt
                             : std::optional(word(explanation.whereabouts)));
  json.field("not_before", explanation.not_before).field("lease_expires_at", explanation.lease_expires_at);
  json.key("execution");
  if (explanation.execution) {
    write_execution(json, *explanation.execution);
  } else {
    json.null();
  }
  json.key("run");
  if (explanation.run) {
    write_run(json, *explanation.run);
  } else {
    json.null();
  }
  json.key("attention");
  write_attention(json, explanation.attention);
  json.key("key");
  if (explanation.key) {
    json.raw(key_json(*explanation.key));
  } else {
    json.null();
  }
  json.key("duplicates").begin_array();
  for (const auto& duplicates : explanation.duplicates) write_duplicates(json, duplicates);
  json.end_array().key("earlier").begin_array();
  for (const auto& view : explanation.chain) {
    json.begin_object().field("execution_id", view.execution.id).field("status", to_string(view.execution.status));
    json.field("created_at", view.execution.created_at).field("completed_at", view.execution.completed_at).end_object();
  }
  json.end_array().end_object();
  return out;
}

}  // namespace semel::api
