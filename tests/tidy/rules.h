// The law of the house as tables. tidy_test.cc applies each rule to the tree and to small examples that must fail.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "tests/tidy/tree.h"

namespace semel::tidy {

using Rule = std::vector<Finding> (*)(const SourceFile&);

// An include points to its own layer or to a lower one; product code never includes testing/.
std::vector<Finding> include_direction(const SourceFile& file);
// Concrete backends are named by themselves, by tests and by the wiring files.
std::vector<Finding> backends_in_wiring_only(const SourceFile& file);
// The memory store is an independent model: it shares rows, texts and backoff arithmetic with core, never decisions.
std::vector<Finding> oracle_is_independent(const SourceFile& file);
// Third-party headers that are slow to compile: only in .cc files, only in the folder of their facade.
std::vector<Finding> heavy_headers(const SourceFile& file);
// Installed headers include the standard library and other installed headers.
std::vector<Finding> public_headers_are_light(const SourceFile& file);
// Clocks, chance and sleeping come in through the door.
std::vector<Finding> time_is_injected(const SourceFile& file);
// Threads are started in the driver; engine loops step.
std::vector<Finding> threads_in_the_driver(const SourceFile& file);
// A variable that lives as long as the process has no destructor: an engine in a singleton may outlive it.
std::vector<Finding> statics_have_no_destructor(const SourceFile& file);
std::vector<Finding> file_length(const SourceFile& file);
std::vector<Finding> forbidden_words(const SourceFile& file);

}  // namespace semel::tidy
