#include "tests/crash/damaged_values.h"

#include <algorithm>
#include <deque>

#include "engine/run_keeper.h"
#include "engine/worker.h"
#include "sdk/workflow/code.h"
#include "semel/workflow.h"
#include "store/postgres/postgres_store.h"
#include "store/sqlite/sqlite_store.h"
#include "testing/engine_node.h"
#include "tests/crash/sql.h"

namespace semel::crash {
namespace {

using namespace std::chrono_literals;

// Waits for a step, a timer and a signal, in this order.
Workflow<int> waits(WorkflowContext& ctx, int n) {
  auto noted = ctx.run("note", [](int value) { return value + 1; }, n);
  co_await noted;
  auto nap = ctx.sleep(8s);
  co_await nap;
  auto go = ctx.signal<int>("go");
  co_return co_await go;
}

class Jobs final : public engine::RunExecutor {
 public:
  void decide(std::function<void()> job) override { jobs.push_back(std::move(job)); }
  void call(std::function<void()> job) override { jobs.push_back(std::move(job)); }
  std::deque<std::function<void()>> jobs;
};

class Handlers final : public engine::Executor {
 public:
  void start(std::vector<engine::RunRef> runs) override { std::ranges::move(runs, std::back_inserter(queue)); }
  std::vector<engine::RunRef> take_unstarted() override { return std::exchange(queue, {}); }
  std::vector<engine::RunRef> queue;
};

std::unique_ptr<store::Store> open(const std::string& url, base::Clock& clock) {
  if (url.starts_with("sqlite:")) {
    store::sqlite::SqliteOptions options;
    options.path = url.substr(7);
    options.clock = &clock;
    return std::move(store::sqlite::open_sqlite(options)).value();
  }
  store::postgres::PgOptions options;
  options.url = url;
  options.migrate = true;
  options.clock = &clock;
  return std::move(store::postgres::open_postgres(options)).value();
}

// One process without threads: a worker for tasks and runs, housekeeping, time.
class World {
 public:
  explicit World(const std::string& url, Duration later)
      : clock_(testing::kTestStart + later), store_(open(url, clock_)) {
    handlers_.add("work", [](engine::Run&) { return engine::HandlerOutcome::success("1"); });
    handlers_.add("fail", [](engine::Run&) { return engine::HandlerOutcome::failure("Boom", "it broke"); });
    handlers_.seal();
    auto table = std::make_shared<engine::WorkflowTable>();
    const auto type = workflow("waits", waits);
    table->add(type.name(), sdk::make_run_code(type.starter(), sdk::Sealer(nullptr), {}));
    keeper_ = std::make_shared<engine::RunKeeper>(node.engine, table, jobs_, engine::KeeperOptions{});
    engine::WorkerOptions options;
    options.lease = 5s;
    worker_ = std::make_unique<engine::Worker>(node.engine, handlers_, executor_, options, keeper_.get());
    keeper_->over = [this](ClaimId claim, bool closed) { worker_->run_over(claim, closed); };
    keeper_->holds = [this](SessionId session) { return worker_->holds(session); };
    node.published = [this](const store::Wakes& wakes) { worker_->note_wakes(wakes); };
  }
  ~World() {
    node.published = nullptr;
    keeper_->close();
    jobs_->jobs.clear();
  }

  // Half a second at a time. Answers false when there is always something more to do at one instant.
  bool pass(Duration by) {
    constexpr Duration kStep = 500ms;
    for (Duration passed{0}; passed < by; passed += kStep) {
      clock_.advance(kStep);
      monotonic_.advance(kStep);
      worker_->heartbeat(clock_.now());
      worker_->poll(clock_.now());
      const std::uint64_t before = node.writer.stats().batches;
      for (int round = 0; round < 12; ++round) step();
      if (node.writer.stats().batches - before > kMostBatches || jobs_run_ > kMostJobs) return false;
      jobs_run_ = 0;
    }
    return true;
  }

 private:
  static constexpr std::uint64_t kMostBatches = 150;
  static constexpr int kMostJobs = 400;

  void step() {
    const Instant now = clock_.now();
    node.clockwork.step(now);
    node.engine.step(now);
    worker_->step(now);
    for (int i = 0; i < 40 && node.writer.step(now) <= now; ++i) {
    }
    for (std::size_t line = 1; line < node.writer.lines(); ++line) node.writer.step(now, line);
    node.writer.slow_step(now);
    for (auto& run : std::exchange(executor_.queue, {}))
      if (worker_->begin(*run, now)) worker_->finish(run, handlers_.call(*run));
    for (std::size_t i = jobs_->jobs.size(); i > 0; --i, ++jobs_run_) {
      const auto job = std::move(jobs_->jobs.front());
      jobs_->jobs.pop_front();
      job();
    }
  }

  testing::ManualClock clock_;
  testing::ManualMonotonic monotonic_;
  std::unique_ptr<store::Store> store_;
  engine::HandlerTable handlers_;
  Handlers executor_;
  std::shared_ptr<Jobs> jobs_ = std::make_shared<Jobs>();
  std::shared_ptr<engine::RunKeeper> keeper_;
  std::unique_ptr<engine::Worker> worker_;
  int jobs_run_ = 0;

 public:
  testing::EngineNode node{*store_, clock_, monotonic_};
};

engine::EnqueueRequest task(const std::string& id, const std::string& name = "work") {
  engine::EnqueueRequest request;
  request.name = name;
  request.task_id = id;
  request.args = "1";
  request.idempotency_key = "key-" + id;
  return request;
}

engine::EnqueueRequest run(const std::string& id) {
  engine::EnqueueRequest request = task(id, "waits");
  request.kind = Kind::workflow;
  request.queue = "flows";
  return request;
}

void enqueue(World& world, engine::EnqueueRequest request) { (void)world.node.enqueue(std::move(request)).value(); }

void set_queue(World& world, const std::string& name, const core::LaneConfig& config) {
  (void)world.node
      .get<core::Lane>([&](auto done) { world.node.engine.queue_set("default", name, config, std::move(done)); })
      .value();
}

void signal(World& world, const std::string& id) {
  engine::SignalRequest request;
  request.workflow_id = id;
  request.name = "go";
  request.data = "7";
  request.dedupe_id = "once";
  (void)world.node.get<core::SignalAnswer>([&](auto done) { world.node.engine.signal(request, std::move(done)); });
}

void make_queues(World& world) {
  core::LaneConfig limited;
  limited.rate_limit = core::RateLimit{2, 60s};
  limited.concurrency = 3;
  set_queue(world, "limited", limited);
  core::LaneConfig keyed;
  keyed.concurrency_per_key = 1;
  keyed.dead_letter = true;
  set_queue(world, "keyed", keyed);
}

void make_tasks(World& world) {
  for (int i = 0; i < 4; ++i) {
    auto request = task("limited-" + std::to_string(i));
    request.queue = "limited";
    enqueue(world, std::move(request));
    request = task("keyed-" + std::to_string(i), i == 0 ? "fail" : "unknown");
    request.queue = "keyed";
    request.concurrency_key = "k";
    request.max_attempts = 1;
    enqueue(world, std::move(request));
    request = task("later-" + std::to_string(i));
    request.delay = 40s + i * 3s;
    request.timeout = 55s;
    enqueue(world, std::move(request));
  }
  for (int i = 0; i < 3; ++i) enqueue(world, task("fails-" + std::to_string(i), "fail"));
  engine::GroupRequest group;
  group.total = 2;
  group.completion = task("");
  group.completion.task_id.reset();
  group.completion.idempotency_key.reset();
  const auto made =
      world.node.get<engine::GroupOutcome>([&](auto done) { world.node.engine.group_create(group, std::move(done)); });
  auto member = task("member");
  member.group = made.value().id;
  enqueue(world, std::move(member));
}

}  // namespace

void fill_store(const std::string& url) {
  World world(url, Duration{0});
  make_queues(world);
  make_tasks(world);
  for (int i = 0; i < 3; ++i) enqueue(world, run("run-" + std::to_string(i)));
  world.pass(6s);
  signal(world, "run-0");
  enqueue(world, task("fails-0", "fail"));
  (void)world.node.enqueue(task("member"));
  world.pass(5s);
  signal(world, "run-1");
  enqueue(world, task("waits-for-a-worker"));
}

std::vector<Column> integer_columns(const std::string& url) {
  const auto sql = open_sql(url);
  const std::string text =
      sql->is_sqlite()
          ? "SELECT m.name, c.name FROM sqlite_schema m JOIN pragma_table_info(m.name) c WHERE m.type = 'table' AND "
            "c.type "
            "= 'INTEGER' ORDER BY 1, 2"
          : "select table_name, column_name from information_schema.columns where table_schema = 'semel' and data_type "
            "in "
            "('smallint', 'integer', 'bigint') and table_name in (select tablename from pg_tables where schemaname = "
            "'semel') order by 1, 2";
  const std::vector<std::string> other = {"meta", "batch_mark", "tenant", "ledger", "inbox", "schema_info"};
  std::vector<Column> out;
  for (const auto& row : sql->query(text))
    if (std::ranges::find(other, row[0]) == other.end()) out.push_back({row[0], row[1]});
  return out;
}

long damage(const std::string& url, const Column& column, const std::string& value) {
  const auto sql = open_sql(url);
  if (sql->is_sqlite()) {
    sql->run("UPDATE OR IGNORE " + column.table + " SET " + column.name + " = " + value);
    return sql->number("SELECT count(*) FROM " + column.table + " WHERE " + column.name + " = " + value);
  }
  try {
    sql->run("update semel." + column.table + " set " + column.name + " = " + value +
             " where ctid = (select min(ctid) from semel." + column.table + ")");
  } catch (const std::exception&) {
    return 0;  // not a number of this column's type, or no row may have it
  }
  return sql->number("select count(*) from semel." + column.table + " where " + column.name + " = " + value);
}

Met live_with(const std::string& url) {
  Met met;
  World world(url, 12s);
  if (!world.pass(2s)) met.problem = "spins at once";
  auto other = task("other");
  other.queue = "made-afterwards";
  const auto enqueued = world.node.enqueue(std::move(other));
  if (!enqueued) met.problem = "others cannot enqueue: " + enqueued.error().message;
  if (!world.pass(28s)) met.problem = "spins";
  const auto done = world.node.engine.get_task("default", "other");
  if (!done) met.problem = "others are not found: " + done.error().message;
  else if (done->execution.status != Status::succeeded) met.problem = "others wait";
  for (const char* id : {"run-0", "run-1", "run-2", "later-1", "keyed-1", "fails-0"}) {
    for (const Kind kind : {Kind::task, Kind::workflow}) {
      (void)world.node.engine.explain("default", id, kind);
      if (const auto view = world.node.engine.get_task("default", id, kind))
        (void)world.node.engine.history("default", view->execution.id);
    }
  }
  const auto verified = world.node.env.store.verify();
  if (!verified) met.problem = "verify: " + verified.error().message;
  else met.verified = *verified;
  return met;
}

}  // namespace semel::crash
