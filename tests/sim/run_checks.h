// What runs are allowed to do in a simulated world. It is told of every commit, of every body of ctx.run and of every
// result that code learns, and reads all histories at the end. Cases by their ids in docs/faults.md.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/run_code.h"
#include "testing/history.h"
#include "tests/sim/goals.h"

namespace semel::sim {

class RunChecks {
 public:
  RunChecks(store::Store& store, testing::History& history, Goals& goals)
      : store_(store), history_(history), goals_(goals) {}

  // ---- what happens ----
  void committed(const store::Batch& batch, int node);  // each once
  // A body of ctx.run begins. W1: always with the same key; W2: never once its result is recorded.
  void body_begins(ExecutionId run, const std::string& name, const std::string& key);
  bool is_recorded(ExecutionId run, const std::string& name) const { return recorded_.contains({run, name}); }
  // The code learns a result of ctx.run while it is live. W2: it must be durable.
  void handed_over(int node, ExecutionId run, const std::string& name);
  void code_dropped(int node, ExecutionId run);
  void node_crashed(int node);
  // True: the world wants this replay to be refused. A run is parked as often as that at most.
  bool may_park(ExecutionId run) { return parks_allowed_[run] < 3 && ++parks_allowed_[run] > 0; }

  // A signal with a text of its own; `accepted`: the caller was told so.
  void signal_refused(const std::string& text) { refused_signals_.insert(text); }
  void signal_accepted(const std::string& text, ExecutionId run) { accepted_signals_[text] = run; }

  // ---- the store ----
  // H3: a history that has ended never changes.
  void check_ended();
  // Everything else, once all runs have ended. `table` makes code that replays every history.
  void check_end(const engine::WorkflowTable& table);
  // Its history, one line.
  std::string describe(const core::Execution& row);

 private:
  using Effect = std::pair<ExecutionId, std::string>;  // run, name
  void violation(const core::Execution& row, const std::string& what);
  void tell(const core::Operation& operation, const core::Answer& answer, Instant at, int node);
  void advanced(const core::RunAdvance& advance, const core::Answer& answer, int node);
  void recorded(const core::RunAdvance& advance, int node);
  void started(const store::Batch& batch);

  std::vector<core::Event> read_history(const core::Execution& row);
  void check_shape(const core::Execution& row, const std::vector<core::Event>& events);
  void check_commands(const core::Execution& row, const std::vector<core::Event>& events);
  void check_effects(const core::Execution& row, const std::vector<core::Event>& events);
  void check_signals(const core::Execution& row, const std::vector<core::Event>& events);
  void check_accepted();
  bool goes_on(const core::Execution& row);
  void check_steps();
  void check_replay(const store::ExecutionView& view, const std::vector<core::Event>& events,
                    const engine::WorkflowTable& table);
  void note_goals(const core::Execution& row, const std::vector<core::Event>& events);

  store::Store& store_;
  testing::History& history_;
  Goals& goals_;
  std::map<ExecutionId, std::int32_t> owner_;    // version of the newest claim; -1: given up since
  std::map<ExecutionId, std::int32_t> length_;   // of the history, as far as its owners wrote it
  std::set<Effect> recorded_;                    // results of ctx.run
  std::map<Effect, std::string> keys_;           // of the first time each body ran
  std::map<int, std::set<Effect>> not_learned_;  // recorded by this node, not handed to the code yet
  std::set<core::MailKey> consumed_;
  std::map<ExecutionId, int> parks_allowed_;
  std::map<ExecutionId, std::int32_t> lengths_;         // of histories that have ended
  std::map<std::string, ExecutionId> committed_texts_;  // signals that the store took, by their text
  std::map<std::string, ExecutionId> accepted_signals_;
  std::set<std::string> refused_signals_;
  // At the end, of every run that is left: its chain, the signals in its history, and whether its code ended it.
  struct Heard {
    ExecutionId chain;
    std::set<std::string> texts;
    bool by_code = false;
    std::optional<ExecutionId> retried_in;
  };
  std::map<ExecutionId, Heard> heard_;
  std::map<core::SignalKey, std::string> text_of_;                     // what a chain learned under a dedupe id
  std::map<ExecutionId, std::map<std::int32_t, core::Event>> starts_;  // steps and children by run and command
};

}  // namespace semel::sim
