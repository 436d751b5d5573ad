// The crash points of the product, found in its sources: one that is added is visited without being listed anywhere.
#pragma once

#include <string>
#include <vector>

namespace semel::crash {

// Names in SEMEL_FP("...") below src/, sorted.
std::vector<std::string> all_failpoints();
// Those that begin with one of the prefixes.
std::vector<std::string> failpoints_of(const std::vector<std::string>& prefixes);

}  // namespace semel::crash
