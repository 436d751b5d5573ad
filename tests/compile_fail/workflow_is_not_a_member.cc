// expect: lambdas and member functions lose their object
// Nobody keeps the object alive, least of all over a restart.
#include "semel/workflow.h"

struct Shop {
#ifdef CONTROL
  static
#endif
      semel::Workflow<int>
      order(semel::WorkflowContext&) {
    co_return 1;
  }
};
