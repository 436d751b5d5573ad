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
      "batch halved",
      "slow lane used",
      "claimed with its enqueue",
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

std::vector<std::string> Goals::missing() const {
  std::vector<std::string> out;
  for (const auto& name : wanted_goals())
    if (counts_.find(name) == counts_.end()) out.push_back(name);
  return out;
}

}  // namespace semel::sim
