// One suite for every backend. A backend is a factory; the tests see the port only.
//
// The suites are headers, so that the programs with and without PostgreSQL share them: each program includes all of
// them once and names its backends.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/uuid.h"
#include "core/fingerprint.h"
#include "core/operations.h"
#include "store/port.h"
#include "store/snapshot_text.h"
#include "testing/manual_clock.h"

namespace semel::store::conformance {

using namespace std::chrono_literals;
using core::Execution;
using core::LaneId;
using core::Operation;

struct Backend {
  std::string name;
  std::function<std::unique_ptr<Store>(base::Clock&)> make;
};
inline void PrintTo(const Backend& backend, std::ostream* out) { *out << backend.name; }
inline std::string backend_name(const ::testing::TestParamInfo<Backend>& info) { return info.param.name; }

inline constexpr const char* kName = "charge";
inline constexpr const char* kArgs = R"({"order":1})";
inline constexpr const char* kError = R"({"name":"Boom","message":"it broke"})";

// A task enqueue with the fields a test cares about.
struct Task : core::TaskEnqueue {
  Task& with_id(std::string value) {
    identity = std::move(value);
    return sign();
  }
  Task& with_key(std::string value, std::int64_t ttl_seconds = 86400) {
    idempotency_key = std::move(value);
    idempotency_key_ttl_seconds = ttl_seconds;
    return sign();
  }
  Task& with_name(std::string value) {
    name = std::move(value);
    return sign();
  }
  Task& with_args(std::string value) {
    args = std::move(value);
    return sign();
  }
  Task& as_workflow(std::string id) {
    kind = Kind::workflow;
    return with_id(std::move(id));
  }

 private:
  Task& sign() {
    if (identity || idempotency_key) fingerprint = core::fingerprint_of(name, args).value();
    return *this;
  }
};

class StoreTest : public ::testing::TestWithParam<Backend> {
 protected:
  void SetUp() override {
    store_ = GetParam().make(clock_);
    ASSERT_NE(store_, nullptr);
    lane_ = lane("default-queue");
    session_ = open_session("worker-1");
  }

  // Whatever a test did, the tables agree with each other afterwards.
  void TearDown() override {
    if (!store_) return;
    const auto broken = store_->verify();
    ASSERT_TRUE(broken.ok()) << broken.error().message;
    for (const std::string& row : *broken) ADD_FAILURE() << row;
  }

  // ---- time and identity ----
  Instant now() { return clock_.now(); }
  void advance(Duration by) { clock_.advance(by); }
  template <class Id>
  Id fresh() {
    return ids_.next<Id>(now());
  }

  // ---- operations ----
  std::vector<core::Answer> apply(std::vector<Operation> operations) {
    Batch batch;
    batch.id = fresh<BatchId>();
    return apply(batch, operations);
  }
  std::vector<core::Answer> apply(Batch& batch, std::vector<Operation>& operations) {
    batch.now = now();
    batch.operations.clear();
    for (Operation& operation : operations) batch.operations.push_back(&operation);
    const Applied applied = store_->apply(batch);
    EXPECT_EQ(applied.kind, Applied::Kind::committed) << applied.error.message;
    EXPECT_EQ(batch.answers.size(), operations.size());
    batch.answers.resize(operations.size());
    notes_ = batch.notes;
    wakes_ = batch.wakes;
    return batch.answers;
  }
  core::Answer ask(Operation operation) { return std::move(apply({std::move(operation)})[0]); }

  // The answer of a successful operation.
  template <class Op>
  typename core::AnswerOf<Op>::type run(Op operation) {
    return expect_answer<typename core::AnswerOf<Op>::type>(ask(std::move(operation)));
  }
  template <class Wanted>
  static Wanted expect_answer(const core::Answer& answer) {
    if (const auto* value = std::get_if<Wanted>(&answer)) return *value;
    const auto* error = std::get_if<Error>(&answer);
    ADD_FAILURE() << "refused: " << (error ? error->to_json() : "another kind of answer");
    return Wanted{};
  }
  // The error of a refused one.
  static ErrorCode code_of(const core::Answer& answer) {
    if (const auto* error = std::get_if<Error>(&answer)) return error->code;
    ADD_FAILURE() << "was not refused";
    return ErrorCode::Internal;
  }
  ErrorCode refused(Operation operation) { return code_of(ask(std::move(operation))); }

  // ---- rooms ----
  LaneId lane(const std::string& queue, std::optional<core::LaneConfig> config = {}) {
    core::LaneEnsure ensure;
    ensure.queue = queue;
    ensure.config = std::move(config);
    return run(ensure).lane.id;
  }
  LaneId dead_letter_lane() {
    core::LaneConfig config;
    config.dead_letter = true;
    return lane("dead-letter", config);
  }
  core::Lane lane_row(LaneId id) { return store_->lane_stats(id).value().lane; }
  SessionId open_session(const std::string& worker, Duration lease = 1h) {
    core::SessionOpen open{fresh<SessionId>(), worker, lease};
    run(open);
    return open.session;
  }

  // ---- tasks ----
  Task task() {
    Task out;
    out.id = fresh<ExecutionId>();
    out.lane = lane_;
    out.name = kName;
    out.args = kArgs;
    return out;
  }
  ExecutionId enqueue(const Task& request) {
    const auto answer = run<core::TaskEnqueue>(request);
    EXPECT_TRUE(answer.created);
    return answer.execution;
  }
  core::TaskClaim claim_request(LaneId from, std::int32_t limit = 1) {
    core::TaskClaim claim;
    claim.id = fresh<ClaimId>();
    claim.session = session_;
    claim.worker = "worker-1";
    claim.lease = 30s;
    const core::Lane row = lane_row(from);
    claim.lanes.push_back({from, limit, row.config.rate_limit || row.config.concurrency});
    return claim;
  }
  std::vector<Execution> claim(LaneId from, std::int32_t limit = 1) { return rows_of(run(claim_request(from, limit))); }
  std::vector<Execution> claim(std::int32_t limit = 1) { return claim(lane_, limit); }
  static std::vector<Execution> rows_of(const core::ClaimAnswer& answer) {
    std::vector<Execution> out;
    for (const auto& one : answer.tasks) out.push_back(one.execution);
    return out;
  }
  Execution claim_one() {
    auto rows = claim(lane_, 1);
    EXPECT_EQ(rows.size(), 1u);
    return rows.empty() ? Execution{} : rows[0];
  }
  core::TaskDeliver delivery(const std::string& job) {
    core::TaskDeliver deliver;
    deliver.identity = job;
    deliver.claim = fresh<ClaimId>();
    deliver.session = session_;
    deliver.worker = "worker-1";
    deliver.lease = 30s;
    return deliver;
  }
  static core::TaskComplete completion(const Execution& held, std::string result = R"({"ok":true})") {
    return {held.id, held.version, std::move(result)};
  }
  static core::TaskFail failure(const Execution& held, bool retryable = true) {
    core::TaskFail fail;
    fail.execution = held.id;
    fail.version = held.version;
    fail.error_name = "Boom";
    fail.error = kError;
    fail.retryable = retryable;
    return fail;
  }
  static core::TaskHeartbeat heartbeat(const Execution& held) { return {held.id, held.version, 30s, {}}; }
  Status finish(const Execution& held) { return run(completion(held)).status; }

  Execution row(ExecutionId id) {
    auto found = store_->execution_get(core::kDefaultTenant, id).value();
    EXPECT_TRUE(found.has_value()) << id.to_string();
    return found ? found->execution : Execution{};
  }
  bool exists(ExecutionId id) { return store_->execution_get(core::kDefaultTenant, id).value().has_value(); }
  std::string line(ExecutionId id) { return to_line(row(id)); }
  std::string snapshot() { return store_->snapshot().value(); }
  std::optional<ExecutionId> newest(const std::string& id, core::Space space = core::Space::task) {
    const auto found = store_->execution_find(core::kDefaultTenant, space, id).value();
    return found ? std::optional(found->execution.id) : std::nullopt;
  }
  // ---- runs ----
  Execution claim_run(LaneId from) {
    core::TaskClaim request = claim_request(from);
    request.pool = core::Pool::runs;
    auto rows = rows_of(run(request));
    EXPECT_EQ(rows.size(), 1u);
    return rows.empty() ? Execution{} : rows[0];
  }
  // What the owner adds: events of its own.
  core::RunAdvance advance_of(const Execution& held, std::vector<core::Event> events = {}) {
    core::RunAdvance out;
    out.execution = held.id;
    out.version = held.version;
    const auto header = store_->run_get(held.id).value();
    out.known = header ? header->events : 0;
    for (auto& event : events) out.entries.push_back({{}, std::move(event), {}});
    return out;
  }
  static core::Event event(core::EventKind kind, std::int32_t command = 0, std::string data = "") {
    core::Event out;
    out.kind = kind;
    out.command = command;
    out.data = std::move(data);
    return out;
  }

  // An execution that ended with `status`, made the ordinary way.
  ExecutionId ended(Task request, Status status);

  testing::ManualClock clock_;
  base::SeededRandom random_{20260301};
  base::IdSource ids_{random_};
  std::unique_ptr<Store> store_;
  LaneId lane_{};
  SessionId session_;
  std::vector<core::LedgerNote> notes_;  // of the last batch
  Wakes wakes_;
};

inline ExecutionId StoreTest::ended(Task request, Status status) {
  if (status == Status::dead_lettered) request.lane = dead_letter_lane();
  else if (status == Status::timed_out) request.timeout = 1ms;
  if (status == Status::dead_lettered) request.max_attempts = 1;
  const LaneId from = request.lane;
  const ExecutionId id = enqueue(request);
  if (status == Status::cancelled) {
    run(core::ExecutionCancel{request.tenant, id});
  } else if (status == Status::timed_out) {
    advance(1ms);
    run(core::TimersFire{});
  } else {
    core::TaskDeliver deliver = delivery("");
    deliver.execution = id;
    if (request.kind == Kind::workflow) {
      const Execution held = claim_run(from);
      const bool ok = status == Status::succeeded;
      run(advance_of(held, {event(ok ? core::EventKind::run_completed : core::EventKind::run_failed, 0,
                                  ok ? R"({"ok":true})" : kError)}));
      EXPECT_EQ(row(id).status, status);
      return id;
    }
    run(deliver);
    const Execution held = row(id);
    run(heartbeat(held));
    if (status == Status::succeeded) finish(held);
    else run(failure(held, status == Status::dead_lettered));
  }
  EXPECT_EQ(row(id).status, status);
  return id;
}

}  // namespace semel::store::conformance
