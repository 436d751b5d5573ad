// Steps of the machine's clock between two opens: found, made good, told.
#include "store/sqlite/clock_note.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/duration.h"

namespace semel::store::sqlite {
namespace {

// No batch is more than this later than the last note.
constexpr Duration kNoteInterval = std::chrono::seconds(1);

std::optional<std::int64_t> get(Connection& db, std::string_view name) {
  Statement& find = db.prepared("meta_get").bind(name);
  std::optional<std::int64_t> value;
  if (find.step()) value = find.integer(0);
  find.reset();
  return value;
}

void put(Connection& db, std::string_view name, std::int64_t value) { db.prepared("meta_put").bind(name, value).run(); }

void shift(Connection& db, Duration by) {
  constexpr std::array<std::string_view, 9> kStatements = {"shift_timer",     "shift_ready",   "shift_blocked",
                                                           "shift_execution", "shift_session", "shift_lane",
                                                           "shift_identity",  "shift_grp",     "shift_mail"};
  for (const std::string_view name : kStatements) db.prepared(name).bind(by).run();
}

void note(Connection& db, Instant now, const std::optional<base::BootTime>& boot) {
  put(db, "clock_boot", boot ? boot->id : 0);
  put(db, "clock_offset", boot ? to_micros(now) - boot->passed.count() : 0);
  put(db, "clock_at", to_micros(now));
}

}  // namespace

std::optional<base::BootTime> boot_of(const SqliteOptions& options) {
  if (options.boot || options.clock != nullptr) return options.boot;
  return base::boot_time();
}

Duration ClockNote::ahead_of(Connection& db, Instant wall, const std::optional<base::BootTime>& boot) {
  const auto at = get(db, "clock_at");
  if (!at) return Duration{0};
  if (boot && boot->id != 0 && get(db, "clock_boot") == boot->id)
    return Duration{get(db, "clock_offset").value_or(0)} + boot->passed - wall.time_since_epoch();
  return std::max(Duration{*at - to_micros(wall)}, Duration{0});
}

void ClockNote::settle(Connection& db, Instant now, const std::optional<base::BootTime>& boot, const std::string& path,
                       base::LogSink& log) {
  const bool same_boot = boot && boot->id != 0 && get(db, "clock_boot") == boot->id;
  Duration ahead = ahead_of(db, now, boot);
  const bool stepped = ahead >= kClockNoise || ahead <= -kClockNoise;
  // What was written after the last note may be up to an interval later.
  if (stepped && !same_boot) ahead += kNoteInterval;
  db.execute("BEGIN IMMEDIATE");
  try {
    if (stepped) {
      shift(db, -ahead);
      put(db, "clock_step_at", to_micros(now));
      put(db, "clock_step_by", -ahead.count());
    }
    note(db, now, boot);
    db.execute("COMMIT");
  } catch (const SqliteFailure&) {
    if (db.in_transaction()) db.execute("ROLLBACK");
    throw;
  }
  noted_at_ = now;
  if (!stepped) return;
  log.write(base::LogLevel::warn,
            "the machine's clock was set while the store was closed: leases and due times were moved along",
            {{"store", path},
             {"by", base::format_duration(std::chrono::round<std::chrono::seconds>(-ahead))},
             {"same_boot", same_boot ? "yes" : "no"}});
}

bool ClockNote::is_due(Instant now) const { return now - noted_at_ >= kNoteInterval; }

void ClockNote::before_commit(Connection& db, Instant now) {
  if (is_due(now)) put(db, "clock_at", to_micros(now));
}

void ClockNote::after_commit(Instant now) {
  if (is_due(now)) noted_at_ = now;
}

std::optional<ClockStep> last_clock_step(Connection& db) {
  const auto at = get(db, "clock_step_at");
  if (!at) return std::nullopt;
  return ClockStep{from_micros(*at), Duration{get(db, "clock_step_by").value_or(0)}};
}

}  // namespace semel::store::sqlite
