// One world of the crash explorer as its witness sees it: counts the places where the worker can die, and kills it at
// one of them.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "testing/kit/witness.h"

namespace semel::testing {

class Tour final : public Witness {
 public:
  // Numbered from 1. Without one nobody dies.
  explicit Tour(std::optional<int> dies_at) : dies_at_(dies_at) {}

  struct Place {
    std::string key;   // what it is, as far as is known when it is reached: the same in worlds that are the same
    std::string text;  // for people
  };
  const std::vector<Place>& places() const { return places_; }
  const std::optional<std::string>& died_at() const { return died_at_; }  // the key
  int turns() const { return turns_; }
  int bodies() const { return bodies_; }
  int attempts() const { return attempts_; }
  const std::optional<Error>& refused() const { return refused_; }

  // How often the functions ran for one call.
  struct Calls {
    std::string name;
    bool task = false;
    int count = 0;
    bool key_read = false;
  };
  std::vector<Calls> calls() const;

  // The world is being taken down: what still runs is no part of it.
  void end() { over_ = true; }

  // "run 2" is what continued run 1; "child 'shipment' #3 of run 1".
  std::string label(const ExecutionId& run) const;

  Fate turn_begins(const core::Execution& run) override;
  bool turn_ended(const TurnStory& story) override;
  void turn_refused(const core::Execution& run, const Error& error) override;
  bool body_ran(const CallId& call, const std::string& name, bool key_read) override;
  void step_asked(const CallId& call, bool key_read) override;
  bool attempt_begins(const core::Execution& task) override;
  bool attempt_ended(const core::Execution& task) override;
  void key_read(const core::Execution& task) override;

 private:
  struct RunLabel {
    std::string text;
    int turns = 0;
  };
  std::string new_label(const core::Execution& run);
  bool reach(std::string key, std::string text = {});
  static std::string words_of_attempt(const core::Execution& task);

  const std::optional<int> dies_at_;
  std::vector<Place> places_;
  std::optional<std::string> died_at_;
  std::optional<Error> refused_;
  std::map<ExecutionId, RunLabel> runs_;
  int chain_ = 0;     // runs without a parent
  std::string turn_;  // the present one
  std::map<CallId, Calls> calls_;
  std::set<CallId> asked_with_key_;
  int turns_ = 0, bodies_ = 0, attempts_ = 0;
  bool over_ = false;
};

}  // namespace semel::testing
