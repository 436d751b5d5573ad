#include "core/lifecycle.h"

#include <algorithm>

namespace semel::core {
namespace {

using Targets = std::array<std::array<std::uint16_t, kStatusCount>, 2>;

// kMoves folded into one bit set per (kind, from): the check runs on every transition.
constexpr Targets fold_moves() {
  Targets out{};
  for (const Move& move : kMoves) {
    auto& bits = out[static_cast<std::size_t>(move.kind)][static_cast<std::size_t>(move.from)];
    bits = static_cast<std::uint16_t>(bits | 1u << static_cast<unsigned>(move.to));
  }
  return out;
}

constexpr Targets kTargets = fold_moves();

static_assert(std::none_of(kMoves.begin(), kMoves.end(), [](const Move& move) { return is_terminal(move.from); }),
              "a terminal row never changes");

}  // namespace

bool can_move(Kind kind, Status from, Status to) {
  const auto bits = kTargets[static_cast<std::size_t>(kind)][static_cast<std::size_t>(from)];
  return (bits >> static_cast<unsigned>(to) & 1u) != 0;
}

bool has_status(Kind kind, Status status) {
  return status != (kind == Kind::task ? Status::suspended : Status::claimed);
}

}  // namespace semel::core
