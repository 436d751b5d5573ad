// expect: g++ before 13: await a named future
// only: gcc
// That compiler destroys temporaries of an await twice.
#include "semel/workflow.h"

#if __GNUC__ >= 13 && !defined(CONTROL)
#error g++ before 13: await a named future (this compiler may await temporaries)
#endif

semel::Workflow<int> order(semel::WorkflowContext& ctx) {
#ifdef CONTROL
  auto charged = ctx.execute<int>("charge");
  co_return co_await charged;
#else
  co_return co_await ctx.execute<int>("charge");
#endif
}
