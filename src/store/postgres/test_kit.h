// What the PostgreSQL tests share: a store on a database of its own, and short ways to ask it things.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "base/uuid.h"
#include "core/fingerprint.h"
#include "core/operations.h"
#include "store/port.h"

namespace semel::store::postgres {

using core::Operation;

// Asks one store. Several of them on one database are several nodes.
class Asker {
 public:
  explicit Asker(Store& store) : store_(&store) {}

  Instant now() { return store_->clock().now(); }
  template <class Id>
  Id fresh() {
    return ids_.next<Id>(now());
  }
  Applied apply(Batch& batch, std::vector<Operation>& operations, Store* lane = nullptr) {
    if (batch.id.is_nil()) batch.id = fresh<BatchId>();
    batch.now = now();
    batch.history = store_->history();
    batch.operations.clear();
    for (Operation& operation : operations) batch.operations.push_back(&operation);
    return (lane ? lane : store_)->apply(batch);
  }
  // Until it is committed, as the writer would: the same batch again, or with recheck when the end is unknown.
  std::vector<core::Answer> run(std::vector<Operation> operations) {
    Batch batch;
    for (int attempt = 0; attempt < 1000; ++attempt) {
      const Applied applied = apply(batch, operations);
      if (applied.kind == Applied::Kind::committed) return std::move(batch.answers);
      if (applied.kind == Applied::Kind::unknown) batch.recheck = true;
      ++retries;
      last = applied.error;
    }
    ADD_FAILURE() << "never committed: " << last.message;
    return std::vector<core::Answer>(operations.size());
  }
  template <class Op>
  typename core::AnswerOf<Op>::type ask(Op operation) {
    auto answer = std::move(run({std::move(operation)})[0]);
    if (auto* error = std::get_if<Error>(&answer)) {
      ADD_FAILURE() << error->to_json();
      return {};
    }
    return std::get<typename core::AnswerOf<Op>::type>(std::move(answer));
  }

  core::LaneId lane(const std::string& queue = "default", std::optional<core::LaneConfig> config = {}) {
    core::LaneEnsure ensure;
    ensure.queue = queue;
    ensure.config = std::move(config);
    return ask(ensure).lane.id;
  }
  SessionId session(Duration lease = std::chrono::hours(1)) {
    core::SessionOpen open;
    open.session = fresh<SessionId>();
    open.worker = "worker";
    open.lease = lease;
    ask(open);
    return open.session;
  }
  core::TaskEnqueue task(core::LaneId lane, std::optional<std::string> id = {}) {
    core::TaskEnqueue t;
    t.id = fresh<ExecutionId>();
    t.lane = lane;
    t.name = "charge";
    t.args = R"({"order":1})";
    t.identity = std::move(id);
    if (t.identity) t.fingerprint = core::fingerprint_of(t.name, t.args).value();
    return t;
  }
  core::TaskClaim claim(core::LaneId lane, SessionId session, std::int32_t limit) {
    core::TaskClaim c;
    c.id = fresh<ClaimId>();
    c.session = session;
    c.worker = "worker";
    c.lease = std::chrono::minutes(1);
    c.lanes = {{lane, limit, false}};
    return c;
  }
  static core::TaskComplete complete(const core::Execution& e) {
    core::TaskComplete c;
    c.execution = e.id;
    c.version = e.version;
    c.result = R"({"ok":true})";
    return c;
  }
  void expect_sound() {
    const auto broken = store_->verify();
    ASSERT_TRUE(broken.ok()) << broken.error().message;
    for (const std::string& row : *broken) ADD_FAILURE() << row;
  }

  int retries = 0;
  Error last;

 private:
  Store* store_;
  base::SystemRandom random_;
  base::IdSource ids_{random_};
};

}  // namespace semel::store::postgres
