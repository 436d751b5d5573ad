// D4, W3, X14, X15, X16, F5, F14: connections are cut around everything, and servers die for good.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <set>

#include "testing/pg_proxy.h"
#include "testing/private_pooler.h"
#include "testing/private_postgres.h"
#include "testing/seeded_random.h"
#include "tests/crash/cut_drill.h"
#include "tests/crash/open_store.h"
#include "tests/crash/process.h"
#include "tests/crash/scratch.h"
#include "tests/crash/sql.h"
#include "tests/crash/together.h"

namespace semel::crash {
namespace {

long cuts() { return std::getenv("SEMEL_LONG") ? 2000 : 100; }

void report(const std::string& name, const CutRecord& record) {
  std::printf("%s; acknowledged %ld, told that nothing happened %ld, unknown %ld\n", name.c_str(),
              record.acknowledged(), record.refused(), record.unknown());
  for (const auto& text : record.violations()) ADD_FAILURE() << text;
}

class CutConnections : public ::testing::Test {
 protected:
  CutConnections() {
    open_store(database_.store(), true).value();
    watch(*open_sql(database_.store()));
  }
  std::string socket_folder() {
    return open_sql(database_.store())
        ->query("select split_part(current_setting('unix_socket_directories'), ',', 1)")[0][0];
  }
  std::string port() { return open_sql(database_.store())->query("select current_setting('port')")[0][0]; }
  std::string name() { return open_sql(database_.store())->query("select current_database()")[0][0]; }

  ScratchDatabase database_;
};

TEST_F(CutConnections, NothingAcknowledgedIsLostDoubledOrDenied) {
  const auto seed = testing::test_seed(1);
  testing::PgProxy proxy(socket_folder() + "/.s.PGSQL." + port());
  Cuts over(proxy, seed, cuts());
  CutRecord record;
  drill(
      {"postgres://postgres@/" + name() + "?host=" + proxy.folder() + "&port=5432", database_.store(), seed},
      [&] { return over(); }, record);
  report(over.to_text(), record);
  EXPECT_EQ(over.struck(), cuts());
  EXPECT_GT(record.acknowledged(), cuts());
}

// The pooler's own words, and what it does to connections whose server is gone.
TEST_F(CutConnections, BehindAPoolerNothingIsLostDoubledOrDeniedEither) {
  const auto seed = testing::test_seed(2);
  testing::PgProxy proxy(socket_folder() + "/.s.PGSQL." + port());
  const testing::PrivatePooler pooler(proxy.folder(), "5432", "pool_mode = session\nserver_login_retry = 0\n");
  Cuts over(proxy, seed, cuts() / 4);
  CutRecord record;
  drill({pooler.url(name()), database_.store(), seed}, [&] { return over(); }, record);
  report(over.to_text(), record);
  EXPECT_EQ(over.struck(), cuts() / 4);
}

// ---- a standby takes over ----

class Failover : public ::testing::Test {
 protected:
  Failover() {
    primary_.start();
    open_store(primary_.url(), true).value();
    watch(*open_sql(primary_.url()));
    standby_ = std::make_unique<testing::PrivatePostgres>(primary_, "second");
  }
  // The primary dies while callers write, and the standby takes over for good.
  void take_over(CutRecord& record) {
    int looks = 0;
    const auto seed = testing::test_seed(3);
    const auto written = [](const std::string& url) {
      return open_sql(url)->number("select count(*) from semel.execution");
    };
    const auto over = [&] {
      if (looks == 0 && written(primary_.url()) > 300) {
        primary_.kill_hard();
        standby_->promote();
        before_ = written(standby_->url());
        looks = 1;
      }
      return looks == 1 && written(standby_->url()) > before_ + 300;
    };
    drill({primary_.url_with(*standby_), standby_->url(), seed}, over, record);
  }

  testing::PrivatePostgres primary_;
  std::unique_ptr<testing::PrivatePostgres> standby_;
  long before_ = 0;
};

// X15: 0 acknowledged lost.
TEST_F(Failover, APromotedSynchronousStandbyHasEverythingAcknowledged) {
  primary_.set("synchronous_standby_names", "second");
  standby_->start();
  CutRecord record(true);
  take_over(record);
  report("synchronous standby promoted", record);
}

// X15: what the standby had not got is lost, from some write on up to the failure, and nothing else.
TEST_F(Failover, APromotedAsynchronousStandbyLosesTheTailAlone) {
  constexpr int kBehind = 100, kFails = 150, kEnd = 250;
  standby_->start();
  auto runtime = open_runtime(primary_.url_with(*standby_), 1000);
  std::vector<std::string> acknowledged;
  for (int i = 0; i < kEnd; ++i) {
    if (i == kBehind) standby_->stop();
    if (i == kFails) {
      primary_.kill_hard();
      standby_->start();
      standby_->promote();
    }
    const std::string id = "t-" + std::to_string(1000 + i);
    bool told = false;
    while (!told)
      enqueue_together(*runtime, id, 1, 1, [&](const std::string& line) { told = line.find("error") == line.npos; });
    acknowledged.push_back(id + "-0");
  }
  std::set<std::string> there;
  for (const auto& [id, execution] : identities(*open_sql(standby_->url()))) there.insert(id);
  int first_lost = kFails, lost = 0;
  for (int i = 0; i < kEnd; ++i) {
    if (there.contains(acknowledged[static_cast<std::size_t>(i)])) continue;
    first_lost = std::min(first_lost, i);
    ++lost;
  }
  std::printf("asynchronous standby promoted: %d of %d lost, the first is %d\n", lost, kFails, first_lost);
  EXPECT_LE(first_lost, kBehind);
  EXPECT_EQ(lost, kFails - first_lost) << "a hole, or what came after the failover";
}

}  // namespace
}  // namespace semel::crash
