// The part of an explanation that only runs have.
#pragma once

#include <string>

#include "engine/explain.h"

namespace semel::engine {

// Does this event leave something open, does it settle what a command of that number left open?
bool opens_command(core::EventKind kind);
bool settles_command(core::EventKind kind);
std::string_view noun_of(core::EventKind kind);  // what a command is about: step, child, timer, ...

// Reads the mailbox and walks the history of a live run. A closed one has nothing open.
Result<ExplainedRun> explain_run(store::Store& store, const core::Execution& run);

// `none`: it is not suspended, or has something to decide.
WaitReason why_suspended(const core::Execution& run, const ExplainedRun& facts);

// Parts of the one sentence.
std::string open_words(const ExplainedRun& facts);  // "2 steps and a timer due 2026-..."
std::string parked_words(const ExplainedRun& facts);
std::string end_words(const core::Execution& run);  // of a closed run: the reason, and where the workflow went on
std::string owner_words(const core::Execution& run, const ExplainedRun& facts);

}  // namespace semel::engine
