// The life of one attempt on a worker: handed to the executor, ended, durable. And the end of the worker itself.
#include <algorithm>
#include <utility>

#include "base/failpoint.h"
#include "core/validate.h"
#include "engine/in_history.h"
#include "engine/prepare.h"
#include "engine/worker.h"

namespace semel::engine {
namespace {

Duration pause_before_try(int tries) {
  return Duration{std::min<std::int64_t>(50'000LL << std::min(tries, 6), 2'000'000)};
}

// The row says that this claim holds it no more.
bool belongs_to_others(const Error& error) {
  return error.code == ErrorCode::LeaseLost || error.code == ErrorCode::ExecutionNotFound ||
         error.code == ErrorCode::FingerprintMismatch;
}

// Everything else is repeated as long as the session lives: an end that is given up would leave the task claimed.
bool worth_repeating(const Error& error) {
  return !belongs_to_others(error) && error.code != ErrorCode::ShuttingDown && error.code != ErrorCode::StoreCorrupt;
}

core::Operation failure_of(const core::Execution& row, const HandlerOutcome& outcome, std::uint64_t random_bits) {
  core::TaskFail fail;
  fail.execution = row.id;
  fail.version = row.version;
  fail.error_name = core::clip_error_name(outcome.error_name);
  fail.error = error_json(outcome.error_name, outcome.error_message, outcome.error_details);
  fail.retryable = outcome.retryable;
  fail.next_delay = outcome.next_delay;
  fail.cancelled = outcome.kind == HandlerOutcome::Kind::cancelled;
  fail.random_bits = random_bits;
  return fail;
}

}  // namespace

// What was begun and is not durable runs again after a crash: never more than the slots.
void Worker::plan_dispatch(Todo& todo) {
  if (draining_) return;
  while (!buffer_.empty() && in_executor_ + unconfirmed_ < static_cast<std::size_t>(options_.slots)) {
    todo.start.push_back(std::move(buffer_.front()));
    buffer_.pop_front();
    ++in_executor_;
  }
}

bool Worker::begin(Run& run, Instant now) {
  Todo todo;
  {
    std::lock_guard lock(mutex_);
    const bool past = check_history(todo);
    const bool live =
        !past && run.stop_reason() != StopReason::lease_lost && run.session == session_ && now < session_expires_;
    if (live) {
      run.started_at = now;
      run.next_beat = add_saturated(now, options_.lease / 3);
      ++running_;
      return true;
    }
    ++stats_.lease_lost;
    --in_executor_;
    forget(run, false);
    // A renewal that is still on its way would keep the session, and with it what is not started here, alive for good.
    if (run.session == session_ && session_state_ == SessionState::open && now >= session_expires_) lose_session(todo);
  }
  carry_out(std::move(todo));
  poke();
  return false;
}

bool Worker::holds(SessionId session) {
  const Instant now = store_now();
  Todo todo;
  {
    std::lock_guard lock(mutex_);
    if (session != session_ || session_state_ != SessionState::open) return false;
    if (!check_history(todo)) {
      if (now < session_expires_) return true;
      lose_session(todo);
    }
  }
  carry_out(std::move(todo));
  poke();
  return false;
}

void Worker::finish(RunRef run, HandlerOutcome outcome) {
  outcome = storable(std::move(outcome), run->task.payload.encoding);
  const bool stopped = outcome.kind == HandlerOutcome::Kind::cancelled && run->stop_reason() == StopReason::shutdown;
  if (stopped) outcome.kind = HandlerOutcome::Kind::released;
  const Instant now = store_now();
  {
    std::lock_guard lock(mutex_);
    const double took = std::max<double>(0, static_cast<double>((now - run->started_at).count()));
    mean_micros_ = mean_micros_ < 0 ? took : mean_micros_ + 0.05 * (took - mean_micros_);
    run->outcome = std::move(outcome);
    --in_executor_;
    --running_;
    ++unconfirmed_;
    ++under_way_;
    run->started_at = Instant{};
  }
  SEMEL_FP("worker.before_end");
  send_end(run);
}

// The caller counted it in under_way_.
void Worker::send_end(const RunRef& run) {
  const InHistory in(run->history);
  const auto& row = run->task.execution;
  const auto& outcome = run->outcome;
  core::Operation operation;
  switch (outcome.kind) {
    case HandlerOutcome::Kind::succeeded:
      operation = core::TaskComplete{row.id, row.version, outcome.result};
      break;
    case HandlerOutcome::Kind::released:
      operation = core::TaskRelease{row.id, row.version, outcome.next_delay.value_or(Duration{0}), run->no_handler};
      break;
    case HandlerOutcome::Kind::failed:
    case HandlerOutcome::Kind::cancelled:
      operation = failure_of(row, outcome, env_.random.next());
      break;
  }
  // What the handler said last is for the next attempt: it is written before the row is given back.
  if (outcome.kind != HandlerOutcome::Kind::succeeded) {
    if (auto progress = run->take_progress())
      engine_.writer().submit_internal(core::TaskHeartbeat{row.id, row.version, options_.lease, std::move(progress)},
                                       [](const core::Answer&) {});
  }
  engine_.writer().submit_internal(std::move(operation),
                                   [this, run](core::Answer answer) { ended(run, std::move(answer)); });
}

// The outcome is durable, or the attempt belongs to somebody else. Only then is the slot free.
void Worker::ended(const RunRef& run, core::Answer answer) {
  const auto* error = std::get_if<Error>(&answer);
  const Instant now = error != nullptr ? store_now() : Instant{};
  std::lock_guard lock(mutex_);
  --under_way_;
  if (error != nullptr && worth_repeating(*error) && run->stop_reason() != StopReason::lease_lost) {
    retry_ends_.emplace_back(add_saturated(now, pause_before_try(run->end_tries++)), run);
    std::sort(retry_ends_.begin(), retry_ends_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    poke();
    return;
  }
  --unconfirmed_;
  if (error != nullptr) ++stats_.lease_lost;
  else count_end(*run, std::get<core::EndAnswer>(answer));
  forget(*run, error == nullptr || belongs_to_others(*error));
}

void Worker::count_end(const Run& run, const core::EndAnswer&) {
  switch (run.outcome.kind) {
    case HandlerOutcome::Kind::succeeded:
      ++stats_.succeeded;
      break;
    case HandlerOutcome::Kind::failed:
      ++stats_.failed;
      break;
    case HandlerOutcome::Kind::cancelled:
      ++stats_.cancelled;
      break;
    case HandlerOutcome::Kind::released:
      ++(run.no_handler ? stats_.no_handler : stats_.released);
      break;
  }
}

// Mutex held. The execution no longer counts here. Unless the store said that the attempt is over (`closed`), the
// record of its claim must stay: it is how an execution that is still claimed comes back when the session is over.
void Worker::forget(const Run& run, bool closed) {
  const auto& row = run.task.execution;
  const auto it = runs_.find(row.id);
  if (it != runs_.end() && it->second.get() == &run) {
    // A limited lane may grant again now; nobody sends a wake-up for that.
    if (row.flags & core::kCountedInLane) lanes_.mark_ready(row.lane);
    runs_.erase(it);
  }
  if (runs_.empty()) alone_running_ = false;
  count_over(run.claim, closed);
}

// A claim stays known while anything of it is here: its record would bring that a second time.
void Worker::count_over(ClaimId claim, bool closed) {
  const auto it = claims_.find(claim);
  if (it == claims_.end()) return;
  it->second.unsure = it->second.unsure || !closed;
  if (--it->second.left > 0) return;
  const bool unsure = it->second.unsure;
  claims_.erase(it);
  const bool handed = handed_.erase(claim) > 0;
  if (unsure) return;
  if (handed) forget_later_.emplace_back(add_saturated(store_now(), kOfferOutlives), claim);
  else forgettable_.push_back(claim);
}

// Unstarted work goes back: at once when this worker stops, after a pause when it has no handler for it.
void Worker::send_release(const RunRef& run) {
  run->no_handler = handlers_.find(run->task.execution.name) == nullptr;
  run->outcome.kind = HandlerOutcome::Kind::released;
  if (run->no_handler) run->outcome.next_delay = options_.no_handler_delay;
  {
    std::lock_guard lock(mutex_);
    ++unconfirmed_;
    ++under_way_;
  }
  send_end(run);
}

// ---- the end --------------------------------------------------------------------------------------------------------

void Worker::drain() {
  std::vector<RunRef> back = executor_.take_unstarted();
  Todo todo;
  if (owner_ != nullptr) owner_->drain();
  {
    std::lock_guard lock(mutex_);
    draining_ = true;
    in_executor_ -= back.size();
    todo.release = std::move(back);
    for (auto& run : buffer_) todo.release.push_back(std::move(run));
    buffer_.clear();
  }
  carry_out(std::move(todo));
}

void Worker::cancel_running() {
  Todo todo;
  {
    std::lock_guard lock(mutex_);
    for (auto& [id, run] : runs_) todo.stop.emplace_back(run, StopReason::shutdown);
  }
  carry_out(std::move(todo));
}

void Worker::close_session() {
  SessionId session;
  {
    std::lock_guard lock(mutex_);
    draining_ = true;
    if (session_state_ != SessionState::open) {
      session_state_ = SessionState::closed;
      return;
    }
    session_state_ = SessionState::closing;
    session = session_;
  }
  if (auto forgettable =
          [this] {
            std::lock_guard lock(mutex_);
            return std::exchange(forgettable_, {});
          }();
      !forgettable.empty())
    submit(core::LeaseForget{std::move(forgettable)}, nullptr);
  const auto close = [this, session] {
    submit(core::SessionClose{session}, [this](core::Answer) {
      {
        std::lock_guard lock(mutex_);
        session_state_ = SessionState::closed;
      }
      poke();
    });
  };
  // An offer is taken back first: what came of it meanwhile goes back to the others.
  std::optional<core::TaskClaim> offer;
  {
    std::lock_guard lock(mutex_);
    if (offered_) offer = claim_of(*std::exchange(offered_, {}), core::Takes::nothing);
  }
  if (!offer) return close();
  submit(*std::move(offer), [this, close](core::Answer answer) {
    if (const auto* brought = std::get_if<core::ClaimAnswer>(&answer))
      for (const auto& task : brought->tasks)
        submit(core::TaskRelease{task.execution.id, task.execution.version, Duration{0}, false}, nullptr);
    close();
  });
}

bool Worker::drained() const {
  if (owner_ != nullptr && !owner_->drained()) return false;
  std::lock_guard lock(mutex_);
  return runs_.empty() && !asking_tasks_.busy && !asking_runs_.busy && session_state_ != SessionState::opening;
}

bool Worker::closed() const {
  std::lock_guard lock(mutex_);
  return session_state_ == SessionState::closed;
}

WorkerStats Worker::stats() const {
  std::lock_guard lock(mutex_);
  WorkerStats out = stats_;
  out.waiting = buffer_.size() + in_executor_ - running_;
  out.running = running_;
  out.unconfirmed = unconfirmed_;
  return out;
}

}  // namespace semel::engine
