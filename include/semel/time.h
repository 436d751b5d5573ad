// Instants and durations: int64 microseconds, UTC. std only.
//
// Every instant in Semel is a whole microsecond since 1970-01-01T00:00:00Z. Code below the public API never asks what
// time it is: `now` is always a parameter.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>

namespace semel {

using Duration = std::chrono::microseconds;
using Instant = std::chrono::sys_time<Duration>;

inline constexpr Instant kEndOfTime{Duration{std::numeric_limits<std::int64_t>::max()}};

// Instants are stored as this integer in every backend.
constexpr std::int64_t to_micros(Instant at) { return at.time_since_epoch().count(); }
constexpr Instant from_micros(std::int64_t micros) { return Instant{Duration{micros}}; }

// Adds without wrapping: the result stays inside [1970, kEndOfTime].
constexpr Instant add_saturated(Instant at, Duration by) {
  const std::int64_t a = to_micros(at);
  const std::int64_t b = by.count();
  if (b > 0 && a > std::numeric_limits<std::int64_t>::max() - b) return kEndOfTime;
  if (b < 0 && (a < 0 || a + b < 0)) return Instant{};
  return from_micros(a + b);
}

}  // namespace semel
