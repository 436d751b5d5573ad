// One run's code in memory, as its owner drives it: history in, commands out. Not thread-safe; never throws because of
// user code.
//
//   Machine machine(type.starter(), info);
//   machine.replay(history);                  // all that is recorded; nothing for a new run
//   record(machine.take_commands());          // what the code asked for that is not recorded yet
//   ... inputs arrive ...
//   record(machine.stamp(a, now)), machine.hand_over(stamped), ...   // one or more of them
//   machine.run();                                                   // the code learns them at once, and goes on
//   record(machine.take_commands());
//
// Take the commands after every run. Whatever is learned or taken has to be recorded in that order, or the machine
// thrown away: another one, given the history, comes to the same place.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sdk/workflow/command.h"
#include "sdk/workflow/run.h"

namespace semel::sdk {

class Machine {
 public:
  Machine(WorkflowStarter starter, RunInfo info, LogSink log = {});

  // The steps of a replay one by one, for a history that is read in pieces: `expect` everything, `start`, `replay`
  // event by event, and `run`, unless live inputs are to be learned together with the last ones of the history. The
  // start is one of those too: a history that holds nothing begins the code in `run`.
  void expect(std::span<const core::Event> history);
  void start();
  // NondeterminismError (details: run, seq, expected, actual) when the code does not do what the event records. The
  // machine is then of no use: it asks for nothing any more and answers the same error. Unsupported when the event is
  // of a kind that a later version wrote.
  Result<void> replay(const core::Event& event);
  // All of it, `run` included.
  Result<void> replay(std::span<const core::Event> history);

  // A live input as it has to be recorded: with `issued`, `joined` and `at` as they are now.
  core::Event stamp(core::Event input, Instant now) const;
  // A stamped input lies ready for the code, which learns it with the next `run`.
  void hand_over(const core::Event& input);
  // The code goes on until everything waits.
  void run();
  // All three at once, for what need not be durable before the code goes on.
  core::Event learn(core::Event input, Instant now);
  // What the code asked for since the last call, in order; a closing command is the last one.
  std::vector<Command> take_commands();
  // Bodies of ctx.run that are to be called, each once. Not those whose result is in the history.
  std::vector<LocalRun> take_locals();
  // Signals that no code asked for, and updates that it has not answered, in the order in which they came. A run that
  // continues as new hands them to its successor.
  std::vector<core::Event> unread() const;
  // Answered from memory; changes nothing.
  Result<std::string> query(const std::string& name, const std::string& args);

  // Did the code ask for the idempotency key of that call?
  bool key_read(std::int32_t command) const { return run_.key_read(command); }
  bool started() const { return started_; }
  bool closed() const { return run_.closed() || ended_from_outside_; }
  bool waiting() const { return started_ && !closed(); }
  std::int64_t events_replayed() const { return seq_; }

 private:
  Result<void> replay_input(const core::Event& event);
  Result<void> replay_command(const core::Event& event);
  void replay_patch(const core::Event& event);
  Error refuse(const std::string& expected, const std::string& actual);

  WorkflowStarter starter_;
  RunInfo info_;
  Run run_;
  bool started_ = false;
  bool ended_from_outside_ = false;
  std::int64_t seq_ = 0;
  std::size_t events_left_ = 0;
  std::optional<Error> refused_;
};

}  // namespace semel::sdk
