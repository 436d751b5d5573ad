// The explanation of an execution, told to people.
#pragma once

#include <string>

#include "engine/explain.h"

namespace semel::cli {

std::string explanation_text(const engine::Explanation& explanation);

}  // namespace semel::cli
