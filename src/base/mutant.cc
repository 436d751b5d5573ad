// Reads which bug is planted: the environment variable SEMEL_MUTANT, once.
#include "base/mutant.h"

#if defined(SEMEL_MUTANTS)

#include <cstdlib>

namespace semel::base {

bool is_planted(std::string_view name) {
  static const char* const chosen = std::getenv("SEMEL_MUTANT");
  return chosen != nullptr && name == chosen;
}

}  // namespace semel::base

#endif
