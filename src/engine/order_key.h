// What an operation is about, as a number: operations with one key keep their order (they share a line of the writer).
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "core/operations.h"

namespace semel::engine {

// Operations about nothing in particular (claims, sessions, sweeps) have one key among themselves.
template <class Op>
std::size_t order_key_of(const Op& op) {
  if constexpr (requires {
                  op.identity.size();
                  op.execution;
                }) {  // TaskDeliver: as the enqueue of the same id
    return std::hash<std::string>{}(op.identity);
  } else if constexpr (requires { ExecutionId(op.execution); }) {
    return std::hash<ExecutionId>{}(op.execution);
  } else {
    return 0;
  }
}
inline std::size_t order_key_of(const core::TaskEnqueue& op) {
  if (op.identity) return std::hash<std::string>{}(*op.identity);
  if (op.idempotency_key) return std::hash<std::string>{}(*op.idempotency_key);
  return std::hash<ExecutionId>{}(op.id);
}

inline std::size_t order_key(const core::Operation& operation) {
  return std::visit([](const auto& op) { return order_key_of(op); }, operation);
}

}  // namespace semel::engine
