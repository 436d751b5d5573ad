// expect: references, pointers and views dangle
// A view is a reference in disguise; parts follow the same rule.
#include <string>
#include <string_view>

#include "semel/workflow.h"

#ifdef CONTROL
semel::Part<int> charge(semel::WorkflowContext&, std::string) {
#else
semel::Part<int> charge(semel::WorkflowContext&, std::string_view) {
#endif
  co_return 1;
}
