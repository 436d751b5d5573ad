#include <algorithm>
#include <iterator>

#include "store/sqlite/row_codec.h"
#include "store/sqlite/store.h"

namespace semel::store::sqlite {
namespace {

template <class Read>
auto one_row(Statement& statement, Read read) -> std::optional<decltype(read(statement))> {
  if (!statement.step()) return std::nullopt;
  auto row = read(statement);
  statement.reset();
  return row;
}

template <class Read>
auto all_rows(Statement& statement, Read read) {
  std::vector<decltype(read(statement))> rows;
  while (statement.step()) rows.push_back(read(statement));
  return rows;
}

bool any_row(Statement& statement) {
  const bool found = statement.step();
  statement.reset();
  return found;
}

ExecutionView read_view(const Statement& from) {
  constexpr int kAfter = kExecutionColumns + kPayloadColumns;
  return {read_execution(from), read_payload(from, kExecutionColumns), std::string(from.bytes(kAfter)),
          std::string(from.bytes(kAfter + 1))};
}

ExecutionView read_listed(const Statement& from) {
  ExecutionView view{read_execution(from),
                     {},
                     std::string(from.bytes(kExecutionColumns)),
                     std::string(from.bytes(kExecutionColumns + 1))};
  view.payload.execution = view.execution.id;
  return view;
}

// Failed, timed out and dead-lettered executions are all in `attention`.
bool only_bad_ends(const std::vector<Status>& statuses) {
  for (const Status status : statuses) {
    if (status != Status::failed && status != Status::timed_out && status != Status::dead_lettered) return false;
  }
  return !statuses.empty();
}

}  // namespace

Result<std::optional<core::TenantId>> SqliteStore::tenant_find(std::string_view name) {
  return reading([&](Connection& db) {
    return one_row(db.prepared("tenant_find").bind(name),
                   [](const Statement& s) { return static_cast<core::TenantId>(s.integer(0)); });
  });
}

Result<std::vector<std::pair<core::TenantId, std::string>>> SqliteStore::tenant_list() {
  return reading([](Connection& db) {
    return all_rows(db.prepared("tenant_list"), [](const Statement& s) {
      return std::pair(static_cast<core::TenantId>(s.integer(0)), std::string(s.bytes(1)));
    });
  });
}

Result<std::vector<core::Lane>> SqliteStore::lane_list() {
  const batch::UnlessDamaged unless_damaged{log_, true};
  return reading([&](Connection& db) {
    std::vector<core::Lane> lanes;
    Statement& rows = db.prepared("lane_list");
    while (rows.step())
      if (auto lane = unless_damaged([&] { return read_lane(rows); })) lanes.push_back(*std::move(lane));
    return lanes;
  });
}

Result<LaneStats> SqliteStore::lane_stats(core::LaneId lane) {
  auto stats = reading([&](Connection& db) -> std::optional<LaneStats> {
    auto row = one_row(db.prepared("lane_get").bind(lane), read_lane);
    if (!row) return std::nullopt;
    const auto count = [&](const char* name) {
      return *one_row(db.prepared(name).bind(lane, kStatsCap), [](const Statement& s) { return s.integer(0); });
    };
    return LaneStats{std::move(*row), count("ready_count"), count("blocked_count")};
  });
  if (!stats) return stats.error();
  if (!*stats)
    return make_error(ErrorCode::QueueNotFound, "no queue has the number " + std::to_string(static_cast<int>(lane)));
  return **stats;
}

Result<std::optional<ExecutionView>> SqliteStore::execution_get(core::TenantId tenant, ExecutionId id) {
  return reading([&](Connection& db) { return one_row(db.prepared("execution_view").bind(id, tenant), read_view); });
}

Result<std::optional<ExecutionView>> SqliteStore::execution_find(core::TenantId tenant, core::Space space,
                                                                 std::string_view key) {
  return reading([&](Connection& db) {
    return one_row(db.prepared("execution_view_of_identity").bind(tenant, space, key), read_view);
  });
}

Result<std::vector<ExecutionView>> SqliteStore::execution_list(const ExecutionFilter& filter) {
  std::int64_t statuses = 0;
  for (const Status status : filter.statuses) statuses |= std::int64_t{1} << static_cast<int>(status);
  ExecutionId before;
  before.bytes.fill(0xff);
  if (filter.before) before = *filter.before;
  return reading([&](Connection& db) {
    Statement& list = db.prepared(only_bad_ends(filter.statuses) ? "execution_list_attention" : "execution_list");
    list.bind(filter.tenant, before, filter.kind, statuses, filter.queue, filter.name, filter.identity,
              filter.created_before, filter.limit);
    return all_rows(list, read_listed);
  });
}

Result<Whereabouts> SqliteStore::execution_whereabouts(const core::Execution& e) {
  if (e.status != Status::queued && e.kind == Kind::task) return Whereabouts::nowhere;
  return reading([&](Connection& db) {
    if (any_row(db.prepared("ready_find").bind(e.lane, e.priority, e.scheduled_at, e.id))) return Whereabouts::ready;
    if (any_row(db.prepared("timer_find").bind(e.scheduled_at, core::TimerKind::due, e.id, 0)))
      return Whereabouts::timer;
    if (e.concurrency_key &&
        any_row(db.prepared("blocked_find").bind(e.lane, *e.concurrency_key, e.priority, e.scheduled_at, e.id))) {
      return Whereabouts::blocked;
    }
    return Whereabouts::nowhere;
  });
}

Result<std::optional<core::Attention>> SqliteStore::attention_get(ExecutionId id) {
  return reading([&](Connection& db) { return one_row(db.prepared("attention_get").bind(id), read_attention); });
}

Result<std::optional<core::Identity>> SqliteStore::key_get(core::TenantId tenant, std::string_view key) {
  return reading([&](Connection& db) {
    return one_row(db.prepared("identity_get").bind(tenant, core::Space::key, key), read_identity);
  });
}

Result<std::vector<core::Identity>> SqliteStore::key_list(core::TenantId tenant, std::string_view after,
                                                          std::int32_t limit) {
  return reading(
      [&](Connection& db) { return all_rows(db.prepared("key_list").bind(tenant, after, limit), read_identity); });
}

Result<std::optional<LedgerView>> SqliteStore::ledger_get(const core::IdentityKey& id) {
  return reading([&](Connection& db) -> std::optional<LedgerView> {
    LedgerView view;
    view.id = id;
    view.counts = all_rows(db.prepared("ledger_counts").bind(id.tenant, id.space, id.key), [](const Statement& s) {
      return std::pair(static_cast<core::LedgerRule>(s.integer(0)), s.integer(1));
    });
    if (view.counts.empty()) return std::nullopt;
    view.recent = all_rows(db.prepared("ledger_notes").bind(id.tenant, id.space, id.key), [&](const Statement& s) {
      core::LedgerNote note{id.tenant, id.space, id.key, {}, {}, {}};
      s.get(0, note.rule);
      s.get(1, note.at);
      s.get(2, note.winner);
      return note;
    });
    return view;
  });
}

Result<std::optional<core::Session>> SqliteStore::session_get(SessionId id) {
  return reading([&](Connection& db) { return one_row(db.prepared("session_get").bind(id), read_session); });
}

Result<std::vector<ClaimId>> SqliteStore::session_leases(SessionId id) {
  return reading([&](Connection& db) {
    std::vector<ClaimId> out;
    Statement& rows = db.prepared("session_leases").bind(id);
    while (rows.step()) out.push_back(read_lease(rows).id);
    rows.reset();
    return out;
  });
}

Result<std::optional<core::Run>> SqliteStore::run_get(ExecutionId run) {
  return reading([&](Connection& db) { return one_row(db.prepared("run_get").bind(run), read_run); });
}

Result<std::vector<core::HistoryRow>> SqliteStore::history_get(ExecutionId run, std::int32_t after,
                                                               std::int64_t limit) {
  return reading([&](Connection& db) {
    std::vector<core::HistoryRow> out;
    std::int64_t bytes = 0;
    Statement& rows = db.prepared("history_get").bind(run, after);
    while (bytes < limit && rows.step()) {
      out.push_back(read_history(rows));
      bytes += static_cast<std::int64_t>(out.back().events.size());
    }
    rows.reset();
    return out;
  });
}

Result<std::vector<core::Mail>> SqliteStore::mail_list(std::span<const ExecutionId> runs) {
  return reading([&](Connection& db) {
    std::vector<core::Mail> out;
    for (const auto& run : runs)
      std::ranges::move(all_rows(db.prepared("mail_of").bind(run), read_mail), std::back_inserter(out));
    return out;
  });
}

Result<std::vector<ReadyLane>> SqliteStore::ready_lanes() {
  return reading([](Connection& db) {
    return all_rows(db.prepared("ready_lanes"), [](const Statement& s) {
      return ReadyLane{static_cast<core::LaneId>(s.integer(0)), static_cast<core::Pool>(s.integer(1))};
    });
  });
}

Result<std::optional<Instant>> SqliteStore::next_timer() {
  return reading([](Connection& db) {
    return one_row(db.prepared("timer_next"), [](const Statement& s) { return from_micros(s.integer(0)); });
  });
}

}  // namespace semel::store::sqlite
