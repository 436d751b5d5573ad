// Random operations from a seed, over small spaces of ids and keys so that collisions are frequent.
#pragma once

#include <cstdint>
#include <deque>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/uuid.h"
#include "core/operations.h"
#include "store/port.h"

namespace semel::differential {

class Generator {
 public:
  // `oracle` is read to find targets worth hitting (held versions, lane settings).
  Generator(std::uint64_t seed, store::Store& oracle)
      : random_(seed), ids_(random_), pace_(seed % 3), oracle_(oracle) {}

  // Lanes, tenants and sessions that every run starts with. One operation per batch.
  std::vector<core::Operation> opening(Instant now);
  core::Operation next(Instant now);
  // Operations in the order in which one batch runs its phases: claims, successes and the rest, or one sweep and the
  // rest. Within the rest anything goes: it is decided in arrival order.
  std::vector<core::Operation> next_batch(Instant now, std::size_t size);
  Duration next_pause();
  BatchId next_batch_id(Instant now) { return ids_.next<BatchId>(now); }
  bool chance(std::uint64_t percent) { return random_.below(100) < percent; }

  // Learns from what the oracle answered.
  void observe(const core::Operation& operation, const core::Answer& answer,
               const std::vector<core::LedgerNote>& notes);

  // Operations a backend pair does not have in common.
  void leave_out(std::string kind) { left_out_.insert(std::move(kind)); }

 private:
  struct Held {
    ExecutionId execution;
    std::int32_t version = 0;
  };

  template <class T>
  const T& pick(const std::vector<T>& from) {
    return from[random_.below(from.size())];
  }
  core::Operation draw(Instant now);
  core::Operation draw_sweep(Instant now);
  // Puts a few operations in a row that chance alone would rarely line up.
  void rehearse(Instant now);
  void rehearse_run(Instant now);
  core::TaskDeliver deliver_to(ExecutionId id, Instant now);
  core::LaneEnsure settings(const std::string& queue, core::LaneConfig config);
  core::LaneId lane_named(const std::string& queue);
  core::TaskEnqueue enqueue(Instant now);
  core::TaskClaim claim(Instant now);
  core::TaskDeliver deliver(Instant now);
  core::TaskFail fail();
  core::GroupCreate group(Instant now);
  core::RunAdvance advance(Instant now);
  core::RunAdvance::Entry command(const core::RunAdvance& op, Instant now);
  core::RunAdvance::Entry closing(const core::RunAdvance& op, Instant now);
  core::RunAdvance::Entry parking();
  core::RunAdvance::Entry following(const core::RunAdvance& op, const std::string& id, Instant now);
  core::TaskEnqueue successor(const core::RunAdvance& op, Instant now);
  core::RunResume resume();
  void hand_on(core::RunAdvance& op);
  core::RunSignal signal(Instant now);
  core::LaneEnsure lane();
  core::LaneConfig config(const std::string& queue);
  core::LeaseForget forget();
  core::EnqueueWithin within(Instant now);
  SessionId session();
  Held held();
  ExecutionId execution();
  bool id_is_taken(ExecutionId id);
  bool is_repeat(const core::TaskClaim& claim) const;
  void learn(const core::Execution& e);
  void learn_execution(ExecutionId id);

  base::SeededRandom random_;
  base::IdSource ids_;
  std::uint64_t pace_;  // 0: leases and sessions mostly live, 2: mostly over
  store::Store& oracle_;
  std::vector<core::LaneId> lanes_;
  std::vector<core::LaneId> keyed_;
  core::LaneId flows_{};
  std::vector<SessionId> sessions_;
  std::vector<ExecutionId> executions_;  // the most recent ones
  std::vector<Held> held_;
  std::vector<Held> runs_;
  std::vector<core::TaskClaim> claims_;
  std::vector<core::TaskDeliver> deliveries_;
  std::vector<GroupId> groups_;
  std::vector<core::LedgerNote> notes_;
  ExecutionId sweep_after_;
  core::RunSignal last_signal_;
  std::int32_t last_command_ = 0;  // a run gives each number once
  std::set<std::string> left_out_;
  std::deque<core::Operation> script_;
};

}  // namespace semel::differential
