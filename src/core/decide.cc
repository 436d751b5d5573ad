#include "core/decide.h"

#include "core/decide_parts.h"

namespace semel::core {

void gather(const Operation& operation, const RowCache& rows, Instant now, Needs& needs) {
  std::visit([&](const auto& op) { gather_part(op, rows, now, needs); }, operation);
}

Answer decide(const Operation& operation, RowCache& rows, Instant now) {
  return std::visit([&](const auto& op) { return decide_part(op, rows, now); }, operation);
}

}  // namespace semel::core
