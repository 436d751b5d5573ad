// What a run's code asks for, on its way from the code to whoever makes it durable.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "core/history.h"
#include "semel/payload.h"
#include "semel/workflow_options.h"

namespace semel::sdk {

struct Command {
  core::Event event;            // what is to be recorded; `execution` is filled in by the store
  std::optional<Payload> args;  // step_scheduled, child_started
  std::optional<StepOptions> step;
  std::optional<ChildOptions> child;
};

// One call of ctx.run. `body` may be called on any thread, once, while the machine lives or not; what it answers is an
// input to learn.
struct LocalRun {
  int command = 0;
  std::string name;
  std::function<core::Event()> body;
};

}  // namespace semel::sdk
