// What the engine writes into an execution's `error` when no worker wrote one.
#pragma once

#include <string_view>

namespace semel::core {

inline constexpr std::string_view kLeaseLostError =
    R"({"name":"LeaseLost","message":"the worker stopped renewing its lease"})";
inline constexpr std::string_view kAttemptTimeoutError =
    R"({"name":"AttemptTimeout","message":"the attempt ran longer than attempt_timeout"})";
inline constexpr std::string_view kTimedOutError = R"({"name":"TimedOut","message":"not finished within timeout"})";

}  // namespace semel::core
