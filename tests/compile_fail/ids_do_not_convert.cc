// expect: ExecutionIdTag
// An id of one thing is never taken for the id of another.
#include "semel/id.h"

void complete(semel::ExecutionId id);

void caller() {
#ifdef CONTROL
  complete(semel::ExecutionId{});
#else
  complete(semel::SessionId{});
#endif
}
