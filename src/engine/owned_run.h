// One run in the memory of its owner. Private to run_keeper.
#pragma once

#include <atomic>
#include <deque>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "engine/run_keeper.h"

namespace semel::engine {

// An entry of the next RunAdvance; what it starts is made of `request` right before it is recorded.
struct PendingEntry {
  core::RunAdvance::Entry entry;
  std::optional<EnqueueRequest> request;
};

struct RunQuery {
  std::string name, args;
  Callback<std::string> done;
};

struct RunKeeper::Owned {
  ClaimedRun claimed;
  const core::Execution& row() const { return claimed.view.execution; }
  // Nobody had it before: its history is run_started. Version 1 is the row's when it was made.
  bool is_new() const { return row().version == 2; }

  // ---- of the turn under way: `busy` says that there is one ----
  std::unique_ptr<RunCode> code;
  std::int32_t known = 0;                          // events that are recorded
  std::vector<PendingEntry> entries;               // learned or asked for, not recorded yet
  std::optional<PendingEntry> close;               // comes last, whatever is learned until it is recorded
  std::optional<std::vector<core::Mail>> fetched;  // its mail, read for many runs at once
  std::int32_t rested_at = 0;  // the code is known to have done all that comes of so many recorded events
  bool joins = false;          // nothing has begun yet that comes of the last of them: mail may be learned with it
  std::optional<core::Event> handed;  // a result of ctx.run that is being recorded: the code learns it in the next turn
  std::vector<core::Event> carried;   // signals and updates for the run that follows this one
  std::vector<core::Event> refused;   // what came of starts that could not even be asked for
  std::vector<LocalCall> locals;      // to be called
  std::unordered_set<std::int32_t> begun;  // bodies of ctx.run that this owner called, without a recorded result
  std::unordered_map<std::int32_t, core::Event> started;  // by command: what a cancel of it refers to
  int parks = 0;                                          // at the end of the history
  bool suspended = false;                                 // the store knows that it waits
  bool asked_to_wait = false;
  bool damaged = false;                       // a row of it cannot be read: it is let go of for long
  int refusals = 0;                           // of its record by the store, for reasons of the store's own
  bool failed_outright = false;               // closed by the keeper: the code learns nothing any more
  std::atomic<std::int64_t> inside_since{0};  // user code runs, by the monotonic clock; 0: it does not

  // ---- of the keeper's mutex ----
  bool busy = false;
  bool gone = false;        // closed, given up or lost: nothing of it is done any more
  bool mail_waits = false;  // the mailbox is to be read
  bool told_stuck = false;
  int locals_out = 0;
  std::deque<core::Event> local_results;
  std::vector<RunQuery> queries;
  std::optional<std::list<OwnedRef>::iterator> place;  // among those that wait
};

// What a turn begins with.
struct RunKeeper::Turn {
  Instant now{};
  bool load = false;
  std::vector<core::Event> history;
  std::optional<core::Event> handed;
  std::vector<core::Event> refused;
  std::vector<core::Mail> mail;
  std::vector<RunQuery> queries;
};

}  // namespace semel::engine
