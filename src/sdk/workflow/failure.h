// Errors between exceptions and the JSON of the history: {"name":..., "message":..., "details":...}.
#pragma once

#include <exception>
#include <string>

#include "semel/detail/run_port.h"

namespace semel::sdk {

std::string error_json(std::string_view name, std::string_view message);
// Of whatever was thrown, std::exception or not.
std::string error_json(const std::exception_ptr& thrown);
bool is_cancelled(const std::exception_ptr& thrown);

// TaskFailed, Cancelled, TimedOut, or what left a spawned part. `what` names the thing that ended so.
// Precondition: the outcome is not ok.
[[noreturn]] void throw_outcome(const detail::Outcome& outcome, const std::string& what);

}  // namespace semel::sdk
