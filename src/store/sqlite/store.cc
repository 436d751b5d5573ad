// The store as the engine sees it: batches, what becomes of the disk, and faults that last.
#include "store/sqlite/store.h"

#include <algorithm>

#include "base/mutant.h"
#include "store/sqlite/errors.h"

namespace semel::store::sqlite {
namespace {

bool frees_space(const core::Operation& operation) {
  return std::holds_alternative<core::RetentionSweep>(operation) ||
         std::holds_alternative<core::KeysExpire>(operation) || std::holds_alternative<core::LedgerSweep>(operation) ||
         std::holds_alternative<core::LeaseForget>(operation) ||
         std::holds_alternative<core::ExecutionDiscard>(operation);
}

// What it deletes must fit into the ballast before it can be folded.
void make_small(core::Operation& operation) {
  constexpr std::int32_t kAtOnce = 100;
  if (auto* sweep = std::get_if<core::RetentionSweep>(&operation)) sweep->limit = std::min(sweep->limit, kAtOnce);
  if (auto* keys = std::get_if<core::KeysExpire>(&operation)) keys->limit = std::min(keys->limit, kAtOnce);
}

}  // namespace

SqliteStore::SqliteStore(const SqliteOptions& options, Opened opened)
    : file_(std::move(opened.file)),
      options_(options),
      log_(options.log != nullptr ? *options.log : base::null_log()),
      clock_(options.clock != nullptr ? *options.clock : own_clock_.emplace(opened.clock_ahead)),
      writer_(std::move(opened.writer)),
      ballast_(options.path + "-ballast", writer_ ? options.ballast_bytes : 0),
      readers_(options.path, options.vfs, std::max(options.readers, 1), std::max(options.cache_kib / 8, 256),
               options.read_limit) {
  if (writer_) prepare_to_write(opened.disk_is_full);
}

void SqliteStore::prepare_to_write(bool disk_is_full) {
  tables_.emplace(*writer_, options_.path, options_.batch_marks, log_);
  checkpoints_.emplace(*writer_, options_, log_);
  if (disk_is_full) {
    in_reserve_ = ballast_.wanted();
    log_.write(base::LogLevel::error, "the disk is full: only clean-up is accepted", {{"store", options_.path}});
    make_room();
  } else if (!ballast_.hold()) {
    log_.write(base::LogLevel::warn, "no room for the ballast file: the disk is nearly full",
               {{"store", options_.path}});
  }
  note_clock();
}

// For want of room the note may wait: the next open finds the same step.
void SqliteStore::note_clock() {
  try {
    tables_->clock_note().settle(*writer_, clock_.now(), boot_of(options_), options_.path, log_);
  } catch (const SqliteFailure& failure) {
    if (!is_full(failure)) throw;
    log_.write(base::LogLevel::warn, "the disk is full: the store's clock could not be noted",
               {{"store", options_.path}});
  }
}

SqliteStore::~SqliteStore() {
  // After a fault nothing is folded: what is on disk stays as it is for the next open, or for a person.
  if (!writer_) return;
  if (faulty_) {
    try {
      writer_->never_checkpoint();
    } catch (const SqliteFailure&) {
    }
  }
}

Applied SqliteStore::apply(Batch& batch) {
  if (!writer_) {
    return {Applied::Kind::unavailable,
            make_error(ErrorCode::StoreReadOnly,
                       "sqlite:" + options_.path + " was opened for reading only; open it for writing")};
  }
  if (faulty_) {
    std::lock_guard lock(fault_mutex_);
    return {Applied::Kind::fatal, *fault_};
  }
  return in_reserve_ ? run_in_reserve(batch) : run(batch);
}

// Nothing is acknowledged into a file that nobody can find any more.
Applied SqliteStore::run_once(Batch& batch) {
  tables_->forget_full();
  tables_->before_sync(&batch.syncing);
  Applied applied = batch::run_batch(*tables_, batch);
  tables_->before_sync(nullptr);
  if (applied.kind == Applied::Kind::fatal) return stop(std::move(applied.error));
  if (applied.kind == Applied::Kind::committed && !SEMEL_MUTANT("ack-into-unlinked") && !file_.is_in_place())
    return stop(file_is_gone(ErrorCode::UnknownCommit));
  return applied;
}

Applied SqliteStore::run(Batch& batch) {
  Applied applied = run_once(batch);
  // There may be room inside the database file where there is none on the disk.
  if (tables_->met_full() && make_room()) applied = run_once(batch);
  if (applied.kind == Applied::Kind::committed) {
    tidy_up();
    look_after_ballast(batch.now);
  } else if (tables_->met_full() && ballast_.wanted() && !faulty_) {
    in_reserve_ = true;
    log_.write(base::LogLevel::error, "the disk is full: only clean-up is accepted", {{"store", options_.path}});
    if (std::ranges::any_of(batch.operations, [](const auto* one) { return frees_space(*one); }))
      return run_in_reserve(batch);
  }
  return applied;
}

Applied SqliteStore::clean_in_reserve(Batch& batch) {
  ballast_.release();
  make_room();
  for (core::Operation* operation : batch.operations) make_small(*operation);
  Applied applied = run_once(batch);
  if (applied.kind == Applied::Kind::committed) make_room();
  return applied;
}

Applied SqliteStore::run_in_reserve(Batch& batch) {
  const auto frees = [](const core::Operation* operation) { return frees_space(*operation); };
  if (std::ranges::all_of(batch.operations, frees)) return clean_in_reserve(batch);
  Error full = make_error(ErrorCode::StoreFull,
                          "sqlite:" + options_.path +
                              ": the disk is full; free space, or delete with semel purge, and repeat; nothing was "
                              "written");
  // One by one the operations that free space get through.
  if (std::ranges::any_of(batch.operations, frees)) return {Applied::Kind::halve, std::move(full)};
  // The room that comes back belongs to the ballast first.
  if (!ballast_.hold()) return {Applied::Kind::unavailable, std::move(full)};
  const Applied applied = run_once(batch);
  if (applied.kind != Applied::Kind::committed) return applied;
  in_reserve_ = false;
  log_.write(base::LogLevel::info, "the disk has room again", {{"store", options_.path}});
  tidy_up();
  return applied;
}

// False: no room was made. A broken disk is a fault.
bool SqliteStore::make_room() {
  try {
    return checkpoints_->make_room();
  } catch (const SqliteFailure& failure) {
    const batch::TablesError error = to_tables_error(failure, options_.path);
    if (error.kind == Applied::Kind::fatal) stop(error.error);
    return false;
  }
}

// The batch is durable already: a checkpoint that fails for want of space waits for better days, a broken disk is a
// fault.
void SqliteStore::tidy_up() {
  try {
    checkpoints_->after_commit();
  } catch (const SqliteFailure& failure) {
    const batch::TablesError error = to_tables_error(failure, options_.path);
    if (error.kind == Applied::Kind::fatal) {
      stop(error.error);
    } else {
      log_.write(base::LogLevel::warn, "checkpoint put off",
                 {{"store", options_.path}, {"reason", error.error.message}});
    }
  }
}

// A reader that found the disk full gave it up.
void SqliteStore::look_after_ballast(Instant now) {
  constexpr Duration kBetweenLooks = std::chrono::minutes(1);
  if (now - ballast_looked_at_ < kBetweenLooks) return;
  ballast_looked_at_ = now;
  ballast_.hold();
}

Error SqliteStore::file_is_gone(ErrorCode code) const {
  return make_error(code,
                    "sqlite:" + options_.path +
                        " was removed or replaced while it was open: what is written no longer reaches it; stop, put "
                        "the file back, start again");
}

Applied SqliteStore::stop(Error error) {
  std::lock_guard lock(fault_mutex_);
  if (!fault_) {
    fault_ = error;
    faulty_ = true;
    log_.write(base::LogLevel::error, "the store stops writing", {{"store", options_.path}, {"reason", error.message}});
  }
  return {Applied::Kind::fatal, std::move(error)};
}

Error SqliteStore::read_error(const SqliteFailure& failure) {
  Error error = to_error(failure, options_.path);
  if (is_corrupt(failure)) stop(error);
  return error;
}

}  // namespace semel::store::sqlite
