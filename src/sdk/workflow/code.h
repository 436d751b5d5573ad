// A workflow function as the engine runs it: a Machine, with payloads opened on their way in and sealed on their way
// out.
#pragma once

#include <memory>

#include "engine/run_code.h"
#include "sdk/convert.h"
#include "sdk/workflow/machine.h"

namespace semel::sdk {

// Every run that is made of it gets its own code.
engine::WorkflowTable::Maker make_run_code(WorkflowStarter starter, Sealer sealer, LogSink log);

// What an event carries, in plain. Data that no codec of ours wrote passes as it is.
core::Event open_event(core::Event event, const Sealer& sealer);

}  // namespace semel::sdk
