#include "store/postgres/codec.h"
#include "store/postgres/statements.h"
#include "store/postgres/store.h"

namespace semel::store::postgres {
namespace {

template <class Read>
auto all_rows(Read read) {
  return [read](const Rows& rows) {
    std::vector<decltype(read(rows, 0))> out;
    out.reserve(static_cast<std::size_t>(rows.count()));
    for (int r = 0; r < rows.count(); ++r) out.push_back(read(rows, r));
    return out;
  };
}

template <class Read>
auto first_row(Read read) {
  return [read](const Rows& rows) -> std::optional<decltype(read(rows, 0))> {
    if (rows.count() == 0) return std::nullopt;
    return read(rows, 0);
  };
}

ExecutionView read_view(const Rows& rows, int r) {
  ExecutionView view;
  view.execution = read_execution(rows, r);
  view.payload = read_payload(rows, r, view.execution.id, kExecutionWidth);
  view.tenant = rows.text(r, kExecutionWidth + 3);
  view.queue = rows.text(r, kExecutionWidth + 4);
  return view;
}

ExecutionView read_listed(const Rows& rows, int r) {
  ExecutionView view;
  view.execution = read_execution(rows, r);
  view.payload.execution = view.execution.id;
  view.tenant = rows.text(r, kExecutionWidth);
  view.queue = rows.text(r, kExecutionWidth + 1);
  return view;
}

core::Lane lane_row(const Rows& rows, int r) { return read_lane(rows, r); }

// Failed, timed out and dead-lettered executions are all in `attention`.
bool only_bad_ends(const std::vector<Status>& statuses) {
  for (const Status status : statuses)
    if (status != Status::failed && status != Status::timed_out && status != Status::dead_lettered) return false;
  return !statuses.empty();
}

}  // namespace

base::Clock& PostgresReads::clock() {
  return shared_->options.clock ? *shared_->options.clock : static_cast<base::Clock&>(shared_->clock);
}

Result<std::optional<core::TenantId>> PostgresReads::tenant_find(std::string_view name) {
  return query<std::optional<core::TenantId>>(
      statements::tenant_find, Params().bytes(name),
      first_row([](const Rows& rows, int r) { return core::TenantId{rows.i32(r, 0)}; }));
}

Result<std::vector<std::pair<core::TenantId, std::string>>> PostgresReads::tenant_list() {
  return query<std::vector<std::pair<core::TenantId, std::string>>>(
      statements::tenant_list, {},
      all_rows([](const Rows& rows, int r) { return std::pair(core::TenantId{rows.i32(r, 0)}, rows.text(r, 1)); }));
}

Result<std::vector<core::Lane>> PostgresReads::lane_list() {
  return query<std::vector<core::Lane>>(statements::lane_list, {}, [this](const Rows& rows) {
    const batch::UnlessDamaged unless_damaged{*shared_->options.log, true};
    std::vector<core::Lane> lanes;
    for (int r = 0; r < rows.count(); ++r)
      if (auto lane = unless_damaged([&] { return lane_row(rows, r); })) lanes.push_back(*std::move(lane));
    return lanes;
  });
}

Result<LaneStats> PostgresReads::lane_stats(core::LaneId lane) {
  auto stats = query<std::optional<LaneStats>>(
      statements::lane_stats, Params().i32(lane).i64(kStatsCap), first_row([](const Rows& rows, int r) {
        constexpr int kLaneWidth = 16;
        return LaneStats{read_lane(rows, r), rows.i64(r, kLaneWidth), rows.i64(r, kLaneWidth + 1)};
      }));
  if (!stats) return stats.error();
  if (!*stats)
    return make_error(ErrorCode::QueueNotFound, "no queue has the number " + std::to_string(static_cast<int>(lane)));
  return **stats;
}

Result<std::optional<ExecutionView>> PostgresReads::execution_get(core::TenantId tenant, ExecutionId id) {
  return query<std::optional<ExecutionView>>(statements::execution_get, Params().i32(tenant).bytes(id),
                                             first_row(read_view));
}

Result<std::vector<ExecutionView>> PostgresReads::executions_get(core::TenantId tenant,
                                                                 std::span<const ExecutionId> ids) {
  return query<std::vector<ExecutionView>>(statements::executions_get, Params().i32(tenant).uuids(ids),
                                           all_rows(read_view));
}

Result<std::optional<ExecutionView>> PostgresReads::execution_find(core::TenantId tenant, core::Space space,
                                                                   std::string_view key) {
  return query<std::optional<ExecutionView>>(statements::execution_find, Params().i32(tenant).i16(space).bytes(key),
                                             first_row(read_view));
}

Result<std::vector<ExecutionView>> PostgresReads::execution_list(const ExecutionFilter& filter) {
  ExecutionId before;
  before.bytes.fill(0xff);
  if (filter.before) before = *filter.before;
  Params p;
  p.i32(filter.tenant).bytes(before).i16(filter.kind);
  if (filter.statuses.empty()) p.null();
  else p.i16s(filter.statuses, [](Status status) { return status; });
  p.bytes(filter.queue).bytes(filter.name).bytes(filter.identity).i64(filter.created_before).i32(filter.limit);
  const Statement& list =
      only_bad_ends(filter.statuses) ? statements::execution_list_attention : statements::execution_list;
  return query<std::vector<ExecutionView>>(list, p, all_rows(read_listed));
}

Result<Whereabouts> PostgresReads::execution_whereabouts(const core::Execution& e) {
  if (e.status != Status::queued && e.kind == Kind::task) return Whereabouts::nowhere;
  Params p;
  p.bytes(e.id).i32(e.lane).i16(core::pool_of(e)).i32(e.priority).i64(e.scheduled_at).bytes(e.concurrency_key);
  return query<Whereabouts>(statements::whereabouts, p, [](const Rows& rows) {
    if (rows.flag(0, 0)) return Whereabouts::ready;
    if (rows.flag(0, 1)) return Whereabouts::timer;
    return rows.flag(0, 2) ? Whereabouts::blocked : Whereabouts::nowhere;
  });
}

Result<std::optional<core::Attention>> PostgresReads::attention_get(ExecutionId id) {
  return query<std::optional<core::Attention>>(statements::attention_get, Params().bytes(id),
                                               first_row(read_attention));
}

Result<std::optional<core::Identity>> PostgresReads::key_get(core::TenantId tenant, std::string_view key) {
  return query<std::optional<core::Identity>>(statements::key_get, Params().i32(tenant).bytes(key),
                                              first_row(read_identity));
}

Result<std::vector<core::Identity>> PostgresReads::key_list(core::TenantId tenant, std::string_view after,
                                                            std::int32_t limit) {
  return query<std::vector<core::Identity>>(statements::key_list, Params().i32(tenant).bytes(after).i32(limit),
                                            all_rows(read_identity));
}

Result<std::optional<LedgerView>> PostgresReads::ledger_get(const core::IdentityKey& id) {
  return shared_->readers.run<std::optional<LedgerView>>([&](Connection& c) -> std::optional<LedgerView> {
    const auto params = Params().i32(id.tenant).i16(id.space).bytes(id.key);
    c.queue(statements::ledger_get, params);
    c.queue(statements::ledger_notes_get, params);
    const auto rows = c.run();
    if (rows[0].count() == 0) return std::nullopt;
    LedgerView view{id, {}, all_rows(read_note)(rows[1])};
    for (int r = 0; r < rows[0].count(); ++r)
      view.counts.emplace_back(static_cast<core::LedgerRule>(rows[0].i16(r, 0)), rows[0].i64(r, 1));
    return view;
  });
}

Result<std::optional<core::Session>> PostgresReads::session_get(SessionId id) {
  return query<std::optional<core::Session>>(statements::session_get, Params().bytes(id), first_row(read_session));
}

Result<std::vector<ClaimId>> PostgresReads::session_leases(SessionId id) {
  return query<std::vector<ClaimId>>(statements::session_leases, Params().bytes(id),
                                     all_rows([](const Rows& rows, int r) { return rows.id<ClaimId>(r, 0); }));
}

Result<std::optional<core::Run>> PostgresReads::run_get(ExecutionId run) {
  return query<std::optional<core::Run>>(statements::run_get, Params().bytes(run), first_row(read_run));
}

Result<std::vector<core::HistoryRow>> PostgresReads::history_get(ExecutionId run, std::int32_t after,
                                                                 std::int64_t limit) {
  return query<std::vector<core::HistoryRow>>(statements::history_get, Params().bytes(run).i32(after).i64(limit),
                                              all_rows(read_history));
}

Result<std::vector<core::Mail>> PostgresReads::mail_list(std::span<const ExecutionId> runs) {
  return query<std::vector<core::Mail>>(statements::mail_list, Params().uuids(runs), all_rows(read_mail));
}

Result<std::vector<ReadyLane>> PostgresReads::ready_lanes() {
  return query<std::vector<ReadyLane>>(statements::ready_lanes, {}, all_rows([](const Rows& rows, int r) {
                                         return ReadyLane{core::LaneId{rows.i32(r, 0)},
                                                          static_cast<core::Pool>(rows.i16(r, 1))};
                                       }));
}

Result<std::optional<Instant>> PostgresReads::next_timer() {
  return query<std::optional<Instant>>(statements::next_timer, {},
                                       first_row([](const Rows& rows, int r) { return rows.instant(r, 0); }));
}

Result<std::vector<std::string>> PostgresReads::alarms() {
  constexpr std::int64_t kManyDeadRows = 5'000'000;
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(shared_->options.long_transaction);
  return query<std::vector<std::string>>(statements::alarms, Params().i64(seconds.count()).i64(kManyDeadRows),
                                         all_rows([](const Rows& rows, int r) { return rows.text(r, 0); }));
}

Result<std::optional<HistoryNote>> PostgresReads::history_told() {
  return query<std::optional<HistoryNote>>(statements::history_told, {}, first_row([](const Rows& rows, int r) {
                                             HistoryNote note{rows.text(r, 0), {}, {}};
                                             if (rows.is_null(r, 1)) return note;
                                             note.before = rows.text(r, 1);
                                             note.at = rows.instant(r, 2);
                                             return note;
                                           }));
}

Result<std::vector<core::InboxRow>> PostgresReads::inbox_list(std::int32_t limit) {
  return query<std::vector<core::InboxRow>>(statements::inbox_list, Params().i32(limit), all_rows(read_inbox));
}

}  // namespace semel::store::postgres
