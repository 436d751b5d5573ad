#include "store/postgres/db_clock.h"

namespace semel::store::postgres {
namespace {

constexpr std::int64_t kAnchorEvery = 10'000'000;

}  // namespace

Instant DbClock::now() {
  const std::int64_t read = base::steady_micros() + offset_.load(std::memory_order_relaxed);
  std::int64_t last = last_.load(std::memory_order_relaxed);
  while (read > last && !last_.compare_exchange_weak(last, read, std::memory_order_relaxed)) {
  }
  return from_micros(read > last ? read : last);
}

Duration DbClock::anchor(Instant at, std::int64_t asked, std::int64_t answered) {
  const std::int64_t offset = to_micros(at) - (asked + (answered - asked) / 2);
  const bool first = anchored_at_.load() == 0;
  const std::int64_t before = offset_.exchange(offset);
  anchored_at_.store(answered);
  return Duration{first ? 0 : offset - before};
}

bool DbClock::wants_anchor(std::int64_t steady) const {
  const std::int64_t at = anchored_at_.load(std::memory_order_relaxed);
  return at == 0 || steady - at >= kAnchorEvery;
}

}  // namespace semel::store::postgres
