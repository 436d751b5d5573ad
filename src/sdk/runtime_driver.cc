#include "sdk/runtime_driver.h"

#include <utility>

namespace semel::sdk {
namespace {

class RuntimePool final : public PoolDriver {
 public:
  explicit RuntimePool(std::unique_ptr<engine::WorkerPool> pool) : pool_(std::move(pool)) {}
  engine::WorkerStats stats() const override { return pool_->stats(); }
  engine::KeeperStats run_stats() const override { return pool_->run_stats(); }
  bool query(ExecutionId run, std::string name, std::string args, engine::Callback<std::string> done) override {
    return pool_->query(run, std::move(name), std::move(args), std::move(done));
  }
  void stop(Duration grace) override { pool_->stop(grace); }
  Result<void> may_wait() const override { return pool_->may_wait(); }

 private:
  std::unique_ptr<engine::WorkerPool> pool_;
};

class RuntimeDriver final : public Driver {
 public:
  RuntimeDriver(std::shared_ptr<base::Clock> clock, std::shared_ptr<base::LogSink> log,
                std::unique_ptr<engine::Runtime> runtime)
      : clock_(std::move(clock)), log_(std::move(log)), runtime_(std::move(runtime)) {}

  engine::Engine& engine() override { return runtime_->engine(); }
  Result<void> may_wait() const override { return runtime_->may_wait(); }

  bool wait(const Start& start) override {
    (void)runtime_->wait<bool>(
        [&start](engine::Callback<bool> done) { start([done = std::move(done)] { done(true); }); });
    return true;
  }

  Result<std::unique_ptr<PoolDriver>> start_worker(WorkerSetup setup) override {
    auto pool = runtime_->start_worker(std::move(setup.handlers), std::move(setup.options), std::move(setup.workflows),
                                       setup.runs);
    if (!pool) return std::move(pool).error();
    return std::unique_ptr<PoolDriver>(std::make_unique<RuntimePool>(*std::move(pool)));
  }

  Result<engine::DeliverOutcome> deliver(engine::DeliverRequest request, const engine::Handler& handler) override {
    return runtime_->deliver(std::move(request), handler);
  }

  engine::WriterStats writer_stats() const override { return runtime_->writer_stats(); }
  engine::ClockworkStats clockwork_stats() const override { return runtime_->clockwork_stats(); }
  void stop(Duration grace) override { runtime_->stop(grace); }
  void abandon() override { runtime_->store().abandon(); }

 private:
  // Both outlive the store.
  std::shared_ptr<base::Clock> clock_;
  std::shared_ptr<base::LogSink> log_;
  std::unique_ptr<engine::Runtime> runtime_;
};

}  // namespace

Result<std::unique_ptr<Driver>> make_runtime_driver(OpenedStore opened, engine::RuntimeOptions options) {
  const std::shared_ptr<base::LogSink> log = options.log;
  auto runtime = engine::Runtime::open(std::move(opened.store), std::move(options));
  if (!runtime) return std::move(runtime).error();
  return std::unique_ptr<Driver>(std::make_unique<RuntimeDriver>(std::move(opened.clock), log, *std::move(runtime)));
}

}  // namespace semel::sdk
