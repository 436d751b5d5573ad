// The store port: what a backend does for the engine. Three backends implement it: memory (the oracle), SQLite,
// PostgreSQL.
//
// Writes come as batches, one transaction each, from one writer (on PostgreSQL over several lines). Reads may come from
// any thread and see committed state only. `now` is always given; a backend never asks the time for a decision.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/operations.h"
#include "core/rows.h"
#include "semel/id.h"
#include "semel/result.h"
#include "semel/time.h"

namespace semel::base {
class Clock;
}

namespace semel::store {

// A claim made for a worker of this process by whoever enqueued. Without tasks: the record tells.
struct HandOver {
  ClaimId claim;
  SessionId session;
  std::vector<core::ClaimedTask> tasks;
};

// Hints for whoever waits. Lost hints cost latency only: polling is the truth.
struct Wakes {
  std::vector<core::LaneId> lanes;  // got ready rows
  std::vector<core::LaneId> alone;  // got ready rows that must run alone
  std::vector<core::LaneId> runs;   // got runs that want a decision
  std::optional<Instant> timer_at;  // earliest timer written
  std::vector<ExecutionId> ended;   // became terminal (or were dropped)
  std::vector<ExecutionId> cancel_requested;
  std::vector<ExecutionId> mailed;  // owned runs that got mail
  // Heard from other processes only:
  std::vector<core::TaskClaim> offers;  // claims that idle workers wish for; the limit of each lane is that of all
  std::vector<HandOver> handed;
};

// What a store tells of its own past.
struct HistoryNote {
  std::string now;
  std::string before;  // empty: there was no other one
  std::optional<Instant> at;
};

struct Batch {
  BatchId id;
  Instant now{};
  std::uint64_t history = 0;  // Store::history in which the numbers of its operations were read
  bool recheck = false;       // an earlier apply of this very batch had an unknown outcome
  std::vector<core::Operation*> operations;
  // Called, where the commit is this thread's own work, when the sync is all that is left to do.
  std::function<void()> syncing;
  // Filled by apply when it answers committed; one per operation, in order.
  std::vector<core::Answer> answers;
  std::vector<core::LedgerNote> notes;  // suppressed duplicates, to be counted behind the answers
  Wakes wakes;
  std::int32_t rows_written = 0;  // 0: nothing changed, no commit record was needed
};

// What became of a batch.
struct Applied {
  enum class Kind : std::uint8_t {
    committed,  // durable; answers are filled
    retry,  // nothing happened; the same batch may succeed now (deadlock, serialization, connection lost before commit)
    halve,  // nothing happened; some operation raises: try smaller batches
    locked,   // nothing happened; a stranger's lock is in the way: use the slow lane
    unknown,  // the commit may or may not have happened: apply again with recheck
    // Nothing happened; the store cannot write now. StoreUnavailable: nobody answers, which passes (a reconnect, a
    // failover); any other code (full, read-only, a schema that does not fit) stays until somebody does something.
    unavailable,
    another_history,  // this run did nothing, and no later one will: Store::history has grown
    fatal,            // the store cannot be trusted any more (I/O error, corruption): stop
  };
  Kind kind = Kind::committed;
  Error error;  // unless committed
};

// An execution with the words around it, as the API prints it.
struct ExecutionView {
  core::Execution execution;
  core::Payload payload;
  std::string tenant;
  std::string queue;
};

struct ExecutionFilter {
  core::TenantId tenant = core::kDefaultTenant;
  std::optional<Kind> kind;
  std::vector<Status> statuses;  // empty: all
  std::optional<std::string> queue;
  std::optional<std::string> name;
  std::optional<std::string> identity;
  std::optional<Instant> created_before;  // older than
  std::optional<ExecutionId> before;      // cursor: ids below this one (newest first)
  std::int32_t limit = 50;
};

// Where a queued execution waits; `nowhere` for any other status.
enum class Whereabouts : std::uint8_t { nowhere, ready, timer, blocked };

struct LaneStats {
  core::Lane lane;
  std::int64_t ready_count = 0;  // counted up to kStatsCap
  std::int64_t blocked_count = 0;
};
inline constexpr std::int64_t kStatsCap = 100000;

struct LedgerView {
  core::IdentityKey id;
  std::vector<std::pair<core::LedgerRule, std::int64_t>> counts;
  std::vector<core::LedgerNote> recent;  // newest first
};

struct ReadyLane {
  core::LaneId lane{};
  core::Pool pool{};
};

class Store {
 public:
  virtual ~Store() = default;

  // Runs the batch as one transaction. `committed` means durable on disk. Not thread-safe: one caller at a time.
  virtual Applied apply(Batch& batch) = 0;
  // Stores over the same data whose batches may run beside each other, this one first. Owned by the store.
  virtual std::vector<Store*> lines() { return {this}; }
  // One more, for batches that met a stranger's lock; waits longer. Null where locks have no strangers.
  virtual Store* slow_lane() { return nullptr; }
  // Ends every wait for the store, of calls under way and of later ones: they answer as after a lost connection. For a
  // process that must end while the store does not answer. Any thread.
  virtual void abandon() {}
  // Time source of this store. Database time on PostgreSQL, anchored wall time elsewhere. Thread-safe.
  virtual base::Clock& clock() = 0;
  virtual std::string_view backend() const = 0;  // "memory", "sqlite", "postgres"
  // Grows when another history of the data shows under this process: a server took over that lost a tail, the schema
  // was made anew, an older copy was restored. What was read before does not count any more, the numbers of lanes and
  // tenants above all. Noticed before the next write, and at the latest by it. Thread-safe.
  virtual std::uint64_t history() const { return 0; }

  // ---- reads: thread-safe, committed state only ----
  virtual Result<std::optional<core::TenantId>> tenant_find(std::string_view name) = 0;
  virtual Result<std::vector<std::pair<core::TenantId, std::string>>> tenant_list() = 0;
  virtual Result<std::vector<core::Lane>> lane_list() = 0;  // all tenants
  virtual Result<LaneStats> lane_stats(core::LaneId lane) = 0;
  virtual Result<std::optional<ExecutionView>> execution_get(core::TenantId tenant, ExecutionId id) = 0;
  // Those of the ids that exist, in any order. A store that is far away asks once for all.
  virtual Result<std::vector<ExecutionView>> executions_get(core::TenantId tenant, std::span<const ExecutionId> ids);
  // The newest execution of an id.
  virtual Result<std::optional<ExecutionView>> execution_find(core::TenantId tenant, core::Space space,
                                                              std::string_view key) = 0;
  virtual Result<std::vector<ExecutionView>> execution_list(const ExecutionFilter& filter) = 0;  // without payload args
  virtual Result<Whereabouts> execution_whereabouts(const core::Execution& execution) = 0;
  virtual Result<std::optional<core::Attention>> attention_get(ExecutionId id) = 0;
  virtual Result<std::optional<core::Identity>> key_get(core::TenantId tenant, std::string_view key) = 0;
  virtual Result<std::vector<core::Identity>> key_list(core::TenantId tenant, std::string_view after,
                                                       std::int32_t limit) = 0;
  virtual Result<std::optional<LedgerView>> ledger_get(const core::IdentityKey& id) = 0;
  virtual Result<std::optional<core::Session>> session_get(SessionId id) = 0;
  virtual Result<std::vector<ClaimId>> session_leases(SessionId id) = 0;  // the claims with a record
  // ---- runs ----
  virtual Result<std::optional<core::Run>> run_get(ExecutionId run) = 0;
  // Appends whose events come after number `after`, in order, at most about `limit` bytes of them.
  virtual Result<std::vector<core::HistoryRow>> history_get(ExecutionId run, std::int32_t after,
                                                            std::int64_t limit) = 0;
  // The mail of all these runs, that of each in the order of its arrival.
  virtual Result<std::vector<core::Mail>> mail_list(std::span<const ExecutionId> runs) = 0;
  // Lanes that hold ready rows now, at most one row per (lane, pool).
  virtual Result<std::vector<ReadyLane>> ready_lanes() = 0;
  virtual Result<std::optional<Instant>> next_timer() = 0;
  // Inbox rows without an error, oldest first.
  virtual Result<std::vector<core::InboxRow>> inbox_list(std::int32_t limit) {
    (void)limit;
    return std::vector<core::InboxRow>{};
  }

  // ---- hints from other processes: shorten a wait, never replace the poll ----
  // True: give wait_hints a thread of its own and treat what it returns like the wakes of an own batch. The store
  // itself sends the hints of its own batches; it does not hear them again.
  virtual bool hears_hints() const { return false; }
  // Waits until another process hints at ready lanes or ended executions, `timeout` passes or interrupt_hints is
  // called. `all` = the connection was away and anything may have been missed: look at everything. One caller at a
  // time.
  struct Hints {
    Wakes wakes;
    bool all = false;
  };
  virtual Hints wait_hints(Duration timeout) {
    (void)timeout;
    return {};
  }
  // Tells the other processes that this claim may be made with an enqueue (core::Takes::fresh). Only a hint: it is good
  // until its id has a record or its session is over. Any thread; returns at once.
  virtual void offer(const core::TaskClaim& claim) { (void)claim; }
  // Makes a wait_hints in progress, or the next one, return at once. Any thread.
  virtual void interrupt_hints() {}

  // ---- maintenance ----
  // What others do to this store that makes it slow or large, a sentence each with what to do about it.
  virtual Result<std::vector<std::string>> alarms() { return std::vector<std::string>{}; }
  // Which history the store is in, and which one it was in before. Nothing where there is only one.
  virtual Result<std::optional<HistoryNote>> history_told() { return std::optional<HistoryNote>{}; }
  // Checks every invariant between the tables; each string names one broken row. Empty: sound.
  virtual Result<std::vector<std::string>> verify() = 0;
  // Every table as sorted text lines, `table|column=value|...`; equal stores print equal text. For tests and debugging.
  virtual Result<std::string> snapshot() = 0;
};

inline Result<std::vector<ExecutionView>> Store::executions_get(core::TenantId tenant,
                                                                std::span<const ExecutionId> ids) {
  std::vector<ExecutionView> found;
  for (const auto& id : ids) {
    auto view = execution_get(tenant, id);
    if (!view) return view.error();
    if (*view) found.push_back(**std::move(view));
  }
  return found;
}

}  // namespace semel::store
