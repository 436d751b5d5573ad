// expect: lambdas and member functions lose their object
// The closure is gone when the workflow goes on.
#include "semel/workflow.h"

semel::Workflow<int> free_function(semel::WorkflowContext&) { co_return 1; }

void caller(int captured) {
#ifdef CONTROL
  semel::workflow("count", free_function);
#else
  auto lambda = [captured](semel::WorkflowContext&) -> semel::Workflow<int> { co_return captured; };
#endif
  (void)captured;
}
