#include "engine/history_json.h"

#include "base/base64.h"
#include "base/duration.h"
#include "base/json.h"
#include "base/json_writer.h"
#include "base/utf8.h"
#include "engine/object_reader.h"

namespace semel::engine {
namespace {

using base::JsonValue;
using base::JsonWriter;
using core::EventKind;

// The document puts three levels around a payload.
constexpr int kDepth = base::kMaxPayloadDepth + 3;

std::string_view code_at_field(EventKind kind) {
  return kind == EventKind::timer_started || kind == EventKind::timer_cancelled ? "due_at" : "code_at";
}

// ---- printing -------------------------------------------------------------------------------------------------------

// Instants beyond what RFC 3339 can say (a timer for ever) are microseconds.
void write_instant(JsonWriter& json, std::string_view field, Instant at) {
  const auto back = base::parse_instant(base::format_instant(at));
  if (back && *back == at) json.field(field, at);
  else json.field(field, to_micros(at));
}

void write_text(JsonWriter& json, std::string_view field, std::string_view text) {
  if (text.empty()) return;
  if (base::is_valid_utf8(text)) json.field(field, text);
  else json.field(std::string(field) + "_base64", base::to_base64(text));
}

// White space around a value would be lost on the way back.
bool is_bare_json(std::string_view bytes) {
  constexpr std::string_view kSpace = " \t\r\n";
  return !bytes.empty() && kSpace.find(bytes.front()) == kSpace.npos && kSpace.find(bytes.back()) == kSpace.npos &&
         base::validate_json(bytes).ok();
}

void write_payload(JsonWriter& json, std::string_view field, std::string_view bytes) {
  if (bytes.empty()) return;
  if (is_bare_json(bytes)) json.raw_field(field, bytes);
  else json.field(std::string(field) + "_base64", base::to_base64(bytes));
}

void write_event(JsonWriter& json, const HistoryEvent& recorded) {
  const core::Event& event = recorded.event;
  json.begin_object().field("seq", recorded.seq);
  write_instant(json, "at", recorded.at);
  json.field("kind", to_string(event.kind));
  if (event.command != 0) json.field("command", event.command);
  if (event.issued != 0) json.field("issued", event.issued);
  if (event.joined) json.field("joined", true);
  if (event.at != Instant{}) write_instant(json, code_at_field(event.kind), event.at);
  write_text(json, "name", event.name);
  write_text(json, "id", event.id);
  if (event.execution) json.field("execution_id", *event.execution);
  write_payload(json, "data", event.data);
  json.end_object();
}

// ---- reading --------------------------------------------------------------------------------------------------------

Result<HistoryEvent> read_event(const JsonValue& value, std::int32_t seq) {
  ObjectReader from(value, "event " + std::to_string(seq));
  HistoryEvent out;
  core::Event& event = out.event;
  out.seq = from.required("seq", &ObjectReader::number);
  if (out.seq != seq) from.refuse("seq must be " + std::to_string(seq) + ": events are numbered without gaps");
  out.at = from.required("at", &ObjectReader::instant);
  const std::string word = from.required("kind", &ObjectReader::text);
  const auto kind = core::event_kind_from_string(word);
  if (kind) event.kind = *kind;
  else from.refuse("kind " + base::quote_json(word) + " is not known");
  event.command = from.number("command");
  event.issued = from.number("issued");
  event.joined = from.flag("joined");
  event.at = from.instant(std::string(code_at_field(event.kind)));
  event.name = from.text("name");
  event.id = from.text("id");
  event.execution = from.execution("execution_id");
  event.data = from.payload("data");
  if (auto read = from.finish(); !read) return read.error();
  return out;
}

Result<void> read_events(const JsonValue& list, HistoryDocument& out) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    auto event = read_event(list.at(i), static_cast<std::int32_t>(i) + 1);
    if (!event) return event.error();
    out.events.push_back(*std::move(event));
  }
  return {};
}

}  // namespace

HistoryDocument history_document(const store::ExecutionView& run, std::vector<HistoryEvent> events) {
  HistoryDocument out;
  out.workflow_id = run.execution.identity.value_or("");
  out.run_id = run.execution.id;
  out.name = run.execution.name;
  out.queue = run.queue;
  out.encoding = run.payload.encoding;
  out.args = run.payload.args;
  out.started_at = run.execution.created_at;
  out.events = std::move(events);
  return out;
}

std::string history_json(const HistoryDocument& history) {
  std::string out;
  JsonWriter json(out);
  json.begin_object();
  write_text(json, "workflow_id", history.workflow_id);
  json.field("run_id", history.run_id);
  write_text(json, "name", history.name);
  write_text(json, "queue", history.queue);
  if (history.encoding == core::Encoding::opaque) json.field("encoding", "opaque");
  write_payload(json, "args", history.args);
  write_instant(json, "started_at", history.started_at);
  json.key("events").begin_array();
  for (const auto& event : history.events) write_event(json, event);
  json.end_array().end_object();
  return out;
}

Result<HistoryDocument> history_from_json(std::string text) {
  auto document = base::JsonDocument::parse(std::move(text), kDepth);
  if (!document) return make_error(ErrorCode::InvalidArgument, "history: " + document.error().message);
  ObjectReader from(document->root(), "history");
  HistoryDocument out;
  out.workflow_id = from.required("workflow_id", &ObjectReader::text);
  const auto run = from.execution("run_id");
  if (!run) from.refuse("run_id is missing");
  out.name = from.required("name", &ObjectReader::text);
  out.queue = from.required("queue", &ObjectReader::text);
  const std::string encoding = from.text("encoding");
  if (encoding == "opaque") out.encoding = core::Encoding::opaque;
  else if (!encoding.empty() && encoding != "json") from.refuse("encoding must be json or opaque");
  out.args = from.payload("args");
  out.started_at = from.required("started_at", &ObjectReader::instant);
  const auto events = from.list("events");
  if (auto read = from.finish(); !read) return read.error();
  out.run_id = *run;
  if (auto read = read_events(*events, out); !read) return read.error();
  return out;
}

}  // namespace semel::engine
