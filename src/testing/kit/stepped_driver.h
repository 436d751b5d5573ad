// The engine without threads: every step is taken by the caller, in a fixed order, at a time the caller sets.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "engine/clockwork.h"
#include "engine/engine.h"
#include "engine/run_keeper.h"
#include "engine/worker.h"
#include "sdk/driver.h"
#include "store/memory/memory_store.h"
#include "testing/kit/witness.h"
#include "testing/manual_clock.h"

namespace semel::testing {

// What happens to the next attempt of a task.
struct Fault {
  enum class Kind : std::uint8_t { fail, crash_before, crash_after };
  Kind kind{};
  engine::HandlerOutcome outcome;
};

class SteppedDriver;

// Workflow code and bodies of ctx.run, in the order in which they were asked for.
class SteppedRuns final : public engine::RunExecutor {
 public:
  void decide(std::function<void()> job) override {
    if (!closed_) jobs_.push_back(std::move(job));
  }
  void call(std::function<void()> job) override { decide(std::move(job)); }
  bool run_one();
  void close();  // drops what was not begun: jobs hold the keeper, which holds this

 private:
  std::deque<std::function<void()>> jobs_;
  bool closed_ = false;
};

// A worker that is alive, or was: answers under way still find it.
struct HiredWorker {
  std::shared_ptr<SteppedRuns> executor;
  std::shared_ptr<engine::RunKeeper> keeper;
  std::unique_ptr<engine::Worker> worker;
};

// A worker pool whose handlers run when the driver says so. A crash replaces the worker inside.
class SteppedPool final : public engine::Executor, public sdk::PoolDriver, private TurnHost {
 public:
  SteppedPool(SteppedDriver& driver, sdk::Driver::WorkerSetup setup);
  ~SteppedPool() override;

  void start(std::vector<engine::RunRef> runs) override;
  std::vector<engine::RunRef> take_unstarted() override;
  engine::WorkerStats stats() const override { return hired_.worker->stats(); }
  engine::KeeperStats run_stats() const override { return hired_.keeper->stats(); }
  bool query(ExecutionId run, std::string name, std::string args, engine::Callback<std::string> done) override {
    return hired_.keeper->query(run, std::move(name), std::move(args), std::move(done));
  }
  void stop(Duration grace) override;

  engine::Worker& worker() { return *hired_.worker; }
  bool run_one();
  bool crash_if_due();  // everything that was under way is recorded
  void stub(const std::string& name, const engine::Handler& handler) { setup_.handlers->add(name, handler); }

 private:
  bool run_job();
  void crash();
  void hire();

  // ---- TurnHost ----
  Witness& witness() override;
  std::uint64_t job() const override { return job_; }
  void kill() override;
  void turn_is_open(const TurnStory* story) override { turn_ = story; }

  SteppedDriver& driver_;
  sdk::Driver::WorkerSetup setup_;
  HiredWorker hired_;
  std::deque<engine::RunRef> queue_;
  std::uint64_t job_ = 0;
  const TurnStory* turn_ = nullptr;  // of the present job
  bool dying_ = false;
  bool dies_when_quiet_ = false;
};

class SteppedDriver final : public sdk::Driver {
 public:
  SteppedDriver(std::uint64_t seed, Instant start, std::shared_ptr<base::LogSink> log, bool cleanup);
  ~SteppedDriver() override;

  // ---- Driver ----
  engine::Engine& engine() override { return engine_; }
  bool wait(const Start& start) override;
  Result<std::unique_ptr<sdk::PoolDriver>> start_worker(WorkerSetup setup) override;
  Result<engine::DeliverOutcome> deliver(engine::DeliverRequest request, const engine::Handler& handler) override;
  engine::WriterStats writer_stats() const override { return writer_.stats(); }
  engine::ClockworkStats clockwork_stats() const override { return clockwork_.stats(); }
  void stop(Duration grace) override;
  void abandon() override {}

  // ---- for the kit ----
  Instant now() { return clock_.now(); }
  // Callbacks wait here; shared, because handles may outlive the driver.
  using Posted = std::deque<std::function<void()>>;
  const std::shared_ptr<Posted>& posted() { return posted_; }
  void run_until_idle();
  void advance_to(Instant at);
  std::optional<Instant> next_event();
  store::Store& store() { return store_; }
  void stub(const std::string& name, engine::Handler handler);
  bool has_workers() const { return !pools_.empty(); }

  std::map<std::string, std::deque<Fault>> faults;  // by task name
  std::map<std::string, int> calls;
  int attempts = 0;
  std::map<std::string, engine::Handler> stubs;
  Witness* witness = nullptr;  // set before the first worker starts, and outlives the last call

 private:
  friend class SteppedPool;
  template <class T, class Call>
  Result<T> ask(Call&& call);
  void set_time(Instant at);
  void step_machinery();  // writer, waiters, clockwork, workers; no user code
  bool run_user_code();   // one attempt or the posted callbacks
  std::uint64_t change_count() const;
  bool work_is_left();
  void bury(HiredWorker worker, Instant lease_ends);

  ManualClock clock_;
  ManualMonotonic monotonic_;
  store::memory::MemoryStore store_;
  base::SeededRandom random_;
  base::IdSource ids_;
  std::shared_ptr<base::LogSink> log_;
  engine::Env env_;
  engine::Writer writer_;
  engine::Engine engine_;
  engine::Clockwork clockwork_;
  std::vector<SteppedPool*> pools_;
  std::vector<HiredWorker> buried_;
  std::vector<Instant> lease_ends_;  // of crashed workers
  std::shared_ptr<Posted> posted_ = std::make_shared<Posted>();
};

}  // namespace semel::testing
