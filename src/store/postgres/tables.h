// The batch mechanism on PostgreSQL: one transaction, few round trips, set-based statements over arrays.
//
// Round trips of a batch: [begin + blind attempt], [locking read] as often as core asks for more, [writes + mark +
// commit]. An enqueue among new ids takes one, without begin and commit where there are few; among others it takes two,
// a duplicate two, a duplicate among duplicates one. The writes and COMMIT travel together. That is safe because every
// guarded statement raises when a guard fails, and in a pipeline nothing after a failed statement runs: COMMIT
// included. docs/adr/0006-guards-raise.md has the measurement.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "store/batch/tables.h"
#include "store/postgres/connection.h"
#include "store/postgres/fronts.h"
#include "store/postgres/history.h"

namespace semel::store::postgres {

// What a failure means for the batch. `commit_at`: the place of COMMIT in what was sent; none: it was not sent.
batch::TablesError to_tables_error(const PgError& error, std::optional<std::size_t> commit_at);

// tenants, spaces, keys
Params key_params(const std::vector<core::IdentityKey>& keys);

class PostgresTables final : public batch::Tables {
 public:
  // Of one open connection; the store makes a new one after a reconnect.
  PostgresTables(Connection& connection, Fronts& fronts, std::string channel, const History& history,
                 base::LogSink& log)
      : Tables(log), db_(connection), fronts_(fronts), channel_(std::move(channel)), history_(history) {}

  // The batch just rolled back guessed that all its ids were new, or all known, and was wrong: run it again at once.
  bool guessed_wrong() const { return guessed_wrong_; }

  // Whether commit() sends one NOTIFY behind a committed batch.
  void set_hints(bool on) { hints_ = on; }

  bool begin(const BatchId& id, Instant now, bool recheck) override;
  batch::Attempted attempt(const batch::Attempt& attempt, Instant now) override;
  void read(const core::Needs& needs, core::RowCache& cache, Instant now) override;
  void write(const core::RowCache& cache, Instant now) override;
  void commit(const BatchId& id, Instant now, bool changed) override;
  void commit_recall(const BatchId& id) override;
  void rollback() noexcept override;

 private:
  void queue_hand_over();
  // BEGIN travels with the first statement: a batch that needs nothing from the store sends nothing.
  std::size_t queue(const Statement& statement, Params params = {});
  void send_held();
  template <class Work>
  auto guarded(Work work) -> decltype(work());

  // Ids and what they point at, asked for together: a duplicate needs both.
  struct Targets {
    std::vector<core::IdentityKey> keys;  // ascending
    Rows identities;
    Rows executions;
    bool locked = true;  // otherwise both are in `identities`, side by side
  };
  bool look(std::vector<core::IdentityKey> keys);
  // `again`: whether the next batches would meet the same.
  [[noreturn]] void give_up_look(bool again);
  // Queues the two reads of `keys`; their rows are at the returned index and the one after it.
  std::size_t queue_targets(const std::vector<core::IdentityKey>& keys);
  void load_targets(const Rows& identities, const Rows& executions, core::RowCache& cache) const;
  static void load_looked(const Rows& rows, core::RowCache& cache);
  bool load_foreseen(const std::vector<core::IdentityKey>& wanted, core::RowCache& cache) const;

  std::optional<std::vector<batch::Attempted::Asked>> trust(const std::vector<batch::Ask>& asks);
  static std::vector<batch::Attempted::Asked> read_asked(const std::vector<batch::Ask>& asks, const Rows& records,
                                                         const Rows& sessions);
  std::vector<core::ClaimedTask> finish_take(const batch::Take& take, const core::ReadyRow& from, const Rows& rows,
                                             Instant now);

  void queue_identities(const std::vector<const core::Identity*>& sorted, const Statement& statement);
  void write_identities(const core::RowCache& cache);
  void write_executions(const core::RowCache& cache);
  void write_runs(const core::RowCache& cache);
  void write_waiting(const core::RowCache& cache);
  void write_limits(const core::RowCache& cache);
  void write_sessions(const core::RowCache& cache, Instant now);
  void write_inbox(const core::RowCache& cache);
  void write_ledger(const core::RowCache& cache, Instant now);

  void look_back(const PgError& error);

  Connection& db_;
  bool begun_ = false;                    // a transaction is open, or BEGIN is queued
  bool wrote_ = false;                    // something in it must not be rolled back lightly
  bool marked_ = false;                   // the mark is there already (recheck)
  std::optional<std::size_t> commit_at_;  // COMMIT is queued or sent
  bool hints_ = false;
  // Most ids of the last batch were taken. Then those of this one are only looked at first, without a transaction: a
  // duplicate that changes nothing is answered from that. Otherwise they are read with the attempt to win them.
  bool expect_duplicates_ = false;
  int locking_ = 0;  // batches that lock at once, after a look that did not suffice
  bool looked_ = false;
  std::optional<Targets> foreseen_;
  // While ids are new, as almost all are, they are inserted without asking, behind one round trip with all the rest:
  // half the price of ON CONFLICT. A duplicate raises; after one, batches ask first for a while.
  int careful_ = 0;  // batches that still ask
  bool hoping_ = false;
  // Offers of other processes are mostly good: a claim made for their worker is not asked about first either. Its
  // record and its session raise.
  bool trusting_ = false;
  bool mistrust_ = false;  // of the next batch: the last one was wrong
  // A batch that asks nothing is held back until its end. Then it needs no BEGIN and no COMMIT, and where it is nothing
  // but tasks claimed for one worker, as it mostly is while workers are idle, one statement writes it. Every statement
  // costs the server and a lone caller's wait.
  bool holding_ = false;
  std::vector<std::pair<const Statement*, Params>> held_;
  bool guessed_wrong_ = false;
  std::string hint_;
  const core::RowCache* handed_ = nullptr;  // of the batch that hands something over
  Fronts& fronts_;
  const std::string channel_;
  const History history_;                // no other one is read or written: what is sent raises there
  std::vector<core::ReadyRow> entered_;  // the first of each lane that this batch made ready
};

}  // namespace semel::store::postgres
