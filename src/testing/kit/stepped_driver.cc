#include "testing/kit/stepped_driver.h"

#include <algorithm>
#include <utility>

namespace semel::testing {
namespace {

constexpr int kQuietRounds = 4;  // an answer may lead to the next request: nothing must change for this many rounds
constexpr Duration kPollStep{250'000};  // how far time moves while ready work waits for a worker's patience
constexpr int kPollSteps = 40;

engine::ClockworkOptions clockwork_options(bool cleanup) {
  engine::ClockworkOptions out;
  if (!cleanup) out.cleanup_interval = std::chrono::days(365 * 1000);  // the first one finds nothing
  return out;
}

}  // namespace

// ---- pool ----------------------------------------------------------------------------------------------------------

void SteppedRuns::close() {
  closed_ = true;
  const auto dropped = std::exchange(jobs_, {});
}

bool SteppedRuns::run_one() {
  if (jobs_.empty()) return false;
  const auto job = std::move(jobs_.front());
  jobs_.pop_front();
  job();
  return true;
}

SteppedPool::SteppedPool(SteppedDriver& driver, sdk::Driver::WorkerSetup setup)
    : driver_(driver), setup_(std::move(setup)) {
  for (const auto& [name, handler] : driver_.stubs) stub(name, handler);
  setup_.handlers->seal();
  if (driver_.witness != nullptr) {
    auto watched_table = std::make_shared<engine::WorkflowTable>();
    for (const auto& [name, maker] : setup_.workflows->makers()) watched_table->add(name, watched(maker, *this));
    setup_.workflows = std::move(watched_table);
  }
  hire();
  driver_.pools_.push_back(this);
}

SteppedPool::~SteppedPool() {
  std::erase(driver_.pools_, this);
  hired_.keeper->close();
  hired_.executor->close();
  driver_.bury(std::move(hired_), Instant{});
}

void SteppedPool::hire() {
  hired_.executor = std::make_shared<SteppedRuns>();
  hired_.keeper = std::make_shared<engine::RunKeeper>(driver_.engine_, setup_.workflows, hired_.executor, setup_.runs);
  hired_.worker = std::make_unique<engine::Worker>(driver_.engine_, *setup_.handlers, *this, setup_.options,
                                                   setup_.workflows->empty() ? nullptr : hired_.keeper.get());
  hired_.keeper->over = [worker = hired_.worker.get()](ClaimId claim, bool closed) { worker->run_over(claim, closed); };
}

void SteppedPool::start(std::vector<engine::RunRef> runs) {
  for (auto& run : runs) queue_.push_back(std::move(run));
}

std::vector<engine::RunRef> SteppedPool::take_unstarted() {
  std::vector<engine::RunRef> out(queue_.begin(), queue_.end());
  queue_.clear();
  return out;
}

Witness& SteppedPool::witness() { return *driver_.witness; }

void SteppedPool::kill() {
  hired_.keeper->close();
  dying_ = true;
}

bool SteppedPool::crash_if_due() {
  if (!dies_when_quiet_) return false;
  crash();
  return true;
}

// A turn of a run, a body of ctx.run, or destructors of a run that is over.
bool SteppedPool::run_job() {
  ++job_;
  turn_ = nullptr;
  if (!hired_.executor->run_one()) return false;
  if (turn_ != nullptr) dies_when_quiet_ = driver_.witness->turn_ended(*turn_);
  if (dying_) crash();
  return true;
}

bool SteppedPool::run_one() {
  if (run_job()) return true;
  if (queue_.empty()) return false;
  engine::RunRef run = std::move(queue_.front());
  queue_.pop_front();
  if (!hired_.worker->begin(*run, driver_.now())) return true;
  const std::string& name = run->task.execution.name;
  std::optional<Fault> fault;
  if (auto& pending = driver_.faults[name]; !pending.empty()) {
    fault = std::move(pending.front());
    pending.pop_front();
  }
  ++driver_.attempts;
  if (fault && fault->kind == Fault::Kind::fail) {
    hired_.worker->finish(std::move(run), std::move(fault->outcome));
    return true;
  }
  Witness* const witness = driver_.witness;
  if ((fault && fault->kind == Fault::Kind::crash_before) ||
      (witness != nullptr && witness->attempt_begins(run->task.execution))) {
    crash();
    return true;
  }
  ++driver_.calls[name];
  engine::HandlerOutcome outcome = setup_.handlers->call(*run);
  const bool dies = witness != nullptr && witness->attempt_ended(run->task.execution);
  if (fault || dies) crash();
  else hired_.worker->finish(std::move(run), std::move(outcome));
  return true;
}

// Nothing of the dead worker is heard of again: its session is not renewed, its outcomes are not sent.
void SteppedPool::crash() {
  dying_ = false;
  dies_when_quiet_ = false;
  queue_.clear();
  hired_.keeper->close();
  hired_.executor->close();
  driver_.bury(std::move(hired_), add_saturated(driver_.now(), setup_.options.lease));
  hire();
}

void SteppedPool::stop(Duration) {
  hired_.worker->drain();
  driver_.run_until_idle();
  hired_.worker->close_session();
  driver_.run_until_idle();
}

// ---- driver --------------------------------------------------------------------------------------------------------

SteppedDriver::SteppedDriver(std::uint64_t seed, Instant start, std::shared_ptr<base::LogSink> log, bool cleanup)
    : clock_(start),
      store_(clock_),
      random_(seed),
      ids_(random_),
      log_(std::move(log)),
      env_{store_, clock_, monotonic_, random_, log_ != nullptr ? *log_ : base::null_log(), ids_},
      writer_(env_, {}),
      engine_(env_, writer_),
      clockwork_(engine_, clockwork_options(cleanup)) {
  engine::WriterHooks hooks;
  hooks.published = [this](const store::Wakes& wakes) {
    engine_.note_wakes(wakes);
    clockwork_.note_wakes(wakes);
    for (SteppedPool* pool : pools_) pool->worker().note_wakes(wakes);
  };
  writer_.set_hooks(std::move(hooks));
  engine_.lane_changed = [this](core::LaneId lane) { clockwork_.promote(lane); };
}

SteppedDriver::~SteppedDriver() = default;

Result<std::unique_ptr<sdk::PoolDriver>> SteppedDriver::start_worker(WorkerSetup setup) {
  return std::unique_ptr<sdk::PoolDriver>(std::make_unique<SteppedPool>(*this, std::move(setup)));
}

void SteppedDriver::bury(HiredWorker worker, Instant lease_ends) {
  if (lease_ends > now()) lease_ends_.push_back(lease_ends);
  buried_.push_back(std::move(worker));
}

void SteppedDriver::set_time(Instant at) {
  monotonic_.advance(at - clock_.now());
  clock_.set(at);
}

void SteppedDriver::step_machinery() {
  const Instant at = now();
  for (int quiet = 0; quiet < kQuietRounds; ++quiet) {
    const std::uint64_t before = change_count();
    writer_.step(at);
    engine_.step(at);
    clockwork_.step(at);
    for (SteppedPool* pool : pools_) {
      if (quiet == 0) pool->worker().poll(at);
      pool->worker().heartbeat(at);
      pool->worker().step(at);
    }
    if (change_count() != before) quiet = 0;
  }
}

bool SteppedDriver::run_user_code() {
  if (!posted_->empty()) {
    auto call = std::move(posted_->front());
    posted_->pop_front();
    call();
    return true;
  }
  for (SteppedPool* pool : pools_)
    if (pool->crash_if_due()) return true;
  for (std::size_t i = 0; i < pools_.size(); ++i) {
    if (pools_[i]->run_one()) return true;
  }
  return false;
}

void SteppedDriver::stub(const std::string& name, engine::Handler handler) {
  for (SteppedPool* pool : pools_) pool->stub(name, handler);
  stubs.insert_or_assign(name, std::move(handler));
}

std::uint64_t SteppedDriver::change_count() const { return writer_.stats().commits; }

void SteppedDriver::run_until_idle() {
  do {
    step_machinery();
  } while (run_user_code());
}

bool SteppedDriver::wait(const Start& start) {
  const auto done = std::make_shared<bool>(false);
  start([done] { *done = true; });
  // A plain call needs the writer only: workers claim nothing before the test lets things happen.
  for (int i = 0; i < kQuietRounds && !*done; ++i) {
    writer_.step(now());
    engine_.step(now());
  }
  if (!*done) step_machinery();
  while (!*done && run_user_code()) step_machinery();
  return *done;
}

template <class T, class Call>
Result<T> SteppedDriver::ask(Call&& call) {
  const auto answer = std::make_shared<std::optional<Result<T>>>();
  wait([&](std::function<void()> done) {
    call(engine::Callback<T>([answer, done](Result<T> result) {
      answer->emplace(std::move(result));
      done();
    }));
  });
  if (!*answer) return make_error(ErrorCode::Internal, "the call was not answered");
  return std::move(**answer);
}

Result<engine::DeliverOutcome> SteppedDriver::deliver(engine::DeliverRequest request, const engine::Handler& handler) {
  const std::string tenant = request.tenant;
  auto delivered =
      ask<engine::DeliverOutcome>([&](auto done) { engine_.deliver(std::move(request), std::move(done)); });
  if (!delivered || delivered->outcome != core::DeliveryOutcome::claimed) return delivered;
  engine::Run run;
  run.task = delivered->execution;
  ++attempts;
  ++calls[run.task.execution.name];
  engine::HandlerOutcome outcome = engine::storable(engine::call_guarded(handler, run), run.task.payload.encoding);
  const core::Execution& row = run.task.execution;
  auto ended = ask<core::EndAnswer>([&](auto done) {
    using Kind = engine::HandlerOutcome::Kind;
    if (outcome.kind == Kind::succeeded) {
      return engine_.complete({row.id, row.version, outcome.result, run.task.payload.encoding}, std::move(done));
    }
    if (outcome.kind == Kind::released) {
      return engine_.release({row.id, row.version, outcome.next_delay.value_or(Duration{0}), false}, std::move(done));
    }
    engine_.fail({row.id, row.version, outcome.error_name, outcome.error_message, outcome.error_details,
                  outcome.retryable, outcome.next_delay, outcome.kind == Kind::cancelled},
                 std::move(done));
  });
  if (!ended) return ended.error();
  if (auto after = engine_.get(tenant, row.id)) delivered->execution = *std::move(after);
  return delivered;
}

void SteppedDriver::stop(Duration) {
  const Error why = make_error(ErrorCode::ShuttingDown, "the engine is stopping");
  writer_.refuse(why);
  engine_.stop(why);
  clockwork_.stop();
  run_until_idle();
}

// ---- time ----------------------------------------------------------------------------------------------------------

std::optional<Instant> SteppedDriver::next_event() {
  const Instant at = now();
  std::optional<Instant> next;
  const auto consider = [&](Instant when) {
    if (when > at && when < kEndOfTime && (!next || when < *next)) next = when;
  };
  if (const auto timer = store_.next_timer(); timer && *timer) consider(**timer);
  for (const Instant ends : lease_ends_) consider(ends);
  for (SteppedPool* pool : pools_) consider(pool->worker().step(at));
  return next;
}

bool SteppedDriver::work_is_left() {
  if (pools_.empty()) return false;
  const auto lanes = store_.ready_lanes();
  return lanes && !lanes->empty();
}

void SteppedDriver::advance_to(Instant target) {
  run_until_idle();
  while (now() < target) {
    for (int i = 0; i < kPollSteps && work_is_left() && add_saturated(now(), kPollStep) < target; ++i) {
      set_time(add_saturated(now(), kPollStep));
      run_until_idle();
    }
    set_time(std::min(next_event().value_or(target), target));
    std::erase_if(lease_ends_, [this](Instant ends) { return ends <= now(); });
    run_until_idle();
  }
}

}  // namespace semel::testing
