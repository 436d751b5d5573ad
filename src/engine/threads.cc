#include "engine/threads.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <ctime>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "engine/in_history.h"
#include "engine/inline_runs.h"
#include "engine/offer_book.h"
#include "engine/threads_handlers.h"
#include "engine/threads_runs.h"
#include "engine/threads_start.h"

namespace semel::engine {
namespace {

constexpr Duration kLongestNap{1'000'000};  // nobody sleeps longer than a lost wake-up may cost
constexpr Duration kLeastDrain{200'000};    // enough for a store that answers, however short the grace is
constexpr Duration kLongestGrace = std::chrono::hours(24 * 365);
constexpr Duration kLookAtEnd{5'000};
constexpr int kTurnsForCallers = 8;

long futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value, const timespec* timeout) {
  static_assert(sizeof(word) == sizeof(std::uint32_t));
  return syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), operation | FUTEX_PRIVATE_FLAG, value, timeout,
                 nullptr, 0);
}

Error would_wait_for_itself() {
  return make_error(ErrorCode::Unsupported,
                    "this call waits for the engine on the thread that the engine needs to answer it: inside the "
                    "function of enqueue_within, and in callbacks and log functions that run on the engine's threads, "
                    "use the asynchronous form, or make the call on another thread");
}

Error shutting_down() { return make_error(ErrorCode::ShuttingDown, "the engine is stopping; repeat on another one"); }

}  // namespace

void Bell::ring() {
  if (state_.exchange(1) == 2) futex(state_, FUTEX_WAKE, INT_MAX, nullptr);
}

void Bell::wait(Duration at_most) {
  std::uint32_t quiet = 0;
  if (at_most.count() > 0 && state_.compare_exchange_strong(quiet, 2)) {
    const timespec timeout{static_cast<time_t>(at_most.count() / 1'000'000),
                           static_cast<long>(at_most.count() % 1'000'000 * 1000)};
    futex(state_, FUTEX_WAIT, 2, &timeout);
  }
  state_.store(0);
}

void Bell::wait_for_ring() {
  std::uint32_t quiet = 0;
  state_.compare_exchange_strong(quiet, 2);
  while (state_.load() != 1) futex(state_, FUTEX_WAIT, 2, nullptr);
}

// Workers as one thread sees them: stepped under a lock, so that a removed one is never stepped again.
class WorkerList {
 public:
  void add(Worker* worker) {
    std::lock_guard lock(mutex_);
    workers_.push_back({worker, Instant{}});
  }
  void remove(Worker* worker) {
    std::lock_guard lock(mutex_);
    std::erase_if(workers_, [worker](const Entry& entry) { return entry.worker == worker; });
  }
  bool empty() {
    std::lock_guard lock(mutex_);
    return workers_.empty();
  }
  template <class Step>
  Instant step_all(Instant now, Step step) {
    std::lock_guard lock(mutex_);
    Instant next = kEndOfTime;
    for (auto& entry : workers_) next = std::min(next, step(*entry.worker, entry.due, now));
    return next;
  }

 private:
  struct Entry {
    Worker* worker;
    Instant due;
  };
  std::mutex mutex_;
  std::vector<Entry> workers_;
};

// Marks the thread, while it lives, as one that moves a runtime.
class Moving {
 public:
  explicit Moving(const void* runtime) : runtime_(runtime), outer_(std::exchange(innermost_, this)) {}
  ~Moving() { innermost_ = outer_; }
  Moving(const Moving&) = delete;
  Moving& operator=(const Moving&) = delete;
  // A function that is called while a thread moves one runtime may wait for another, and move that.
  static bool here(const void* runtime) {
    for (const Moving* one = innermost_; one != nullptr; one = one->outer_)
      if (one->runtime_ == runtime) return true;
    return false;
  }

 private:
  const void* const runtime_;
  Moving* const outer_;
  static thread_local Moving* innermost_;
};
thread_local Moving* Moving::innermost_ = nullptr;

struct Runtime::Impl {
  Impl(std::unique_ptr<store::Store> opened, RuntimeOptions chosen)
      : options(std::move(chosen)),
        store(std::move(opened)),
        ids(random),
        writer(env(), options.writer),
        engine(env(), writer),
        clockwork(engine, options.clockwork),
        inline_runs(engine) {
    while (writer_bells.size() < writer.lines()) writer_bells.push_back(std::make_unique<Bell>());
    line_turns = std::vector<std::mutex>(writer.lines());
  }
  Bell& writer_bell() { return *writer_bells.front(); }
  void wake_line(std::size_t line);
  Instant step_line(std::size_t line, Instant at);
  void let_callers_return(std::size_t line);

  Env env() {
    base::LogSink& log = options.log ? *options.log : base::null_log();
    return Env{*store, local_clock, monotonic, random, log, ids};
  }

  void connect();
  Result<void> start();
  Result<void> start_threads();
  void stop(Duration grace);
  // `deadline` by the monotonic clock: the store's may stand still.
  bool wait_until(Duration deadline, const std::function<bool()>& state);
  void writer_main();
  void line_main(std::size_t line);
  void slow_main();
  void clockwork_main();
  void heartbeat_main();
  void hints_main();
  void look_everywhere();
  void published(const store::Wakes& wakes);
  void on_fatal(const Error& error);
  Duration nap(Instant next, Instant now) const { return std::clamp(next - now, Duration{0}, kLongestNap); }
  Instant now() { return store->clock().now(); }

  RuntimeOptions options;
  std::unique_ptr<store::Store> store;
  base::SystemClock local_clock;
  base::SystemMonotonic monotonic;
  base::SystemRandom random;
  base::IdSource ids;
  Writer writer;
  Engine engine;
  Clockwork clockwork;
  InlineRuns inline_runs;
  OfferBook offers;

  WorkerList stepped, polled, beating, noted;
  std::vector<std::unique_ptr<Bell>> writer_bells;  // one per line
  std::vector<std::mutex> line_turns;               // who holds it steps the line
  Bell slow_bell, clockwork_bell, heartbeat_bell, stop_bell;
  std::atomic<bool> stopping{false};
  std::atomic<bool> somebody_waits{false};  // a stopping pool or the stopping runtime looks after every batch
  std::mutex stop_mutex;
  bool stopped = false;
  mutable std::mutex fatal_mutex;
  std::optional<Error> fatal;
  enum class Go : std::uint8_t { wait, run, never };
  std::atomic<Go> go{Go::wait};  // threads do nothing before all of them are there
  std::vector<std::thread> threads;
  std::atomic<int> in_store{0};  // threads that may wait for the store: our own, and callers in their own turn
  // Stopped pools that the store still owes answers.
  std::mutex retired_mutex;
  std::vector<std::shared_ptr<void>> retired;
};

void Runtime::Impl::connect() {
  WriterHooks hooks;
  hooks.wake = [this](std::size_t line) { wake_line(line); };
  hooks.wake_slow = [this] { slow_bell.ring(); };
  hooks.published = [this](const store::Wakes& wakes) { published(wakes); };
  hooks.answered = [this] {
    if (somebody_waits.load(std::memory_order_relaxed)) stop_bell.ring();
  };
  hooks.ride = [this](const FreshLanes& lanes) {
    std::vector<Rider> riders;
    stepped.step_all(now(), [&](Worker& worker, Instant&, Instant when) {
      if (riders.empty()) riders = worker.ride(lanes, when);
      return kEndOfTime;
    });
    if (!riders.empty() || lanes.tasks.empty()) return riders;
    if (auto claim = offers.take(lanes, engine.directory(), random.next(), now()))
      riders.push_back({*std::move(claim), [](const core::Answer&) {}});
    return riders;
  };
  hooks.fatal = [this](const Error& error) { on_fatal(error); };
  writer.set_hooks(std::move(hooks));
  engine.wake = [this] { clockwork_bell.ring(); };
  engine.lane_changed = [this](core::LaneId lane) { clockwork.promote(lane); };
  clockwork.wake = [this] { clockwork_bell.ring(); };
}

Result<void> Runtime::Impl::start_threads() {
  struct Part {
    const char* whose;
    std::function<void()> main;
  };
  std::vector<Part> parts = {{"the writer", [this] { writer_main(); }},
                             {"timers", [this] { clockwork_main(); }},
                             {"heartbeats", [this] { heartbeat_main(); }}};
  for (std::size_t line = 1; line < writer.lines(); ++line)
    parts.push_back({"the writer's next line", [this, line] { line_main(line); }});
  if (store->slow_lane() != nullptr) parts.push_back({"the slow lane", [this] { slow_main(); }});
  if (store->hears_hints()) parts.push_back({"hints", [this] { hints_main(); }});
  for (Part& part : parts) {
    auto thread = start_thread([this, main = std::move(part.main)] {
      go.wait(Go::wait);
      if (go.load() == Go::never) return;
      const Moving moving(this);
      ++in_store;
      main();
      --in_store;
      stop_bell.ring();
    });
    if (!thread) return no_thread_for(part.whose);
    threads.push_back(*std::move(thread));
  }
  return {};
}

Result<void> Runtime::Impl::start() {
  connect();
  auto started = start_threads();
  go = started ? Go::run : Go::never;
  go.notify_all();
  if (started) return started;
  for (auto& thread : threads) thread.join();
  threads.clear();
  stopped = true;
  return started;
}

void Runtime::Impl::published(const store::Wakes& wakes) {
  engine.note_wakes(wakes);
  clockwork.note_wakes(wakes);
  noted.step_all(Instant{}, [&](Worker& worker, Instant&, Instant) {
    worker.note_wakes(wakes);
    return kEndOfTime;
  });
}

void Runtime::Impl::on_fatal(const Error& error) {
  {
    std::lock_guard lock(fatal_mutex);
    fatal = error;
  }
  options.log ? options.log->write(base::LogLevel::error, "the store failed for good", {{"error", error.message}})
              : void();
  engine.stop(error);
  if (options.on_fatal) options.on_fatal(error);
}

thread_local Runtime::OwnTurn* Runtime::OwnTurn::current_ = nullptr;

Runtime::OwnTurn::OwnTurn(Impl& runtime) : runtime_(runtime), outer_(std::exchange(current_, this)) {}
Runtime::OwnTurn::~OwnTurn() {
  if (current_ == this) take();
}

void Runtime::Impl::wake_line(std::size_t line) {
  OwnTurn* own = OwnTurn::current_;
  if (own != nullptr && &own->runtime_ == this) own->lines_ |= std::uint64_t{1} << line;
  else writer_bells[line]->ring();
}

// One batch of one line, if nobody is at it: all else wakes whoever it concerns, callbacks of that batch included.
void Runtime::OwnTurn::take() {
  current_ = outer_;
  std::optional<std::size_t> own;
  for (std::size_t line = 0; lines_ != 0; ++line, lines_ >>= 1) {
    if ((lines_ & 1) == 0) continue;
    if (!own) own = line;
    else runtime_.writer_bells[line]->ring();
  }
  if (!own) return;
  bool more = true;
  ++runtime_.in_store;
  if (const std::unique_lock turn(runtime_.line_turns[*own], std::try_to_lock); turn && !runtime_.stopping.load()) {
    const Moving moving(&runtime_);
    more = runtime_.writer.step(runtime_.now(), *own) != kEndOfTime;
  }
  --runtime_.in_store;
  if (more) runtime_.writer_bells[*own]->ring();
  if (!runtime_.stepped.empty()) runtime_.writer_bell().ring();  // what ended here may have freed a slot of a worker
}

Instant Runtime::Impl::step_line(std::size_t line, Instant at) {
  const std::lock_guard turn(line_turns[line]);
  return writer.step(at, line);
}

// Callers who were just answered come back with their next operation. Let in first, as long as more of them come, they
// make the next batch larger.
void Runtime::Impl::let_callers_return(std::size_t line) {
  std::size_t seen = writer.queued(line);
  for (int turn = 0; turn < kTurnsForCallers; ++turn) {
    for (int pause = 0; pause < 4; ++pause) std::this_thread::yield();
    if (const std::size_t now = writer.queued(line); now == seen) return;
    else seen = now;
  }
}

// Workers are stepped here: between the commit that made work ready and the claim that takes it no other thread has to
// wake.
void Runtime::Impl::writer_main() {
  while (!stopping.load()) {
    const Instant at = now();
    Instant next = step_line(0, at);
    next =
        std::min(next, stepped.step_all(at, [](Worker& worker, Instant&, Instant when) { return worker.step(when); }));
    if (next > at) writer_bell().wait(nap(next, at));
    else let_callers_return(0);
  }
}

void Runtime::Impl::line_main(std::size_t line) {
  while (!stopping.load()) {
    const Instant at = now();
    const Instant next = step_line(line, at);
    writer_bell().ring();  // what ended here may have freed a slot of a worker
    if (next > at) writer_bells[line]->wait(nap(next, at));
    else let_callers_return(line);
  }
}

void Runtime::Impl::slow_main() {
  while (!stopping.load()) {
    const Instant at = now();
    slow_bell.wait(nap(writer.slow_step(at), at));
  }
}

void Runtime::Impl::clockwork_main() {
  while (!stopping.load()) {
    const Instant at = now();
    Instant next = engine.step(at);
    if (options.clockwork_runs) next = std::min(next, clockwork.step(at));
    next = std::min(next, polled.step_all(at, [](Worker& worker, Instant& due, Instant when) {
      if (when >= due) due = worker.poll(when);
      return due;
    }));
    clockwork_bell.wait(nap(next, at));
  }
}

void Runtime::Impl::heartbeat_main() {
  while (!stopping.load()) {
    const Instant at = now();
    Instant next = beating.step_all(at, [](Worker& worker, Instant&, Instant when) { return worker.heartbeat(when); });
    next = std::min(next, inline_runs.step(at));
    heartbeat_bell.wait(nap(next, at));
  }
}

// What other processes did, told by the store. Treated like an own batch; a lane nobody here knows yet means: poll.
void Runtime::Impl::hints_main() {
  while (!stopping.load()) {
    const store::Store::Hints hints = store->wait_hints(kLongestNap);
    const auto strange = [this](const std::vector<core::LaneId>& lanes) {
      return std::any_of(lanes.begin(), lanes.end(), [this](core::LaneId id) { return !engine.directory().find(id); });
    };
    if (hints.all || strange(hints.wakes.lanes) || strange(hints.wakes.alone) || strange(hints.wakes.runs))
      look_everywhere();
    offers.note(hints.wakes.offers, now());
    published(hints.wakes);
  }
}

void Runtime::Impl::look_everywhere() {
  polled.step_all(Instant{}, [](Worker&, Instant& due, Instant) { return due = Instant{}; });
  clockwork_bell.ring();
}

bool Runtime::Impl::wait_until(Duration deadline, const std::function<bool()>& state) {
  while (!state()) {
    if (monotonic.now() >= deadline) return false;
    stop_bell.wait(kLookAtEnd);
  }
  return true;
}

void Runtime::Impl::stop(Duration grace) {
  std::lock_guard lock(stop_mutex);
  if (std::exchange(stopped, true)) return;
  somebody_waits = true;
  writer.refuse(shutting_down());
  engine.stop(shutting_down());
  clockwork.stop();
  inline_runs.stop_all();
  writer.flush_ledger();
  const Duration deadline = monotonic.now() + std::clamp(grace, kLeastDrain, kLongestGrace);
  wait_until(deadline, [this] { return clockwork.quiet() && writer.idle(); });
  writer.refuse_all(shutting_down());
  stopping = true;
  store->interrupt_hints();
  for (auto& bell : writer_bells) bell->ring();
  for (Bell* bell : {&slow_bell, &clockwork_bell, &heartbeat_bell}) bell->ring();
  if (!wait_until(deadline, [this] { return in_store.load() == 0; })) store->abandon();
  for (auto& thread : threads) thread.join();
  threads.clear();
  for (auto& turn : line_turns) const std::lock_guard last(turn);  // a caller may be at it still
  writer.give_up(shutting_down());
  const std::lock_guard retired_lock(retired_mutex);
  retired.clear();
}

// ---- runtime --------------------------------------------------------------------------------------------------------

Result<std::unique_ptr<Runtime>> Runtime::open(std::unique_ptr<store::Store> store, RuntimeOptions options) {
  auto impl = std::make_unique<Impl>(std::move(store), std::move(options));
  if (auto started = impl->start(); !started) return std::move(started).error();
  return std::unique_ptr<Runtime>(new Runtime(std::move(impl)));
}

Runtime::Runtime(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Runtime::~Runtime() { stop(); }

void Runtime::stop(Duration grace) { impl_->stop(grace); }
Engine& Runtime::engine() { return impl_->engine; }
store::Store& Runtime::store() { return *impl_->store; }
WriterStats Runtime::writer_stats() const { return impl_->writer.stats(); }
ClockworkStats Runtime::clockwork_stats() const { return impl_->clockwork.stats(); }
Result<void> Runtime::may_wait() const {
  if (Moving::here(impl_.get())) return would_wait_for_itself();
  return {};
}
void Runtime::clean_now() { impl_->clockwork.clean_now(); }

std::optional<Error> Runtime::fatal_error() const {
  std::lock_guard lock(impl_->fatal_mutex);
  return impl_->fatal;
}

Result<DeliverOutcome> Runtime::deliver(DeliverRequest request, const Handler& handler) {
  const std::string tenant = request.tenant;
  const Duration lease = request.lease;
  const std::uint64_t history = engine().directory().history();
  auto delivered = wait<DeliverOutcome>([&](auto done) { engine().deliver(std::move(request), std::move(done)); });
  if (!delivered || delivered->outcome != core::DeliveryOutcome::claimed) return delivered;
  auto run = std::make_shared<Run>();
  run->task = delivered->execution;
  run->history = history;
  run->started_at = impl_->now();
  impl_->inline_runs.add(run, lease, run->started_at);
  impl_->heartbeat_bell.ring();
  HandlerOutcome outcome = storable(call_guarded(handler, *run), run->task.payload.encoding);
  impl_->inline_runs.remove(*run);
  const InHistory in(history);
  const ExecutionId id = run->task.execution.id;
  const std::int32_t version = run->task.execution.version;
  if (auto progress = run->take_progress(); progress && outcome.kind != HandlerOutcome::Kind::succeeded)
    engine().heartbeat({id, version, lease, std::move(progress)}, [](const Result<core::HeartbeatAnswer>&) {});
  Result<core::EndAnswer> ended = wait<core::EndAnswer>([&](auto done) {
    switch (outcome.kind) {
      case HandlerOutcome::Kind::succeeded:
        return engine().complete({id, version, std::move(outcome.result), run->task.payload.encoding}, std::move(done));
      case HandlerOutcome::Kind::released:
        return engine().release({id, version, outcome.next_delay.value_or(Duration{0}), false}, std::move(done));
      case HandlerOutcome::Kind::failed:
      case HandlerOutcome::Kind::cancelled:
        return engine().fail({id, version, outcome.error_name, outcome.error_message, outcome.error_details,
                              outcome.retryable, outcome.next_delay, outcome.kind == HandlerOutcome::Kind::cancelled},
                             std::move(done));
    }
  });
  if (!ended) return ended.error();
  auto row = engine().get(tenant, id);
  if (row) delivered->execution = *std::move(row);
  else delivered->execution.execution.status = ended->status;  // its queue keeps nothing
  return delivered;
}

// ---- worker pool ----------------------------------------------------------------------------------------------------

struct WorkerPool::Impl {
  Impl(Runtime::Impl& owner, std::shared_ptr<HandlerTable> table, const WorkerOptions& options,
       std::shared_ptr<const WorkflowTable> workflows, const KeeperOptions& run_options)
      : runtime(owner),
        handlers(std::move(table)),
        pool(handlers, owner.store->clock(), options.slots),
        run_pool(workflows ? std::make_shared<RunPool>(options.slots) : nullptr),
        keeper(workflows ? std::make_shared<RunKeeper>(owner.engine, workflows, run_pool, run_options) : nullptr),
        worker(owner.engine, *handlers, pool, options, keeper.get()) {}
  void stop(Duration told_at, Duration left_at, Duration deadline);  // by the monotonic clock

  Runtime::Impl& runtime;
  std::shared_ptr<HandlerTable> handlers;
  HandlerPool pool;
  std::shared_ptr<RunPool> run_pool;  // both null where no workflow is known
  std::shared_ptr<RunKeeper> keeper;
  Worker worker;
  std::mutex mutex;
  bool stopped = false;
};

Result<std::unique_ptr<WorkerPool>> Runtime::start_worker(std::shared_ptr<HandlerTable> handlers, WorkerOptions options,
                                                          std::shared_ptr<const WorkflowTable> workflows,
                                                          KeeperOptions runs) {
  handlers->seal();
  if (workflows && workflows->empty()) workflows = nullptr;
  auto pool = std::make_unique<WorkerPool::Impl>(*impl_, std::move(handlers), options, std::move(workflows), runs);
  Worker* worker = &pool->worker;
  worker->wake = [runtime = impl_.get()] { runtime->writer_bell().ring(); };
  if (pool->keeper) {
    pool->keeper->wake = worker->wake;
    pool->keeper->over = [worker](ClaimId claim, bool closed) { worker->run_over(claim, closed); };
    pool->keeper->holds = [worker](SessionId session) { return worker->holds(session); };
  }
  if (!pool->pool.run_for(*worker)) return no_thread_for("the worker's handlers");
  if (pool->run_pool && !pool->run_pool->start()) return no_thread_for("the worker's workflows");
  for (WorkerList* list : {&impl_->noted, &impl_->stepped, &impl_->polled, &impl_->beating}) list->add(worker);
  for (Bell* bell : {&impl_->writer_bell(), &impl_->clockwork_bell, &impl_->heartbeat_bell}) bell->ring();
  return std::unique_ptr<WorkerPool>(new WorkerPool(std::move(pool)));
}

WorkerPool::WorkerPool(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
WorkerPool::~WorkerPool() {
  stop();
  if (impl_->worker.quiet()) return;
  // Answers still under way would find the worker gone.
  auto& runtime = impl_->runtime;
  const std::lock_guard lock(runtime.retired_mutex);
  runtime.retired.push_back(std::shared_ptr<Impl>(std::move(impl_)));
}
WorkerStats WorkerPool::stats() const { return impl_->worker.stats(); }
KeeperStats WorkerPool::run_stats() const { return impl_->keeper ? impl_->keeper->stats() : KeeperStats{}; }
bool WorkerPool::query(ExecutionId run, std::string name, std::string args, Callback<std::string> done) {
  return impl_->keeper && impl_->keeper->query(run, std::move(name), std::move(args), std::move(done));
}
Result<void> WorkerPool::may_wait() const {
  if (Moving::here(&impl_->runtime)) return would_wait_for_itself();
  return {};
}
Worker& WorkerPool::worker() { return impl_->worker; }

void WorkerPool::Impl::stop(Duration told_at, Duration left_at, Duration deadline) {
  const auto drained = [this] { return worker.drained(); };
  worker.drain();
  if (!runtime.wait_until(told_at, drained)) {
    worker.cancel_running();
    runtime.wait_until(left_at, drained);
  }
  worker.close_session();
  runtime.wait_until(deadline, [this] { return worker.closed(); });
  pool.close();
  if (keeper) {
    run_pool->close();
    keeper->close();
  }
  for (WorkerList* list : {&runtime.noted, &runtime.stepped, &runtime.polled, &runtime.beating}) list->remove(&worker);
  runtime.wait_until(deadline, [this] { return worker.quiet(); });
}

void WorkerPool::stop(Duration grace) {
  std::lock_guard lock(impl_->mutex);
  if (std::exchange(impl_->stopped, true)) return;
  auto& runtime = impl_->runtime;
  runtime.somebody_waits = true;
  grace = std::clamp(grace, Duration{0}, kLongestGrace);
  const Duration now = runtime.monotonic.now();
  const Duration left_at = now + grace - grace / 30;
  impl_->stop(now + grace - grace / 6, left_at, std::max(now + grace, left_at + kLeastDrain));
  runtime.somebody_waits = false;
}

}  // namespace semel::engine
