// The oracle: docs/rules.md written a second time, as plainly as possible. One operation at a time, straight on the
// tables, no overlay, no sharing with core's rules. It exists to disagree with core when core is wrong.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "core/operations.h"
#include "store/memory/tables.h"
#include "store/port.h"

namespace semel::store::memory {

// What an operation did besides changing rows.
struct Effects {
  std::vector<core::LedgerNote> notes;
  Wakes wakes;
  std::int32_t changes = 0;
};

class Model {
 public:
  Model(Tables& tables, Instant now, Effects& effects) : t_(tables), now_(now), effects_(effects) {}

  core::Answer apply(const core::Operation& operation);

 private:
  using Answer = core::Answer;
  using Execution = core::Execution;

  // ---- tasks ----
  Answer run(const core::TaskEnqueue& q);
  Answer run(const core::TaskClaim& q);
  Answer claim_made(const core::TaskClaim& q);
  Answer run(const core::TaskDeliver& q);
  Answer run(const core::TaskHeartbeat& q);
  Answer run(const core::TaskComplete& q);
  Answer run(const core::TaskFail& q);
  Answer run(const core::TaskRelease& q);
  // ---- runs ----
  Answer run(const core::RunAdvance& q);
  Answer run(const core::RunSignal& q);
  Answer run(const core::RunResume& q);
  // ---- operators ----
  Answer run(const core::ExecutionCancel& q);
  Answer run(const core::ExecutionRedrive& q);
  Answer run(const core::ExecutionDiscard& q);
  Answer run(const core::TenantEnsure& q);
  Answer run(const core::LaneEnsure& q);
  Answer run(const core::KeyRelease& q);
  Answer run(const core::GroupCreate& q);
  // ---- sessions and housekeeping ----
  Answer run(const core::SessionOpen& q);
  Answer run(const core::SessionRenew& q);
  Answer run(const core::SessionClose& q);
  Answer run(const core::LeaseForget& q);
  Answer run(const core::SessionsExpire& q);
  Answer run(const core::TimersFire& q);
  Answer run(const core::BlockedSweep& q);
  Answer run(const core::RetentionSweep& q);
  Answer run(const core::KeysExpire& q);
  Answer run(const core::LedgerSweep& q);
  Answer run(const core::InboxFeed& q);
  Answer run(const core::EnqueueWithin& q);
  Answer run(const core::LedgerAdd& q);

  // ---- moves (rules.md, "Words used below") ----
  void enters(Execution& e);
  void leaves(Execution& e);
  // Ends E and returns it as it was recorded: with retention "0" the row itself is gone afterwards.
  Execution end(Execution& e, Status status, core::AttemptEnd how);
  Execution requeue(Execution& e, core::AttemptEnd how, Instant at);
  Execution lose_lease(Execution& e);
  struct Failure {
    std::string_view name;
    std::string_view error;
    core::AttemptEnd how = core::AttemptEnd::failed;
    bool retryable = true;
    std::optional<Duration> delay;
    std::uint64_t random_bits = 0;
  };
  Execution fail_attempt(Execution& e, const Failure& failure);

  void settle_key(const Execution& e);
  void count_in_group(const Execution& e);
  void drop(const Execution& e);
  void free_slot(core::LaneId lane, const std::string& key);
  void take_slot(Execution& e);
  bool key_is_full(const Execution& e) const;
  void put_ready(const Execution& e);
  void put_timer(const core::TimerRow& row);
  bool lease_is_live(const Execution& e) const;
  Status spent_status(const Execution& e) const;

  // ---- enqueue ----
  Answer create(const core::TaskEnqueue& q, const Execution* previous);
  Answer answer_existing(const core::TaskEnqueue& q, const Execution& e, bool through_key);
  Answer answer_tombstone(const core::TaskEnqueue& q, const core::Identity& key);
  std::optional<Error> group_refuses(const core::TaskEnqueue& q) const;
  void point(const core::IdentityKey& key, const core::Identity& fresh);
  void note_enqueue(const core::TaskEnqueue& q, core::LedgerRule rule, ExecutionId winner);

  // ---- claims ----
  struct Grant {
    std::int32_t count = 0;
    std::optional<Instant> retry_at;
  };
  // What the lane's limits allow now. Nothing is written until `charge` says how much was handed out.
  Grant grant(const core::Lane& lane, std::int32_t wanted) const;
  void charge(core::Lane& lane, std::int32_t taken);
  void claim_row(Execution& e, const core::TaskClaim& q, bool counted);
  void record_lease(const core::TaskClaim& q, const std::vector<core::ClaimedTask>& tasks);
  core::ClaimedTask view(const Execution& e) const;
  std::optional<Error> not_ready(const Execution& e) const;
  Execution* find_job(const core::TaskDeliver& q);

  // ---- holders ----
  enum class Standing : std::uint8_t { holder, repeated, other_outcome, lost };
  Standing standing(const Execution& e, const core::TaskComplete& q) const;
  Standing standing(const Execution& e, const core::TaskFail& q) const;
  Standing standing(const Execution& e, const core::TaskRelease& q) const;
  Standing standing(const Execution& e, const core::TaskHeartbeat& q) const;
  // The answer for everybody but the holder.
  Answer answer_stranger(const Execution& e, Standing standing);

  // ---- runs (rules.md, "Runs") ----
  void start_run(const Execution& e, const std::string& memo, const std::string& attributes, ExecutionId chain);
  void record(ExecutionId run, const std::vector<core::Event>& events);
  void close_from_outside(const Execution& e, core::EventKind kind);
  void send_mail(ExecutionId run, core::Event input, MailId id);
  void tell_outcome(const Execution& ended);
  Execution give_up(Execution& run, core::AttemptEnd how, Instant at);
  void park(Execution& run, const std::string& error, Instant until);
  void unpark(Execution& run, Instant at);
  bool has_mail(ExecutionId run) const;
  void forget_run(const Execution& e);
  const Execution* newest_of_chain(const Execution& e) const;
  Answer refuse_advance(const core::RunAdvance& q, const Execution* e);
  void carry_out(ExecutionId run, const core::RunAdvance::Entry& entry);
  void start_for(ExecutionId run, const core::RunAdvance::Entry& entry);
  Execution close_run(Execution& e, const core::RunAdvance::Entry& entry);
  Execution go_on(Execution& e, const core::TaskEnqueue& next, core::CloseReason why);
  Execution* cancel_target(const core::Event& cancel);

  Execution* find_execution(core::TenantId tenant, ExecutionId id);
  void note(const Execution& winner, core::LedgerRule rule);
  Duration retention_of(const Execution& e) const;
  bool may_be_removed(const Execution& e) const;
  void remove_retained(ExecutionId id);

  std::set<ExecutionId> made_;  // by operations of this batch, or asked for
  Tables& t_;
  const Instant now_;
  Effects& effects_;
};

}  // namespace semel::store::memory
