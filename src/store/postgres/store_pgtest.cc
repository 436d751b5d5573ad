// The store on a real server: what only PostgreSQL can do wrong.
#include <gtest/gtest.h>

#include "base/random.h"
#include "base/uuid.h"
#include "core/fingerprint.h"
#include "testing/temp_postgres.h"

namespace semel::store::postgres {
namespace {

using core::Operation;
using testing::TempPostgres;

class PostgresStoreTest : public ::testing::Test {
 protected:
  void SetUp() override { store_ = database_.open(); }

  Instant now() { return store_->clock().now(); }
  template <class Id>
  Id fresh() {
    return ids_.next<Id>(now());
  }
  Applied apply(Store& store, Batch& batch, std::vector<Operation>& operations) {
    batch.now = now();
    batch.operations.clear();
    for (Operation& operation : operations) batch.operations.push_back(&operation);
    return store.apply(batch);
  }
  std::vector<core::Answer> run(std::vector<Operation> operations) {
    Batch batch;
    batch.id = fresh<BatchId>();
    const Applied applied = apply(*store_, batch, operations);
    EXPECT_EQ(applied.kind, Applied::Kind::committed) << applied.error.message;
    batch.answers.resize(operations.size());
    return batch.answers;
  }
  core::LaneId lane(const std::string& queue = "default") {
    core::LaneEnsure ensure;
    ensure.queue = queue;
    return std::get<core::LaneAnswer>(run({ensure})[0]).lane.id;
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
  void expect_sound() {
    const auto broken = store_->verify();
    ASSERT_TRUE(broken.ok()) << broken.error().message;
    for (const std::string& row : *broken) ADD_FAILURE() << row;
  }

  TempPostgres database_;
  std::unique_ptr<Store> store_;
  base::SystemRandom random_;
  base::IdSource ids_{random_};
};

TEST_F(PostgresStoreTest, ATaskLivesFromEnqueueToSuccess) {
  const auto where = lane();
  core::SessionOpen open;
  open.session = fresh<SessionId>();
  open.worker = "w";
  open.lease = std::chrono::seconds(30);
  run({open});
  const auto created = std::get<core::EnqueueAnswer>(run({task(where, "pay-1")})[0]);
  EXPECT_TRUE(created.created);
  const auto again = std::get<core::EnqueueAnswer>(run({task(where, "pay-1")})[0]);
  EXPECT_FALSE(again.created);
  EXPECT_EQ(again.execution, created.execution);
  core::TaskClaim claim;
  claim.id = fresh<ClaimId>();
  claim.session = open.session;
  claim.worker = "w";
  claim.lease = std::chrono::seconds(30);
  claim.lanes = {{where, 10, false}};
  const auto claimed = std::get<core::ClaimAnswer>(run({claim})[0]);
  ASSERT_EQ(claimed.tasks.size(), 1u);
  EXPECT_EQ(claimed.tasks[0].payload.args, R"({"order":1})");
  EXPECT_EQ(claimed.tasks[0].execution.version, 2);
  core::TaskComplete complete;
  complete.execution = created.execution;
  complete.version = 2;
  complete.result = "{}";
  EXPECT_EQ(std::get<core::EndAnswer>(run({complete})[0]).status, Status::succeeded);
  const auto view = store_->execution_find(core::kDefaultTenant, core::Space::task, "pay-1").value();
  ASSERT_TRUE(view);
  EXPECT_EQ(view->execution.status, Status::succeeded);
  EXPECT_EQ(view->queue, "default");
  expect_sound();
}

}  // namespace
}  // namespace semel::store::postgres
