// expect: Result<int>
// A result is looked at before it is used.
#include "semel/result.h"

semel::Result<int> count();

int caller() {
#ifdef CONTROL
  return count().value();
#else
  return count();
#endif
}
