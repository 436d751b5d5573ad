// The mechanism below the three-phase batch: what SQLite and PostgreSQL each do with their own statements.
//
// One transaction: begin, attempt (blind set-based writes), read (locking, set-based, as often as core needs more
// rows), write (grouped guarded writes), commit. Only mechanism here: who won the key, did the version match. No rules.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "core/row_cache.h"
#include "core/rows.h"
#include "core/transition.h"
#include "store/port.h"

namespace semel::store::batch {

// A success of a plain execution: applied when id and version match, status is claimed or running, and no end mark is
// set. Writes status succeeded, version+1, last_end succeeded, completed_at = now, result, error none, session none,
// lease_expires_at none; everything else stays.
struct PlainSuccess {
  ExecutionId execution;
  std::int32_t version = 0;
  const std::optional<std::string>* result = nullptr;
};

// Moves up to `limit` ready rows of one lane into a claim, or nothing if there is a lease record of that claim: then it
// is a repeat, which is answered from the record. Ready row deleted; execution claimed with version+1,
// attempt+1 (a run: only the first time, as started_at), flags |= set_flags, last_end kept, started_at = now (the start
// of the latest attempt), lease_expires_at, session, worker, kNoHandler cleared.
struct Take {
  ClaimId claim;
  core::LaneId lane{};
  core::Pool pool{};
  std::int32_t limit = 0;
  std::uint32_t set_flags = 0;
  SessionId session;
  const std::string* worker = nullptr;
  Instant lease_expires_at{};
};

// A claim that takes no ready rows: may it leave a record?
struct Ask {
  ClaimId claim;
  std::optional<SessionId> session;  // must live
};

struct Attempt {
  std::vector<const core::Identity*> identities;  // insert or ignore
  std::vector<PlainSuccess> successes;
  std::vector<Take> takes;  // executed in order; a later take sees what an earlier one left
  std::vector<Ask> asks;
};

struct Attempted {
  std::vector<char> identity_won;                     // one per identity
  std::vector<char> success_applied;                  // one per success
  std::vector<std::vector<core::ClaimedTask>> taken;  // one per take, in claim order, rows as they are now
  std::vector<char> repeated;                         // one per take: its claim has a record
  enum class Asked : std::uint8_t { open, repeated, session_over };
  std::vector<Asked> asked;  // one per ask
};

// Raised by a backend inside a batch; the executor turns it into Applied. `kind` is never committed.
struct TablesError {
  Applied::Kind kind;
  Error error;
};

// Reads a row; none: it is damaged and passed over.
struct UnlessDamaged {
  base::LogSink& log;
  bool pass_over = false;  // false: throws what the codec throws

  template <class Read>
  auto operator()(Read read) const -> std::optional<decltype(read())> {
    try {
      return read();
    } catch (const core::InvariantBroken& broken) {
      if (!pass_over) throw;
      log.write(base::LogLevel::error, "a damaged row is passed over", {{"error", std::string(broken.what())}});
      return std::nullopt;
    }
  }
};

class Tables {
 public:
  virtual ~Tables() = default;
  // Each throws TablesError. `begin` tells whether the batch's mark is already there (only asked when `recheck`).
  virtual bool begin(const BatchId& id, Instant now, bool recheck) = 0;
  virtual Attempted attempt(const Attempt& attempt, Instant now) = 0;
  // Loads everything in `needs` into `cache` (found rows present, others absent), locking rows against other writers.
  virtual void read(const core::Needs& needs, core::RowCache& cache, Instant now) = 0;
  // Writes every change in `cache`, guarded by what was read. A guard that fails throws {halve}.
  virtual void write(const core::RowCache& cache, Instant now) = 0;
  // Durable once it returned. `changed`: something was written, so the batch leaves its mark, by which a second run
  // learns that this one committed. Otherwise there is nothing to sync.
  virtual void commit(const BatchId& id, Instant now, bool changed) = 0;
  // Ends a second run that found its mark. What the first run committed is told as durable only once this returned: its
  // wait for the standbys may have ended without them, by a restart of the server.
  virtual void commit_recall(const BatchId& id) = 0;
  virtual void rollback() noexcept = 0;
  // For EnqueueWithin: the connection of the open transaction, or null where callers cannot share it.
  virtual void* native_connection() { return nullptr; }

  // For operations about many rows, which must not wait for a damaged one: it is passed over, and told to the log.
  void pass_over_damage(bool on) { unless_damaged_.pass_over = on; }

 protected:
  explicit Tables(base::LogSink& log) : unless_damaged_{log} {}
  UnlessDamaged unless_damaged_;
};

// What became ready, due, ended or asked to stop by the changes in `rows`.
Wakes wakes_of(const core::RowCache& rows);

// Runs one batch over the tables: the only place where the phases meet. See batch.cc.
Applied run_batch(Tables& tables, Batch& batch);

}  // namespace semel::store::batch
