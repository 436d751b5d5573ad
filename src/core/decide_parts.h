// One gather and one decide per operation; `decide.cc` dispatches. Private to core.
#pragma once

#include "core/decide.h"

namespace semel::core {

#define SEMEL_PART(Op)                                                                    \
  void gather_part(const Op& operation, const RowCache& rows, Instant now, Needs& needs); \
  Answer decide_part(const Op& operation, RowCache& rows, Instant now)

SEMEL_PART(TaskEnqueue);
SEMEL_PART(TaskDeliver);
SEMEL_PART(TaskHeartbeat);
SEMEL_PART(TaskComplete);
SEMEL_PART(TaskFail);
SEMEL_PART(TaskRelease);
SEMEL_PART(ExecutionCancel);
SEMEL_PART(ExecutionRedrive);
SEMEL_PART(ExecutionDiscard);
SEMEL_PART(TenantEnsure);
SEMEL_PART(LaneEnsure);
SEMEL_PART(KeyRelease);
SEMEL_PART(GroupCreate);
SEMEL_PART(SessionOpen);
SEMEL_PART(SessionRenew);
SEMEL_PART(SessionClose);
SEMEL_PART(LeaseForget);
SEMEL_PART(SessionsExpire);
SEMEL_PART(TimersFire);
SEMEL_PART(BlockedSweep);
SEMEL_PART(RetentionSweep);
SEMEL_PART(KeysExpire);
SEMEL_PART(LedgerSweep);
SEMEL_PART(InboxFeed);
SEMEL_PART(EnqueueWithin);
SEMEL_PART(LedgerAdd);
SEMEL_PART(RunAdvance);
SEMEL_PART(RunSignal);
SEMEL_PART(RunResume);

#undef SEMEL_PART

// A claim is granted and taken by the batch executor (the store picks the rows); deciding it only reads back a repeat.
void gather_part(const TaskClaim& claim, const RowCache& rows, Instant now, Needs& needs);
Answer decide_part(const TaskClaim& claim, RowCache& rows, Instant now);

// A run that continues as new or is retried: the successor takes over from `previous`, which has just ended, the id and
// all that is tied to the workflow rather than to the run. `previous` is as it was before, `chain` is its chain.
void gather_next(const TaskEnqueue& next, const RowCache& rows, Needs& needs);
void start_next(const TaskEnqueue& next, RowCache& rows, const Execution& previous, ExecutionId chain, Instant now);

}  // namespace semel::core
