// Workflows of the simulated world: a random program per number, run by one interpreter. The number is the argument of
// the workflow, so that every replay runs the same program.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "semel/workflow.h"

namespace semel::sim {

// What bodies of ctx.run do to the world.
class Effects {
 public:
  virtual ~Effects() = default;
  // `key` is what a receiver would know a repeat by. Throws when the world wants the body to fail.
  virtual void happen(ExecutionId run, const std::string& name, const std::string& key) = 0;
};

struct ProgramId {
  std::uint64_t seed = 0;  // 40 bits
  int depth = 0;           // generations of children it may still start
  int continues = 0;       // times it may still continue as new

  std::uint64_t pack() const;  // fits a double
  static ProgramId unpack(std::uint64_t packed);
};

enum class Do : std::uint8_t { effect, step, nap, both, first, listen, child, book, tell, state, beside, count };

struct Op {
  Do what{};
  std::uint64_t dice = 0;  // chooses the details
};

struct Program {
  std::vector<Op> ops;
  bool fails = false;      // at its end
  bool strict = false;     // the first failure of an op is its own
  bool continues = false;  // as new
  bool drains = false;     // takes every signal that is there before it completes
};
Program make_program(const ProgramId& id);

// `effects` must outlive every run made of it.
WorkflowStarter program_starter(Effects& effects);

}  // namespace semel::sim
