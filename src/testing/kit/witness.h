// Sees every piece of user code that the kit runs, and decides where the worker that runs it dies.
//
// A worker dies *between* things: its memory and what it had not recorded are lost, its leases have to expire, and a
// new worker takes its place.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "engine/handler.h"
#include "engine/run_code.h"

namespace semel::testing {

// A call of a run's code.
struct CallId {
  ExecutionId run;
  std::int32_t number = 0;
  auto operator<=>(const CallId&) const = default;
};

// What a turn of a run did, in words.
struct TurnStory {
  std::string learned, did;
  bool records = false;  // something of it has to be written
};

class Witness {
 public:
  enum class Fate : std::uint8_t {
    lives,
    dies_before,  // the code does not run
    dies_after,   // it runs, and nobody will know
  };
  virtual ~Witness() = default;

  virtual Fate turn_begins(const core::Execution& run) = 0;
  // True: the worker dies once everything of the turn is recorded.
  virtual bool turn_ended(const TurnStory& story) = 0;
  // The code does not fit its history.
  virtual void turn_refused(const core::Execution& run, const Error& error) = 0;
  // A body of ctx.run has run. True: the worker dies before its result is recorded.
  virtual bool body_ran(const CallId& call, const std::string& name, bool key_read) = 0;
  // A step was asked for, with or without a look at its key.
  virtual void step_asked(const CallId& call, bool key_read) = 0;

  virtual bool attempt_begins(const core::Execution& task) = 0;  // true: the worker dies before the function
  virtual bool attempt_ended(const core::Execution& task) = 0;   // true: the worker dies before it is recorded
  virtual void key_read(const core::Execution& task) = 0;        // by the function of a task
};

// Whose code runs now, and how the worker is ended.
class TurnHost {
 public:
  virtual ~TurnHost() = default;
  virtual Witness& witness() = 0;
  // Counts the pieces of user code that were run.
  virtual std::uint64_t job() const = 0;
  // From now on nothing that the worker does is heard of; it is replaced when the present piece of code returns.
  virtual void kill() = 0;
  virtual void turn_is_open(const TurnStory* story) = 0;
};

// The same code, watched.
engine::WorkflowTable::Maker watched(engine::WorkflowTable::Maker maker, TurnHost& host);

}  // namespace semel::testing
