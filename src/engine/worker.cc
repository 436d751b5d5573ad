// Session, claims and heartbeats of a worker.
#include "engine/worker.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/failpoint.h"
#include "engine/in_history.h"

namespace semel::engine {
namespace {

constexpr Duration kPauseAfterError{200'000};
constexpr Duration kBeatStep{1'000'000};
constexpr double kWorkAheadMicros = 1000;  // about a millisecond of expected work is claimed ahead
constexpr double kMaxClaimMicros = 20'000;
constexpr int kRidesSkipped = 20;  // after a ride that brought nothing: duplicates rarely come alone
constexpr double kMaxAheadBytes = 16 << 20;
// A busy worker makes room for a task that must run alone, but not for ever.
constexpr Duration kAlonePatience{1'000'000};
constexpr Duration kAloneHoldBack{2'000'000};
constexpr Duration kAloneRest{10'000'000};
// A worker that died leaves many such tasks, nearly all innocent: they follow each other without waiting for a poll,
// for this long, then ordinary work has its turn.
constexpr Duration kAloneBurst{2'000'000};

bool outcome_unknown(const Error& error) { return error.code == ErrorCode::UnknownCommit; }

}  // namespace

Worker::Worker(Engine& engine, const HandlerTable& handlers, Executor& executor, WorkerOptions options, RunOwner* runs)
    : engine_(engine),
      env_(engine.env()),
      handlers_(handlers),
      executor_(executor),
      options_(std::move(options)),
      owner_(runs),
      lanes_(options_.tenants, options_.queues),
      run_lanes_(options_.tenants, options_.queues) {}

Worker::~Worker() = default;

Instant Worker::store_now() const { return env_.store.clock().now(); }

void Worker::poke() const {
  if (wake) wake();
}

// Every answer finds the worker alive: it is not destroyed before it is quiet.
void Worker::submit(core::Operation operation, Writer::Done done) {
  std::uint64_t history = 0;
  {
    std::lock_guard lock(mutex_);
    ++under_way_;
    history = history_;
  }
  const InHistory in(history);
  engine_.writer().submit_internal(std::move(operation), [this, done = std::move(done)](core::Answer answer) {
    if (done) done(std::move(answer));
    std::lock_guard lock(mutex_);
    --under_way_;
  });
}

bool Worker::quiet() const {
  if (owner_ != nullptr && !owner_->quiet()) return false;
  std::lock_guard lock(mutex_);
  return under_way_ == 0;
}

// ---- step -----------------------------------------------------------------------------------------------------------

Instant Worker::step(Instant now) {
  Todo todo;
  Instant next;
  {
    std::lock_guard lock(mutex_);
    check_history(todo);
    plan_session(now, todo);
    while (!retry_ends_.empty() && retry_ends_.front().first <= now) {
      todo.end.push_back(std::move(retry_ends_.front().second));
      retry_ends_.pop_front();
      ++under_way_;
    }
    plan_dispatch(todo);
    plan_claim(now, todo);
    plan_runs(now, todo);
    plan_offer(now, todo);
    plan_forgets(now, todo);
    next = next_step(now);
  }
  carry_out(std::move(todo));
  next = std::min(next, executor_.step(now));
  return owner_ != nullptr ? std::min(next, owner_->step(now)) : next;
}

Instant Worker::next_step(Instant now) const {
  Instant next = lanes_.next_release(now);
  if (offer_due_ > now) next = std::min(next, offer_due_);
  if (session_state_ == SessionState::none && !draining_) next = std::min(next, open_at_);
  if (!retry_ends_.empty()) next = std::min(next, retry_ends_.front().first);
  for (const Asking* asking : {&asking_tasks_, &asking_runs_})
    if (asking->not_before > now) next = std::min(next, asking->not_before);
  return next;
}

void Worker::carry_out(Todo todo) {
  for (auto& [run, reason] : todo.stop) run->request_stop(reason);
  if (todo.lost && owner_ != nullptr) owner_->lose(*todo.lost);
  for (const auto& release : todo.give_back) submit(release, nullptr);
  if (!todo.own.empty()) owner_->own(std::move(todo.own));
  for (auto& run : todo.release) send_release(run);
  for (auto& run : todo.end) send_end(run);
  if (todo.open) {
    const SessionId session = todo.open->session;
    submit(*std::move(todo.open), [this, session](core::Answer answer) { session_opened(session, std::move(answer)); });
  }
  for (auto& operation : todo.forget) submit(std::move(operation), nullptr);
  for (auto& claim : todo.claims) send_claim(std::move(claim));
  if (todo.offer) env_.store.offer(*todo.offer);
  for (const auto& claim : todo.recover)
    submit(claim, [this, claim](core::Answer answer) { recovered(claim, std::move(answer)); });
  if (!todo.start.empty()) executor_.start(std::move(todo.start));
}

// ---- session --------------------------------------------------------------------------------------------------------

void Worker::plan_session(Instant now, Todo& todo) {
  if (session_state_ != SessionState::none || draining_ || now < open_at_) return;
  session_state_ = SessionState::opening;
  session_ = env_.next_id<SessionId>();
  history_ = engine_.directory().history();
  todo.open = core::SessionOpen{session_, options_.name, options_.lease};
}

void Worker::session_opened(SessionId session, core::Answer answer) {
  const Instant now = store_now();
  {
    std::lock_guard lock(mutex_);
    if (session != session_ || session_state_ != SessionState::opening) return;
    const auto* opened = std::get_if<core::SessionAnswer>(&answer);
    if (opened == nullptr) {
      session_state_ = SessionState::none;
      open_at_ = add_saturated(now, kPauseAfterError);
    } else {
      session_state_ = SessionState::open;
      session_expires_ = opened->expires_at;
      renew_at_ = add_saturated(now, options_.lease / 3);
    }
  }
  if (const auto* error = std::get_if<Error>(&answer))
    env_.log.write(base::LogLevel::warn, "worker session not opened",
                   {{"worker", options_.name}, {"error", error->message}});
  poke();
}

// Everything this session held may belong to somebody else by now: nothing of it is started, running handlers are told.
void Worker::lose_session(Todo& todo) {
  session_state_ = SessionState::none;
  renew_at_ = kEndOfTime;
  open_at_ = Instant{};
  todo.lost = session_;
  for (auto& [id, run] : runs_) todo.stop.emplace_back(run, StopReason::lease_lost);
  for (const auto& run : buffer_) {
    ++stats_.lease_lost;
    forget(*run, false);
  }
  buffer_.clear();
  offered_.reset();
  handed_.clear();
  forget_later_.clear();
  recovering_.clear();
  suspects_.clear();
  for (Asking* asking : {&asking_tasks_, &asking_runs_})
    if (asking->unknown && !asking->resent) *asking = {};  // its session is not renewed any more
}

// What was claimed in another history may be anybody's in this one.
bool Worker::check_history(Todo& todo) {
  if (session_state_ != SessionState::open || env_.store.history() == history_) return false;
  env_.log.write(base::LogLevel::error, "worker session given up: the store has another history",
                 {{"worker", options_.name}});
  lose_session(todo);
  return true;
}

void Worker::session_renewed(SessionId session, core::Answer answer) {
  const Instant now = store_now();
  Todo todo;
  bool lost = false;
  {
    std::lock_guard lock(mutex_);
    renewing_ = false;
    if (session != session_ || session_state_ != SessionState::open) return;
    if (const auto* renewed = std::get_if<core::SessionAnswer>(&answer)) {
      session_expires_ = renewed->expires_at;
      renew_at_ = add_saturated(now, options_.lease / 3);
    } else if (std::get<Error>(answer).code == ErrorCode::LeaseLost) {
      lose_session(todo);
      lost = true;
    } else {
      renew_at_ = add_saturated(now, std::min<Duration>(options_.lease / 10, kPauseAfterError));
    }
  }
  if (lost) env_.log.write(base::LogLevel::error, "worker session lost", {{"worker", options_.name}});
  carry_out(std::move(todo));
  poke();
}

Instant Worker::heartbeat(Instant now) {
  Todo todo;
  std::optional<core::SessionRenew> renew;
  std::vector<RunRef> beat;
  Instant next;
  {
    std::lock_guard lock(mutex_);
    check_history(todo);
    if (session_state_ == SessionState::open && now >= session_expires_) {
      env_.log.write(base::LogLevel::error, "worker session expired before it could be renewed",
                     {{"worker", options_.name}});
      lose_session(todo);
    }
    if (session_state_ == SessionState::open && now >= renew_at_ && !renewing_) {
      renewing_ = true;
      renew = core::SessionRenew{session_, options_.lease};
    }
    for (auto& [id, run] : runs_) {
      if (run->started_at == Instant{} || now < run->next_beat || run->stop_reason() == StopReason::lease_lost)
        continue;
      run->next_beat = add_saturated(now, options_.lease / 3);
      beat.push_back(run);
    }
    // Never a large part of a lease, however short that is: a session that is just being opened has to be renewed soon.
    const Instant soon = add_saturated(now, std::min<Duration>(kBeatStep, options_.lease / 6));
    next = renewing_ ? soon : renew_at_;
    if (running_ > 0) next = std::min(next, soon);
    if (session_state_ == SessionState::none || session_state_ == SessionState::opening) next = std::min(next, soon);
  }
  carry_out(std::move(todo));
  if (renew)
    submit(*renew,
           [this, session = renew->session](core::Answer answer) { session_renewed(session, std::move(answer)); });
  for (auto& run : beat) {
    const auto& row = run->task.execution;
    submit(core::TaskHeartbeat{row.id, row.version, options_.lease, run->take_progress()},
           [this, run](core::Answer answer) { beaten(run, std::move(answer)); });
  }
  return next;
}

void Worker::beaten(const RunRef& run, core::Answer answer) {
  if (const auto* beat = std::get_if<core::HeartbeatAnswer>(&answer)) {
    if (beat->cancel_requested) run->request_stop(StopReason::cancelled);
    return;
  }
  const auto code = std::get<Error>(answer).code;
  if (code != ErrorCode::LeaseLost && code != ErrorCode::ExecutionNotFound) return;
  std::lock_guard lock(mutex_);
  // A refused heartbeat of an attempt that ended meanwhile says nothing.
  const auto it = runs_.find(run->task.execution.id);
  if (it != runs_.end() && it->second == run) run->request_stop(StopReason::lease_lost);
}

// ---- claims ---------------------------------------------------------------------------------------------------------

// How many to claim: free slots and what the handlers will have done by the time the claim is answered, but not little
// by little.
int Worker::wanted() const {
  const int slots = options_.slots;
  double ahead = 0;
  if (mean_micros_ >= 0) {
    ahead = slots * (kWorkAheadMicros + claim_micros_) / std::max(mean_micros_, 1.0);
    ahead = std::min({ahead, static_cast<double>(options_.max_prefetch), kMaxAheadBytes / std::max(mean_bytes_, 1.0)});
  }
  const int free = std::max(0, slots - static_cast<int>(in_executor_ + unconfirmed_));
  const int target = free + static_cast<int>(ahead);
  const int missing = target - static_cast<int>(buffer_.size());
  return missing * 2 >= target ? std::max(0, missing) : 0;
}

core::TaskClaim Worker::new_claim(std::vector<core::TaskClaim::Want> lanes, core::Pool pool) {
  core::TaskClaim claim = claim_of(env_.next_id<ClaimId>(), core::Takes::ready);
  claim.lanes = std::move(lanes);
  claim.pool = pool;
  asking_for(pool).busy = true;
  return claim;
}

core::TaskClaim Worker::claim_of(ClaimId id, core::Takes takes) const {
  core::TaskClaim claim;
  claim.id = id;
  claim.session = session_;
  claim.worker = options_.name;
  claim.lease = options_.lease;
  claim.takes = takes;
  return claim;
}

bool Worker::may_ask(const Asking& asking, Instant now) const {
  return session_state_ == SessionState::open && !draining_ && !asking.busy && now >= asking.not_before;
}

// True: a claim whose outcome is not known comes first.
bool Worker::plan_repeat(Asking& asking, Instant now, Todo& todo) {
  if (!asking.unknown || asking.resent || now < asking.not_before) return false;
  todo.claims.push_back(asking.unknown);
  asking.resent = true;
  return true;
}

void Worker::plan_claim(Instant now, Todo& todo) {
  if (plan_repeat(asking_tasks_, now, todo)) return;
  if (!may_ask(asking_tasks_, now) || alone_running_ || handlers_.empty()) return;
  if (plan_alone(now, todo)) return;
  if (!lanes_.any_ready()) return;
  const int limit = std::min(wanted(), 1000);
  if (limit == 0) return;
  auto lanes = lanes_.pick(engine_.directory(), limit, now);
  if (lanes.empty()) return;
  todo.claims.push_back(std::make_shared<const core::TaskClaim>(new_claim(std::move(lanes))));
  if (!forgettable_.empty()) todo.forget.emplace_back(core::LeaseForget{std::exchange(forgettable_, {})});
}

// Decisions are not counted against the limits of their queue, which are about tasks.
void Worker::plan_runs(Instant now, Todo& todo) {
  if (owner_ == nullptr || plan_repeat(asking_runs_, now, todo)) return;
  if (!may_ask(asking_runs_, now) || !run_lanes_.any_ready()) return;
  const int limit = std::min(owner_->room(), 1000);
  if (limit <= 0) return;
  auto lanes = run_lanes_.pick(engine_.directory(), limit, now);
  for (auto& want : lanes) want.limited = false;
  if (lanes.empty()) return;
  todo.claims.push_back(std::make_shared<const core::TaskClaim>(new_claim(std::move(lanes), core::Pool::runs)));
  if (!forgettable_.empty()) todo.forget.emplace_back(core::LeaseForget{std::exchange(forgettable_, {})});
}

namespace {

std::vector<core::TaskClaim::Want> wants_of(const std::map<core::LaneId, std::int32_t>& lanes, std::int32_t left,
                                            const std::function<bool(core::LaneId)>& may) {
  std::vector<core::TaskClaim::Want> wants;
  for (const auto& [id, count] : lanes) {
    if (left <= 0 || !may(id)) continue;
    wants.push_back({id, std::min(left, count), false});
    left -= wants.back().limit;
  }
  return wants;
}

}  // namespace

std::optional<core::TaskClaim> Worker::ride_tasks(const std::map<core::LaneId, std::int32_t>& lanes, Instant now) {
  if (lanes.empty() || !may_ask(asking_tasks_, now) || alone_running_ || handlers_.empty()) return {};
  if (!alone_lanes_.empty() || lanes_.any_ready() || !buffer_.empty()) return {};
  if (rides_to_skip_ > 0) {
    --rides_to_skip_;
    return {};
  }
  auto wants = wants_of(lanes, std::min(wanted(), 1000), [this](core::LaneId id) {
    const LaneRef lane = engine_.directory().find(id);
    return lane && !lane->lane.config.paused && !lane->limited() && lanes_.serves(*lane);
  });
  if (wants.empty()) return {};
  return new_claim(std::move(wants));
}

std::optional<core::TaskClaim> Worker::ride_runs(const std::map<core::LaneId, std::int32_t>& lanes, Instant now) {
  if (lanes.empty() || owner_ == nullptr || !may_ask(asking_runs_, now) || run_lanes_.any_ready()) return {};
  auto wants = wants_of(lanes, std::min(owner_->room(), 1000), [this](core::LaneId id) {
    const LaneRef lane = engine_.directory().find(id);
    return lane && !lane->lane.config.paused && run_lanes_.serves(*lane);
  });
  if (wants.empty()) return {};
  return new_claim(std::move(wants), core::Pool::runs);
}

std::vector<Rider> Worker::ride(const FreshLanes& lanes, Instant now) {
  std::vector<core::TaskClaim> claims;
  {
    std::lock_guard lock(mutex_);
    if (env_.store.history() != history_) return {};
    if (auto claim = ride_tasks(lanes.tasks, now)) claims.push_back(*std::move(claim));
    if (auto claim = ride_runs(lanes.runs, now)) claims.push_back(*std::move(claim));
    under_way_ += static_cast<int>(claims.size());
  }
  // Where this process alone has the store, a sync of its own is what a lone task still waits for.
  const bool lone = lanes.runs.empty() && lanes.tasks.size() == 1 && lanes.tasks.begin()->second == 1;
  std::function<void()> soon;
  if (lone && !env_.store.hears_hints()) soon = [this] { executor_.expect(); };
  std::vector<Rider> riders;
  for (auto& claim : claims) {
    const auto shared = std::make_shared<const core::TaskClaim>(claim);
    riders.push_back({std::move(claim),
                      [this, shared, now](core::Answer answer) {
                        const auto* claimed_now = std::get_if<core::ClaimAnswer>(&answer);
                        const bool empty = claimed_now != nullptr && claimed_now->tasks.empty();
                        claimed(shared, now, std::move(answer));
                        std::lock_guard lock(mutex_);
                        if (empty && shared->pool == core::Pool::tasks) rides_to_skip_ = kRidesSkipped;
                        --under_way_;
                      },
                      soon});
  }
  return riders;
}

// A task that took a worker down is claimed when nothing else runs here. True: claim nothing else now.
bool Worker::plan_alone(Instant now, Todo& todo) {
  if (alone_lanes_.empty() || now < alone_rest_until_) return false;
  if (!runs_.empty()) {
    if (now < alone_since_ + kAlonePatience) return false;
    if (now < alone_since_ + kAlonePatience + kAloneHoldBack) return true;
    alone_rest_until_ = add_saturated(now, kAloneRest);
    alone_lanes_.clear();
    return false;
  }
  const LaneRef lane = engine_.directory().find(alone_lanes_.back());
  alone_lanes_.pop_back();
  if (!lane || lane->lane.config.paused || !lanes_.serves(*lane)) return false;
  todo.claims.push_back(
      std::make_shared<const core::TaskClaim>(new_claim({{lane->lane.id, 1, lane->limited()}}, core::Pool::alone)));
  return true;
}

void Worker::send_claim(std::shared_ptr<const core::TaskClaim> claim) {
  SEMEL_FP("worker.before_claim");
  const Instant asked_at = store_now();
  submit(*claim, [this, claim, asked_at](core::Answer answer) { claimed(claim, asked_at, std::move(answer)); });
}

void Worker::claimed(std::shared_ptr<const core::TaskClaim> claim, Instant asked_at, core::Answer answer) {
  const Instant now = store_now();
  if (const auto* error = std::get_if<Error>(&answer)) {
    {
      std::lock_guard lock(mutex_);
      Asking& asking = asking_for(claim->pool);
      asking.not_before = add_saturated(now, kPauseAfterError);
      asking.resent = false;
      // What an unknown claim holds would stay leased as long as the session lives: it is asked again under its id.
      const bool gone = claim->session != session_ || error->code == ErrorCode::ShuttingDown;
      if (!gone && (outcome_unknown(*error) || claim == asking.unknown)) asking.unknown = claim;
      else asking.unknown = nullptr;
      asking.busy = asking.unknown != nullptr;
    }
    return poke();
  }
  Todo todo;
  {
    std::lock_guard lock(mutex_);
    Asking& asking = asking_for(claim->pool);
    asking.busy = asking.resent = false;
    asking.unknown = nullptr;
    const double took = std::clamp(static_cast<double>((now - asked_at).count()), 0.0, kMaxClaimMicros);
    claim_micros_ += 0.2 * (took - claim_micros_);
    auto& brought = std::get<core::ClaimAnswer>(answer);
    if (claim->pool == core::Pool::runs) take_runs(*claim, std::move(brought), todo);
    else take_tasks(*claim, std::move(brought), todo);
    plan_dispatch(todo);
  }
  SEMEL_FP("worker.after_claim");
  carry_out(std::move(todo));
  poke();
}

void Worker::take_tasks(const core::TaskClaim& claim, core::ClaimAnswer answer, Todo& todo, bool handed) {
  std::unordered_map<core::LaneId, int, core::KeyHash> per_lane;
  const bool gone = claim.session != session_ || session_state_ != SessionState::open;
  stats_.claimed += answer.tasks.size();
  for (auto& task : answer.tasks) {
    ++per_lane[task.execution.lane];
    auto run = std::make_shared<Run>();
    const LaneRef lane = engine_.directory().find(task.execution.lane);
    run->task = store::ExecutionView{std::move(task.execution), std::move(task.payload), lane ? lane->tenant : "",
                                     lane ? lane->lane.queue : ""};
    run->claim = claim.id;
    run->session = claim.session;
    run->history = InHistory::current().value_or(history_);
    if (gone) {  // claimed under a session that is over: given back before it expires
      todo.release.push_back(std::move(run));
      continue;
    }
    runs_[run->task.execution.id] = run;
    ++claims_[claim.id].left;
    const bool full =
        handed && (alone_running_ || in_executor_ + buffer_.size() >= static_cast<std::size_t>(options_.slots));
    if (draining_ || full || handlers_.find(run->task.execution.name) == nullptr) {
      todo.release.push_back(std::move(run));
      continue;
    }
    if (claim.pool == core::Pool::alone) {
      alone_running_ = true;
      if (alone_lanes_.empty() && store_now() < alone_since_ + kAloneBurst)
        alone_lanes_.push_back(claim.lanes.front().lane);
    }
    mean_bytes_ += 0.05 * (static_cast<double>(run->task.payload.args.size() + 256) - mean_bytes_);
    buffer_.push_back(std::move(run));
  }
  for (const auto& [lane, count] : per_lane) note_served(lane);
  for (const auto& want : claim.lanes)
    if (claim.pool != core::Pool::alone && per_lane[want.lane] < want.limit) lanes_.mark_empty(want.lane);
  for (const auto& [lane, at] : answer.retry_at) lanes_.hold(lane, at);
}

void Worker::take_runs(const core::TaskClaim& claim, core::ClaimAnswer answer, Todo& todo) {
  std::unordered_map<core::LaneId, int, core::KeyHash> per_lane;
  const bool gone = claim.session != session_ || session_state_ != SessionState::open || draining_;
  for (auto& task : answer.tasks) {
    ++per_lane[task.execution.lane];
    if (gone) {
      todo.give_back.push_back({task.execution.id, task.execution.version, Duration{0}, false});
      continue;
    }
    ++claims_[claim.id].left;
    const LaneRef lane = engine_.directory().find(task.execution.lane);
    todo.own.push_back({store::ExecutionView{std::move(task.execution), std::move(task.payload),
                                             lane ? lane->tenant : "", lane ? lane->lane.queue : ""},
                        claim.id, claim.session, InHistory::current().value_or(history_)});
  }
  for (const auto& want : claim.lanes)
    if (per_lane[want.lane] < want.limit) run_lanes_.mark_empty(want.lane);
}

void Worker::run_over(ClaimId claim, bool closed) {
  std::lock_guard lock(mutex_);
  count_over(claim, closed);
}

// ---- where the work is ----------------------------------------------------------------------------------------------

void Worker::note_wakes(const store::Wakes& wakes) {
  Todo todo;
  if (owner_ != nullptr) owner_->note_wakes(wakes);
  const bool ready = !wakes.lanes.empty() || !wakes.alone.empty() || !wakes.handed.empty() ||
                     (owner_ != nullptr && !wakes.runs.empty());
  if (ready || !wakes.cancel_requested.empty() || !wakes.offers.empty()) {
    std::lock_guard lock(mutex_);
    for (const auto& offer : wakes.offers) note_offer(offer);
    for (const auto& handed : wakes.handed) take_over(handed, todo);
    for (const auto lane : wakes.lanes) lanes_.mark_ready(lane);
    for (const auto lane : wakes.runs) run_lanes_.mark_ready(lane);
    for (const auto lane : wakes.alone) mark_alone(lane);
    for (const auto& id : wakes.cancel_requested)
      if (const auto it = runs_.find(id); it != runs_.end()) todo.stop.emplace_back(it->second, StopReason::cancelled);
  }
  carry_out(std::move(todo));
  if (ready) poke();
}

void Worker::mark_alone(core::LaneId lane) {
  const LaneRef known = engine_.directory().find(lane);
  if (!known || !lanes_.serves(*known)) return;  // no reason to hold anything back here
  if (alone_lanes_.empty()) alone_since_ = store_now();
  if (std::find(alone_lanes_.begin(), alone_lanes_.end(), lane) == alone_lanes_.end()) alone_lanes_.push_back(lane);
}

Instant Worker::poll(Instant now) {
  const auto pause = options_.poll_interval.count();
  const Instant next = add_saturated(
      now, Duration{pause / 2 + static_cast<std::int64_t>(env_.random.below(static_cast<std::uint64_t>(pause)))});
  if (owner_ != nullptr) owner_->poll(now);
  check_records(now);
  auto ready = env_.store.ready_lanes();
  if (!ready) return next;
  const bool strange = std::any_of(ready->begin(), ready->end(),
                                   [this](const store::ReadyLane& row) { return !engine_.directory().find(row.lane); });
  if (strange && !engine_.directory().refresh()) return next;
  {
    std::lock_guard lock(mutex_);
    for (const auto& row : *ready) {
      if (row.pool == core::Pool::alone) mark_alone(row.lane);
      else if (row.pool == core::Pool::tasks) lanes_.mark_ready(row.lane);
      else run_lanes_.mark_ready(row.lane);
    }
  }
  if (!ready->empty()) poke();
  return next;
}

}  // namespace semel::engine
