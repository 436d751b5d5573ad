// Pieces shared by the files of this folder.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/json_writer.h"
#include "engine/requests.h"
#include "store/port.h"

namespace semel::api {

// A payload as a JSON value.
std::string payload_json(std::string_view bytes, bool known_to_be_json);
// The members of an execution without its braces, for objects that have more.
void write_execution_fields(base::JsonWriter& json, const store::ExecutionView& view);
// What an enqueue answers besides the ids.
void write_outcome_fields(base::JsonWriter& json, const engine::EnqueueOutcome& outcome);
void write_execution(base::JsonWriter& json, const store::ExecutionView& view);

}  // namespace semel::api
