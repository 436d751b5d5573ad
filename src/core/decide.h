// The rules. `decide` is pure: rows in the cache and a request in, changed rows and an answer out. Only core knows
// rules; a backend knows mechanism only.
//
// Calling sequence for one operation: `gather` until it adds nothing to `needs` (loading what it asked for in between),
// then `decide`. `decide` assumes that everything `gather` asks for is in the cache.
#pragma once

#include <unordered_set>

#include "core/operations.h"
#include "core/row_cache.h"

namespace semel::core {

// Adds the rows that deciding `operation` still lacks. May be called any number of times; changes nothing but `needs`.
void gather(const Operation& operation, const RowCache& rows, Instant now, Needs& needs);

// Decides and applies the decision to `rows`. On Error nothing was changed, except that an identity row won blindly for
// this very operation is erased again.
Answer decide(const Operation& operation, RowCache& rows, Instant now);

// ---- pieces the batch executor needs by themselves ----

// The identity row that a new execution would own; written blindly before anything is read.
std::optional<Identity> identity_to_win(const TaskEnqueue& request);

// How many executions a limited lane grants now, at most `wanted`. Counts them against the lane's row.
struct Grant {
  std::int32_t count = 0;
  std::optional<Instant> retry_at;  // when more may be granted, if the rate limit is what holds
};
Grant grant_claims(Lane& lane, std::int32_t wanted, Instant now);
// Gives back what a claim did not use (fewer ready rows than granted).
void return_grant(Lane& lane, std::int32_t unused);

// Hands over what was enqueued earlier in this very batch (`fresh`), in claim order, before it ever was ready. The lane
// has no limits.
void claim_fresh(RowCache& rows, const TaskClaim& claim, LaneId lane, std::int32_t limit,
                 const std::unordered_set<ExecutionId>& fresh, Instant now, std::vector<ClaimedTask>& out);
// Timer rows and lease record that follow a claim. May be called again with more tasks of the same claim.
void record_claim(RowCache& rows, const TaskClaim& claim, const std::vector<ClaimedTask>& tasks, Instant now);

}  // namespace semel::core
