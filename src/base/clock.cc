#include "base/clock.h"

#include <time.h>

namespace semel::base {
namespace {

Duration read_clock(clockid_t id) {
  timespec ts{};
  clock_gettime(id, &ts);
  return std::chrono::seconds(ts.tv_sec) + Duration{ts.tv_nsec / 1000};
}

// Unlike CLOCK_MONOTONIC it goes on while the machine is suspended.
Duration boot_now() { return read_clock(CLOCK_BOOTTIME); }

}  // namespace

SystemClock::SystemClock() : anchor_wall_(wall_now()), anchor_boot_(boot_now()) {}

Instant SystemClock::now() { return anchor_wall_ + (boot_now() - anchor_boot_); }

Duration SystemMonotonic::now() { return Duration{steady_micros()}; }

Instant wall_now() { return Instant{read_clock(CLOCK_REALTIME)}; }

std::int64_t steady_micros() { return read_clock(CLOCK_MONOTONIC).count(); }

}  // namespace semel::base
