// Every operation that changes the store: one request struct, one answer struct each, object first.
//
// Operations travel through the one writer, are decided by core (`decide.h`) and committed in batches. All of them are
// safe to repeat: a repeated request finds its own effect and answers the same.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/rows.h"
#include "semel/error.h"
#include "semel/result.h"

namespace semel::core {

// ---- tasks ---------------------------------------------------------------------------------------------------------

// Enqueue one task (or start one workflow). The caller chose `id` before, so that a repeat after an unknown commit
// finds its own row.
struct TaskEnqueue {
  ExecutionId id;
  TenantId tenant = kDefaultTenant;
  LaneId lane{};
  Kind kind = Kind::task;
  std::string name;
  std::optional<std::string> identity;  // task_id; required for workflows
  Encoding encoding = Encoding::json;
  std::string args;
  std::int32_t priority = 100;
  std::int32_t max_attempts = 3;  // resolved: call > queue > default
  std::string policy;             // encoded retry overrides of this call
  std::optional<Duration> delay;  // from the batch's now
  std::optional<Instant> scheduled_at;
  std::optional<Duration> timeout;  // of a workflow: of all its runs; of a run that follows another: its own besides
  Duration attempt_timeout{0};
  std::optional<std::string> concurrency_key;
  std::optional<std::string> idempotency_key;
  std::int64_t idempotency_key_ttl_seconds = 86400;
  OnDuplicate on_duplicate = OnDuplicate::return_existing;
  Reuse reuse = Reuse::failed_only;
  bool match_args = true;
  std::optional<Fingerprint> fingerprint;  // present whenever identity or idempotency_key is
  std::optional<GroupId> group;
  bool drop_at_end = false;  // the queue's retention is "0"
  // A step or child: the run that waits for it.
  struct Parent {
    ExecutionId run;
    std::string workflow_id;
    std::int32_t command = 0;
  };
  std::optional<Parent> parent;
  std::string memo;        // workflows only, JSON
  std::string attributes;  // workflows only, JSON
};

struct EnqueueAnswer {
  ExecutionId execution;
  Status status = Status::queued;
  bool created = false;
  std::optional<std::string> result;  // when the existing execution succeeded
  std::optional<Instant> completed_at;
  bool result_expired = false;  // the key's target is gone, the key still answers
};

// Claim ready executions, at most `limit` of each lane, lanes in the order given. The caller keeps the sum within its
// free handler slots. Of the pool `alone`, name exactly one lane with limit 1.
//
// Whoever enqueues may make a claim that another process's worker offered, for that worker: `Takes::fresh`. The record
// of a claim uses its id up, so an offer is taken once, whoever takes it; a worker that takes its offer back asks with
// `Takes::nothing`, which leaves a record in any case.
enum class Takes : std::uint8_t {
  ready,    // what waits in the lanes, and what was enqueued before it in the same batch
  fresh,    // only the latter, and only while the session lives
  nothing,  // only a repeat brings anything
};
struct TaskClaim {
  ClaimId id;
  SessionId session;
  std::string worker;
  Duration lease{0};
  struct Want {
    LaneId lane{};
    std::int32_t limit = 0;
    bool limited = false;  // the lane has a rate limit or a concurrency limit: a grant is taken from its counters
  };
  std::vector<Want> lanes;
  Pool pool = Pool::tasks;
  Takes takes = Takes::ready;
  std::string tell;  // of an offer: whom the store tells that the claim was made; only the store reads it
};

struct ClaimedTask {
  Execution execution;
  Payload payload;
};
struct ClaimAnswer {
  std::vector<ClaimedTask> tasks;
  // A limited lane that granted less than asked: when it may grant again.
  std::vector<std::pair<LaneId, Instant>> retry_at;
};

// One delivery of one job (seed 001). Addresses `execution` when given, else the newest execution of `identity`.
struct TaskDeliver {
  TenantId tenant = kDefaultTenant;
  std::string identity;
  std::optional<ExecutionId> execution;
  ClaimId claim;
  SessionId session;
  std::string worker;
  Duration lease{0};
};

enum class DeliveryOutcome : std::uint8_t { claimed, already_claimed, no_op_terminal };
struct DeliverAnswer {
  DeliveryOutcome outcome{};
  ClaimedTask task;
};

// The writes of the holder of a claim. `version` is the one the claim returned; any other is refused with LeaseLost.
struct TaskHeartbeat {
  ExecutionId execution;
  std::int32_t version = 0;
  Duration lease{0};
  std::optional<std::string> progress;  // replaces the stored details; none keeps them
};
struct HeartbeatAnswer {
  Instant lease_expires_at{};
  bool cancel_requested = false;
};

struct TaskComplete {
  ExecutionId execution;
  std::int32_t version = 0;
  std::optional<std::string> result;
};

struct TaskFail {
  ExecutionId execution;
  std::int32_t version = 0;
  std::string error_name;
  std::string error;  // JSON {"name","message","details"}
  bool retryable = true;
  std::optional<Duration> next_delay;  // the task's own choice instead of backoff
  bool cancelled = false;              // the handler stopped because cancel was requested
  std::uint64_t random_bits = 0;       // for jitter; chosen by the caller
};

// Gives the attempt back. `delay` postpones it; `no_handler` says why.
struct TaskRelease {
  ExecutionId execution;
  std::int32_t version = 0;
  Duration delay{0};
  bool no_handler = false;
};

struct EndAnswer {
  Status status{};         // of the row after this write
  bool existing = false;   // the same write was recorded before; nothing changed now
  Instant scheduled_at{};  // when queued again: not before
};

// ---- runs ----------------------------------------------------------------------------------------------------------

// What the owner of a run adds to its history, all or nothing, in this order: mail it consumed and events of its own. A
// command takes effect in the same transaction: steps and children are enqueued, timers set, signals sent; a closing
// one, the last, ends the run; run_continued, and run_failed while attempts are left, go on in the run that is its
// `start`. A last event run_parked, which is no command, gives the run up and keeps it from being
// claimed for `park_for`: whoever owns it next would meet the same error.
struct RunAdvance {
  struct Entry {
    std::optional<MailKey> mail;  // moved from the mailbox; `event` then gives `issued`, `joined` and `at` only
    Event event;
    std::optional<TaskEnqueue> start;  // of step_scheduled, child_started, run_continued, run_failed
  };
  ExecutionId execution;
  std::int32_t version = 0;
  std::int32_t known = 0;  // events of the history that the owner knows; another number is refused
  std::vector<Entry> entries;
  bool waits = false;  // nothing to do until mail comes
  Duration park_for{0};
  std::vector<Event> carried;  // signals and updates that are mail of the next run
};
struct AdvanceAnswer {
  Status status{};
  std::int32_t events = 0;  // in the history now
  bool unread = false;      // nothing was written: mail has come that the closing decision has not seen
  bool existing = false;    // the same entries were recorded before
};

// Ends the parking of a run: it can be claimed now. Of a run that is not parked it changes nothing.
struct RunResume {
  TenantId tenant = kDefaultTenant;
  ExecutionId execution;
};
struct ResumeAnswer {
  Status status{};
  bool resumed = false;
};

// Hands a signal or an update to the newest run of `identity`, or of the chain of `execution`.
struct RunSignal {
  TenantId tenant = kDefaultTenant;
  std::string identity;
  std::optional<ExecutionId> execution;
  std::string name;
  std::string dedupe;  // empty: every one counts
  std::string data;
  MailId mail;          // chosen by the caller
  bool update = false;  // an update, whose id is `dedupe`; the code answers it in the history
  // Started first, if the workflow does not run: of this identity. A live run is signalled whatever on_duplicate says.
  std::optional<TaskEnqueue> start;
};
struct SignalAnswer {
  ExecutionId run;
  bool created = false;         // false: another request of this name and dedupe id was taken before
  bool started = false;         // `run` was made by this request
  std::optional<Event> answer;  // of an update: what its chain recorded, if it did already
};

// ---- operators -----------------------------------------------------------------------------------------------------

struct ExecutionCancel {
  TenantId tenant = kDefaultTenant;
  ExecutionId execution;
  bool terminate = false;  // workflows only: end it now, without its clean-up code
};
struct CancelAnswer {
  Status status{};
  bool requested = false;  // claimed or running: the worker will learn it
};

// A new execution of a failed, timed out, cancelled or dead-lettered one, linked to it. Repeats answer the same
// successor.
struct ExecutionRedrive {
  TenantId tenant = kDefaultTenant;
  ExecutionId execution;
  ExecutionId successor;  // chosen by the caller
};
struct RedriveAnswer {
  ExecutionId successor;
  bool created = false;
};

// Frees the id and keys of a dead-lettered execution; its retention counts from now.
struct ExecutionDiscard {
  TenantId tenant = kDefaultTenant;
  ExecutionId execution;
};
struct DiscardAnswer {
  bool discarded = false;  // false: it was discarded before
};

struct TenantEnsure {
  std::string name;
};
struct TenantAnswer {
  TenantId tenant{};
  bool created = false;
};

// Finds or creates the lane; with `config` also sets it; `paused` sets that alone and keeps the rest as it is.
struct LaneEnsure {
  TenantId tenant = kDefaultTenant;
  std::string queue;
  std::optional<LaneConfig> config;
  std::optional<bool> paused = std::nullopt;
};
struct LaneAnswer {
  Lane lane;
  bool created = false;
};

struct KeyRelease {
  TenantId tenant = kDefaultTenant;
  std::string key;
  bool force = false;  // needed while the target is live
};
struct KeyAnswer {
  bool released = false;
};

struct GroupCreate {
  Group group;
};
struct GroupAnswer {
  bool created = false;
};

// ---- sessions and housekeeping
// ---------------------------------------------------------------------------------------

struct SessionOpen {
  SessionId session;
  std::string worker;
  Duration lease{0};
};
struct SessionRenew {
  SessionId session;
  Duration lease{0};
};
// Ends the session now. What it still holds is returned by the next SessionsExpire.
struct SessionClose {
  SessionId session;
};
struct SessionAnswer {
  Instant expires_at{};
};

// Drops lease records whose executions have all ended. Saves space; never needed for correctness.
struct LeaseForget {
  std::vector<ClaimId> claims;
};

// Returns or ends what expired sessions hold, at most `limit` executions per call.
struct SessionsExpire {
  std::int32_t limit = 500;
  std::uint64_t random_bits = 0;
};
// Handles timers due at the batch's now, at most `limit`.
struct TimersFire {
  std::int32_t limit = 1000;
  std::uint64_t random_bits = 0;
};
// Promotes blocked executions whose concurrency key has room (after a limit was raised).
struct BlockedSweep {
  LaneId lane{};
  std::int32_t limit = 500;
};
// Deletes terminal rows past their retention, walking ids upwards from `after`, at most `limit` rows looked at and none
// younger than `min_age`: ids are in the order of creation, so what no queue can be rid of yet is never read.
struct RetentionSweep {
  ExecutionId after;
  std::int32_t limit = 1000;
  Duration min_age{0};
};
// Deletes expired idempotency keys and tombstones, and batch marks older than an hour.
struct KeysExpire {
  std::int32_t limit = 1000;
};
// Forgets the counts and notes of ids that are gone and about which nothing was noted for kLedgerLife, walking ids
// upwards from `after`, at most `limit` of them looked at.
struct LedgerSweep {
  IdentityKey after;
  std::int32_t limit = 100;
};
// Feeds one row that a caller wrote into the inbox inside its own transaction (PostgreSQL): enqueues and deletes the
// inbox row in one transaction. A request that was refused stays in the inbox with its error, out of the way.
struct InboxFeed {
  std::int64_t inbox = 0;
  std::optional<TaskEnqueue> task;  // none: the request could not be read
  std::string error;                // why
};
struct InboxAnswer {
  bool fed = false;  // false: somebody else fed it, or it was refused
};

// Transactional enqueue on SQLite: runs the caller's function on the writer's connection and enqueues, in one
// transaction that nothing else shares. If the function or any enqueue is refused, nothing of it happened.
struct EnqueueWithin {
  std::function<Result<void>(void* connection)> function;  // sqlite3*
  std::vector<TaskEnqueue> tasks;
};
struct EnqueueWithinAnswer {
  std::vector<EnqueueAnswer> tasks;
};

struct SweepAnswer {
  std::int32_t looked_at = 0;
  std::int32_t changed = 0;
  ExecutionId next_after;  // RetentionSweep: where to go on
  IdentityKey next_key;    // LedgerSweep: the same
  bool more = false;       // the limit was reached
};

// Counts suppressed duplicates. Written behind the answers, never in their way.
struct LedgerAdd {
  std::vector<LedgerNote> notes;
};

struct NoAnswer {};

using Operation = std::variant<TaskEnqueue, TaskClaim, TaskDeliver, TaskHeartbeat, TaskComplete, TaskFail, TaskRelease,
                               ExecutionCancel, ExecutionRedrive, ExecutionDiscard, TenantEnsure, LaneEnsure,
                               KeyRelease, GroupCreate, SessionOpen, SessionRenew, SessionClose, LeaseForget,
                               SessionsExpire, TimersFire, BlockedSweep, RetentionSweep, KeysExpire, LedgerSweep,
                               InboxFeed, EnqueueWithin, LedgerAdd, RunAdvance, RunSignal, RunResume>;

// Every execution that an operation of a caller may create: a task or run of its own, steps, children, the next run.
template <class Visit>
void for_each_start(const Operation& operation, Visit visit) {
  if (const auto* enqueue = std::get_if<TaskEnqueue>(&operation)) {
    visit(*enqueue);
  } else if (const auto* advance = std::get_if<RunAdvance>(&operation)) {
    for (const auto& entry : advance->entries)
      if (entry.start) visit(*entry.start);
  } else if (const auto* signal = std::get_if<RunSignal>(&operation)) {
    if (signal->start) visit(*signal->start);
  }
}

// Error: the operation was refused and changed nothing.
using Answer =
    std::variant<NoAnswer, Error, EnqueueAnswer, ClaimAnswer, DeliverAnswer, HeartbeatAnswer, EndAnswer, CancelAnswer,
                 RedriveAnswer, DiscardAnswer, TenantAnswer, LaneAnswer, KeyAnswer, GroupAnswer, SessionAnswer,
                 SweepAnswer, InboxAnswer, EnqueueWithinAnswer, AdvanceAnswer, SignalAnswer, ResumeAnswer>;

// Which answer an operation gets.
template <class Op>
struct AnswerOf;
#define SEMEL_ANSWER(op, answer) \
  template <>                    \
  struct AnswerOf<op> {          \
    using type = answer;         \
  }
SEMEL_ANSWER(TaskEnqueue, EnqueueAnswer);
SEMEL_ANSWER(TaskClaim, ClaimAnswer);
SEMEL_ANSWER(TaskDeliver, DeliverAnswer);
SEMEL_ANSWER(TaskHeartbeat, HeartbeatAnswer);
SEMEL_ANSWER(TaskComplete, EndAnswer);
SEMEL_ANSWER(TaskFail, EndAnswer);
SEMEL_ANSWER(TaskRelease, EndAnswer);
SEMEL_ANSWER(ExecutionCancel, CancelAnswer);
SEMEL_ANSWER(ExecutionRedrive, RedriveAnswer);
SEMEL_ANSWER(ExecutionDiscard, DiscardAnswer);
SEMEL_ANSWER(TenantEnsure, TenantAnswer);
SEMEL_ANSWER(LaneEnsure, LaneAnswer);
SEMEL_ANSWER(KeyRelease, KeyAnswer);
SEMEL_ANSWER(GroupCreate, GroupAnswer);
SEMEL_ANSWER(SessionOpen, SessionAnswer);
SEMEL_ANSWER(SessionRenew, SessionAnswer);
SEMEL_ANSWER(SessionClose, SessionAnswer);
SEMEL_ANSWER(LeaseForget, NoAnswer);
SEMEL_ANSWER(SessionsExpire, SweepAnswer);
SEMEL_ANSWER(TimersFire, SweepAnswer);
SEMEL_ANSWER(BlockedSweep, SweepAnswer);
SEMEL_ANSWER(RetentionSweep, SweepAnswer);
SEMEL_ANSWER(KeysExpire, SweepAnswer);
SEMEL_ANSWER(LedgerSweep, SweepAnswer);
SEMEL_ANSWER(InboxFeed, InboxAnswer);
SEMEL_ANSWER(EnqueueWithin, EnqueueWithinAnswer);
SEMEL_ANSWER(LedgerAdd, NoAnswer);
SEMEL_ANSWER(RunAdvance, AdvanceAnswer);
SEMEL_ANSWER(RunSignal, SignalAnswer);
SEMEL_ANSWER(RunResume, ResumeAnswer);
#undef SEMEL_ANSWER

}  // namespace semel::core
