// expect: put several into a struct
// The arguments of a workflow are one JSON value.
#include "semel/workflow.h"

#ifdef CONTROL
semel::Workflow<int> order(semel::WorkflowContext&, int) { co_return 1; }
#else
semel::Workflow<int> order(semel::WorkflowContext&, int, int) { co_return 1; }
#endif

const auto kOrder = semel::workflow("order", order);
