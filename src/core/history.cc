#include "core/history.h"

#include <algorithm>
#include <utility>

#include "base/wire.h"

namespace semel::core {
namespace {

enum Tag : std::uint32_t { kKind = 1, kCommand, kIssued, kAt, kName, kId, kExecution, kData, kJoined };

constexpr std::array<std::pair<EventKind, std::string_view>, 39> kWords = {{
    {EventKind::run_started, "run_started"},
    {EventKind::decision_completed, "decision_completed"},
    {EventKind::run_parked, "run_parked"},
    {EventKind::step_completed, "step_completed"},
    {EventKind::step_failed, "step_failed"},
    {EventKind::step_cancelled, "step_cancelled"},
    {EventKind::step_timed_out, "step_timed_out"},
    {EventKind::timer_fired, "timer_fired"},
    {EventKind::child_completed, "child_completed"},
    {EventKind::child_failed, "child_failed"},
    {EventKind::child_cancelled, "child_cancelled"},
    {EventKind::child_timed_out, "child_timed_out"},
    {EventKind::signal_received, "signal_received"},
    {EventKind::update_received, "update_received"},
    {EventKind::cancel_requested, "cancel_requested"},
    {EventKind::promise_resolved, "promise_resolved"},
    {EventKind::promise_rejected, "promise_rejected"},
    {EventKind::promise_timed_out, "promise_timed_out"},
    {EventKind::local_completed, "local_completed"},
    {EventKind::local_failed, "local_failed"},
    {EventKind::step_scheduled, "step_scheduled"},
    {EventKind::step_cancel_requested, "step_cancel_requested"},
    {EventKind::timer_started, "timer_started"},
    {EventKind::timer_cancelled, "timer_cancelled"},
    {EventKind::child_started, "child_started"},
    {EventKind::child_cancel_requested, "child_cancel_requested"},
    {EventKind::signal_sent, "signal_sent"},
    {EventKind::marker_recorded, "marker_recorded"},
    {EventKind::state_set, "state_set"},
    {EventKind::update_accepted, "update_accepted"},
    {EventKind::update_completed, "update_completed"},
    {EventKind::update_rejected, "update_rejected"},
    {EventKind::promise_scheduled, "promise_scheduled"},
    {EventKind::run_completed, "run_completed"},
    {EventKind::run_failed, "run_failed"},
    {EventKind::run_cancelled, "run_cancelled"},
    {EventKind::run_continued, "run_continued"},
    {EventKind::run_timed_out, "run_timed_out"},
    {EventKind::run_terminated, "run_terminated"},
}};

Error unreadable() { return make_error(ErrorCode::StoreCorrupt, "a history event cannot be read"); }

}  // namespace

std::string_view to_string(EventKind kind) {
  const auto* found =
      std::find_if(kWords.begin(), kWords.end(), [kind](const auto& word) { return word.first == kind; });
  return found == kWords.end() ? "unknown" : found->second;
}

std::optional<EventKind> event_kind_from_string(std::string_view word) {
  for (const auto& [kind, text] : kWords)
    if (text == word) return kind;
  return std::nullopt;
}

std::string encode_event(const Event& event) {
  std::string out;
  base::WireWriter to(out);
  to.number(kKind, static_cast<std::int64_t>(event.kind)).number(kCommand, event.command).number(kIssued, event.issued);
  to.number(kAt, event.at.time_since_epoch().count()).bytes(kName, event.name).bytes(kId, event.id);
  if (event.execution)
    to.bytes(kExecution, {reinterpret_cast<const char*>(event.execution->bytes.data()), event.execution->bytes.size()});
  to.bytes(kData, event.data).number(kJoined, event.joined ? 1 : 0);
  return out;
}

Result<Event> decode_event(std::string_view bytes) {
  Event event;
  base::WireReader from(bytes);
  while (from.next()) {
    switch (from.tag()) {
      case kKind:
        event.kind = static_cast<EventKind>(from.number());
        break;
      case kCommand:
        event.command = static_cast<std::int32_t>(from.number());
        break;
      case kIssued:
        event.issued = static_cast<std::int32_t>(from.number());
        break;
      case kAt:
        event.at = Instant{Duration{from.number()}};
        break;
      case kName:
        event.name = from.bytes();
        break;
      case kId:
        event.id = from.bytes();
        break;
      case kExecution: {
        ExecutionId id;
        if (from.bytes().size() != id.bytes.size()) return unreadable();
        std::copy(from.bytes().begin(), from.bytes().end(), id.bytes.begin());
        event.execution = id;
        break;
      }
      case kData:
        event.data = from.bytes();
        break;
      case kJoined:
        event.joined = from.number() != 0;
        break;
      default:
        break;  // of a later version
    }
  }
  if (!from.sound() || event.kind == EventKind{}) return unreadable();
  return event;
}

void append_event(std::string& to, std::string_view encoded) {
  base::WireWriter(to).varint(encoded.size());
  to.append(encoded);
}

Result<std::vector<Event>> decode_events(std::string_view bytes) {
  std::vector<Event> out;
  while (!bytes.empty()) {
    base::WireReader from(bytes);
    const auto size = from.varint();
    if (!size) return unreadable();
    bytes.remove_prefix(bytes.size() - from.left());
    if (*size > bytes.size()) return unreadable();
    auto event = decode_event(bytes.substr(0, *size));
    if (!event) return event.error();
    out.push_back(*std::move(event));
    bytes.remove_prefix(*size);
  }
  return out;
}

}  // namespace semel::core
