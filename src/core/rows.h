// The rows of the store as plain values. Every backend stores exactly these fields; every rule reads only these.
//
// Nothing here knows SQL. A *lane* is one (tenant, queue). Where a queued execution waits is one of three places:
// `ready` (claimable now), `timer` (kind due: not before an instant) or `blocked` (its concurrency key is full).
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/fingerprint.h"
#include "core/history.h"
#include "semel/id.h"
#include "semel/status.h"
#include "semel/time.h"

namespace semel::core {

enum class TenantId : std::int32_t {};
enum class LaneId : std::int32_t {};
inline constexpr TenantId kDefaultTenant{1};

// Namespaces of the identity table. Numbers are stored.
enum class Space : std::uint8_t { task = 0, workflow = 1, key = 2, http = 3, webhook = 4, event = 5, fire = 6 };
constexpr Space identity_space(Kind kind) { return kind == Kind::task ? Space::task : Space::workflow; }

struct IdentityKey {
  TenantId tenant{};
  Space space{};
  std::string key;
  auto operator<=>(const IdentityKey&) const = default;
};

// (tenant, space, key) -> the newest execution. Its primary key is what makes an id unique.
struct Identity {
  IdentityKey id;
  ExecutionId target;
  Kind target_kind = Kind::task;
  bool tombstone = false;                  // space key only: retention removed the target, the key still blocks
  std::optional<Fingerprint> fingerprint;  // of the request that created the target; space key only
  std::optional<Instant> expires_at;       // none: lives as long as its target
  std::int32_t revision = 1;               // grows with every move; guards concurrent moves
  bool operator==(const Identity&) const = default;
};

// How the last attempt ended. Numbers are stored.
enum class AttemptEnd : std::uint8_t {
  none = 0,
  succeeded = 1,
  failed = 2,
  released = 3,
  lease_lost = 4,
  attempt_timeout = 5,
  cancelled = 6,
  timed_out = 7,
};

// Of `continued` and `retried` runs the workflow goes on in `next`.
enum class CloseReason : std::uint8_t { none = 0, continued = 1, terminated = 2, retried = 3 };
enum class SuspendReason : std::uint8_t { none = 0, nondeterminism = 1, paused = 2 };

// Marks on an execution that make its end touch other rows. A row with none of kEndMarks is *plain*: its success is one
// guarded write and needs no decision.
inline constexpr std::uint32_t kHasTimer = 1u << 0;  // `timeout` or `attempt_timeout` may have a timer row
inline constexpr std::uint32_t kHasKey = 1u << 1;    // an idempotency key points here
inline constexpr std::uint32_t kHasGroup = 1u << 2;
inline constexpr std::uint32_t kHoldsSlot = 1u << 3;      // counted in the concurrency key's slot
inline constexpr std::uint32_t kCountedInLane = 1u << 4;  // counted in the lane's running_count
inline constexpr std::uint32_t kDropAtEnd = 1u << 5;      // retention "0"
inline constexpr std::uint32_t kHasParent = 1u << 6;      // a workflow's step or child
inline constexpr std::uint32_t kWatched = 1u << 7;        // runs that did not create it wait for it
inline constexpr std::uint32_t kEndMarks =
    kHasTimer | kHasKey | kHasGroup | kHoldsSlot | kCountedInLane | kDropAtEnd | kHasParent | kWatched;
inline constexpr std::uint32_t kClaimAlone = 1u << 16;  // its last attempt took the worker down
inline constexpr std::uint32_t kHasPolicy = 1u << 17;   // the payload row carries retry overrides
inline constexpr std::uint32_t kNoHandler = 1u << 18;   // last released because no poller registered its name

struct Execution {
  // Fixed at creation.
  ExecutionId id;
  TenantId tenant = kDefaultTenant;
  LaneId lane{};
  Kind kind = Kind::task;
  std::string name;
  std::optional<std::string> identity;  // task_id or workflow_id as given; none: no identity row
  std::int32_t priority = 100;
  std::int32_t max_attempts = 3;
  Duration attempt_timeout{0};  // 0: none
  std::optional<std::string> concurrency_key;
  std::optional<std::string> idempotency_key;
  std::int64_t idempotency_key_ttl_seconds = 0;
  std::optional<Fingerprint> fingerprint;
  std::optional<ExecutionId> previous;
  std::optional<ExecutionId> parent_run;
  std::optional<std::string> parent_workflow_id;
  std::int32_t parent_command = 0;  // the number the parent's code gave this step or child
  std::optional<GroupId> group;
  Instant created_at{};
  std::optional<Instant> timeout_at;

  // Changes until the row is terminal.
  Status status = Status::queued;
  std::int32_t version = 1;
  std::int32_t attempt = 0;
  std::uint32_t flags = 0;
  AttemptEnd last_end = AttemptEnd::none;
  CloseReason close_reason = CloseReason::none;
  SuspendReason suspend_reason = SuspendReason::none;
  Instant scheduled_at{};             // not claimable before; the due time of ready, timer and blocked rows
  std::optional<Instant> started_at;  // of the latest attempt; dates its attempt_timeout timer
  std::optional<Instant> completed_at;
  std::optional<Instant> cancel_requested_at;
  std::optional<Instant> lease_expires_at;
  std::optional<SessionId> session;
  std::optional<std::string> worker;
  std::optional<ExecutionId> next;      // the run in which the workflow went on
  std::optional<std::string> result;    // bytes as the worker gave them
  std::optional<std::string> error;     // JSON {"name","message","details"} of the last failed attempt
  std::optional<std::string> progress;  // details of the last heartbeat, handed to the next attempt

  bool operator==(const Execution&) const = default;
};

enum class Encoding : std::uint8_t { json = 0, opaque = 1 };

// Written once with its execution, read at every claim.
struct Payload {
  ExecutionId execution;
  Encoding encoding = Encoding::json;
  std::string args;
  std::string policy;  // encoded retry overrides; empty: the lane's
  bool operator==(const Payload&) const = default;
};

// Which claims a ready row is for. Numbers are stored.
enum class Pool : std::uint8_t {
  tasks = 0,
  alone = 1,  // tasks that are claimed by themselves
  runs = 2,   // workflows that want a decision
};

inline Pool pool_of(const Execution& e) {
  if (e.kind == Kind::workflow) return Pool::runs;
  return (e.flags & kClaimAlone) != 0 ? Pool::alone : Pool::tasks;
}

// Claim order is the order of these fields.
struct ReadyRow {
  LaneId lane{};
  Pool pool{};
  std::int32_t priority = 0;
  Instant due_at{};
  ExecutionId execution;
  auto operator<=>(const ReadyRow&) const = default;
};

struct BlockedRow {
  LaneId lane{};
  std::string concurrency_key;
  std::int32_t priority = 0;
  Instant due_at{};
  ExecutionId execution;
  auto operator<=>(const BlockedRow&) const = default;
};

// Numbers are stored. A timer whose version or state no longer fits is stale and does nothing.
enum class TimerKind : std::uint8_t { due = 0, timeout = 1, attempt_timeout = 2, run = 3 };

struct TimerRow {
  Instant due_at{};
  TimerKind kind{};
  ExecutionId execution;
  std::int32_t version = 0;  // attempt_timeout: the claim it guards; run: the command that started it
  auto operator<=>(const TimerRow&) const = default;
};

struct RateLimit {
  std::int64_t count = 0;
  Duration per{0};
  bool operator==(const RateLimit&) const = default;
};

// Settings of a queue; none = the default of CONTRACT 9.
struct LaneConfig {
  std::optional<Duration> retention;  // none: tasks 7 d, workflows 30 d; 0: deleted at completion
  std::optional<RateLimit> rate_limit;
  std::optional<std::int32_t> concurrency;
  std::optional<std::int32_t> concurrency_per_key;
  bool dead_letter = false;
  std::optional<std::int32_t> max_attempts;
  std::string retry;  // encoded retry overrides of the queue; empty: defaults
  bool paused = false;
  bool operator==(const LaneConfig&) const = default;
};

struct Lane {
  LaneId id{};
  TenantId tenant = kDefaultTenant;
  std::string queue;
  LaneConfig config;
  // Counters, touched only by claims and ends of limited lanes.
  std::int32_t running_count = 0;
  std::int64_t tokens_micro = 0;  // rate limit tokens x 1e6 left at tokens_at
  std::optional<Instant> tokens_at;
  std::int32_t revision = 1;  // grows with every change of config
  bool operator==(const Lane&) const = default;
};

struct KeySlot {
  LaneId lane{};
  std::string concurrency_key;
  std::int32_t used = 0;  // executions with this key that are ready, claimed or running; 0: no row
  bool operator==(const KeySlot&) const = default;
};

// The life of one worker process. One renewal extends every lease it holds.
struct Session {
  SessionId id;
  std::string worker;
  Instant opened_at{};
  Instant expires_at{};
  bool operator==(const Session&) const = default;
};

struct LeasedExecution {
  ExecutionId execution;
  std::int32_t version = 0;
  bool operator==(const LeasedExecution&) const = default;
};

// What one claim call handed out. Read back after an unknown commit, walked when the session expires.
struct Lease {
  ClaimId id;
  SessionId session;
  std::vector<LeasedExecution> executions;
  bool operator==(const Lease&) const = default;
};

// A set of tasks with one completion task, created in the transaction that ends the last member.
struct Group {
  GroupId id;
  TenantId tenant = kDefaultTenant;
  std::int32_t total = 0;
  std::int32_t joined = 0;  // members created so far
  std::int32_t ended = 0;
  std::int32_t failed = 0;  // ended other than succeeded
  Execution completion;     // the row to insert when ended == total; queued, not yet in the store
  Payload completion_payload;
  bool completed = false;
  bool operator==(const Group&) const = default;
};

// Failed, timed out and dead-lettered executions, and what an operator did about them. The terminal row itself never
// changes, so redrive and discard are recorded here.
struct Attention {
  ExecutionId execution;
  TenantId tenant = kDefaultTenant;
  LaneId lane{};
  Status status{};
  Instant at{};
  std::optional<Instant> discarded_at;
  std::optional<ExecutionId> successor;
  bool operator==(const Attention&) const = default;
};

// ---- runs: executions of workflows ----------------------------------------------------------------------------------

// Beside the execution row of every workflow. Touched by its owner only.
struct Run {
  ExecutionId execution;
  std::int32_t events = 0;           // in the history; the next one is events + 1
  std::int64_t bytes = 0;            // of them
  std::optional<std::string> state;  // what the code set to be read from outside
  std::string memo;                  // JSON, given at the start, never changed
  std::string attributes;            // JSON, searchable
  ExecutionId chain;                 // the first of the runs that follow each other by continue-as-new and retry
  bool operator==(const Run&) const = default;
};

// One append: events first .. first + count - 1 (core/history.h).
struct HistoryRow {
  ExecutionId run;
  std::int32_t first = 0;
  std::int32_t count = 0;
  Instant at{};
  std::string events;
  bool operator==(const HistoryRow&) const = default;
};

// What a run has not learned yet. In the order of arrival; whoever writes it locks the run's execution row.
struct MailKey {
  ExecutionId run;
  Instant at{};
  MailId id;
  auto operator<=>(const MailKey&) const = default;
};
struct Mail {
  MailKey key;
  std::string event;  // encoded, an input
  bool operator==(const Mail&) const = default;
};

// A run that waits for an execution it did not create.
struct Watch {
  ExecutionId target;
  ExecutionId run;
  std::int32_t command = 0;
  auto operator<=>(const Watch&) const = default;
};

// A signal with a dedupe id, or an update, that a chain took. Of an update the name is kUpdateName: its id is enough.
struct SignalKey {
  ExecutionId chain;
  std::string name;
  std::string dedupe;
  auto operator<=>(const SignalKey&) const = default;
};
inline constexpr std::string_view kUpdateName = "\x1f";  // no signal has it: names have no control characters
struct Signal {
  SignalKey key;
  MailId mail;                        // of the request that was taken; nil: by an earlier version, which kept none
  std::optional<std::string> answer;  // of an update: its event update_completed or update_rejected, encoded
  bool operator==(const Signal&) const = default;
};

// An enqueue that a caller wrote inside its own transaction (PostgreSQL). Rows with an error are out of the feed.
struct InboxRow {
  std::int64_t id = 0;
  std::string tenant;   // by name, as the caller gave it
  std::string request;  // JSON with the fields of POST /tasks
  std::optional<std::string> error;
  bool operator==(const InboxRow&) const = default;
};

// Which rule answered a suppressed duplicate. Numbers are stored.
enum class LedgerRule : std::uint8_t {
  existing_live = 0,       // answered with the live execution
  existing_completed = 1,  // answered with the stored outcome
  rejected = 2,            // on_duplicate = reject
  fingerprint_mismatch = 3,
  key_existing = 4,  // the idempotency key answered
  key_conflict = 5,
  result_expired = 6,  // tombstone of a key
  delivery_already_claimed = 7,
  delivery_terminal = 8,
  repeated_completion = 9,
  stale_version = 10,  // a write without the current version was refused
  repeated_redrive = 11,
};

// One suppressed duplicate. Bounded in the store: counters per rule and the most recent kLedgerRecent notes per id.
struct LedgerNote {
  TenantId tenant = kDefaultTenant;
  Space space{};
  std::string key;
  LedgerRule rule{};
  Instant at{};
  ExecutionId winner;
  bool operator==(const LedgerNote&) const = default;
};
inline constexpr int kLedgerRecent = 20;
inline constexpr Duration kLedgerLife = std::chrono::hours(24 * 30);  // after the last note about an id

}  // namespace semel::core
