// How programs keep an engine until they end; exit_child_main.cc has each of them.
#pragma once

#include <array>
#include <string>

namespace semel::crash {

inline constexpr std::array<const char*, 6> kExitForms = {"optional", "unique_ptr",    "local_static",
                                                          "leaked",   "atexit_before", "atexit_after"};

// Runs the child with this form until it has ended: "exit 0", "signal 6", ...
std::string exit_of(const std::string& form, const std::string& store);

}  // namespace semel::crash
