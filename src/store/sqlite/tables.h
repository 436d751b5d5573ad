// The three-phase batch on SQLite: prepared statements, row by row, inside one BEGIN IMMEDIATE.
//
// The one writer connection makes every read in the transaction a locking one. Rows are touched in ascending key order,
// so that inserts append and page accesses stay close to each other.
#pragma once

#include <functional>
#include <string>

#include "store/batch/tables.h"
#include "store/sqlite/clock_note.h"
#include "store/sqlite/connection.h"
#include "store/sqlite/errors.h"

namespace semel::store::sqlite {

// A statement that a damaged row interrupts starts anew when it is used again.
struct ResetAtEnd {
  Statement& statement;
  ~ResetAtEnd() { statement.reset(); }
};

class SqliteTables final : public batch::Tables {
 public:
  // `marks`: leave a row in batch_mark per batch. Only a harness that makes commits unknown on purpose needs it.
  SqliteTables(Connection& db, std::string path, bool marks, base::LogSink& log)
      : Tables(log), db_(db), path_(std::move(path)), marks_(marks) {}

  bool begin(const BatchId& id, Instant now, bool recheck) override;
  batch::Attempted attempt(const batch::Attempt& attempt, Instant now) override;
  void read(const core::Needs& needs, core::RowCache& cache, Instant now) override;
  void write(const core::RowCache& cache, Instant now) override;
  void commit(const BatchId& id, Instant now, bool changed) override;
  void commit_recall(const BatchId&) override { rollback(); }  // what is in the file is durable
  void rollback() noexcept override;
  // Called before a commit that syncs; null: nobody.
  void before_sync(const std::function<void()>* call) { before_sync_ = call; }
  void* native_connection() override { return db_.raw(); }
  ClockNote& clock_note() { return clock_note_; }

  // The last failure was a full disk.
  bool met_full() const { return met_full_; }
  void forget_full() { met_full_ = false; }

 private:
  // Runs `work`, turning a failure of the library into the batch's own error.
  template <class Work>
  auto guarded(Work&& work) {
    try {
      return work();
    } catch (const SqliteFailure& failure) {
      met_full_ = is_full(failure);
      throw to_tables_error(failure, path_);
    }
  }

  template <class Read>
  auto one_row(Statement& statement, Read read) -> std::optional<decltype(read(statement))>;
  template <class Read>
  auto all_rows(Statement& statement, Read read);

  std::vector<core::ClaimedTask> take(const batch::Take& take, Instant now);
  bool session_lives(const SessionId& session, Instant now);
  bool has_record(const ClaimId& claim);

  // read: one function per group of tables.
  void read_by_key(const core::Needs& needs, core::RowCache& cache);
  void read_runs(const core::Needs& needs, core::RowCache& cache);
  void read_lanes(const core::Needs& needs, core::RowCache& cache);
  void read_waiting(const core::Needs& needs, core::RowCache& cache, Instant now);
  void read_expired(const core::Needs& needs, core::RowCache& cache, Instant now);
  core::FoundLane find_or_create(const core::LaneName& name);
  core::FoundTenant find_or_create(const std::string& tenant);

  // write: one function per group of tables.
  void write_identities(const core::RowCache& cache);
  void write_executions(const core::RowCache& cache);
  void write_runs(const core::RowCache& cache);
  void write_waiting(const core::RowCache& cache);
  void write_limits(const core::RowCache& cache);
  void write_sessions(const core::RowCache& cache);
  void write_ledger(const core::RowCache& cache);
  // A guarded write must touch exactly one row.
  void expect_one(int changed, const char* what);

  Connection& db_;
  ClockNote clock_note_;
  const std::function<void()>* before_sync_ = nullptr;
  const std::string path_;
  const bool marks_;
  bool met_full_ = false;
};

}  // namespace semel::store::sqlite
