#include "base/uuid.h"

#include <algorithm>

namespace semel::base {
namespace {

// A tick is 1/4096 of a millisecond: the 60 bits of an id that carry time.
constexpr std::uint64_t kTicksPerMilli = 4096;
constexpr std::uint64_t kMaxTick = (std::uint64_t{1} << 60) - 1;

std::uint64_t tick_of(Instant at) {
  const std::int64_t micros = std::max<std::int64_t>(to_micros(at), 0);
  const auto millis = static_cast<std::uint64_t>(micros / 1000);
  if (millis > kMaxTick / kTicksPerMilli) return kMaxTick;
  return millis * kTicksPerMilli + static_cast<std::uint64_t>(micros % 1000) * kTicksPerMilli / 1000;
}

UuidBytes assemble(std::uint64_t tick, std::uint64_t random) {
  const std::uint64_t high = (tick >> 12 << 16) | 0x7000u | (tick & 0xfff);
  const std::uint64_t low = (random & 0x3fffffffffffffffull) | 0x8000000000000000ull;
  UuidBytes out;
  for (int i = 0; i < 8; ++i) {
    out[i] = static_cast<std::uint8_t>(high >> (56 - 8 * i));
    out[8 + i] = static_cast<std::uint8_t>(low >> (56 - 8 * i));
  }
  return out;
}

}  // namespace

UuidBytes IdSource::next_bytes(Instant now) {
  const std::uint64_t wanted = tick_of(now);
  std::uint64_t last = last_tick_.load(std::memory_order_relaxed);
  std::uint64_t tick;
  do {
    tick = std::max(wanted, last + 1);
  } while (!last_tick_.compare_exchange_weak(last, tick, std::memory_order_relaxed));
  return assemble(tick, random_.next());
}

UuidBytes uuidv7_floor_bytes(Instant at) { return assemble(tick_of(at), 0); }

Instant uuidv7_time_bytes(const UuidBytes& bytes) {
  std::int64_t millis = 0;
  for (int i = 0; i < 6; ++i) millis = millis << 8 | bytes[i];
  const std::int64_t fraction = (bytes[6] & 0x0f) << 8 | bytes[7];
  // tick_of rounds down, so rounding up finds the microsecond it came from.
  const std::int64_t micros = (fraction * 1000 + 4095) / 4096;
  return from_micros(millis * 1000 + std::min<std::int64_t>(micros, 999));
}

}  // namespace semel::base
