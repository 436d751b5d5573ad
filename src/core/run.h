// The moves of runs: mail, history, ownership. docs/rules.md names them the same way.
//
// As in transition.h each move has a gather half; call it before the move.
#pragma once

#include "core/transition.h"

namespace semel::core {

inline constexpr std::int32_t kMaxEvents = 50'000;
inline constexpr std::int64_t kMaxHistoryBytes = 50 << 20;

// ---- start: the rows beside the execution row; `header` gives memo, attributes and chain (nil: `e` begins one) ----
void start_run(RowCache& rows, const Execution& e, Run header, Instant now);
// They go with it; with the last run of a chain its signals go too.
void erase_run(RowCache& rows, const Execution& e);

// ---- mail: a run learns something with its next decision. A finished run takes none ----
void gather_mail(ExecutionId run, const RowCache& rows, Needs& needs);
void put_mail(RowCache& rows, ExecutionId run, const Event& input, MailId id, Instant now);
MailId mail_id_of(std::int32_t command);               // of what came of a command: there is one of it
bool has_mail(const RowCache& rows, ExecutionId run);  // all of it must be known

// ---- outcome: those who wait for an execution that just ended learn it ----
void gather_outcome(const Execution& e, const RowCache& rows, Needs& needs);
void tell_outcome(RowCache& rows, const Execution& ended, Instant now);
// The workflow goes on in another run: they wait for that one.
void move_watches(RowCache& rows, ExecutionId from, ExecutionId to);
Event outcome_of(const Execution& ended, std::int32_t command);

// ---- give up: the owner lets go of the run, which is claimable again if there is something to decide ----
void gather_give_up(const Execution& run, const RowCache& rows, Needs& needs);
void give_up(RowCache& rows, Execution& run, AttemptEnd how, Instant at, Instant now);

// ---- park: given up until an instant, or until somebody resumes it ----
void park(RowCache& rows, Execution& run, const std::string& error, Instant until);
void unpark(RowCache& rows, Execution& run, Instant at, Instant now);

// ---- history ----
struct Append {
  std::string bytes;
  std::int32_t count = 0;
};
void add_event(Append& append, std::string_view encoded);
void append_history(RowCache& rows, ExecutionId run, Append append, Instant now);
// The last event of a run that ends without its code: `kind` is a closing one.
void gather_close(const Execution& run, const RowCache& rows, Needs& needs);
void close_history(RowCache& rows, const Execution& run, EventKind kind, Instant now);

}  // namespace semel::core
