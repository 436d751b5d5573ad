// Workflows that come with the program: for trying things out. Yours are C++ in a program of your own.
#pragma once

#include <memory>

#include "engine/run_code.h"

namespace semel::cli {

// approval  {"within":"1h"}: waits for the signal `approve` with a name; query `notes`, update `note` with a text
// steps     {"count":3,"task":"echo","pause":"0s"}: runs the task again and again, one after the other
std::shared_ptr<const engine::WorkflowTable> builtin_workflows();

}  // namespace semel::cli
