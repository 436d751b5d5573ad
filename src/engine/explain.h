// Why is this execution where it is, and what happened to its duplicates: facts, to be printed by whoever asks.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "store/port.h"

namespace semel::engine {

// Why a live execution does not run right now.
enum class WaitReason : std::uint8_t {
  none,     // it runs, or it is over
  ready,    // claimable; no worker took it yet
  not_due,  // scheduled later
  backoff,  // the last attempt failed; not before `not_before`
  queue_paused,
  rate_limited,
  concurrency,      // the queue's limit is reached
  concurrency_key,  // its concurrency_key is full
  no_handler,       // a worker claimed it but knows no handler of that name
  cancel_pending,   // cancel was requested, the worker did not answer yet
  // Runs only.
  outcomes,  // what it started is not over: steps, children, timers
  signals,   // nothing that it started is open: a signal, an update or a cancel request wakes it
  parked,    // its code does not fit its history; tried again at `not_before`
};
std::string_view to_string(WaitReason reason);

std::string_view to_string(core::LedgerRule rule);
std::string_view to_string(core::AttemptEnd end);

struct ExplainedDuplicates {
  core::Space space{};
  std::string key;
  std::vector<std::pair<core::LedgerRule, std::int64_t>> counts;
  std::vector<core::LedgerNote> recent;  // which rule, when, who won; newest first
};

// What a run asked for and has not heard of since.
struct OpenCommand {
  core::EventKind kind{};  // step_scheduled, child_started, timer_started, ...
  std::int32_t command = 0;
  std::string name;
  std::string id;                        // the task_id or workflow_id it was given
  std::optional<Instant> due_at;         // of a timer
  std::optional<ExecutionId> execution;  // the one that will bring the outcome
  std::optional<Status> status;          // of that one
};

// Where the code of a parked run leaves its history.
struct ParkedAt {
  std::int64_t seq = 0;
  std::string expected;  // what the history holds
  std::string actual;    // what the code did instead
};

struct ExplainedRun {
  std::vector<OpenCommand> open;     // oldest first, at most kMaxOpenCommands
  std::int64_t open_count = 0;       // all of them
  std::int64_t unread_count = 0;     // mail that no decision has consumed
  std::optional<SessionId> session;  // its owner's
  bool owner_lost = false;           // the owner stopped renewing: the run is given up with the next sweep
  std::optional<ParkedAt> parked_at;
};
inline constexpr std::size_t kMaxOpenCommands = 100;

struct Explanation {
  std::optional<store::ExecutionView> execution;  // none: unknown id, or its key outlived it
  store::Whereabouts whereabouts = store::Whereabouts::nowhere;
  WaitReason reason = WaitReason::none;
  std::optional<Instant> not_before;
  std::optional<Instant> lease_expires_at;
  std::optional<ExplainedRun> run;              // of a workflow
  std::optional<core::Attention> attention;     // dead letters: redriven or discarded?
  std::optional<core::Identity> key;            // the idempotency key asked for, or the execution's own
  std::vector<ExplainedDuplicates> duplicates;  // of its id and of its key
  std::vector<store::ExecutionView> chain;      // earlier executions linked by previous_execution_id, newest first
  std::string summary;                          // one sentence
};

}  // namespace semel::engine
