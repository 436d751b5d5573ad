// What an id that already exists answers: section 3 of the contract as data.
//
// Written by hand from that page and read by tests on every backend and by the generator of docs/duplicates.md. The
// code that decides is somewhere else and shares nothing with this table: they check each other.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "semel/error.h"
#include "semel/status.h"

namespace semel::core {

enum class DuplicateOutcome : std::uint8_t { created, existing, error };

struct DuplicateAnswer {
  DuplicateOutcome outcome = DuplicateOutcome::created;
  std::optional<ErrorCode> error = std::nullopt;  // set iff outcome is error
  bool links_previous = false;                    // created: previous_execution_id is the execution found
  bool terminates_live = false;  // created: the live run found ends `cancelled`, close_reason `terminated`

  bool operator==(const DuplicateAnswer&) const = default;
};

// One fully spelled-out request against one stored state.
struct DuplicateCell {
  Kind kind;
  std::optional<Status>
      found;  // status of the newest execution of the id; empty: never seen, discarded or removed by retention
  Reuse reuse;
  OnDuplicate on_duplicate;
  bool match_args;
  bool same_args;
  bool same_name;

  DuplicateAnswer answer;
  const char* rule;  // why, in words
};

// Every combination exactly once: statuses the kind can have x 3 x 3 x 2 x 2 x 2.
std::vector<DuplicateCell> expand_duplicate_matrix();

// docs/duplicates.md.
std::string duplicate_matrix_markdown();

}  // namespace semel::core
