// What came out of a workflow in one world, in a form that can be compared with another world.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "semel/explorer.h"

namespace semel::testing {

struct Facts {
  std::string outcome;
  std::string state;
  // What the run and those that continue it asked for and learned: "'charge' #2 of run 1" -> "completed 42"; nothing:
  // asked for, no outcome recorded.
  std::map<std::string, std::string> calls;
  // The same of children. They may outlive the workflow, so what is missing here says nothing.
  std::map<std::string, std::string> calls_of_children;
  std::vector<std::pair<std::string, std::string>> observed;
  std::vector<std::string> broken;  // invariants of the store
};

// Ids of executions are chosen anew in every world: they are replaced by what they are.
Facts facts_of(TestEngine& kit, const RawHandle& run, const Result<Execution>& ended);

std::vector<CrashFact> differences(const Facts& expected, const Facts& actual);

}  // namespace semel::testing
