// expect: references, pointers and views dangle
// What the argument refers to is gone after the first await.
#include <string>

#include "semel/workflow.h"

#ifdef CONTROL
semel::Workflow<int> order(semel::WorkflowContext&, std::string) {
#else
semel::Workflow<int> order(semel::WorkflowContext&, const std::string&) {
#endif
  co_return 1;
}
