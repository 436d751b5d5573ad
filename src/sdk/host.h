// What stands behind Engine, its handles and its workers: a driver, and the door that closes at shutdown.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <utility>
#include <vector>

#include "sdk/attempt.h"
#include "sdk/convert.h"
#include "sdk/driver.h"
#include "semel/engine.h"

namespace semel::sdk {

// The process that made it. A child of fork() holds a copy without the threads, and mutexes that nobody may ever
// unlock.
class OwnProcess {
 public:
  OwnProcess();
  bool is_another() const;
  std::int64_t id() const { return id_; }

 private:
  std::int64_t id_;
};

struct Pool {
  const OwnProcess process;
  std::mutex mutex;
  std::unique_ptr<PoolDriver> driver;  // null once it is stopped
  engine::WorkerStats last;            // kept when it is stopped
  engine::KeeperStats last_runs;
  LogSink log;  // may be empty

  WorkerMetrics metrics();
  void stop(Duration grace);
};

struct HostOptions {
  std::string tenant = "default";
  std::shared_ptr<const HandlerEnv> env;
  std::function<void()> drain_callbacks;  // returns when every posted callback has run
};

class Host : public std::enable_shared_from_this<Host> {
 public:
  Host(std::unique_ptr<Driver> driver, HostOptions options)
      : driver_(std::move(driver)), options_(std::move(options)) {}
  ~Host() { shutdown(std::chrono::seconds(30)); }
  // Never destroyed in a child that fork() made: neither the threads nor the locks of the store came along.
  static std::shared_ptr<Host> make(std::unique_ptr<Driver> driver, HostOptions options);

  const std::string& tenant() const { return options_.tenant; }
  const Sealer& sealer() const { return options_.env->sealer; }
  const std::shared_ptr<const HandlerEnv>& env() const { return options_.env; }
  void post(std::function<void()> call) const {
    if (process_.is_another()) return call();  // the thread for callbacks stayed with the parent
    options_.env->post(std::move(call));
  }

  // Uses the engine unless it is closed. Handlers may go on while their pool is drained.
  template <class T, class Use>
  Result<T> with(Use&& use) {
    if (process_.is_another()) return inherited();
    const std::shared_lock lock(door_);
    if (driver_ == nullptr || (closing_.load() && !inside_handler())) return closed();
    return use(*driver_);
  }
  // Makes an asynchronous call of the engine and waits for its answer.
  template <class T, class Call>
  Result<T> ask(Call&& call) {
    return with<T>([&](Driver& driver) -> Result<T> {
      if (auto may = driver.may_wait(); !may) return std::move(may).error();
      const auto answer = std::make_shared<std::optional<Result<T>>>();
      const bool answered = driver.wait([&](std::function<void()> done) {
        call(driver.engine(), engine::Callback<T>([answer, done = std::move(done)](Result<T> result) {
               answer->emplace(std::move(result));
               done();
             }));
      });
      if (!answered) return idle();
      return std::move(**answer);
    });
  }
  // The same without waiting; `done` runs where callbacks run.
  template <class T, class Call>
  void tell(Call&& call, std::function<void(Result<T>)> done) {
    if (process_.is_another()) return done(inherited());
    const auto posted = [self = shared_from_this(), done = std::move(done)](Result<T> result) {
      self->post([done, result = std::move(result)]() mutable { done(std::move(result)); });
    };
    const Result<bool> sent = with<bool>([&](Driver& driver) -> Result<bool> {
      call(driver.engine(), engine::Callback<T>(posted));
      return true;
    });
    if (!sent) posted(sent.error());
  }

  // As `with`, for calls that run user code on the caller's thread: shutdown waits for them.
  template <class T, class Use>
  Result<T> with_handler(Use&& use) {
    if (process_.is_another()) return inherited();
    const std::shared_ptr<void> counted(nullptr, [this](void*) { count_inline(-1); });
    count_inline(+1);
    return with<T>(std::forward<Use>(use));
  }

  RawHandle handle(const engine::EnqueueOutcome& outcome, std::string tenant);
  RawHandle handle(const store::ExecutionView& view);
  Result<Execution> wait(const RawHandle& handle, std::optional<Duration> timeout);
  // From the memory of the newest run of the workflow, or by a replay of what is recorded.
  Result<std::string> query(const std::string& tenant, const std::string& workflow_id, std::string name,
                            std::string args);
  std::string fresh_id();
  Result<std::shared_ptr<Pool>> start_worker(const WorkerOptions& options);
  MetricsSnapshot metrics();
  void shutdown(Duration grace);

 private:
  bool refuses_to_stop();
  static Error closed();
  Error inherited() const;
  static Error idle();
  bool query_owner(ExecutionId run, const std::string& name, const std::string& args,
                   const engine::Callback<std::string>& done);
  Result<std::string> query_replayed(engine::Engine& engine, const store::ExecutionView& run, const std::string& name,
                                     const std::string& args);
  void count_inline(int change);
  void wait_for_inline(Duration grace);
  void stop_pools(Duration grace);
  std::unique_lock<std::shared_mutex> close_door(std::int64_t deadline);

  const OwnProcess process_;
  std::shared_mutex door_;  // held shared by every call; exclusively to take the driver away
  std::unique_ptr<Driver> driver_;
  const HostOptions options_;
  std::atomic<bool> closing_{false};
  std::mutex pools_mutex_;
  std::vector<std::shared_ptr<Pool>> pools_;
  engine::WorkflowTable workflows_;  // of all pools; guarded by pools_mutex_
  std::mutex inline_mutex_;
  std::condition_variable inline_changed_;
  int inline_count_ = 0;  // calls with user code on the caller's thread
  std::once_flag shut_down_;
};

}  // namespace semel::sdk
