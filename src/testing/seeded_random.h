// Random tests print their seed and take it back.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "base/random.h"

namespace semel::testing {

using base::SeededRandom;

// The seed of a random test: SEMEL_SEED when set, else `fallback`. Always printed, so a failure can be repeated.
inline std::uint64_t test_seed(std::uint64_t fallback) {
  const char* given = std::getenv("SEMEL_SEED");
  const std::uint64_t seed = given ? std::strtoull(given, nullptr, 10) : fallback;
  std::fprintf(stderr, "seed %llu (repeat with SEMEL_SEED)\n", static_cast<unsigned long long>(seed));
  return seed;
}

}  // namespace semel::testing
