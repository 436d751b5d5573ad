// The only place that asks what time it is. Everything else receives `now` or one of these.
#pragma once

#include <cstdint>

#include "semel/time.h"

namespace semel::base {

// Source of store time. Readings of one object never decrease, whatever the machine's clock does. Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual Instant now() = 0;
};

// Wall time read once at construction, then carried on by a clock that nobody can set. A later step of the wall clock
// changes nothing; time spent suspended (laptop lid, paused VM) is counted, so leases lapse as they should.
class SystemClock final : public Clock {
 public:
  // `ahead` of the wall clock.
  explicit SystemClock(Duration ahead = Duration{0});
  Instant now() override;

 private:
  Instant anchor_wall_;
  Duration anchor_boot_;
};

// Time since an arbitrary origin: for measuring elapsed time, and for doubting a Clock that jumped. Thread-safe.
class Monotonic {
 public:
  virtual ~Monotonic() = default;
  virtual Duration now() = 0;
};

class SystemMonotonic final : public Monotonic {
 public:
  Duration now() override;
};

// The wall clock itself, which may jump in both directions: only for noticing that it did.
Instant wall_now();

// How long this machine has been up, time suspended included. Nobody can set it; two readings compare only under one
// id.
struct BootTime {
  std::int64_t id = 0;
  Duration passed{0};
};
BootTime boot_time();

// Same origin as SystemMonotonic, without an object: latency measurements.
std::int64_t steady_micros();

}  // namespace semel::base
