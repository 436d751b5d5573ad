// What happened in a simulated world, and whether it was allowed: the checks H1..H4, H8, H10, H12..H14 over tasks.
//
// The recorder is told of every call, answer, claim and end as clients and workers see them, and of every committed
// batch. A violation is a sentence; the first one makes the run fail. All lines together have one hash: equal seeds,
// equal hash.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/operations.h"
#include "store/port.h"

namespace semel::testing {

class History {
 public:
  // ---- recording ----
  void line(Instant at, int node, const std::string& text);
  std::uint64_t hash() const { return hash_; }
  const std::vector<std::string>& lines() const { return lines_; }  // the most recent ones
  const std::vector<std::string>& violations() const { return violations_; }
  void violation(std::string what);
  std::uint64_t operations = 0;
  std::uint64_t repeated_claims = 0;  // answered once more, in a batch of its own

  // An enqueue was called. `token` is unique to the call and part of its args when `match_args` is off.
  struct Enqueue {
    std::string identity;  // empty: none
    std::string name;
    std::string args;
    bool match_args = true;
    Reuse reuse = Reuse::failed_only;
    std::optional<std::uint64_t> token;
    bool kept = true;           // its queue keeps finished rows until the end of the run
    std::uint64_t invoked = 0;  // position in the history
  };
  std::uint64_t enqueue_called(Enqueue call);
  // H1, H8, H13, H14. `store` is read for the row that answered.
  void enqueue_answered(std::uint64_t call, const core::EnqueueAnswer& answer, store::Store& store);
  void enqueue_refused(std::uint64_t call);  // a definite error: it must have no effect
  // Never answered (crash, unknown commit): both outcomes are allowed.
  void enqueue_unknown(std::uint64_t) {}

  // Somebody learned that it holds (execution, version). H2.
  void claim_won(ExecutionId execution, std::int32_t version, const std::string& who);

  // Every committed batch, as the store decided it and in that order. H2, H3, H4, and H10 for rates. False: it was told
  // before, and is only looked up again.
  bool committed(const store::Batch& batch);

  // ---- checks on the store as it is now ----
  struct Limits {
    std::map<std::string, core::LaneConfig> by_queue;
  };
  // H3, H8, H10, H12 and the store's own invariants.
  void check_store(store::Store& store, const Limits& limits, Instant now);
  // H1 and H13 at the end: acknowledged work is there, refused work is not; rates over the whole run.
  void check_end(store::Store& store, const Limits& limits);
  std::size_t terminal_rows() const { return terminal_.size(); }

 private:
  struct Acked {
    ExecutionId execution;
    std::uint64_t at = 0;
  };
  void committed_claims(ClaimId claim, const std::vector<core::ClaimedTask>& tasks, Instant now);
  void committed_claim(const core::Execution& row, Instant now);
  void committed_end(ExecutionId execution, std::int32_t version, const core::Answer& answer);
  void check_rates(store::Store& store, const Limits& limits);
  void check_terminal(const core::Execution& row);
  static std::vector<store::ExecutionView> all_rows(store::Store& store);

  std::uint64_t position_ = 0;
  std::uint64_t hash_ = 14695981039346656037ull;
  std::vector<std::string> lines_;
  std::vector<std::string> violations_;
  std::vector<Enqueue> enqueues_;
  std::set<std::uint64_t> refused_tokens_;
  std::map<ExecutionId, std::string> created_;  // acknowledged as created -> identity
  std::set<ExecutionId> forgetful_;             // of these: retention may have taken them
  std::map<std::string, Acked> newest_ack_;     // identity -> last execution acknowledged as created
  std::map<std::pair<ExecutionId, std::int32_t>, std::string> claims_;
  std::map<ExecutionId, std::int32_t> newest_claim_;  // committed
  std::map<ClaimId, std::set<std::pair<ExecutionId, std::int32_t>>> won_;
  std::set<BatchId> batches_;
  std::map<std::string, ExecutionId> key_target_;  // idempotency key -> newest execution made with it
  std::set<std::pair<ExecutionId, std::int32_t>> accepted_ends_;
  std::map<ExecutionId, core::Execution> terminal_;
  std::map<core::LaneId, std::vector<Instant>> claimed_at_;
};

}  // namespace semel::testing
