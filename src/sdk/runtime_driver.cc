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

 private:
  std::unique_ptr<engine::WorkerPool> pool_;
};

class RuntimeDriver final : public Driver {
 public:
  RuntimeDriver(OpenedStore opened, engine::RuntimeOptions options)
      : clock_(std::move(opened.clock)), log_(options.log), runtime_(std::move(opened.store), std::move(options)) {}

  engine::Engine& engine() override { return runtime_.engine(); }

  bool wait(const Start& start) override {
    (void)runtime_.wait<bool>(
        [&start](engine::Callback<bool> done) { start([done = std::move(done)] { done(true); }); });
    return true;
  }

  std::unique_ptr<PoolDriver> start_worker(WorkerSetup setup) override {
    return std::make_unique<RuntimePool>(runtime_.start_worker(std::move(setup.handlers), std::move(setup.options),
                                                               std::move(setup.workflows), setup.runs));
  }

  Result<engine::DeliverOutcome> deliver(engine::DeliverRequest request, const engine::Handler& handler) override {
    return runtime_.deliver(std::move(request), handler);
  }

  engine::WriterStats writer_stats() const override { return runtime_.writer_stats(); }
  engine::ClockworkStats clockwork_stats() const override { return runtime_.clockwork_stats(); }
  void stop(Duration grace) override { runtime_.stop(grace); }
  void abandon() override { runtime_.store().abandon(); }

 private:
  // Both outlive the store.
  std::shared_ptr<base::Clock> clock_;
  std::shared_ptr<base::LogSink> log_;
  engine::Runtime runtime_;
};

}  // namespace

std::unique_ptr<Driver> make_runtime_driver(OpenedStore opened, engine::RuntimeOptions options) {
  return std::make_unique<RuntimeDriver>(std::move(opened), std::move(options));
}

}  // namespace semel::sdk
