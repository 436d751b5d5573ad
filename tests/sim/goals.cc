#include "tests/sim/goals.h"

namespace semel::sim {

const std::vector<std::string>& wanted_goals() {
  static const std::vector<std::string> goals = {
      "created",
      "existing live answered",
      "existing completed answered",
      "id reused after failure",
      "duplicate rejected",
      "fingerprint mismatch refused",
      "key answered",
      "batch enqueued",
      "delivery claimed",
      "delivery already-claimed",
      "delivery no-op-terminal",
      "stale version refused",
      "repeated completion answered",
      "handler ran",
      "handler failed",
      "handler stopped by cancel",
      "lease lost and returned",
      "claimed alone",
      "dead lettered",
      "redriven",
      "discarded",
      "cancelled while queued",
      "cancel requested while claimed",
      "timed out",
      "attempt timed out",
      "blocked behind a key",
      "rate limited",
      "retention removed a row",
      "graceful release",
      "no handler released",
      "group completed",
      "unknown commit looked up",
      "claim repeated in a new batch",
      "batch halved",
      "slow lane used",
      "claimed with its enqueue",
      "handed over",
      "handed over and found by its record",
      "node crashed",
      "node crashed at a named point",
      "node paused past its lease",
      "node restarted",
      "worker stopped gracefully",
      "call left unanswered",
      "store full answered",
      "duplicates counted in the ledger",
  };
  return goals;
}

const std::vector<std::string>& wanted_run_goals() {
  static const std::vector<std::string> goals = {
      "run evicted",
      "run replayed",
      "retried run told again",
      "signal learned by two runs of a chain",
      "run lost with its session",
      "run lost while its body ran",
      "run without code given back",
      "stale owner refused",
      "close refused because of unread mail",
      "advance repeated after an unknown commit",
      "crash between a record and its hand-over",
      "body ran",
      "body ran again before it was recorded",
      "body failed",
      "step attached to a task",
      "step failed",
      "step cancelled",
      "step timed out",
      "child attached to a run",
      "child completed",
      "child failed",
      "child cancelled",
      "timer fired",
      "timer cancelled",
      "signal learned",
      "signal deduplicated",
      "signal after the end refused",
      "signal sent by a run",
      "run parked and resumed",
      "parked run resumed by hand",
      "continue as new",
      "cancel requested of a run",
      "cancel with clean-up",
      "several steps undone",
      "run completed",
      "run failed",
      "run cancelled",
      "run terminated",
      "run timed out",
      "run dead lettered",
      "run redriven",
      "run claimed with its start",
      "workflow replaced while live",
      "run replaced by its own child",
      "second start rejected",
      "live run answered",
      "ended run answered",
      "result of a run read",
      "node crashed",
      "node crashed at a named point",
      "node paused past its lease",
      "worker stopped gracefully",
      "unknown commit looked up",
      "claim repeated in a new batch",
  };
  return goals;
}

std::vector<std::string> Goals::missing(const std::vector<std::string>& wanted) const {
  std::vector<std::string> out;
  for (const auto& name : wanted)
    if (counts_.find(name) == counts_.end()) out.push_back(name);
  return out;
}

}  // namespace semel::sim
