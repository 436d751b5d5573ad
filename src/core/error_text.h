// What the engine writes into an execution's `error` when no worker wrote one.
#pragma once

#include <string>
#include <string_view>

#include "semel/error.h"

namespace semel::core {

inline constexpr std::string_view kLeaseLostError =
    R"({"name":"LeaseLost","message":"the worker stopped renewing its lease"})";
inline constexpr std::string_view kAttemptTimeoutError =
    R"({"name":"AttemptTimeout","message":"the attempt ran longer than attempt_timeout"})";
inline constexpr std::string_view kTimedOutError = R"({"name":"TimedOut","message":"not finished within timeout"})";

// What a run learns of a step, child or signal that was refused.
inline std::string refused_error(ErrorCode code) {
  return "{\"name\":\"" + std::string(error_info(code).name) + "\",\"message\":\"it was refused\"}";
}

}  // namespace semel::core
