// Clocks that move only when a test says so.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/clock.h"

namespace semel::testing {

inline constexpr Instant kTestStart = from_micros(1'772'355'600'000'000);  // 2026-03-01T09:00:00Z

// `set` may go back: that is how a stepped store clock is tested.
class ManualClock final : public base::Clock {
 public:
  explicit ManualClock(Instant start = kTestStart) : micros_(to_micros(start)) {}
  Instant now() override { return from_micros(micros_.load()); }
  void set(Instant at) { micros_.store(to_micros(at)); }
  void advance(Duration by) { micros_.fetch_add(by.count()); }

 private:
  std::atomic<std::int64_t> micros_;
};

class ManualMonotonic final : public base::Monotonic {
 public:
  Duration now() override { return Duration{micros_.load()}; }
  void advance(Duration by) { micros_.fetch_add(by.count()); }

 private:
  std::atomic<std::int64_t> micros_{0};
};

}  // namespace semel::testing
