// UUIDv7: ids that sort by the time they were made.
//
// Layout: 48 bits of milliseconds, version 7, 12 bits of the millisecond's fraction, variant, 62 random bits.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "base/random.h"
#include "semel/id.h"
#include "semel/time.h"

namespace semel::base {

using UuidBytes = std::array<std::uint8_t, 16>;

// Makes ids that strictly increase within one object, whatever `now` does; ids of other processes differ by their
// random bits. Thread-safe. More than four ids per microsecond borrow from the future and give it back when idle.
class IdSource {
 public:
  explicit IdSource(Random& random) : random_(random) {}

  template <class Id>
  Id next(Instant now) {
    return Id{next_bytes(now)};
  }

 private:
  UuidBytes next_bytes(Instant now);

  Random& random_;
  std::atomic<std::uint64_t> last_tick_{0};
};

UuidBytes uuidv7_floor_bytes(Instant at);
Instant uuidv7_time_bytes(const UuidBytes& bytes);

// The instant an id was made, exact to the microsecond for our own ids.
template <class Id>
Instant uuidv7_time(const Id& id) {
  return uuidv7_time_bytes(id.bytes);
}

// The smallest id made at `at` or later: every id made before `at` is below it. For walking a primary key by time.
template <class Id>
Id uuidv7_lower_bound(Instant at) {
  return Id{uuidv7_floor_bytes(at)};
}

}  // namespace semel::base
