// expect: operand
// Comparing the ids of different things is always a mistake.
#include "semel/id.h"

bool same(semel::ExecutionId execution, semel::ClaimId claim) {
#ifdef CONTROL
  return execution == execution && claim == claim;
#else
  return execution == claim;
#endif
}
