// R6: rows that no operation leaves behind, made by SQL; `verify` must name them.
#pragma once

#include <string>
#include <vector>

namespace semel::crash {

// Each is damaged in a new store with one queued and one claimed task. `TABLE.` stands before every table's name.
struct Damage {
  const char* name;
  const char* statement;
};
inline const std::vector<Damage> kDamages = {
    {"IdWithoutItsExecution", "DELETE FROM TABLE.execution"},
    {"QueuedExecutionThatNobodyCanClaim", "DELETE FROM TABLE.ready"},
    {"ReadyRowOfAClaimedExecution", "UPDATE TABLE.execution SET status = 1 WHERE status = 0"},
    {"ClaimThatNoLeaseRecordHolds", "DELETE FROM TABLE.lease"},
};

// Where payloads have a table of their own.
inline const Damage kPayloadGone{"ExecutionWithoutItsPayload", "DELETE FROM TABLE.payload"};

// What `verify` says about the store at `url` after the damage.
std::vector<std::string> verify_after(const std::string& url, const Damage& damage);

}  // namespace semel::crash
