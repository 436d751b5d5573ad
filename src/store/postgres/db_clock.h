// Store time: the database's clock, carried on by this machine's monotonic clock between looks.
//
// Accurate to half a round trip. Readings never decrease: when the database's clock steps back, time stands still until
// it has caught up; a step forward is followed at the next look.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/clock.h"

namespace semel::store::postgres {

class DbClock final : public base::Clock {
 public:
  Instant now() override;

  // The database said `at` between the two readings of base::steady_micros. Returns by how much the clock was off.
  Duration anchor(Instant at, std::int64_t asked, std::int64_t answered);
  bool wants_anchor(std::int64_t steady) const;

 private:
  std::atomic<std::int64_t> offset_{0};       // store time minus monotonic time
  std::atomic<std::int64_t> last_{0};         // never answered less than this
  std::atomic<std::int64_t> anchored_at_{0};  // monotonic; 0: never
};

}  // namespace semel::store::postgres
