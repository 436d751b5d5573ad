#include "sdk/workflow/machine.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/json.h"

namespace semel::sdk {

using core::EventKind;

namespace {

bool is_note(EventKind kind) { return !core::is_input(kind) && !core::is_command(kind); }

// Ends that the engine writes, not the code.
bool ends_from_outside(EventKind kind) { return kind == EventKind::run_timed_out || kind == EventKind::run_terminated; }

std::string describe(EventKind kind, std::int32_t number, const std::string& name, const std::string& id) {
  std::string out(core::to_string(kind));
  if (number != 0) out += " #" + std::to_string(number);
  if (!name.empty()) out += " '" + name + "'";
  if (!id.empty()) out += " id '" + id + "'";
  return out;
}

std::string describe(const core::Event& event) { return describe(event.kind, event.command, event.name, event.id); }

// The id counts only where the code gave one: the store may have chosen it.
bool same_command(const core::Event& recorded, const core::Event& issued) {
  return recorded.kind == issued.kind && recorded.command == issued.command && recorded.name == issued.name &&
         (issued.id.empty() || recorded.id == issued.id);
}

// Which sort of call an outcome belongs to; none: inputs without a number.
std::optional<SlotKind> slot_kind(EventKind kind) {
  if (kind >= EventKind::step_completed && kind <= EventKind::step_timed_out) return SlotKind::step;
  if (kind == EventKind::timer_fired) return SlotKind::timer;
  if (kind >= EventKind::child_completed && kind <= EventKind::child_timed_out) return SlotKind::child;
  if (kind == EventKind::local_completed || kind == EventKind::local_failed) return SlotKind::local;
  return std::nullopt;
}

}  // namespace

Machine::Machine(WorkflowStarter starter, RunInfo info, LogSink log)
    : starter_(std::move(starter)), info_(info), run_(std::move(info), std::move(log)) {}

void Machine::expect(std::span<const core::Event> history) {
  std::set<std::string, std::less<>> patches;
  for (const core::Event& event : history) {
    if (event.kind == EventKind::marker_recorded) patches.insert(event.name);
    if (!is_note(event.kind)) ++events_left_;
  }
  run_.set_recorded_patches(std::move(patches));
  run_.set_events_left(events_left_);
}

void Machine::start() {
  started_ = true;
  run_.start(starter_);
}

Result<void> Machine::replay(std::span<const core::Event> history) {
  expect(history);
  start();
  for (const core::Event& event : history)
    if (auto done = replay(event); !done) return done;
  run();
  return {};
}

Result<void> Machine::replay(const core::Event& event) {
  if (refused_) return *refused_;
  ++seq_;
  if (core::to_string(event.kind) == "unknown") {
    refused_ = make_error(ErrorCode::Unsupported, "event " + std::to_string(seq_) + " of the history has the kind " +
                                                      std::to_string(static_cast<int>(event.kind)) +
                                                      ", which a later version wrote");
    return *refused_;
  }
  if (is_note(event.kind)) return {};
  const bool learned_together = core::is_input(event.kind) && event.joined;
  if (!learned_together && !ends_from_outside(event.kind)) run_.run();
  if (events_left_ > 0) run_.set_events_left(--events_left_);
  if (core::is_input(event.kind)) return replay_input(event);
  if (!ends_from_outside(event.kind)) return replay_command(event);
  ended_from_outside_ = true;
  return {};
}

Result<void> Machine::replay_input(const core::Event& event) {
  const std::int32_t given = run_.numbers_given();
  if (event.issued != given)
    return refuse(describe(event) + " after " + std::to_string(event.issued) + " calls",
                  "the code has made " + std::to_string(given) + " calls");
  const auto kind = slot_kind(event.kind);
  const bool listened_to = kind != SlotKind::step || !run_.is_silent(event.command);
  if (kind && listened_to) {
    const auto call = run_.at(event.command);
    const bool same_name = event.name.empty() || (call && call->name == event.name);
    if (!call || call->kind != *kind || !same_name)
      return refuse(describe(event), call
                                         ? "call #" + std::to_string(event.command) + " is " +
                                               std::string(to_string(call->kind)) + " '" + std::string(call->name) + "'"
                                         : "there is no call #" + std::to_string(event.command));
  }
  run_.hand_over(event);
  return {};
}

Result<void> Machine::replay_command(const core::Event& event) {
  auto& commands = run_.commands();
  if (event.kind == EventKind::marker_recorded) return replay_patch(event), Result<void>();
  if (commands.empty()) return refuse(describe(event), "the code asked for nothing");
  if (!same_command(event, commands.front().event)) return refuse(describe(event), describe(commands.front().event));
  commands.pop_front();
  return {};
}

// A patch takes no number and does nothing, so its place does not matter: once no run is left that passed before it,
// the code may drop the question and keep the new way.
void Machine::replay_patch(const core::Event& event) {
  auto& commands = run_.commands();
  const auto issued = std::ranges::find_if(commands, [&](const Command& c) { return same_command(event, c.event); });
  if (issued != commands.end()) commands.erase(issued);
  else run_.patch_passed(event.name);
}

Error Machine::refuse(const std::string& expected, const std::string& actual) {
  Error error = make_error(ErrorCode::NondeterminismError,
                           "event " + std::to_string(seq_) + " of the history is " + expected + ", but " + actual);
  error.details = {{"run", base::quote_json(info_.run_id.to_string())},
                   {"seq", std::to_string(seq_)},
                   {"expected", base::quote_json(expected)},
                   {"actual", base::quote_json(actual)}};
  refused_ = error;
  return error;
}

core::Event Machine::stamp(core::Event input, Instant now) const {
  input.issued = run_.numbers_given();
  input.joined = !run_.at_rest();
  input.at = std::max(now, run_.now());  // the code's time never goes back
  return input;
}

void Machine::hand_over(const core::Event& input) {
  if (!refused_) run_.hand_over(input);
}

void Machine::run() {
  if (!refused_) run_.run();
}

core::Event Machine::learn(core::Event input, Instant now) {
  core::Event stamped = stamp(std::move(input), now);
  hand_over(stamped);
  run();
  return stamped;
}

std::vector<Command> Machine::take_commands() {
  if (refused_ || ended_from_outside_) return {};
  auto& commands = run_.commands();
  std::vector<Command> out(std::make_move_iterator(commands.begin()), std::make_move_iterator(commands.end()));
  commands.clear();
  return out;
}

std::vector<LocalRun> Machine::take_locals() {
  if (refused_ || closed()) return {};
  return run_.take_locals();
}

std::vector<core::Event> Machine::unread() const { return {run_.unread().begin(), run_.unread().end()}; }

Result<std::string> Machine::query(const std::string& name, const std::string& args) {
  if (refused_) return *refused_;
  return run_.query(name, args);
}

}  // namespace semel::sdk
