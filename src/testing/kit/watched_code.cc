#include <map>
#include <utility>

#include "testing/kit/witness.h"

namespace semel::testing {
namespace {

using core::EventKind;

void add_words(std::string& text, const std::string& words) {
  if (text.size() > 120) {
    if (!text.ends_with(", ...")) text += ", ...";
    return;
  }
  if (!text.empty()) text += ", ";
  text += words;
}

// The last word of the kind: step_completed -> completed.
std::string verb_of(EventKind kind) {
  const std::string word(core::to_string(kind));
  return word.substr(word.find('_') + 1);
}

class WatchedCode final : public engine::RunCode {
 public:
  WatchedCode(std::unique_ptr<engine::RunCode> code, TurnHost& host, core::Execution run)
      : code_(std::move(code)), host_(host), run_(std::move(run)) {}

  Result<void> replay(std::span<const core::Event> history) override {
    if (dead()) return make_error(ErrorCode::ShuttingDown, "the worker died");
    for (const auto& event : history)
      if (core::is_command(event.kind)) names_[event.command] = event.name;
    auto replayed = code_->replay(history);
    if (!replayed) host_.witness().turn_refused(run_, replayed.error());
    if (history.empty()) add_words(story_.learned, "starts");
    else add_words(story_.learned, "replays " + std::to_string(history.size()) + " events");
    return replayed;
  }
  core::Event stamp(core::Event input, Instant now) const override {
    if (dead()) return input;
    story_.records = true;
    core::Event stamped = code_->stamp(std::move(input), now);
    const bool local = stamped.kind == EventKind::local_completed || stamped.kind == EventKind::local_failed;
    if (local) add_words(story_.did, "records what '" + stamped.name + "' returned");
    return stamped;
  }
  void hand_over(const core::Event& input) override {
    if (dead()) return;
    add_words(story_.learned, words_of(input));
    code_->hand_over(input);
  }
  void run() override {
    if (!dead()) code_->run();
  }
  bool closed() const override { return code_->closed(); }
  std::vector<engine::RunCommand> take_commands() override {
    if (dead()) return {};
    auto out = code_->take_commands();
    for (const auto& command : out) note(command.event);
    return out;
  }
  std::vector<engine::LocalCall> take_locals() override {
    if (dead()) return {};
    auto out = code_->take_locals();
    for (auto& local : out) watch(local);
    return out;
  }
  std::vector<core::Event> unread() const override { return code_->unread(); }
  Result<std::string> query(const std::string& name, const std::string& args) override {
    return code_->query(name, args);
  }
  bool key_read(std::int32_t command) const override { return code_->key_read(command); }

 private:
  // A turn begins with the first call of a job.
  bool dead() const {
    if (std::exchange(job_, host_.job()) == host_.job()) return dead_;
    story_ = {};
    const auto fate = host_.witness().turn_begins(run_);
    dead_ = fate == Witness::Fate::dies_before;
    host_.turn_is_open(&story_);
    if (fate != Witness::Fate::lives) host_.kill();
    return dead_;
  }

  std::string words_of(const core::Event& input) const {
    if (input.kind == EventKind::signal_received) return "signal '" + input.name + "'";
    if (input.kind == EventKind::update_received) return "update '" + input.name + "'";
    if (input.kind == EventKind::cancel_requested) return "a cancel request";
    if (input.kind == EventKind::timer_fired) return "a timer fired";
    const auto name = names_.find(input.command);
    return "'" + (name == names_.end() ? input.name : name->second) + "' " + verb_of(input.kind);
  }

  void note(const core::Event& command) {
    story_.records = true;
    names_[command.command] = command.name;
    if (command.kind == EventKind::step_scheduled)
      host_.witness().step_asked({run_.id, command.command}, code_->key_read(command.command));
    std::string words(core::to_string(command.kind));
    if (!command.name.empty()) words += " '" + command.name + "'";
    add_words(story_.did, words);
  }

  void watch(engine::LocalCall& local) {
    names_[local.command] = local.name;
    add_words(story_.did, "calls '" + local.name + "'");
    local.body = [body = std::move(local.body), call = CallId{run_.id, local.command}, name = local.name,
                  key_read = code_->key_read(local.command), host = &host_] {
      core::Event event = body();
      if (host->witness().body_ran(call, name, key_read)) host->kill();
      return event;
    };
  }

  const std::unique_ptr<engine::RunCode> code_;
  TurnHost& host_;
  const core::Execution run_;
  std::map<std::int32_t, std::string> names_;  // of calls
  mutable std::uint64_t job_ = 0;
  mutable bool dead_ = false;
  mutable TurnStory story_;
};

}  // namespace

engine::WorkflowTable::Maker watched(engine::WorkflowTable::Maker maker, TurnHost& host) {
  return [maker = std::move(maker), &host](const store::ExecutionView& run) -> std::unique_ptr<engine::RunCode> {
    return std::make_unique<WatchedCode>(maker(run), host, run.execution);
  };
}

}  // namespace semel::testing
