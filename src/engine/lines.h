// Which line of the writer an operation takes. Operations about one id share a line, so their order stays that of
// arrival.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "core/operations.h"

namespace semel::engine {

// With several lines the first one serves claims and most sweeps, which take long, its share of the enqueues, and every
// start of a workflow, so that a claim may ride with it; what holders write about their executions keeps off it, so that
// no outcome waits behind a claim.
inline std::size_t line_of(const core::TaskEnqueue& op, std::size_t lines) {
  if (op.kind == Kind::workflow) return 0;
  if (op.identity) return std::hash<std::string>{}(*op.identity) % lines;
  if (op.idempotency_key) return std::hash<std::string>{}(*op.idempotency_key) % lines;
  return std::hash<ExecutionId>{}(op.id) % lines;
}
inline std::size_t line_of(const core::TaskDeliver& op, std::size_t lines) {
  return std::hash<std::string>{}(op.identity) % lines;  // as the enqueue of the same id
}
inline std::size_t line_of(const core::RunSignal& op, std::size_t lines) {
  if (!op.execution) return 0;  // as the start of the same id
  return 1 + std::hash<ExecutionId>{}(*op.execution) % (lines - 1);
}
template <class Op>
std::size_t line_of(const Op& op, std::size_t lines) {
  if constexpr (requires { ExecutionId(op.execution); })
    return 1 + std::hash<ExecutionId>{}(op.execution) % (lines - 1);
  else return 0;
}

inline std::size_t line_of(const core::Operation& operation, std::size_t lines) {
  if (lines == 1) return 0;
  return std::visit([lines](const auto& op) { return line_of(op, lines); }, operation);
}

}  // namespace semel::engine
