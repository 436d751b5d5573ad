// What a store remembers about its clock, so that the next open notices when the machine's clock was set meanwhile.
#pragma once

#include <optional>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "semel/time.h"
#include "store/sqlite/connection.h"
#include "store/sqlite/sqlite_store.h"

namespace semel::store::sqlite {

// Less is no step: clocks are read one after the other, and a machine that slept sets its clock by the second.
inline constexpr Duration kClockNoise = std::chrono::seconds(1);

// What a store opened with these options knows about its boot.
std::optional<base::BootTime> boot_of(const SqliteOptions& options);

class ClockNote {
 public:
  // How far the store's clock, carried on from the last note, is ahead of `wall` (negative: behind). After another boot
  // only that it was ahead can be known: it is so at least.
  static Duration ahead_of(Connection& db, Instant wall, const std::optional<base::BootTime>& boot);

  // A writer opens the store at `now`: if the clock was set since the last note, everything that waits for an instant
  // is moved along, in one transaction with the note of now. Throws SqliteFailure.
  void settle(Connection& db, Instant now, const std::optional<base::BootTime>& boot, const std::string& path,
              base::LogSink& log);

  // Around the commit of a batch: from time to time its instant is noted with it.
  void before_commit(Connection& db, Instant now);
  void after_commit(Instant now);

 private:
  bool is_due(Instant now) const;
  Instant noted_at_{};
};

std::optional<ClockStep> last_clock_step(Connection& db);

}  // namespace semel::store::sqlite
