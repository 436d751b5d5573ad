// expect: a workflow awaits futures of its WorkflowContext and Parts, nothing else
// Whatever goes on at a time of its own cannot be replayed.
#include <coroutine>

#include "semel/workflow.h"

semel::Workflow<void> order(semel::WorkflowContext& ctx) {
#ifdef CONTROL
  auto awaited = ctx.sleep(semel::Duration(1));
#else
  std::suspend_never awaited;
#endif
  (void)ctx;
  co_await awaited;
}
