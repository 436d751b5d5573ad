// Inside of the PostgreSQL store: reads over a pool, one line per writing connection, hints.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "store/postgres/db_clock.h"
#include "store/postgres/hints.h"
#include "store/postgres/history.h"
#include "store/postgres/postgres_store.h"
#include "store/postgres/readers.h"
#include "store/postgres/stop_signal.h"
#include "store/postgres/tables.h"

namespace semel::store::postgres {

// What the lines of one store share.
struct Shared {
  static PgOptions with_stop(PgOptions options) {
    options.stop = std::make_shared<StopSignal>();
    return options;
  }
  explicit Shared(PgOptions o) : options(with_stop(std::move(o))), history(*options.log), readers(options, history) {}
  const PgOptions options;
  KnownHistory history;
  Readers readers;
  DbClock clock;
  Fronts fronts;
  std::array<std::atomic<int>, kMaxLines + 1> line_pids{};  // backends whose hints are our own; the slow lane's last
  std::atomic<int> listener_pid{0};
};

class PostgresReads : public Store {
 public:
  explicit PostgresReads(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}

  base::Clock& clock() override;
  void abandon() override;
  std::string_view backend() const override { return "postgres"; }
  std::uint64_t history() const override { return shared_->history.number(); }

  Result<std::optional<core::TenantId>> tenant_find(std::string_view name) override;
  Result<std::vector<std::pair<core::TenantId, std::string>>> tenant_list() override;
  Result<std::vector<core::Lane>> lane_list() override;
  Result<LaneStats> lane_stats(core::LaneId lane) override;
  Result<std::optional<ExecutionView>> execution_get(core::TenantId tenant, ExecutionId id) override;
  Result<std::vector<ExecutionView>> executions_get(core::TenantId tenant, std::span<const ExecutionId> ids) override;
  Result<std::optional<ExecutionView>> execution_find(core::TenantId tenant, core::Space space,
                                                      std::string_view key) override;
  Result<std::vector<ExecutionView>> execution_list(const ExecutionFilter& filter) override;
  Result<Whereabouts> execution_whereabouts(const core::Execution& execution) override;
  Result<std::optional<core::Attention>> attention_get(ExecutionId id) override;
  Result<std::optional<core::Identity>> key_get(core::TenantId tenant, std::string_view key) override;
  Result<std::vector<core::Identity>> key_list(core::TenantId tenant, std::string_view after,
                                               std::int32_t limit) override;
  Result<std::optional<LedgerView>> ledger_get(const core::IdentityKey& id) override;
  Result<std::optional<core::Session>> session_get(SessionId id) override;
  Result<std::vector<ClaimId>> session_leases(SessionId id) override;
  Result<std::optional<core::Run>> run_get(ExecutionId run) override;
  Result<std::vector<core::HistoryRow>> history_get(ExecutionId run, std::int32_t after, std::int64_t limit) override;
  Result<std::vector<core::Mail>> mail_list(std::span<const ExecutionId> runs) override;
  Result<std::vector<ReadyLane>> ready_lanes() override;
  Result<std::optional<Instant>> next_timer() override;
  Result<std::vector<core::InboxRow>> inbox_list(std::int32_t limit) override;
  Result<std::vector<std::string>> alarms() override;
  Result<std::optional<HistoryNote>> history_told() override;
  Result<std::vector<std::string>> verify() override;
  Result<std::string> snapshot() override;

 protected:
  // Rows of one prepared statement on a reader.
  template <class T, class Read>
  Result<T> query(const Statement& statement, const Params& params, Read read) {
    return shared_->readers.run<T>([&](Connection& c) {
      c.queue(statement, params);
      const auto rows = c.run();
      return T(read(rows[0]));
    });
  }

  std::shared_ptr<Shared> shared_;
};

// One writing connection.
class PostgresLine : public PostgresReads {
 public:
  // `number` 0 to kMaxLines - 1, or kSlow.
  static constexpr int kSlow = kMaxLines;
  PostgresLine(std::shared_ptr<Shared> shared, int number) : PostgresReads(std::move(shared)), number_(number) {}

  Applied apply(Batch& batch) override;
  // Opens the connection if it is not; checks server, schema and history each time, since another server may answer
  // now.
  Result<void> connect();

 private:
  std::optional<Applied> refuse_while_away(const Batch& batch);
  Applied refuse(const Batch& batch, Error why);
  static Applied another_history();
  Result<void> look_around();
  void note_clock(Instant read, std::int64_t asked);
  void drop();

  const int number_;
  std::unique_ptr<Connection> connection_;
  std::unique_ptr<PostgresTables> tables_;
  std::uint64_t history_ = 0;  // in which the connection was opened
  Duration pause_{0};
  std::int64_t not_before_ = 0;  // monotonic: no attempt to connect before
  Error away_;                   // why the last one failed
  std::int64_t looked_ = 0;      // monotonic
  bool others_listen_ = false;
};

class PostgresStore final : public PostgresLine {
 public:
  explicit PostgresStore(std::shared_ptr<Shared> shared);

  std::vector<Store*> lines() override;
  Store* slow_lane() override { return &slow_; }
  bool hears_hints() const override { return shared_->options.hints; }
  Hints wait_hints(Duration timeout) override;
  void interrupt_hints() override { listener_.interrupt(); }
  void offer(const core::TaskClaim& claim) override { listener_.offer(claim); }

 private:
  std::vector<std::unique_ptr<PostgresLine>> more_;  // lines beside the store itself; each connects when it has work
  PostgresLine slow_;
  HintListener listener_;
};

}  // namespace semel::store::postgres
