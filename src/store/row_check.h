// What the integers of stored rows may be. A codec asks for every row it has read; a value out of its range means that
// somebody else wrote the row, and nothing is decided from it.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "core/row_cache.h"
#include "core/rows.h"

namespace semel::store {

// The last word of each stored enumeration.
constexpr std::int64_t last_number(Kind) { return static_cast<std::int64_t>(Kind::workflow); }
constexpr std::int64_t last_number(Status) { return static_cast<std::int64_t>(Status::dead_lettered); }
constexpr std::int64_t last_number(core::Space) { return static_cast<std::int64_t>(core::Space::fire); }
constexpr std::int64_t last_number(core::AttemptEnd) { return static_cast<std::int64_t>(core::AttemptEnd::timed_out); }
constexpr std::int64_t last_number(core::CloseReason) { return static_cast<std::int64_t>(core::CloseReason::retried); }
constexpr std::int64_t last_number(core::SuspendReason) {
  return static_cast<std::int64_t>(core::SuspendReason::paused);
}
constexpr std::int64_t last_number(core::Encoding) { return static_cast<std::int64_t>(core::Encoding::opaque); }
constexpr std::int64_t last_number(core::Pool) { return static_cast<std::int64_t>(core::Pool::runs); }
constexpr std::int64_t last_number(core::TimerKind) { return static_cast<std::int64_t>(core::TimerKind::run); }
constexpr std::int64_t last_number(core::LedgerRule) {
  return static_cast<std::int64_t>(core::LedgerRule::repeated_redrive);
}
constexpr std::int64_t last_number(core::TenantId) { return std::numeric_limits<std::int32_t>::max(); }
constexpr std::int64_t last_number(core::LaneId) { return std::numeric_limits<std::int32_t>::max(); }

// Whether a stored integer is a T at all.
template <class T>
constexpr bool fits(std::int64_t stored) {
  if constexpr (std::is_same_v<T, bool>) return stored == 0 || stored == 1;
  else if constexpr (std::is_enum_v<T>) return stored >= 0 && stored <= last_number(T{});
  else if constexpr (std::is_same_v<T, Instant> || std::is_same_v<T, Duration>) return stored >= 0;
  else if constexpr (sizeof(T) < sizeof(stored))
    return stored >= std::numeric_limits<T>::min() && stored <= std::numeric_limits<T>::max();
  else return true;
}

// The first column of a row that is no value of its type: "revision is 4294967296".
using Misfit = std::optional<std::string>;

// Each throws core::InvariantBroken, which names table, key and value, unless every value is in its range.
void check(const core::Execution& row, const Misfit& misfit);
void check(const core::Payload& row, const Misfit& misfit);
void check(const core::Identity& row, const Misfit& misfit);
void check(const core::Lane& row, const Misfit& misfit);
void check(const core::Group& row, const Misfit& misfit);  // its completion too
void check(const core::Attention& row, const Misfit& misfit);
void check(const core::ReadyRow& row, const Misfit& misfit);
void check(const core::BlockedRow& row, const Misfit& misfit);
void check(const core::TimerRow& row, const Misfit& misfit);
void check(const core::KeySlot& row, const Misfit& misfit);
void check(const core::Session& row, const Misfit& misfit);
void check(const core::Lease& row, const Misfit& misfit);
void check(const core::Run& row, const Misfit& misfit);
void check(const core::HistoryRow& row, const Misfit& misfit);
void check(const core::Mail& row, const Misfit& misfit);
void check(const core::Watch& row, const Misfit& misfit);
void check(const core::Signal& row, const Misfit& misfit);
void check(const core::RowCache::Noted& row, const Misfit& misfit);
void check(const core::LedgerNote& row, const Misfit& misfit);
void check(const core::InboxRow& row, const Misfit& misfit);

}  // namespace semel::store
