// What the verbs about workflows share.
#pragma once

#include <string>

#include "cli/args.h"
#include "cli/session.h"
#include "engine/requests.h"

namespace semel::cli {

// ID: a workflow_id (its newest run) or a run_id.
Positional run_positional();
Result<engine::RunView> run_of(Session& session, engine::Runtime& runtime, const Args& args);

// --attr KEY=VALUE, given many times, as a JSON object; empty: none. A VALUE that is a JSON scalar is one, anything
// else is text.
Result<std::string> attributes_of(const Args& args);

}  // namespace semel::cli
