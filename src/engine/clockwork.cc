#include "engine/clockwork.h"

#include <algorithm>
#include <utility>

#include "base/failpoint.h"

namespace semel::engine {
namespace {

constexpr Duration kPauseAfterError{1'000'000};
constexpr Duration kShortestRest{1'000};
constexpr Duration kFirstPause{1'000};
constexpr int kMostEmptyFirings = 14;
constexpr int kIdleRests = 4;

}  // namespace

Clockwork::Clockwork(Engine& engine, ClockworkOptions options) : engine_(engine), options_(options) {}

Instant Clockwork::step(Instant now) {
  const bool sane = clock_is_sane(now);
  run_directory(now);
  run_promotion(now);
  run_timers(now);
  run_sessions(now);
  run_inbox(now);
  run_keys(now);
  run_alarms(now);
  if (sane) {
    run_cleanup(now);
    run_ledger(now);
  }
  std::lock_guard lock(mutex_);
  if (stopping_) return kEndOfTime;
  Instant next = kEndOfTime;
  for (const Loop* loop : {&sessions_, &keys_, &inbox_, &directory_, &alarms_})
    if (!loop->busy) next = std::min(next, loop->due);
  if (!timers_.busy) next = std::min({next, std::max(timers_.due, next_timer_), timer_read_due_});
  for (const Loop* loop : {&cleanup_, &ledger_})
    if (!loop->busy && !clock_stepped_) next = std::min(next, loop->due);
  if (!promotion_.busy && !to_promote_.empty()) next = std::min(next, promotion_.due);
  return next;
}

void Clockwork::note_wakes(const store::Wakes& wakes) {
  if (!wakes.timer_at) return;
  {
    std::lock_guard lock(mutex_);
    if (*wakes.timer_at >= next_timer_) return;
    next_timer_ = *wakes.timer_at;
  }
  rouse();
}

void Clockwork::promote(core::LaneId lane) {
  {
    std::lock_guard lock(mutex_);
    if (std::find(to_promote_.begin(), to_promote_.end(), lane) == to_promote_.end()) to_promote_.push_back(lane);
  }
  rouse();
}

void Clockwork::clean_now() {
  {
    std::lock_guard lock(mutex_);
    cleanup_.due = Instant{};
    ledger_.due = Instant{};
    keys_.due = Instant{};
  }
  rouse();
}

void Clockwork::stop() {
  std::lock_guard lock(mutex_);
  stopping_ = true;
}

bool Clockwork::quiet() const {
  std::lock_guard lock(mutex_);
  return under_way_ == 0;
}

ClockworkStats Clockwork::stats() const {
  std::lock_guard lock(mutex_);
  return stats_;
}

void Clockwork::rouse() const {
  if (wake) wake();
}

void Clockwork::add(std::uint64_t ClockworkStats::* count, std::uint64_t by) {
  std::lock_guard lock(mutex_);
  stats_.*count += by;
}

void Clockwork::failed(const Error& error) {
  add(&ClockworkStats::errors, 1);
  engine_.env().log.write(base::LogLevel::warn, "housekeeping failed", {{"error", error.message}});
}

bool Clockwork::may_run(Loop& loop, Instant now) {
  std::lock_guard lock(mutex_);
  if (stopping_ || loop.busy || now < loop.due) return false;
  loop.busy = true;
  ++under_way_;
  return true;
}

// Precondition: may_run said yes.
void Clockwork::submit(Loop& loop, core::Operation operation, Duration interval, std::uint64_t ClockworkStats::* count,
                       Then then) {
  engine_.writer().submit_internal(std::move(operation), [this, &loop, interval, count, then](core::Answer answer) {
    const Instant now = engine_.env().store.clock().now();
    const auto* error = std::get_if<Error>(&answer);
    if (error != nullptr) failed(*error);
    const auto sweep = error == nullptr ? std::get<core::SweepAnswer>(answer) : core::SweepAnswer{};
    {
      std::lock_guard lock(mutex_);
      loop.busy = false;
      --under_way_;
      stats_.*count += static_cast<std::uint64_t>(std::max(0, sweep.changed));
      loop.due =
          sweep.more ? now : add_saturated(now, error != nullptr ? std::max(interval, kPauseAfterError) : interval);
      if (error == nullptr && then) then(sweep, now);
    }
    rouse();
  });
}

void Clockwork::run_timers(Instant now) {
  auto& env = engine_.env();
  bool read = false;
  {
    std::lock_guard lock(mutex_);
    read = !stopping_ && now >= timer_read_due_;
    if (read) timer_read_due_ = add_saturated(now, options_.timer_poll);
  }
  if (read) {
    auto next = env.store.next_timer();
    if (!next) return failed(next.error());
    std::lock_guard lock(mutex_);
    if (*next) next_timer_ = std::min(next_timer_, **next);
  }
  {
    std::lock_guard lock(mutex_);
    if (next_timer_ > now) return;
  }
  if (!may_run(timers_, now)) return;
  {
    std::lock_guard lock(mutex_);
    next_timer_ = kEndOfTime;
    timer_read_due_ = Instant{};
  }
  SEMEL_FP("clockwork.timers");
  submit(timers_, core::TimersFire{options_.page, env.random.next()}, Duration{0}, &ClockworkStats::timers_fired,
         [this](const core::SweepAnswer& sweep, Instant at) {
           if (sweep.more) next_timer_ = at;
           // A timer was due and none was found: another process had it, or its row is damaged and stays there.
           empty_firings_ = sweep.looked_at > 0 ? 0 : std::min(empty_firings_ + 1, kMostEmptyFirings);
           if (empty_firings_ > 1) timers_.due = add_saturated(at, Duration{kFirstPause.count() << empty_firings_});
         });
}

void Clockwork::run_sessions(Instant now) {
  if (!may_run(sessions_, now)) return;
  SEMEL_FP("clockwork.sessions");
  submit(sessions_, core::SessionsExpire{500, engine_.env().random.next()}, options_.session_interval,
         &ClockworkStats::leases_expired, nullptr);
}

void Clockwork::run_keys(Instant now) {
  if (!may_run(keys_, now)) return;
  submit(keys_, core::KeysExpire{options_.page}, options_.keys_interval, &ClockworkStats::keys_expired, nullptr);
}

void Clockwork::run_directory(Instant now) {
  if (!may_run(directory_, now)) return;
  auto changed = engine_.directory().refresh();
  if (!changed) failed(changed.error());
  std::lock_guard lock(mutex_);
  directory_.busy = false;
  --under_way_;
  directory_.due = add_saturated(now, options_.directory_interval);
  if (!changed) return;
  for (const auto& lane : *changed)
    if (std::find(to_promote_.begin(), to_promote_.end(), lane->lane.id) == to_promote_.end())
      to_promote_.push_back(lane->lane.id);
}

void Clockwork::run_promotion(Instant now) {
  core::LaneId lane{};
  {
    std::lock_guard lock(mutex_);
    if (to_promote_.empty()) return;
    lane = to_promote_.back();
  }
  if (!may_run(promotion_, now)) return;
  submit(promotion_, core::BlockedSweep{lane, 500}, Duration{0}, &ClockworkStats::promoted,
         [this, lane](const core::SweepAnswer& sweep, Instant) {
           if (!sweep.more || sweep.changed == 0) std::erase(to_promote_, lane);
         });
}

void Clockwork::run_inbox(Instant now) {
  if (!may_run(inbox_, now)) return;
  auto rows = engine_.env().store.inbox_list(500);
  if (!rows) failed(rows.error());
  const std::size_t count = rows ? rows->size() : 0;
  const auto over = [this](Duration again) {
    std::lock_guard lock(mutex_);
    inbox_.busy = false;
    --under_way_;
    inbox_.due = add_saturated(engine_.env().store.clock().now(), again);
  };
  if (count == 0) return over(rows ? options_.inbox_interval : kPauseAfterError);
  auto left = std::make_shared<std::atomic<std::size_t>>(count);
  for (auto& row : *rows)
    engine_.feed_inbox(std::move(row), [this, left, over, count](Result<bool> fed) {
      if (fed && *fed) add(&ClockworkStats::inbox_fed, 1);
      if (!fed) failed(fed.error());
      if (left->fetch_sub(1) != 1) return;
      over(fed && count == 500 ? Duration{0} : options_.inbox_interval);
      rouse();
    });
}

// Told again as long as it lasts. Not at the start: whoever opens a store for one call has no use for it.
void Clockwork::run_alarms(Instant now) {
  if (!may_run(alarms_, now)) return;
  const bool first = alarms_.due == Instant{};
  const auto told = first ? Result<std::vector<std::string>>(std::vector<std::string>{}) : engine_.env().store.alarms();
  if (!told) failed(told.error());
  else
    for (const std::string& alarm : *told)
      engine_.env().log.write(base::LogLevel::warn, "the store is hindered", {{"by", alarm}});
  std::lock_guard lock(mutex_);
  alarms_.busy = false;
  --under_way_;
  alarms_.due = add_saturated(now, options_.alarm_interval);
  if (told) stats_.alarms += told->size();
}

// ---- cleanup --------------------------------------------------------------------------------------------------------

// Store time and the monotonic clock advance together. A store clock that jumped would make everything look old at
// once: cleanup stops and says so, until the process is started again.
bool Clockwork::clock_is_sane(Instant now) {
  const Duration monotonic = engine_.env().monotonic.now();
  std::lock_guard lock(mutex_);
  if (!anchored_) {
    anchored_ = true;
    anchor_store_ = now;
    anchor_monotonic_ = monotonic;
  }
  if (clock_stepped_) return false;
  const Duration apart = (now - anchor_store_) - (monotonic - anchor_monotonic_);
  // Slow drift is no step: follow it.
  if (apart < options_.max_clock_step && apart > -options_.max_clock_step) {
    anchor_store_ = now;
    anchor_monotonic_ = monotonic;
    return true;
  }
  clock_stepped_ = true;
  ++stats_.clock_steps;
  engine_.env().log.write(base::LogLevel::error, "the store's clock jumped: cleanup is paused until the next start",
                          {{"seconds", std::chrono::duration_cast<std::chrono::seconds>(apart).count()}});
  return false;
}

void Clockwork::run_cleanup(Instant now) {
  if (!may_run(cleanup_, now)) return;
  SEMEL_FP("clockwork.cleanup");
  core::RetentionSweep page;
  {
    std::lock_guard lock(mutex_);
    page.after = cleanup_after_;
    page.limit = cleanup_page_;
  }
  page.min_age = engine_.directory().shortest_retention();
  const Duration slice = options_.cleanup_slice * (engine_.env().store.slow_lane() != nullptr ? 2 : 1);
  const Duration begin = engine_.env().monotonic.now();
  submit(cleanup_, page, options_.cleanup_interval, &ClockworkStats::rows_cleaned,
         [this, begin, slice](const core::SweepAnswer& sweep, Instant at) {
           cleanup_after_ = sweep.more ? sweep.next_after : ExecutionId{};
           const Duration took = engine_.env().monotonic.now() - begin;
           if (took > slice) cleanup_page_ = std::max(cleanup_page_ / 2, kSmallestPage);
           else if (took < slice / 2) cleanup_page_ = std::min(cleanup_page_ * 2, options_.page);
           // A page that gave nothing was read for nothing: the rest of a store that keeps its rows can wait.
           const int rest = options_.cleanup_rest * (sweep.changed > 0 ? 1 : kIdleRests);
           if (sweep.more) cleanup_.due = add_saturated(at, std::max(took * rest, kShortestRest));
         });
}

void Clockwork::run_ledger(Instant now) {
  if (!may_run(ledger_, now)) return;
  core::LedgerSweep page;
  {
    std::lock_guard lock(mutex_);
    page.after = ledger_after_;
    page.limit = options_.ledger_page;
  }
  const Duration begin = engine_.env().monotonic.now();
  submit(ledger_, page, options_.cleanup_interval, &ClockworkStats::ids_forgotten,
         [this, begin](const core::SweepAnswer& sweep, Instant at) {
           ledger_after_ = sweep.more ? sweep.next_key : core::IdentityKey{};
           const Duration took = engine_.env().monotonic.now() - begin;
           if (sweep.more) ledger_.due = add_saturated(at, std::max(took * options_.cleanup_rest, kShortestRest));
         });
}

}  // namespace semel::engine
