#include "cli/timeline_events.h"

#include <algorithm>
#include <array>

#include "base/json_value.h"
#include "cli/table.h"
#include "cli/timeline.h"
#include "engine/explain_run.h"

namespace semel::cli {
namespace {

using core::EventKind;

constexpr std::size_t kPreviewBytes = 4096;

struct Look {
  std::string_view glyph;
  Tone tone;
};

// By the verb of the kind, which is what follows the noun: step_completed, promise_timed_out.
constexpr std::array<std::pair<std::string_view, Look>, 18> kVerbs = {{
    {"scheduled", {"→", Tone::asks}},
    {"started", {"→", Tone::asks}},
    {"sent", {"→", Tone::asks}},
    {"completed", {"✓", Tone::good}},
    {"resolved", {"✓", Tone::good}},
    {"accepted", {"✓", Tone::good}},
    {"fired", {"◷", Tone::good}},
    {"failed", {"✗", Tone::bad}},
    {"rejected", {"✗", Tone::bad}},
    {"timed out", {"✗", Tone::bad}},
    {"terminated", {"✗", Tone::bad}},
    {"parked", {"‖", Tone::bad}},
    {"cancelled", {"○", Tone::warn}},
    {"cancel requested", {"○", Tone::warn}},
    {"received", {"✉", Tone::hears}},
    {"recorded", {"•", Tone::dim}},
    {"set", {"•", Tone::dim}},
    {"continued", {"↻", Tone::good}},
}};

Look look_of(EventKind kind, std::string_view verb) {
  if (kind == EventKind::run_started) return {"▶", Tone::bold};
  if (kind == EventKind::decision_completed) return {"•", Tone::dim};
  if (kind == EventKind::run_completed) return {"■", Tone::good};
  const auto* found = std::find_if(kVerbs.begin(), kVerbs.end(), [&](const auto& row) { return row.first == verb; });
  return found == kVerbs.end() ? Look{"?", Tone::plain} : found->second;
}

// "step_cancel_requested" -> step, cancel requested. A request to cancel the run itself has no noun.
std::pair<std::string, std::string> noun_and_verb(EventKind kind) {
  if (kind == EventKind::cancel_requested) return {"run", "cancel requested"};
  std::string word(to_string(kind));
  const std::size_t underscore = word.find('_');
  if (underscore == word.npos) return {word, ""};
  std::string verb = word.substr(underscore + 1);
  std::replace(verb.begin(), verb.end(), '_', ' ');
  return {word.substr(0, underscore), verb};
}

bool is_failure(EventKind kind) {
  const std::string_view word = to_string(kind);
  return word.ends_with("_failed") || word.ends_with("_rejected") || kind == EventKind::run_parked;
}

// {"name","message"} as people say it; empty when it is something else.
std::string error_words(const std::string& data) {
  const auto document = base::JsonDocument::parse(data, base::kMaxPayloadDepth);
  if (!document) return {};
  const auto member = [&](std::string_view name) {
    const auto value = document->root().find(name);
    return value ? value->as_string().value_or("") : std::string();
  };
  const std::string name = member("name");
  const std::string message = member("message");
  return name.empty() || message.empty() ? name : name + ": " + message;
}

// Line breaks and what follows them are layout, never content: JSON strings cannot hold them.
std::string on_one_line(std::string_view data) {
  std::string out;
  bool skip = false;
  for (const char c : data.substr(0, kPreviewBytes)) {
    const bool breaks = c == '\n' || c == '\r' || c == '\t';
    if (breaks && !skip) out.push_back(' ');
    skip = breaks || (skip && c == ' ');
    if (!skip) out.push_back(c);
  }
  return plain(out);
}

std::string preview(const core::Event& event) {
  if (is_failure(event.kind)) {
    if (const std::string words = error_words(event.data); !words.empty()) return on_one_line(words);
  }
  return on_one_line(event.data);
}

}  // namespace

const Teller::Asked* Teller::asked(const core::Event& event) const {
  const auto found = asked_.find(event.command);
  return found == asked_.end() ? nullptr : &found->second;
}

std::string Teller::detail_of(const engine::HistoryEvent& recorded) const {
  const core::Event& event = recorded.event;
  if (event.kind == EventKind::timer_started) return "due +" + elapsed(event.at - start_);
  if (event.kind == EventKind::signal_sent) return "to " + plain(event.id);
  if (event.kind == EventKind::decision_completed && !event.id.empty()) return "by " + plain(event.id);
  if (core::is_closing(event.kind)) return elapsed(recorded.at - start_);
  if (const Asked* command = asked(event); command && engine::settles_command(event.kind))
    return elapsed(recorded.at - command->at);
  return plain(event.id);
}

void Teller::remember(const engine::HistoryEvent& recorded, const EventLine& line, std::string noun) {
  const core::Event& event = recorded.event;
  if (event.kind == EventKind::update_received) updates_[event.id] = event.name;
  if (engine::settles_command(event.kind)) open_.erase(event.command);
  if (!engine::opens_command(event.kind)) return;
  std::string awaited = line.who;
  if (event.kind == EventKind::timer_started) awaited += " " + line.detail;
  Asked& command = asked_[event.command];
  command = {std::move(noun), event.name, recorded.at, std::move(awaited)};
  open_[event.command] = &command;
}

EventLine Teller::tell(const engine::HistoryEvent& recorded) {
  const core::Event& event = recorded.event;
  auto [noun, verb] = noun_and_verb(event.kind);
  const Look look = look_of(event.kind, verb);
  std::string name = event.name;
  if (const Asked* command = asked(event)) {
    noun = command->noun;
    name = command->name;
  } else if (const auto update = updates_.find(event.id);
             name.empty() && noun == "update" && update != updates_.end()) {
    name = update->second;
  }
  EventLine line;
  line.glyph = look.glyph;
  line.tone = look.tone;
  if (event.command > 0) line.who = "#" + std::to_string(event.command) + " ";
  line.who += noun;
  // The header says which workflow it is.
  if (event.kind != EventKind::run_started && !name.empty()) line.who += " " + plain(name);
  line.what = std::move(verb);
  line.detail = detail_of(recorded);
  line.data = preview(event);
  remember(recorded, line, std::move(noun));
  return line;
}

std::vector<std::string> Teller::open() const {
  std::vector<std::string> out;
  for (const auto& [number, command] : open_) out.push_back(command->awaited);
  return out;
}

}  // namespace semel::cli
