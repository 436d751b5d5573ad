#include "store/postgres/store.h"

#include <algorithm>

#include "base/failpoint.h"
#include "store/postgres/history.h"
#include "store/postgres/schema.h"
#include "store/postgres/statements.h"

namespace semel::store::postgres {
namespace {

constexpr Duration kLongestPause = std::chrono::seconds(2);
constexpr Duration kClockStep = std::chrono::seconds(60);
constexpr std::int64_t kLookEvery = 1'000'000;

Role role_of(int number, const PgOptions& options) {
  if (number == PostgresLine::kSlow) return {"semel slow lane", options.slow_lock_timeout, false};
  return {"semel writer", options.writer_lock_timeout, false};
}

// A connection that is only good for looking at the schema and changing it.
Result<std::unique_ptr<Connection>> open_plain(const PgOptions& options) {
  return Connection::open(options, Role{"semel migrate", std::chrono::seconds(30), false});
}

}  // namespace

Result<void> PostgresLine::connect() {
  if (connection_) return {};
  const PgOptions& options = shared_->options;
  auto opened = Connection::open(options, role_of(number_, options));
  if (!opened) return std::move(opened).error();
  if (auto ok = check_server(**opened, options); !ok) return ok;
  if (auto ok = check_schema(**opened); !ok) return ok;
  auto found = find_history(**opened);
  if (!found) return std::move(found).error();
  auto number = shared_->history.meet(*found);
  if (!number) return std::move(number).error();
  if (history_ != *number) shared_->fronts.forget_all();
  if (!found->noted)
    if (auto ok = note_history(**opened, found->history, *options.log); !ok) return ok;
  if (auto ok = (*opened)->learn_row_types(); !ok) return ok;
  if (auto ok = (*opened)->prepare(writer_statements()); !ok) return ok;
  connection_ = std::move(*opened);
  history_ = *number;
  tables_ = std::make_unique<PostgresTables>(*connection_, shared_->fronts, found->channel, found->history,
                                             *shared_->options.log);
  shared_->line_pids[static_cast<std::size_t>(number_)].store(connection_->backend_pid());
  pause_ = Duration{0};
  looked_ = 0;
  try {
    auto fits = look_around();
    if (!fits) drop();
    return fits;
  } catch (const PgError& error) {
    drop();
    return to_error(error);
  }
}

void PostgresLine::drop() {
  tables_.reset();
  connection_.reset();
}

std::optional<Applied> PostgresLine::refuse_while_away(const Batch& batch) {
  if (connection_) return std::nullopt;
  if (base::steady_micros() < not_before_) return refuse(batch, away_);
  auto connected = connect();
  if (connected) return std::nullopt;
  return refuse(batch, std::move(connected).error());
}

// The next attempt to connect comes after a pause.
Applied PostgresLine::refuse(const Batch& batch, Error why) {
  const std::int64_t now = base::steady_micros();
  if (now >= not_before_) {
    pause_ = std::clamp(pause_ * 2, shared_->options.reconnect_pause, kLongestPause);
    not_before_ = now + pause_.count();
    away_ = why;
  }
  // A batch whose first run has an unknown end stays unknown while nobody can be asked.
  return {batch.recheck ? Applied::Kind::unknown : Applied::Kind::unavailable, std::move(why)};
}

// Once a second, in one round trip: does this binary still fit the schema, does anybody else listen for hints, and now
// and then the database's clock.
Result<void> PostgresLine::look_around() {
  const std::int64_t now = base::steady_micros();
  const bool anchor = shared_->clock.wants_anchor(now);
  if (!anchor && now - looked_ < kLookEvery) return {};
  looked_ = now;
  connection_->queue(statements::schema_demand);
  if (anchor) connection_->queue(statements::clock_read);
  if (shared_->options.hints) connection_->queue(statements::listeners, Params().i32(shared_->listener_pid.load()));
  const std::int64_t asked = base::steady_micros();
  const auto rows = connection_->run();
  if (auto fits = check_demand(rows[0]); !fits) return fits;
  if (anchor) note_clock(rows[1].instant(0, 0), asked);
  if (shared_->options.hints) others_listen_ = rows.back().i64(0, 0) > 0;
  return {};
}

void PostgresLine::note_clock(Instant read, std::int64_t asked) {
  const Duration step = shared_->clock.anchor(read, asked, base::steady_micros());
  if (step > kClockStep || step < -kClockStep)
    shared_->options.log->write(base::LogLevel::warn, "the database's clock stepped",
                                {{"seconds", step.count() / 1'000'000}});
}

Applied PostgresLine::another_history() {
  return {Applied::Kind::another_history,
          make_error(
              ErrorCode::StoreUnavailable,
              "store: the store has another history than when this was asked (a failover, or a restore); ask again")};
}

Applied PostgresLine::apply(Batch& batch) {
  if (history_ != shared_->history.number()) drop();  // another line met it
  if (auto refused = refuse_while_away(batch)) return *refused;
  if (batch.history != history_) return another_history();
  try {
    if (auto fits = look_around(); !fits) {
      drop();
      return refuse(batch, std::move(fits).error());
    }
  } catch (const PgError& error) {
    drop();
    return {batch.recheck ? Applied::Kind::unknown : Applied::Kind::retry, to_error(error)};
  }
  tables_->set_hints(others_listen_);
  Applied applied = batch::run_batch(*tables_, batch);
  if (applied.kind != Applied::Kind::committed && tables_->guessed_wrong()) applied = batch::run_batch(*tables_, batch);
  if (applied.kind == Applied::Kind::another_history) {
    drop();
    if (auto met = connect(); !met) applied.error = std::move(met).error();
  } else if (connection_->lost()) {
    drop();
  }
  return applied;
}

PostgresStore::PostgresStore(std::shared_ptr<Shared> shared)
    : PostgresLine(shared, 0),
      slow_(shared, kSlow),
      listener_(
          shared->options,
          [shared](int pid) {
            const auto& own = shared->line_pids;
            return std::any_of(own.begin(), own.end(), [pid](const auto& one) { return one.load() == pid; });
          },
          shared->history) {
  for (int number = 1; number < std::clamp(shared->options.lines, 1, kMaxLines); ++number)
    more_.push_back(std::make_unique<PostgresLine>(shared, number));
}

void PostgresReads::abandon() { shared_->options.stop->raise(); }

std::vector<Store*> PostgresStore::lines() {
  std::vector<Store*> out{this};
  for (auto& line : more_) out.push_back(line.get());
  return out;
}

Store::Hints PostgresStore::wait_hints(Duration timeout) {
  Hints out = listener_.wait(timeout);
  shared_->listener_pid.store(listener_.backend_pid());
  return out;
}

Result<std::unique_ptr<Store>> open_postgres(const PgOptions& options) {
  if (options.migrate)
    if (auto migrated = migrate_postgres(options); !migrated) return std::move(migrated).error();
  auto store = std::make_unique<PostgresStore>(std::make_shared<Shared>(options));
  if (auto connected = store->connect(); !connected) return std::move(connected).error();
  return Result<std::unique_ptr<Store>>(std::move(store));
}

Result<void> migrate_postgres(const PgOptions& options) {
  auto opened = open_plain(options);
  if (!opened) return std::move(opened).error();
  if (auto ok = check_server(**opened, options); !ok) return ok;
  return migrate(**opened);
}

}  // namespace semel::store::postgres
