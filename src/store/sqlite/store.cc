#include "store/sqlite/store.h"

#include <algorithm>

#include "store/sqlite/errors.h"

namespace semel::store::sqlite {
namespace {

bool frees_space(const core::Operation& operation) {
  return std::holds_alternative<core::RetentionSweep>(operation) ||
         std::holds_alternative<core::KeysExpire>(operation) || std::holds_alternative<core::LedgerSweep>(operation) ||
         std::holds_alternative<core::LeaseForget>(operation) ||
         std::holds_alternative<core::ExecutionDiscard>(operation);
}

}  // namespace

SqliteStore::SqliteStore(const SqliteOptions& options, std::unique_ptr<Connection> writer,
                         std::optional<OwnerLock> owner)
    : options_(options),
      log_(options.log != nullptr ? *options.log : base::null_log()),
      clock_(options.clock != nullptr ? *options.clock : own_clock_.emplace()),
      owner_(std::move(owner)),
      writer_(std::move(writer)),
      ballast_(options.path + "-ballast", writer_ ? options.ballast_bytes : 0),
      readers_(options.path, options.vfs, std::max(options.readers, 1), std::max(options.cache_kib / 8, 256),
               options.read_limit) {
  if (!writer_) return;
  tables_.emplace(*writer_, options.path, options.batch_marks);
  checkpoints_.emplace(*writer_, options, log_);
  if (!ballast_.hold())
    log_.write(base::LogLevel::warn, "no room for the ballast file: the disk is nearly full",
               {{"store", options.path}});
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

Applied SqliteStore::run(Batch& batch) {
  tables_->forget_full();
  tables_->before_sync(&batch.syncing);
  Applied applied = batch::run_batch(*tables_, batch);
  tables_->before_sync(nullptr);
  if (applied.kind == Applied::Kind::fatal) return stop(std::move(applied.error));
  if (applied.kind == Applied::Kind::committed) {
    tidy_up(false);
  } else if (tables_->met_full() && ballast_.wanted()) {
    in_reserve_ = true;
    log_.write(base::LogLevel::error, "the disk is full: only clean-up is accepted", {{"store", options_.path}});
    if (std::ranges::any_of(batch.operations, [](const auto* one) { return frees_space(*one); }))
      return run_in_reserve(batch);
  }
  return applied;
}

Applied SqliteStore::run_in_reserve(Batch& batch) {
  const auto frees = [](const core::Operation* operation) { return frees_space(*operation); };
  if (std::ranges::all_of(batch.operations, frees)) {
    ballast_.release();
    Applied applied = batch::run_batch(*tables_, batch);
    if (applied.kind == Applied::Kind::fatal) return stop(std::move(applied.error));
    if (applied.kind == Applied::Kind::committed) tidy_up(true);
    return applied;
  }
  Error full = make_error(ErrorCode::StoreFull,
                          "sqlite:" + options_.path + ": the disk is full; free space and repeat, nothing was written");
  // One by one the operations that free space get through.
  if (std::ranges::any_of(batch.operations, frees)) return {Applied::Kind::halve, std::move(full)};
  // The room that comes back belongs to the ballast first.
  if (!ballast_.held() && !ballast_.hold()) return {Applied::Kind::unavailable, std::move(full)};
  tables_->forget_full();
  Applied applied = batch::run_batch(*tables_, batch);
  if (applied.kind == Applied::Kind::fatal) return stop(std::move(applied.error));
  if (applied.kind != Applied::Kind::committed) return applied;
  in_reserve_ = false;
  log_.write(base::LogLevel::info, "the disk has room again", {{"store", options_.path}});
  tidy_up(false);
  return applied;
}

// The batch is durable already: a checkpoint that fails for want of space waits for better days, a broken disk is a
// fault.
void SqliteStore::tidy_up(bool fold_all) {
  try {
    if (fold_all) {
      checkpoints_->fold_all();
    } else {
      checkpoints_->after_commit();
    }
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
