// Ownership: which runs are here, who waits, who is given up. The turns are in run_turn.cc.
#include "engine/run_keeper.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "engine/in_history.h"
#include "engine/owned_run.h"

namespace semel::engine {
namespace {

constexpr Duration kPauseAfterError{200'000};
constexpr int kMostDoublings = 8;
constexpr Duration kWatchStep{500'000};
constexpr std::size_t kBoxesPerPoll = 100;

}  // namespace

RunKeeper::RunKeeper(Engine& engine, std::shared_ptr<const WorkflowTable> workflows,
                     std::shared_ptr<RunExecutor> executor, KeeperOptions options)
    : engine_(engine),
      env_(engine.env()),
      workflows_(std::move(workflows)),
      executor_(std::move(executor)),
      options_(options) {}

RunKeeper::~RunKeeper() = default;

bool RunKeeper::enter() {
  inside_.fetch_add(1);
  if (!closed_.load()) return true;
  inside_.fetch_sub(1);
  return false;
}

void RunKeeper::close() {
  closed_.store(true);
  while (inside_.load() != 0) std::this_thread::yield();
}

void RunKeeper::submit(const Owned& run, core::Operation operation, Writer::Done done) {
  const InHistory in(run.claimed.history);
  {
    std::lock_guard lock(mutex_);
    ++under_way_;
  }
  engine_.writer().submit_internal(std::move(operation),
                                   [self = shared_from_this(), done = std::move(done)](core::Answer answer) {
                                     done(std::move(answer));
                                     std::lock_guard lock(self->mutex_);
                                     --self->under_way_;
                                   });
}

// ---- what the worker asks -------------------------------------------------------------------------------------------

int RunKeeper::room() const {
  std::lock_guard lock(mutex_);
  if (draining_ || runs_.size() >= options_.max_hot + options_.max_turns) return 0;
  const std::size_t turns = runs_.size() - waiting_.size();
  return turns >= options_.max_turns ? 0 : static_cast<int>(options_.max_turns - turns);
}

void RunKeeper::own(std::vector<ClaimedRun> runs) {
  std::vector<OwnedRef> replaced, refused;
  {
    std::lock_guard lock(mutex_);
    for (auto& claimed : runs) {
      auto run = std::make_shared<Owned>();
      run->claimed = std::move(claimed);
      run->joins = run->is_new();
      // Mail that a new one may have got shows when it waits or ends; what came before it may have left some.
      run->mail_waits = !run->is_new() || run->row().previous;
      ++stats_.owned;
      auto& slot = runs_[run->row().id];
      if (slot) {
        slot->gone = true;
        unrest(*slot);
        replaced.push_back(std::exchange(slot, nullptr));
      }
      slot = run;
      if (draining_) refused.push_back(std::move(run));
      else schedule(slot);
    }
    for (const auto& run : refused) run->busy = true;
  }
  for (const auto& run : refused) give_up(run, Duration{0}, false);
  for (auto& run : replaced) {
    if (over) over(run->claimed.claim, false);
    executor_->decide([run = std::move(run)] {});
  }
}

void RunKeeper::lose(SessionId session) {
  std::vector<OwnedRef> lost;
  {
    std::lock_guard lock(mutex_);
    for (auto& [id, run] : runs_) {
      if (run->claimed.session != session) continue;
      run->gone = true;
      unrest(*run);
      lost.push_back(run);
    }
    for (const auto& run : lost) runs_.erase(run->row().id);
    stats_.lost += lost.size();
  }
  for (auto& run : lost) {
    if (over) over(run->claimed.claim, false);
    executor_->decide([run = std::move(run)] {});  // destructors of user code run
  }
}

void RunKeeper::note_wakes(const store::Wakes& wakes) {
  if (wakes.mailed.empty() && wakes.ended.empty()) return;
  std::vector<OwnedRef> ended, mailed;
  {
    std::lock_guard lock(mutex_);
    for (const auto& id : wakes.mailed)
      if (const auto it = runs_.find(id); it != runs_.end()) {
        it->second->mail_waits = true;
        if (begin_turn(*it->second)) mailed.push_back(it->second);
      }
    // What ends here was forgotten when its close was answered: this ended from outside.
    for (const auto& id : wakes.ended)
      if (const auto it = runs_.find(id); it != runs_.end()) ended.push_back(it->second);
  }
  if (mailed.size() == 1) again(mailed.front());
  else if (!mailed.empty())
    executor_->decide([self = shared_from_this(), runs = std::move(mailed)] { self->fetch_mail(runs); });
  for (const auto& run : ended) forget(run, true);
}

// One read for many whose turns begin: each finds its mail fetched, unless more has come by then.
void RunKeeper::fetch_mail(const std::vector<OwnedRef>& runs) {
  if (!enter()) return;
  std::vector<ExecutionId> ids;
  {
    std::lock_guard lock(mutex_);
    for (const auto& run : runs) {
      ids.push_back(run->row().id);
      run->mail_waits = false;
    }
  }
  auto mail = env_.store.mail_list(ids);
  if (mail) {
    std::unordered_map<ExecutionId, Owned*> by_id;
    for (const auto& run : runs) {
      by_id[run->row().id] = run.get();
      run->fetched.emplace();
    }
    for (auto& one : *mail) by_id.at(one.key.run)->fetched->push_back(std::move(one));
  } else {
    std::lock_guard lock(mutex_);
    for (const auto& run : runs) run->mail_waits = true;
  }
  for (const auto& run : runs) again(run);
  leave();
}

Instant RunKeeper::step(Instant now) {
  std::vector<std::function<void()>> due;
  std::vector<OwnedRef> evicted;
  Instant next = kEndOfTime;
  {
    std::lock_guard lock(mutex_);
    while (!later_.empty() && later_.front().first <= now) {
      due.push_back(std::move(later_.front().second));
      later_.pop_front();
    }
    std::size_t hot = runs_.size();
    while (!waiting_.empty() && (draining_ || hot > options_.max_hot)) {
      OwnedRef run = waiting_.front();
      unrest(*run);
      run->busy = true;
      if (!draining_) ++stats_.evicted;
      evicted.push_back(std::move(run));
      --hot;
    }
    if (!later_.empty()) next = later_.front().first;
    if (now >= next_watch_) {  // nobody is woken for it: the driver comes by often enough
      watch();
      next_watch_ = add_saturated(now, kWatchStep);
    }
  }
  for (const auto& call : due) call();
  for (const auto& run : evicted) give_up(run, Duration{0}, false);
  return next;
}

// Mutex held. Code that blocks or spins holds up nobody but its thread; it is named once.
void RunKeeper::watch() {
  const std::int64_t now = env_.monotonic.now().count();
  for (auto& [id, run] : runs_) {
    const std::int64_t since = run->inside_since.load();
    if (since == 0 || run->told_stuck || now - since < options_.stuck_after.count()) continue;
    run->told_stuck = true;
    ++stats_.stuck;
    env_.log.write(
        base::LogLevel::error, "workflow code does not come back: it blocks or spins between two awaits",
        {{"workflow", run->row().name}, {"workflow_id", run->row().identity.value_or("")}, {"run_id", id.to_string()}});
  }
}

// A hint about mail that was lost must not stop a run: now and then a few mailboxes are looked at.
void RunKeeper::poll(Instant) {
  std::vector<ExecutionId> ids;
  {
    std::lock_guard lock(mutex_);
    if (to_look_at_.empty())
      for (const auto& run : waiting_) to_look_at_.push_back(run->row().id);
    while (!to_look_at_.empty() && ids.size() < kBoxesPerPoll) {
      ids.push_back(to_look_at_.front());
      to_look_at_.pop_front();
    }
  }
  if (ids.empty()) return;
  store::Wakes found;
  if (const auto mail = env_.store.mail_list(ids); mail)
    for (const auto& one : *mail)
      if (found.mailed.empty() || found.mailed.back() != one.key.run) found.mailed.push_back(one.key.run);
  note_wakes(found);
}

void RunKeeper::drain() {
  {
    std::lock_guard lock(mutex_);
    draining_ = true;
  }
  step(env_.store.clock().now());
}

bool RunKeeper::drained() const {
  std::lock_guard lock(mutex_);
  return runs_.empty();
}

bool RunKeeper::quiet() const {
  std::lock_guard lock(mutex_);
  return under_way_ == 0;
}

bool RunKeeper::query(ExecutionId run, std::string name, std::string args, Callback<std::string> done) {
  std::lock_guard lock(mutex_);
  const auto it = runs_.find(run);
  if (it == runs_.end()) return false;
  it->second->queries.push_back({std::move(name), std::move(args), std::move(done)});
  schedule(it->second);
  return true;
}

KeeperStats RunKeeper::stats() const {
  std::lock_guard lock(mutex_);
  KeeperStats out = stats_;
  out.hot = runs_.size();
  out.waiting = waiting_.size();
  return out;
}

// ---- waiting, given up, gone ----------------------------------------------------------------------------------------

// Nobody waits here who was lost while his turn was on its way.
void RunKeeper::rest(const OwnedRef& run) {
  if (!run->gone) run->place = waiting_.insert(waiting_.end(), run);
}

void RunKeeper::unrest(Owned& run) {
  if (!run.place) return;
  const auto place = *std::exchange(run.place, std::nullopt);
  waiting_.erase(place);
}

bool RunKeeper::begin_turn(Owned& run) {
  if (run.busy || run.gone) return false;
  run.busy = true;
  unrest(run);
  return true;
}

void RunKeeper::schedule(const OwnedRef& run) {
  if (begin_turn(*run)) again(run);
}

void RunKeeper::again(const OwnedRef& run) {
  executor_->decide([self = shared_from_this(), run] { self->job(run); });
}

// The pause grows with the tries.
void RunKeeper::again_later(std::function<void()> what, int tries) {
  const Duration pause{kPauseAfterError.count() << std::min(tries, kMostDoublings)};
  {
    std::lock_guard lock(mutex_);
    const Instant at = add_saturated(env_.store.clock().now(), pause);
    const auto later = std::ranges::upper_bound(later_, at, {}, [](const auto& one) { return one.first; });
    later_.emplace(later, at, std::move(what));
  }
  if (wake) wake();
}

// `busy` is set by the caller and stays: nothing happens to the run any more.
void RunKeeper::give_up(const OwnedRef& run, Duration delay, bool no_handler) {
  submit(*run, core::TaskRelease{run->row().id, run->row().version, delay, no_handler},
         [this, run, delay, no_handler](core::Answer answer) {
           const auto* error = std::get_if<Error>(&answer);
           const bool settled =
               error == nullptr || error->code == ErrorCode::LeaseLost || error->code == ErrorCode::ExecutionNotFound;
           if (settled) return forget(run, true);
           if (env_.store.history() != run->claimed.history) return forget(run, false);
           if (error->code == ErrorCode::ShuttingDown || error->code == ErrorCode::StoreCorrupt)
             return forget(run, false);
           again_later([this, run, delay, no_handler] { give_up(run, delay, no_handler); }, run->refusals++);
         });
}

void RunKeeper::forget(const OwnedRef& run, bool closed) {
  std::vector<RunQuery> queries;
  {
    std::lock_guard lock(mutex_);
    if (std::exchange(run->gone, true)) return;
    unrest(*run);
    const auto it = runs_.find(run->row().id);
    if (it != runs_.end() && it->second == run) runs_.erase(it);
    queries = std::move(run->queries);
  }
  for (auto& query : queries) query.done(make_error(ErrorCode::NotReady, "the run left this worker; ask again"));
  if (over) over(run->claimed.claim, closed);
  executor_->decide([run] {});  // destructors of user code run
  if (wake) wake();
}

}  // namespace semel::engine
