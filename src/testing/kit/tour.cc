#include "testing/kit/tour.h"

#include <utility>

namespace semel::testing {
namespace {

// A task is known by its execution alone: number 0.
CallId call_of(const core::Execution& task) { return {task.id, 0}; }

std::string in_brackets(const TurnStory& story) {
  std::string out = story.learned;
  if (!out.empty() && !story.did.empty()) out += "; ";
  out += story.did;
  return out.empty() ? out : ": " + out;
}

}  // namespace

bool Tour::reach(std::string key, std::string text) {
  places_.push_back({std::move(key), std::move(text)});
  if (static_cast<int>(places_.size()) != dies_at_) return false;
  died_at_ = places_.back().key;
  return true;
}

std::string Tour::label(const ExecutionId& run) const {
  const auto it = runs_.find(run);
  return it == runs_.end() ? "a run" : it->second.text;
}

std::string Tour::new_label(const core::Execution& run) {
  if (!run.parent_run) return "run " + std::to_string(++chain_);
  return "child '" + run.name + "' #" + std::to_string(run.parent_command) + " of " + label(*run.parent_run);
}

// ---- turns ----------------------------------------------------------------------------------------------------------

Witness::Fate Tour::turn_begins(const core::Execution& run) {
  if (over_) return Fate::lives;
  if (!runs_.contains(run.id)) runs_[run.id].text = new_label(run);
  ++turns_;
  turn_ = "turn " + std::to_string(++runs_[run.id].turns) + " of " + label(run.id);
  const bool before = reach("before " + turn_);
  const bool after = reach("after the code of " + turn_);
  if (before) return Fate::dies_before;
  return after ? Fate::dies_after : Fate::lives;
}

// Only now it is known what the turn was about.
bool Tour::turn_ended(const TurnStory& story) {
  if (over_) return false;
  const std::string about = in_brackets(story);
  places_[places_.size() - 2].text = "before " + turn_ + about;
  places_[places_.size() - 1].text = "after the code of " + turn_ + ", before its record" + about;
  return story.records && reach("after the record of " + turn_, "after the record of " + turn_ + about);
}

void Tour::turn_refused(const core::Execution&, const Error& error) {
  if (!refused_) refused_ = error;
}

// ---- bodies of ctx.run ----------------------------------------------------------------------------------------------

bool Tour::body_ran(const CallId& call, const std::string& name, bool key_read) {
  if (over_) return false;
  ++bodies_;
  Calls& calls = calls_.try_emplace(call, Calls{name}).first->second;
  ++calls.count;
  calls.key_read = calls.key_read || key_read;
  const std::string text = "after '" + name + "' ran, before it was recorded (ctx.run #" + std::to_string(call.number) +
                           " of " + label(call.run) + ")";
  return reach(text, text);
}

// ---- tasks ----------------------------------------------------------------------------------------------------------

void Tour::step_asked(const CallId& call, bool key_read) {
  if (key_read) asked_with_key_.insert(call);
}

std::string Tour::words_of_attempt(const core::Execution& task) {
  std::string out = " (attempt " + std::to_string(task.attempt);
  if (task.parent_run) out += " of step #" + std::to_string(task.parent_command);
  return out + ")";
}

bool Tour::attempt_begins(const core::Execution& task) {
  if (over_) return false;
  ++attempts_;
  const std::string text = "before task '" + task.name + "' ran" + words_of_attempt(task);
  return reach(text, text);
}

bool Tour::attempt_ended(const core::Execution& task) {
  if (over_) return false;
  Calls& calls = calls_.try_emplace(call_of(task), Calls{task.name, true}).first->second;
  ++calls.count;
  // The workflow may have handed the key of the call over with the arguments.
  if (task.parent_run && asked_with_key_.contains({*task.parent_run, task.parent_command})) calls.key_read = true;
  const std::string text = "after task '" + task.name + "' ran, before it was recorded" + words_of_attempt(task);
  return reach(text, text);
}

void Tour::key_read(const core::Execution& task) {
  calls_.try_emplace(call_of(task), Calls{task.name, true}).first->second.key_read = true;
}

std::vector<Tour::Calls> Tour::calls() const {
  std::vector<Calls> out;
  for (const auto& [id, calls] : calls_) out.push_back(calls);
  return out;
}

}  // namespace semel::testing
