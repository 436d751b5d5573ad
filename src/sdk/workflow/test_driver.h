// A world for workflows in tests: answers what they ask for, records their history, and cuts it anywhere.
//
// The next input depends on the recorded history alone, so that a run which is continued from a prefix must end with
// the very same history.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "base/random.h"
#include "sdk/workflow/machine.h"

namespace semel::core {
inline void PrintTo(const Event& event, std::ostream* out) {
  *out << to_string(event.kind) << " #" << event.command << " issued=" << event.issued << " '" << event.name << "' id='"
       << event.id << "' at=" << to_micros(event.at) << " " << event.data;
}
}  // namespace semel::core

namespace semel::sdk {

using core::Event;
using core::EventKind;
using History = std::vector<Event>;

inline constexpr Instant kStart = from_micros(1'000'000'000);
inline constexpr Duration kSecond{1'000'000};

inline Event input(EventKind kind, std::string name = {}, std::string data = {}, std::string id = {}) {
  Event out;
  out.kind = kind;
  out.name = std::move(name);
  out.data = std::move(data);
  out.id = std::move(id);
  return out;
}
inline Event signal(std::string name, std::string data) {
  return input(EventKind::signal_received, std::move(name), std::move(data));
}
inline Event cancel_request() { return input(EventKind::cancel_requested); }

inline Event timer_fired(int command) {
  Event out = input(EventKind::timer_fired);
  out.command = command;
  return out;
}

// How a task or child of some name ends.
struct Answer {
  EventKind kind = EventKind::step_completed;  // the step's word; a child gets its own
  std::string data;
};

// An input from outside: given once the code has learned `after` things, or when there is nothing else to do.
struct Message {
  std::size_t after = 0;
  Event event;
};

struct Scenario {
  std::string name;
  WorkflowStarter starter;
  std::string args = "null";
  EventKind end = EventKind::run_completed;
  std::string data;  // of the closing event
  std::map<std::string, Answer> answers = {};
  std::vector<Message> messages = {};
  std::vector<std::string> slow = {};  // steps that end only when there is nothing else to do
  std::uint64_t seed = 0;              // other than 0: the run's id, and what happens next, come from it
};

template <class F>
Scenario scenario(F function, std::string args = "null") {
  return Scenario{"scenario", workflow("scenario", function).starter(), std::move(args)};
}

inline void PrintTo(const Scenario& scenario, std::ostream* out) { *out << scenario.name; }

inline RunInfo run_info(const Scenario& scenario) {
  RunInfo info;
  info.run_id.bytes = {1, 2, 3, 4, 5, 6, 0x70, 8, 0x80, 10, 11, 12, 13, 14, 15, 16};
  for (int i = 0; i < 8; ++i) info.run_id.bytes[8 + i] ^= static_cast<std::uint8_t>(scenario.seed >> (8 * i));
  info.workflow_id = "wf-1";
  info.workflow_name = "scenario";
  info.started_at = kStart;
  info.args = scenario.args;
  return info;
}

class Driver {
 public:
  // Begins with `history`, which is replayed.
  Driver(const Scenario& scenario, History history)
      : scenario_(scenario), history_(std::move(history)), machine_(scenario.starter, run_info(scenario)) {
    const bool is_new = history_.empty();
    replayed_ = machine_.replay(history_);
    if (is_new) history_.push_back(input(EventKind::run_started, "scenario", scenario.args));
    if (replayed_) collect();
  }

  const Result<void>& replayed() const { return replayed_; }
  Machine& machine() { return machine_; }
  const History& history() const { return history_; }

  void learn(Event event, Instant now) {
    history_.push_back(machine_.learn(std::move(event), now));
    collect();
  }
  // One input. False: the run is over, or waits for ever.
  bool step() {
    if (!replayed_ || over()) return false;
    if (scenario_.seed != 0) return random_step();
    if (next_message() < scenario_.messages.size() && scenario_.messages[next_message()].after <= inputs())
      return tell(scenario_.messages[next_message()].event);
    if (!locals_.empty()) return run_local();
    if (answer_task(false) || answer_task(true) || fire_timer()) return true;
    if (next_message() < scenario_.messages.size()) return tell(scenario_.messages[next_message()].event);
    return false;
  }
  void run() {
    for (int i = 0; i < 1000 && step(); ++i) {
    }
  }
  bool over() const {
    return std::ranges::any_of(history_, [](const Event& e) { return core::is_closing(e.kind); });
  }
  std::vector<Command> commands;  // all that were taken

 private:
  void collect() {
    for (Command& command : machine_.take_commands()) {
      history_.push_back(command.event);
      commands.push_back(std::move(command));
    }
    for (LocalRun& local : machine_.take_locals()) locals_.push_back(std::move(local));
  }
  std::size_t inputs() const {
    return std::ranges::count_if(history_, [](const Event& e) { return core::is_input(e.kind); });
  }
  std::size_t next_message() const {
    return std::ranges::count_if(history_, [](const Event& e) {
      return e.kind >= EventKind::signal_received && e.kind <= EventKind::cancel_requested;
    });
  }
  Instant later() const {
    Instant last = kStart;
    for (const Event& event : history_)
      if (core::is_input(event.kind)) last = std::max(last, event.at);
    return last + kSecond;
  }
  bool tell(Event event) { return learn(std::move(event), later()), true; }

  bool run_local() {
    std::ranges::sort(locals_, {}, &LocalRun::command);
    LocalRun local = std::move(locals_.front());
    locals_.erase(locals_.begin());
    return tell(local.body());
  }
  bool has(int command, EventKind first, EventKind last) const {
    return std::ranges::any_of(
        history_, [&](const Event& e) { return e.command == command && e.kind >= first && e.kind <= last; });
  }
  bool open_task(const Event& event) const {
    if (event.kind == EventKind::step_scheduled)
      return !has(event.command, EventKind::step_completed, EventKind::step_timed_out);
    return event.kind == EventKind::child_started &&
           !has(event.command, EventKind::child_completed, EventKind::child_timed_out);
  }
  bool open_timer(const Event& event) const {
    return event.kind == EventKind::timer_started &&
           !has(event.command, EventKind::timer_fired, EventKind::timer_fired) &&
           !has(event.command, EventKind::timer_cancelled, EventKind::timer_cancelled);
  }
  bool answer_task(bool slow_too) {
    for (const Event& event : history_) {
      if (!open_task(event) || (!slow_too && std::ranges::count(scenario_.slow, event.name) > 0)) continue;
      return tell(outcome(event, event.kind == EventKind::step_scheduled));
    }
    return false;
  }
  // Local runs first: one that is cancelled before it was run leaves no trace a fresh machine could repeat.
  bool random_step() {
    if (!locals_.empty()) return run_local();
    std::vector<Event> choices;
    for (const Event& event : history_)
      if (open_task(event) || open_timer(event)) choices.push_back(event);
    const bool message = next_message() < scenario_.messages.size();
    const std::size_t count = choices.size() + (message ? 1 : 0);
    if (count == 0) return false;
    const std::size_t chosen = base::SeededRandom(scenario_.seed + history_.size()).below(count);
    if (chosen == choices.size()) return tell(scenario_.messages[next_message()].event);
    if (choices[chosen].kind == EventKind::timer_started) return fire(choices[chosen]);
    return tell(outcome(choices[chosen], choices[chosen].kind == EventKind::step_scheduled));
  }
  Event outcome(const Event& scheduled, bool is_step) const {
    Answer answer{EventKind::step_completed, std::to_string(scheduled.command)};
    if (const auto known = scenario_.answers.find(scheduled.name); known != scenario_.answers.end())
      answer = known->second;
    const auto request = is_step ? EventKind::step_cancel_requested : EventKind::child_cancel_requested;
    if (has(scheduled.command, request, request)) answer = {EventKind::step_cancelled, ""};
    Event out = input(answer.kind, {}, answer.data);
    if (!is_step) out.kind = static_cast<EventKind>(static_cast<int>(answer.kind) + 20);
    out.command = scheduled.command;
    return out;
  }
  bool fire_timer() {
    const Event* next = nullptr;
    for (const Event& event : history_)
      if (open_timer(event) && (next == nullptr || event.at < next->at)) next = &event;
    return next != nullptr && fire(Event(*next));
  }
  bool fire(const Event& started) {
    Event fired = input(EventKind::timer_fired);
    fired.command = started.command;
    learn(std::move(fired), std::max(started.at, later()));
    return true;
  }

  Scenario scenario_;
  History history_;
  Machine machine_;
  Result<void> replayed_;
  std::vector<LocalRun> locals_;
};

inline History run_live(const Scenario& scenario) {
  Driver driver(scenario, {});
  driver.run();
  return driver.history();
}

// Kills the run after every event of its history and lets it go on in a fresh machine.
inline void survives_every_crash(const Scenario& scenario, const History& whole) {
  for (std::size_t cut = 0; cut <= whole.size(); ++cut) {
    SCOPED_TRACE("cut after event " + std::to_string(cut));
    Driver driver(scenario, History(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(cut)));
    ASSERT_TRUE(driver.replayed()) << driver.replayed().error().message;
    driver.run();
    ASSERT_EQ(driver.history(), whole);
  }
}

inline std::vector<std::string> words(const History& history) {
  std::vector<std::string> out;
  for (const Event& event : history) {
    std::string word(to_string(event.kind));
    if (event.command != 0) word += " " + std::to_string(event.command);
    out.push_back(std::move(word));
  }
  return out;
}

}  // namespace semel::sdk
