// The request of `task enqueue` and `workflow start` from its flags.
#pragma once

#include "cli/args.h"
#include "cli/session.h"
#include "engine/requests.h"

namespace semel::cli {

Flag retry_flag();

// Flags that a verb does not offer are simply absent.
Result<engine::EnqueueRequest> enqueue_request_of(Session& session, const Args& args);

}  // namespace semel::cli
