// Rows of core/rows.h out of query results. Column lists and readers stand side by side so that they cannot drift
// apart.
#pragma once

#include <string>
#include <string_view>

#include "core/rows.h"
#include "store/postgres/binary.h"

namespace semel::store::postgres {

// Of table execution with alias e. Statements write `{execution}` for it.
inline constexpr std::string_view kExecutionColumns =
    "e.id, e.tenant, e.lane, e.kind, e.name, e.identity, e.priority, e.max_attempts, e.attempt_timeout, "
    "e.concurrency_key, e.idempotency_key, e.idempotency_key_ttl_seconds, e.fingerprint, e.previous, e.parent_run, "
    "e.parent_workflow_id, e.group_id, e.created_at, e.timeout_at, e.status, e.version, e.attempt, e.flags, "
    "e.last_end, "
    "e.close_reason, e.suspend_reason, e.scheduled_at, e.started_at, e.completed_at, e.cancel_requested_at, "
    "e.lease_expires_at, e.session, e.worker, e.next, e.result, e.error, e.progress, e.parent_command";
inline constexpr int kExecutionWidth = 38;

core::Execution read_execution(const Rows& rows, int row, int first = 0);
// encoding, args, policy
core::Payload read_payload(const Rows& rows, int row, ExecutionId id, int first);
// id, tenant, queue, retention, rate_count, rate_per, concurrency, concurrency_per_key, dead_letter, max_attempts,
// retry, paused, running_count, tokens_micro, tokens_at, revision
core::Lane read_lane(const Rows& rows, int row, int first = 0);
// tenant, space, key, target, target_kind, tombstone, fingerprint, expires_at, revision
inline constexpr int kIdentityWidth = 9;
core::Identity read_identity(const Rows& rows, int row);
core::ReadyRow read_ready(const Rows& rows, int row);      // in the order of the fields
core::BlockedRow read_blocked(const Rows& rows, int row);  // in the order of the fields
core::TimerRow read_timer(const Rows& rows, int row);      // in the order of the fields
core::KeySlot read_key_slot(const Rows& rows, int row);    // in the order of the fields
core::Session read_session(const Rows& rows, int row);     // in the order of the fields
core::Lease read_lease(const Rows& rows, int row);         // id, session, executions, versions
core::Group read_group(const Rows& rows, int row);  // id, tenant, total, joined, ended, failed, completed, completion
core::Attention read_attention(const Rows& rows, int row);  // in the order of the fields
core::LedgerNote read_note(const Rows& rows, int row);      // in the order of the fields
core::InboxRow read_inbox(const Rows& rows, int row);       // in the order of the fields

core::Run read_run(const Rows& rows, int row);             // in the order of the fields
core::HistoryRow read_history(const Rows& rows, int row);  // in the order of the fields
core::Mail read_mail(const Rows& rows, int row);           // run, at, id, event
core::Watch read_watch(const Rows& rows, int row);         // in the order of the fields
core::Signal read_signal(const Rows& rows, int row);       // in the order of the fields

// An execution and its payload as bytes: a group's completion task in its column, a task on its way to its worker.
std::string encode_task(const core::Execution& execution, const core::Payload& payload);
// Throws when the bytes are not those of encode_task.
void decode_task(const std::string& bytes, core::Execution& execution, core::Payload& payload);

}  // namespace semel::store::postgres
