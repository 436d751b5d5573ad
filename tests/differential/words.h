// Operations, answers and snapshots as text: what is compared, counted and printed.
#pragma once

#include <string>
#include <vector>

#include "core/operations.h"
#include "store/port.h"

namespace semel::differential {

// "TaskEnqueue", in the order of core::Operation.
const std::vector<std::string>& operation_kinds();
std::string kind_of(const core::Operation& operation);

// The operation with the fields that matter for reading a failure.
std::string describe(const core::Operation& operation);

// Everything an answer says, messages aside. Equal stores give equal text.
std::string describe(const core::Answer& answer);

// What is counted: the kind of operation and what became of it, "TaskEnqueue created", "TaskComplete LeaseLost".
std::string outcome_of(const core::Operation& operation, const core::Answer& answer);

// What a batch told besides its answers: suppressed duplicates and executions that ended.
std::string describe_effects(const store::Batch& batch);

// What a batch asked for again must still say: which execution, which claim, which end. Empty where the answer is not
// kept.
std::string essence_of(const core::Answer& answer);

// Lines of one and not of the other.
std::string difference(const std::string& left, const std::string& right);

}  // namespace semel::differential
