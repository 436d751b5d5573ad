// Planted bugs: a checker is trusted only if it finds the bug that it is there for.
//
//   if (SEMEL_MUTANT("sync-normal")) ...the bug... else ...the guard...
//
// Compiled out (always false) unless the build defines SEMEL_MUTANTS: one build carries all of them, and the
// environment variable SEMEL_MUTANT chooses at most one at run time. The list, with the test that must fail, is in
// ./dev.
#pragma once

#include <string_view>

#if defined(SEMEL_MUTANTS)
namespace semel::base {
bool is_planted(std::string_view name);
}
#define SEMEL_MUTANT(name) (::semel::base::is_planted(name))
#else
#define SEMEL_MUTANT(name) (false)
#endif
