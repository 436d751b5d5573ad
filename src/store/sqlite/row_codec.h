// Rows to statements and back. Column order is the table's order in migrations/0001_init.sql.
#pragma once

#include <vector>

#include "core/row_cache.h"
#include "store/sqlite/connection.h"

namespace semel::store::sqlite {

inline constexpr int kExecutionColumns = 38;
inline constexpr int kPayloadColumns = 4;

// Each `bind_*` binds the whole row to ?1, ?2, ..., each `add_*` behind what is bound already; each `read_*` reads it
// from `column` on.
void add_execution(Statement& to, const core::Execution& row);
// ?1 id, ?2 the version read before, then every column that may change.
void bind_execution_update(Statement& to, const core::Execution& row, std::int32_t read_version);
core::Execution read_execution(const Statement& from, int column = 0);

void add_payload(Statement& to, const core::Payload& row);
core::Payload read_payload(const Statement& from, int column = 0);

void bind_identity(Statement& to, const core::Identity& row);
core::Identity read_identity(const Statement& from);

void bind_lane(Statement& to, const core::Lane& row);
core::Lane read_lane(const Statement& from);

void bind_group(Statement& to, const core::Group& row);
core::Group read_group(const Statement& from);

void bind_attention(Statement& to, const core::Attention& row);
core::Attention read_attention(const Statement& from);

core::ReadyRow read_ready(const Statement& from);
core::BlockedRow read_blocked(const Statement& from);
core::TimerRow read_timer(const Statement& from);
core::KeySlot read_key_slot(const Statement& from);
core::Session read_session(const Statement& from);
core::Lease read_lease(const Statement& from);

// The column lease.executions.
std::string encode_leased(const std::vector<core::LeasedExecution>& executions);

void bind_run(Statement& to, const core::Run& row);
core::Run read_run(const Statement& from);
core::HistoryRow read_history(const Statement& from);
core::Mail read_mail(const Statement& from);
core::Watch read_watch(const Statement& from);
core::Signal read_signal(const Statement& from);
core::RowCache::Noted read_noted(const Statement& from);
// tenant, space, key, rule, at, winner
core::LedgerNote read_note(const Statement& from);

}  // namespace semel::store::sqlite
