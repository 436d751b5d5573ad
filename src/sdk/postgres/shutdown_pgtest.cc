// The end of an engine whose server does not answer any more.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/clock.h"
#include "semel/postgres.h"
#include "semel/semel.h"
#include "testing/pg_proxy.h"
#include "testing/temp_postgres.h"

namespace semel {
namespace {

using namespace std::chrono_literals;

const auto kHeld = task("held", [](int) { return 1; });

// F15: what waits for the server is answered when the grace is over. Patience with an unknown commit alone is 30 s,
// with a call 10 s; who had that would be told something else.
class SilentServer : public ::testing::Test {
 protected:
  Engine open() {
    const std::string url = "postgres://postgres@/" + database_.database() + "?host=" + proxy_.folder() + "&port=5432";
    return Engine::open(url, Options().backend(postgres::backend(postgres::BackendOptions().unsafe(true)))).value();
  }
  std::string socket_path() {
    const auto rows = database_.query(
        "select split_part(current_setting('unix_socket_directories'), ',', 1), current_setting('port')");
    return rows.text(0, 0) + "/.s.PGSQL." + rows.text(0, 1);
  }

  // Stands for the call timeout of the store.
  class Bound {
   public:
    ~Bound() { EXPECT_LT(base::steady_micros() - from_, 9'000'000); }

   private:
    const std::int64_t from_ = base::steady_micros();
  };

  testing::TempPostgres database_;
  testing::PgProxy proxy_{socket_path()};
};

TEST_F(SilentServer, EverybodyIsAnsweredWhenTheGraceIsOver) {
  Engine engine = open();
  const auto later = engine.enqueue(kHeld, 1, EnqueueOptions().delay(1h).queue("later")).value().execution_id();
  std::atomic<bool> running{false}, go_on{false};
  const auto held = task("held", [&](int) {
    running = true;
    while (!go_on.load()) std::this_thread::yield();
    return 1;
  });
  auto worker = engine.start_worker(WorkerOptions().add(held)).value();
  ASSERT_TRUE(engine.enqueue(kHeld, 1).ok());
  while (!running.load()) std::this_thread::yield();

  proxy_.black_hole(true);
  go_on = true;  // its outcome cannot be written
  std::vector<Result<Handle<int>>> answers;
  for (int i = 0; i < 4; ++i)
    engine.enqueue_async(kHeld, 1, {}, [&](Result<Handle<int>> answer) { answers.push_back(std::move(answer)); });
  std::optional<Result<Handle<int>>> waited;
  std::thread caller([&] { waited.emplace(engine.enqueue(kHeld, 1)); });
  std::optional<Result<Execution>> read;
  std::thread reader([&] { read.emplace(engine.get(later)); });
  {
    const Bound bound;
    worker.stop(500ms);
    engine.shutdown(500ms);
    caller.join();
    reader.join();
  }

  ASSERT_EQ(answers.size(), 4u);
  answers.push_back(*std::move(waited));
  for (const auto& answer : answers) {
    ASSERT_FALSE(answer.ok());
    const bool unknown = answer.error().code == ErrorCode::UnknownCommit;
    EXPECT_TRUE(unknown || answer.error().code == ErrorCode::ShuttingDown) << answer.error().message;
    if (unknown) EXPECT_NE(answer.error().message.find("the engine stopped"), std::string::npos);
  }
  EXPECT_FALSE(read->ok());
  EXPECT_EQ(engine.enqueue(kHeld, 1).error().code, ErrorCode::ShuttingDown);
}

// The same while connections are being made anew.
TEST_F(SilentServer, ReconnectingIsGivenUpToo) {
  Engine engine = open();
  proxy_.black_hole(true);
  database_.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> "
      "pg_backend_pid()");
  std::vector<Result<Handle<int>>> answers;
  engine.enqueue_async(kHeld, 1, {}, [&](Result<Handle<int>> answer) { answers.push_back(std::move(answer)); });
  {
    const Bound bound;
    engine.shutdown(500ms);
  }
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_FALSE(answers[0].ok());
}

}  // namespace
}  // namespace semel
