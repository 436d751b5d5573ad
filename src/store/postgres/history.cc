// Reads, compares and notes the history of the data.
#include "store/postgres/history.h"

#include "base/mutant.h"
#include "store/postgres/sql.gen.h"

namespace semel::store::postgres {

std::string to_string(const History& history) {
  return "system " + std::to_string(history.system) + ", timeline " + std::to_string(history.timeline) +
         ", generation " + std::to_string(history.generation) + ", made " + std::to_string(history.birth);
}

Result<FoundHistory> find_history(Connection& connection) {
  try {
    connection.queue_text(sql::history_read);
    const auto all = connection.run();
    const Rows& rows = all[0];
    if (rows.count() != 1) return make_error(ErrorCode::SchemaTooOld, "store: semel.meta has no row");
    if (rows.is_null(0, 4))
      return make_error(ErrorCode::StoreReadOnly, "store: the server is a replica; point the store URL at the primary");
    const History found{rows.i64(0, 3), rows.i32(0, 4), rows.i64(0, 0), rows.i64(0, 2), rows.i64(0, 1)};
    const bool noted = !rows.is_null(0, 6) && rows.i64(0, 6) == found.system && rows.i32(0, 7) == found.timeline &&
                       rows.i64(0, 8) == found.table && rows.i64(0, 9) == found.generation;
    return FoundHistory{found, rows.text(0, 5), noted};
  } catch (const PgError& error) {
    return to_error(error);
  }
}

Params& add_history(Params& params, const History& history) {
  return params.i64(history.birth).i64(history.generation).i64(history.table);
}

std::string KnownHistory::channel() const {
  const std::lock_guard lock(mutex_);
  return known_ ? known_->channel : std::string();
}

Result<std::uint64_t> KnownHistory::meet(const FoundHistory& found) {
  const std::lock_guard lock(mutex_);
  if (!known_) known_ = found;
  const History before = known_->history;
  const History& after = found.history;
  if (before == after || SEMEL_MUTANT("history-unchecked")) return number_.load();
  if (after.system == before.system && after.timeline < before.timeline)
    return make_error(ErrorCode::StoreUnavailable, "store: a server answers that was overtaken: " + to_string(after) +
                                                       ", while this process works in " + to_string(before));
  known_ = found;
  log_.write(base::LogLevel::error, "the store has another history: what was read before does not count any more",
             {{"timeline_before", before.timeline},
              {"timeline", after.timeline},
              {"generation_before", before.generation},
              {"generation", after.generation},
              {"before", to_string(before)},
              {"now", to_string(after)}});
  return number_.fetch_add(1) + 1;
}

Result<void> note_history(Connection& connection, const History& history, base::LogSink& log) {
  try {
    Params params;
    params.i64(history.system).i32(history.timeline).i64(history.table).i64(history.generation);
    connection.queue_text(sql::history_turn, params);
    const auto rows = connection.run();
    if (rows[0].count() == 0) return {};
    log.write(base::LogLevel::error, "leases of the store's history before are void: their attempts are given back",
              {{"before", rows[0].text(0, 0)},
               {"now", to_string(history)},
               {"leases", rows[0].i64(0, 1)},
               {"sessions", rows[0].i64(0, 2)}});
    return {};
  } catch (const PgError& error) {
    return to_error(error);
  }
}

}  // namespace semel::store::postgres
