// An enqueue request as JSON, with the fields of POST /tasks: what REST, the command line and the inbox speak.
#pragma once

#include <string>

#include "engine/requests.h"

namespace semel::engine {

// Unknown fields and wrong types are an InvalidArgument that names the field. `args` is kept byte for byte.
Result<EnqueueRequest> enqueue_request_from_json(std::string json);

}  // namespace semel::engine
