// A store that shows another history under a running engine: a promoted standby that lost a tail, a schema made anew.
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <mutex>
#include <string>
#include <thread>

#include "base/log.h"
#include "engine/threads.h"
#include "store/postgres/postgres_store.h"
#include "store/postgres/test_kit.h"
#include "testing/private_postgres.h"
#include "testing/temp_postgres.h"

namespace semel::engine {
namespace {

using store::postgres::Asker;
using store::postgres::open_postgres;
using store::postgres::PgOptions;
using testing::PrivatePostgres;
using testing::TempPostgres;

class Lines final : public base::LogSink {
 public:
  bool enabled(base::LogLevel) const override { return true; }
  void write(base::LogLevel level, std::string_view message, std::initializer_list<base::LogField> fields) override {
    const std::lock_guard lock(mutex_);
    text_ += std::string(to_string(level)) + " " + base::format_log_line(message, fields) + "\n";
  }
  std::string text() const {
    const std::lock_guard lock(mutex_);
    return text_;
  }

 private:
  mutable std::mutex mutex_;
  std::string text_;
};

template <class Ready>
bool eventually(Ready ready) {
  base::SystemClock clock;
  const Instant deadline = clock.now() + std::chrono::seconds(60);
  while (!ready()) {
    if (clock.now() >= deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

// A program that works on queue `payments` and has done so before its store turns.
class Program {
 public:
  explicit Program(const std::string& url) : owner_(Runtime::open(open(url), {}).value()), runtime_(*owner_) {
    auto handlers = std::make_shared<HandlerTable>();
    handlers->add("pay", [this](Run&) {
      ++paid;
      return HandlerOutcome::success();
    });
    handlers->add("charge", [this](Run&) {
      ++strange;
      return HandlerOutcome::success();
    });
    handlers->add("hold", [this](Run& run) {
      std::promise<void> stopped;
      run.on_stop([&] { stopped.set_value(); });
      ++holding;
      stopped.get_future().wait();
      lost += run.stop_reason() == StopReason::lease_lost;
      return HandlerOutcome::success();
    });
    WorkerOptions options;
    options.tenants = {"default"};
    options.queues = {"payments"};
    pool_ = runtime_.start_worker(handlers, options).value();
  }
  ~Program() { pool_->stop(); }

  Result<EnqueueOutcome> enqueue(const std::string& name, const std::string& id) {
    return runtime_.wait<EnqueueOutcome>([&](auto done) {
      EnqueueRequest request;
      request.name = name;
      request.queue = "payments";
      request.task_id = id;
      runtime_.engine().enqueue(std::move(request), std::move(done));
    });
  }
  // As a caller does who repeats what is safe to repeat.
  void enqueue_at_last(const std::string& id) {
    EXPECT_TRUE(eventually([&] {
      const auto made = enqueue("pay", id);
      if (!made) EXPECT_TRUE(error_info(made.error().code).advice != RetryAdvice::never) << made.error().message;
      return made.ok();
    }));
  }
  std::string log() const { return log_.text(); }

  std::atomic<int> paid{0}, strange{0}, holding{0}, lost{0};

 private:
  std::unique_ptr<store::Store> open(const std::string& url) {
    PgOptions options;
    options.url = url;
    options.migrate = true;
    options.unsafe = true;
    options.log = &log_;
    options.reconnect_pause = std::chrono::milliseconds(1);
    return open_postgres(options).value();
  }

  Lines log_;
  const std::unique_ptr<Runtime> owner_;
  Runtime& runtime_;
  std::unique_ptr<WorkerPool> pool_;
};

// Another process makes tenant acme and its queue `secret`, which gets the number that `payments` had, and tasks there.
void give_the_number_to_another(store::Store& store, int tasks) {
  Asker ask(store);
  core::TenantEnsure tenant;
  tenant.name = "acme";
  core::LaneEnsure lane;
  lane.tenant = ask.ask(tenant).tenant;
  lane.queue = "secret";
  const core::LaneId number = ask.ask(lane).lane.id;
  for (int i = 0; i < tasks; ++i) {
    core::TaskEnqueue task = ask.task(number, "secret-" + std::to_string(i));
    task.tenant = lane.tenant;
    ask.ask(task);
  }
}

// Rows in a queue that is not theirs, or in none.
constexpr const char* kStrays =
    "select count(*) from semel.execution e left join semel.lane l on l.id = e.lane and l.tenant = e.tenant "
    "where l.id is null or (e.name in ('pay', 'hold')) <> (l.queue = 'payments')";

// F3, X15: the tail that an asynchronous standby never got held the queue's number.
TEST(AnotherHistory, APromotedStandbyThatLostATailMixesUpNothing) {
  PrivatePostgres primary;
  primary.start();
  PgOptions options;
  options.url = primary.url();
  options.migrate = true;
  const auto elder = open_postgres(options).value();
  Asker before(*elder);
  const auto first = before.ask(before.task(before.lane("work"), "held")).execution;
  const auto session = before.session();
  before.run({before.claim(core::LaneId{1}, session, 1)});
  PrivatePostgres standby(primary, "second");  // and here its copy ends
  Program program(primary.url_with(standby));
  ASSERT_TRUE(program.enqueue("pay", "pay-1").ok());
  ASSERT_TRUE(program.enqueue("hold", "hold-1").ok());
  ASSERT_TRUE(eventually([&] { return program.paid == 1 && program.holding == 1; }));
  primary.kill_hard();
  standby.start();
  standby.promote();
  options.url = standby.url();
  const auto other = open_postgres(options).value();
  give_the_number_to_another(*other, 20);

  program.enqueue_at_last("pay-2");
  EXPECT_TRUE(eventually([&] { return program.paid == 2; }));
  EXPECT_TRUE(eventually([&] { return program.lost == 1; })) << "its lease is of another history";
  EXPECT_EQ(program.strange, 0) << "acme's tasks are acme's";
  EXPECT_EQ(standby.query(kStrays).i64(0, 0), 0);
  EXPECT_NE(program.log().find("error the store has another history"), std::string::npos) << program.log();
  EXPECT_NE(program.log().find("timeline_before=1 timeline=2"), std::string::npos) << program.log();

  // Its holder may be gone, or have done what nobody knows of any more.
  const std::string held =
      "select version, attempt, status, last_end from semel.execution where id = '" + first.to_string() + "'";
  EXPECT_TRUE(eventually([&] { return standby.query(held).i16(0, 2) == static_cast<std::int16_t>(Status::queued); }));
  const auto row = standby.query(held);
  EXPECT_EQ(row.i32(0, 0), 3);
  EXPECT_EQ(row.i32(0, 1), 0) << "not counted";
  EXPECT_EQ(row.i16(0, 3), static_cast<std::int16_t>(core::AttemptEnd::released));
  ASSERT_TRUE(other->history_told().value());
  EXPECT_NE(other->history_told().value()->before.find("timeline 1"), std::string::npos);
  EXPECT_EQ(other->verify().value(), std::vector<std::string>{});
}

// F3, X24: no connection breaks, and other tables are behind it.
TEST(AnotherHistory, ASchemaMadeAnewUnderARunningEngineMixesUpNothing) {
  TempPostgres database;
  Program program(database.url());
  ASSERT_TRUE(program.enqueue("pay", "pay-1").ok());
  ASSERT_TRUE(eventually([&] { return program.paid == 1; }));
  database.query("drop schema semel cascade");
  PgOptions options = database.options();
  options.migrate = true;
  const auto other = open_postgres(options).value();
  give_the_number_to_another(*other, 20);
  program.enqueue_at_last("pay-2");
  EXPECT_TRUE(eventually([&] { return program.paid == 2; }));
  EXPECT_EQ(program.strange, 0);
  EXPECT_EQ(database.query(kStrays).i64(0, 0), 0);
}

}  // namespace
}  // namespace semel::engine
