// The moves every operation is made of: enter the queue, leave a claim, end. docs/rules.md names them the same way.
//
// Each move has a gather half that asks for the rows it will touch. Call it before the move; the move itself assumes
// that they are in the cache.
#pragma once

#include <map>
#include <stdexcept>
#include <string>
#include <string_view>

#include "core/error_text.h"
#include "core/operations.h"
#include "core/retry.h"
#include "core/row_cache.h"

namespace semel::core {

// The engine doubts its own state: nothing of the operation may be written.
struct InvariantBroken : std::logic_error {
  using std::logic_error::logic_error;
};

// Asks for a row unless the cache knows it. Returns whether it is known.
template <class Key, class Row>
bool want(const SlotMap<Key, Row>& map, const Key& key, std::vector<Key>& needs) {
  if (map.knows(key)) return true;
  needs.push_back(key);
  return false;
}
// The row if it is known and present.
template <class Key, class Row>
const Row* peek(const SlotMap<Key, Row>& map, const Key& key) {
  return map.knows(key) ? map.find(key) : nullptr;
}

inline IdentityKey identity_key_of(const Execution& e) { return {e.tenant, identity_space(e.kind), *e.identity}; }
inline IdentityKey idempotency_key_of(const Execution& e) { return {e.tenant, Space::key, *e.idempotency_key}; }
inline SlotKey slot_key_of(const Execution& e) { return {e.lane, *e.concurrency_key}; }
inline ReadyRow ready_row_of(const Execution& e) { return {e.lane, pool_of(e), e.priority, e.scheduled_at, e.id}; }
inline BlockedRow blocked_row_of(const Execution& e) {
  return {e.lane, *e.concurrency_key, e.priority, e.scheduled_at, e.id};
}
// Held by somebody. A run is its owner's as long as it has one, waiting or not.
inline bool is_claimed(const Execution& e) {
  if (e.kind == Kind::workflow) return e.session.has_value();
  return e.status == Status::claimed || e.status == Status::running;
}

// No code can run it as it is. It waits in the timer, and mail does not wake it.
inline bool is_parked(const Execution& e) {
  return e.status == Status::suspended && e.suspend_reason == SuspendReason::nondeterminism;
}

// ---- enter: a queued execution takes its place in timer, ready or blocked ----
void gather_enter(const Execution& e, const RowCache& rows, Needs& needs);
void enter(RowCache& rows, Execution& e, Instant now);
// Takes a queued execution out of wherever it waits.
void withdraw(RowCache& rows, const Execution& e);

// ---- leave: a claimed execution gives back its slot and its count ----
void gather_leave(const Execution& e, const RowCache& rows, Needs& needs);
void leave(RowCache& rows, Execution& e);
// For an operation that ends several executions: how many of them may free a slot of each key.
void gather_frees(const std::map<SlotKey, std::int32_t>& frees, const RowCache& rows, Needs& needs);

// ---- requeue: claimed -> queued; ends it as cancelled instead when a cancel was requested ----
void gather_requeue(const Execution& e, const RowCache& rows, Needs& needs);
Status requeue(RowCache& rows, Execution& e, AttemptEnd how, Instant at, Instant now);

// ---- end: any live status -> terminal. `e` is dangling afterwards when its queue drops finished rows ----
void gather_end(const Execution& e, const RowCache& rows, Needs& needs);
void end(RowCache& rows, Execution& e, Status status, AttemptEnd how, Instant now);

// ---- fail attempt: retry, or end as failed, dead_lettered or cancelled ----
struct AttemptFailure {
  std::string_view error_name;
  std::string_view error;  // JSON
  AttemptEnd how = AttemptEnd::failed;
  bool retryable = true;
  std::optional<Duration> delay;
  std::uint64_t random_bits = 0;
};
void gather_fail(const Execution& e, const RowCache& rows, Needs& needs);
EndAnswer fail_attempt(RowCache& rows, Execution& e, const AttemptFailure& failure, Instant now);
// The lease is over: queued again for a claim by itself, or ended on the last attempt.
EndAnswer lose_lease(RowCache& rows, Execution& e, Instant now);
bool ends_with_its_lease(const Execution& e);
// The lease of a task is over and the same operation claims it anew. It keeps its slot; the caller has taken it out of
// the lane's count.
void take_over(RowCache& rows, Execution& e, Instant now);
bool lease_is_live(const Execution& e, const Session* session, Instant now);

// ---- claim ----
void mark_claimed(RowCache& rows, Execution& e, SessionId session, const std::string& worker, Duration lease,
                  Instant now);

Duration retention_of(const Lane& lane, Kind kind);
void note(RowCache& rows, const Execution& winner, LedgerRule rule, Instant now);

}  // namespace semel::core
