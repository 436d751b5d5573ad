// What a run's history is made of: typed events, numbered 1, 2, 3 ... without gaps.
//
// Three sorts. *Inputs* are what the code learns (an outcome, a signal, time). *Commands* are what the code asked for,
// as it was recorded. *Notes* are neither. Code and history meet by command numbers: every call that may wait takes the
// next number when it is made, and its outcome carries it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "semel/id.h"
#include "semel/result.h"
#include "semel/time.h"

namespace semel::core {

// Numbers are stored; never renumber, never reuse.
enum class EventKind : std::uint8_t {
  // Notes.
  run_started = 1,         // name, data: args
  decision_completed = 2,  // id: the worker; the commands it brought follow
  run_parked = 3,          // data: the error

  // Inputs.
  step_completed = 10,  // command, execution, data: result
  step_failed = 11,     // command, execution, data: error
  step_cancelled = 12,
  step_timed_out = 13,
  timer_fired = 20,      // command
  child_completed = 30,  // command, execution, data: result
  child_failed = 31,
  child_cancelled = 32,
  child_timed_out = 33,
  signal_received = 40,  // name, id: dedupe id, data
  update_received = 41,  // name, id: update id, data
  cancel_requested = 42,
  promise_resolved = 50,  // command, data; promises have no API yet
  promise_rejected = 51,
  promise_timed_out = 52,
  local_completed = 60,  // ctx.run: command, name, data: result
  local_failed = 61,     // ctx.run: command, name, data: error

  // Commands.
  step_scheduled = 100,         // command, name, id: task_id, execution
  step_cancel_requested = 101,  // command
  timer_started = 102,          // command, at: due
  timer_cancelled = 103,        // command
  child_started = 104,          // command, name, id: workflow_id, execution
  child_cancel_requested = 105,
  signal_sent = 106,        // command, name, id: workflow_id, data
  marker_recorded = 107,    // command, name: patch id and the like, data
  state_set = 108,          // data
  update_accepted = 109,    // id
  update_completed = 110,   // id, data: result
  update_rejected = 111,    // id, data: error
  promise_scheduled = 112,  // command, name
  run_completed = 120,      // data: result
  run_failed = 121,         // data: error
  run_cancelled = 122,
  run_continued = 123,  // name, data: args, execution: the next run
  run_timed_out = 124,
  run_terminated = 125,
};
std::string_view to_string(EventKind kind);
std::optional<EventKind> event_kind_from_string(std::string_view word);
constexpr bool is_input(EventKind kind) { return kind >= EventKind::step_completed && kind <= EventKind::local_failed; }
constexpr bool is_command(EventKind kind) { return kind >= EventKind::step_scheduled; }
constexpr bool is_closing(EventKind kind) { return kind >= EventKind::run_completed; }

struct Event {
  EventKind kind{};
  std::int32_t command = 0;  // the number the code gave; 0: none
  std::int32_t issued = 0;   // inputs: how many numbers the code had given when it learned this
  bool joined = false;       // inputs: the code has not run since the event before it; it learns both at once
  Instant at{};              // inputs: the code's `now` from here on
  std::string name;
  std::string id;
  std::optional<ExecutionId> execution;
  std::string data;
  bool operator==(const Event&) const = default;
};

std::string encode_event(const Event& event);
Result<Event> decode_event(std::string_view bytes);

// Several events as they lie in one row: each with its length before it.
void append_event(std::string& to, std::string_view encoded);
Result<std::vector<Event>> decode_events(std::string_view bytes);

}  // namespace semel::core
