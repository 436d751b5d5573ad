// About how many bytes an operation carries: for the bounds of queues and batches.
#pragma once

#include <cstddef>

#include "core/operations.h"

namespace semel::engine {

inline constexpr std::size_t kOperationOverhead = 256;

inline std::size_t size_of(const core::TaskEnqueue& op) {
  return op.args.size() + op.memo.size() + op.attributes.size() + op.name.size() +
         (op.identity ? op.identity->size() : 0);
}
inline std::size_t size_of(const core::TaskComplete& op) { return op.result ? op.result->size() : 0; }
inline std::size_t size_of(const core::TaskFail& op) { return op.error.size(); }
inline std::size_t size_of(const core::TaskHeartbeat& op) { return op.progress ? op.progress->size() : 0; }
inline std::size_t size_of(const core::LedgerAdd& op) { return op.notes.size() * 128; }
inline std::size_t size_of(const core::RunAdvance& op) {
  std::size_t bytes = 0;
  for (const auto& entry : op.entries)
    bytes += 128 + entry.event.data.size() + (entry.start ? size_of(*entry.start) : 0);
  for (const auto& event : op.carried) bytes += 128 + event.data.size();
  return bytes;
}
inline std::size_t size_of(const core::RunSignal& op) { return op.data.size() + (op.start ? size_of(*op.start) : 0); }
inline std::size_t size_of(const core::EnqueueWithin& op) {
  std::size_t bytes = 0;
  for (const auto& task : op.tasks) bytes += size_of(task);
  return bytes;
}
template <class Op>
std::size_t size_of(const Op&) {
  return 0;
}

inline std::size_t operation_size(const core::Operation& operation) {
  return kOperationOverhead + std::visit([](const auto& op) { return size_of(op); }, operation);
}

}  // namespace semel::engine
