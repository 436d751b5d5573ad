// The prepared statements, each in sql/<name>.sql.
#pragma once

#include <span>

#include "store/postgres/connection.h"

namespace semel::store::postgres {

// clang-format off
// Of the writer and its slow lane.
#define SEMEL_PG_WRITER_STATEMENTS(X)                                                                         \
  X(attention_delete) X(attention_lock) X(attention_put) X(batch_mark_insert) X(batch_mark_prune)             \
  X(batch_mark_touch) X(batch_mark_win) X(begin) X(blocked_delete) X(blocked_insert) X(blocked_lock) X(blocked_lock_lane)         \
  X(clock_read) X(commit) X(execution_delete) X(execution_insert) X(execution_insert_claimed)                 \
  X(execution_insert_claimed_one) X(execution_insert_full) X(execution_lock) X(execution_lock_by_identity)    \
  X(execution_retention) X(execution_succeed) X(execution_update) X(group_delete) X(group_lock)               \
  X(group_put) X(hand_over) X(history_check) X(history_insert) X(identity_delete) X(identity_expired) X(identity_insert)       \
  X(identity_insert_one) X(identity_lock) X(identity_update) X(identity_win) X(inbox_delete) X(inbox_lock)    \
  X(inbox_update) X(key_slot_delete) X(key_slot_insert) X(key_slot_lock) X(key_slot_update) X(lane_ensure)    \
  X(lane_lock) X(lane_lock_by_name) X(lane_update) X(lease_delete) X(lease_expired) X(lease_insert)           \
  X(lease_insert_live) X(lease_known) X(lease_lock) X(lease_put) X(ledger_count) X(ledger_forget)             \
  X(ledger_note_forget) X(ledger_note_insert) X(ledger_note_trim) X(ledger_noted) X(listeners)                \
  X(mail_delete) X(mail_insert) X(mail_read) X(notify) X(payload_read) X(ready_delete) X(ready_insert)        \
  X(rollback) X(run_delete) X(run_lock) X(run_put) X(schema_demand) X(session_delete) X(session_lock)         \
  X(session_over) X(session_put) X(session_share) X(signal_answer) X(signal_delete) X(signal_insert)          \
  X(signal_read) X(take) X(target_look) X(tenant_by_name)                                                     \
  X(tenant_ensure) X(timer_delete) X(timer_due) X(timer_insert) X(watch_delete) X(watch_insert)               \
  X(watch_lock)

// Of the readers.
#define SEMEL_PG_READER_STATEMENTS(X)                                                                   \
  X(alarms) X(attention_get) X(execution_find) X(execution_get) X(execution_list)                       \
  X(execution_list_attention)                                                                           \
  X(executions_get) X(history_get) X(history_told) X(inbox_list) X(key_get) X(key_list) X(lane_list) X(lane_stats)      \
  X(ledger_get) X(ledger_notes_get) X(mail_list) X(next_timer) X(ready_lanes) X(run_get) X(session_get) \
  X(session_leases) X(tenant_find) X(tenant_list) X(whereabouts)
// clang-format on

namespace statements {
#define SEMEL_PG_DECLARE(name) extern const Statement name;
SEMEL_PG_WRITER_STATEMENTS(SEMEL_PG_DECLARE)
SEMEL_PG_READER_STATEMENTS(SEMEL_PG_DECLARE)
#undef SEMEL_PG_DECLARE
}  // namespace statements

std::span<const Statement> writer_statements();
std::span<const Statement> reader_statements();

}  // namespace semel::store::postgres
