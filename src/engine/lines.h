// Which line of the writer an operation takes. Operations about one id share a line, so their order stays that of
// arrival.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "core/operations.h"

namespace semel::engine {

// Operations of callers about an id, or about nothing that anybody else could name, go by this number.
inline std::optional<std::size_t> line_key(const core::TaskEnqueue& op) {
  if (op.kind == Kind::workflow) return std::nullopt;
  if (op.identity) return std::hash<std::string>{}(*op.identity);
  if (op.idempotency_key) return std::hash<std::string>{}(*op.idempotency_key);
  return std::hash<ExecutionId>{}(op.id);
}
inline std::optional<std::size_t> line_key(const core::TaskDeliver& op) {
  return std::hash<std::string>{}(op.identity);  // as the enqueue of the same id
}
template <class Op>
std::optional<std::size_t> line_key(const Op&) {
  return std::nullopt;
}
inline std::optional<std::size_t> line_key(const core::Operation& operation) {
  return std::visit([](const auto& op) { return line_key(op); }, operation);
}

// With several lines the first one serves claims and most sweeps, which take long, its share of the enqueues, and every
// start of a workflow, so that a claim may ride with it; what holders write about their executions keeps off it, so
// that no outcome waits behind a claim.
inline std::size_t line_of(const core::RunSignal& op, std::size_t lines) {
  if (!op.execution) return 0;  // as the start of the same id
  return 1 + std::hash<ExecutionId>{}(*op.execution) % (lines - 1);
}
template <class Op>
std::size_t line_of(const Op& op, std::size_t lines) {
  if (const auto key = line_key(op)) return *key % lines;
  if constexpr (requires { ExecutionId(op.execution); })
    return 1 + std::hash<ExecutionId>{}(op.execution) % (lines - 1);
  else return 0;
}

inline std::size_t line_of(const core::Operation& operation, std::size_t lines) {
  if (lines == 1) return 0;
  return std::visit([lines](const auto& op) { return line_of(op, lines); }, operation);
}

}  // namespace semel::engine
