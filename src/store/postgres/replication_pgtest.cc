// What is told while a standby that commits wait for is away, and after it took over.
#include <gtest/gtest.h>

#include <thread>

#include "store/postgres/postgres_store.h"
#include "store/postgres/test_kit.h"
#include "testing/private_postgres.h"

namespace semel::store::postgres {
namespace {

using testing::PrivatePostgres;
using Kind = Applied::Kind;

constexpr const char* kExecutions = "select count(*) from semel.execution";

PgOptions options_of(const std::string& url) {
  PgOptions options;
  options.url = url;
  options.migrate = true;
  options.hints = false;
  options.call_timeout = std::chrono::seconds(1);
  options.reconnect_pause = std::chrono::milliseconds(1);
  return options;
}

class SynchronousStandby : public ::testing::Test {
 protected:
  SynchronousStandby() {
    primary_.start();
    store_ = open_postgres(options_of(primary_.url())).value();
    ask_.emplace(*store_);
    lane_ = ask_->lane();
    standby_.emplace(primary_, "second");
    primary_.set("synchronous_standby_names", "second");
  }
  Kind again(Batch& batch, std::vector<Operation>& operations) {
    batch.recheck = true;
    return ask_->apply(batch, operations).kind;
  }
  void expect_answered_once_replicated(Batch& batch, std::vector<Operation>& operations) {
    standby_->start();
    const Instant patience = ask_->now() + std::chrono::seconds(60);
    Kind kind = Kind::unknown;
    while (kind != Kind::committed && ask_->now() < patience) kind = again(batch, operations);
    ASSERT_EQ(kind, Kind::committed);
    EXPECT_TRUE(std::get<core::EnqueueAnswer>(batch.answers[0]).created);
    EXPECT_EQ(standby_->query(kExecutions).i64(0, 0), 1) << "answered, so it is on the standby too";
  }

  PrivatePostgres primary_;
  std::unique_ptr<Store> store_;
  std::optional<Asker> ask_;
  core::LaneId lane_{};
  std::optional<PrivatePostgres> standby_;  // not started: away
};

// F4, X18: the restarted server shows what its standby has never seen.
TEST_F(SynchronousStandby, ABatchFoundByItsMarkIsAnsweredOnlyOnceItIsReplicated) {
  std::vector<Operation> task = {ask_->task(lane_, "pay-1")};
  Batch batch;
  ASSERT_EQ(ask_->apply(batch, task).kind, Kind::unknown) << "the commit waits for the standby";
  primary_.kill_hard();
  primary_.start();
  ASSERT_EQ(primary_.query(kExecutions).i64(0, 0), 1);
  Kind kind = again(batch, task);
  for (int i = 0; i < 3; ++i, kind = again(batch, task)) ASSERT_EQ(kind, Kind::unknown);
  expect_answered_once_replicated(batch, task);
}

// F4, X18: a cancelled wait is a local commit, not a failure.
TEST_F(SynchronousStandby, ACancelledWaitIsNeitherASuccessNorAFailure) {
  std::vector<Operation> task = {ask_->task(lane_, "pay-1")};
  Batch batch;
  Applied applied;
  std::thread writer([&] { applied = ask_->apply(batch, task); });
  const std::string cancel = "select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'";
  for (int i = 0; i < 10'000 && primary_.query(cancel).count() == 0; ++i) {
  }
  writer.join();
  EXPECT_EQ(applied.kind, Kind::unknown);
  EXPECT_NE(applied.error.message.find("synchronous replication"), std::string::npos) << applied.error.message;
  expect_answered_once_replicated(batch, task);
}

// X16: of two servers at one address, the one that was overtaken answers again.
TEST(Overtaken, AnOldPrimaryIsNotUsedAgain) {
  PrivatePostgres primary;
  primary.start();
  open_postgres(options_of(primary.url())).value();
  PrivatePostgres standby(primary, "second");
  const auto store = open_postgres(options_of(primary.url_with(standby))).value();
  Asker ask(*store);
  const auto lane = ask.lane();
  primary.stop();
  standby.start();
  standby.promote();
  std::vector<Operation> task = {ask.task(lane, "pay-1")};
  Batch batch;
  EXPECT_EQ(ask.apply(batch, task).kind, Kind::retry) << "its connection is gone";
  batch = {};
  EXPECT_EQ(ask.apply(batch, task).kind, Kind::another_history);
  const auto again = ask.lane();
  standby.stop();
  primary.start();
  std::vector<Operation> lost = {ask.task(again, "pay-2")};
  std::string told;
  for (int i = 0; i < 3; ++i) {
    Batch next;
    const Applied refused = ask.apply(next, lost);
    EXPECT_NE(refused.kind, Kind::committed);
    told += refused.error.message + "; ";
  }
  EXPECT_NE(told.find("overtaken"), std::string::npos) << told;
  EXPECT_EQ(primary.query(kExecutions).i64(0, 0), 0);
}

}  // namespace
}  // namespace semel::store::postgres
