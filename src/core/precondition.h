// Why a conditional write found another row than it expected.
//
// A delivery and a claim expect a queued row; the writes of a holder expect it claimed or running under their version.
// The first three happen in any healthy system with redeliveries; the last two are logged as errors and counted.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/rows.h"
#include "semel/error.h"

namespace semel::core {

enum class Precondition : std::uint8_t {
  missing,                 // no such row
  concurrent_claim,        // another claim owns it
  already_completed,       // it succeeded
  unexpected_terminal,     // it ended otherwise: cancelled, timed out, failed
  unexpected_nonterminal,  // it went back to the queue under the holder
};

std::string_view to_string(Precondition value);  // with hyphens, as it is printed

// `found` none: no row.
constexpr Precondition classify(std::optional<Status> found) {
  if (!found) return Precondition::missing;
  if (*found == Status::succeeded) return Precondition::already_completed;
  if (is_terminal(*found)) return Precondition::unexpected_terminal;
  if (*found == Status::claimed || *found == Status::running) return Precondition::concurrent_claim;
  return Precondition::unexpected_nonterminal;
}

constexpr bool is_unexpected(Precondition value) { return value >= Precondition::unexpected_terminal; }

// Errors of refused writes carry it as the detail `precondition`.
void add_precondition(Error& error, Precondition value);
std::optional<Precondition> precondition_of(const Error& error);

}  // namespace semel::core
