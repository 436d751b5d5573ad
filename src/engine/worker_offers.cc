// Work that comes without being asked for: claims that other processes make for this worker in the transaction that
// enqueues (docs/adr/0011-handed-over.md), and claims whose answer got lost.
//
// What an unasked claim holds is started once: from the hint when it is the claim on offer, else from its record, which
// is asked for only while no execution of that claim, and no claim, is under way here.
#include <algorithm>
#include <utility>

#include "base/mutant.h"
#include "engine/worker.h"

namespace semel::engine {
namespace {

constexpr Duration kOfferAgain{1'000'000};  // enqueuers forget an offer that is not told again (offer_book.h)
constexpr std::size_t kForgetAtOnce = 100;
constexpr std::size_t kEnoughOffers = 4;  // of others at a time: every offer wakes every process

}  // namespace

bool Worker::may_offer(const LaneEntry& lane) const {
  return !lane.lane.config.paused && !lane.limited() && lanes_.serves(lane);
}

void Worker::plan_offer(Instant now, Todo& todo) {
  if (!env_.store.hears_hints() || now < offer_due_) return;
  if (!may_ask(asking_tasks_, now) || alone_running_ || handlers_.empty() || !alone_lanes_.empty()) return;
  if (lanes_.any_ready() || !buffer_.empty()) return;
  const auto free = options_.slots - static_cast<std::int32_t>(in_executor_);
  if (free <= 0) return;
  std::vector<core::TaskClaim::Want> lanes;
  offered_lanes_.clear();
  for (const LaneRef& lane : engine_.directory().all()) {
    if (!may_offer(*lane)) continue;
    lanes.push_back({lane->lane.id, free, false});
    offered_lanes_.push_back(lane->lane.id);
  }
  std::sort(offered_lanes_.begin(), offered_lanes_.end());
  const auto spread = static_cast<std::int64_t>(env_.random.below(kOfferAgain.count() / 2));
  offer_due_ = add_saturated(now, kOfferAgain * 3 / 4 + Duration{spread});
  const bool enough = others_offer_.size() == kEnoughOffers && now < others_offer_.front() + kOfferAgain;
  if (lanes.empty() || enough) return;
  if (!offered_) offered_ = env_.next_id<ClaimId>();
  todo.offer = claim_of(*offered_, core::Takes::fresh);
  todo.offer->lanes = std::move(lanes);
}

// Work came from a lane that was not there when the last offer was made: the next offer does not wait for its time.
void Worker::note_served(core::LaneId lane) {
  if (std::binary_search(offered_lanes_.begin(), offered_lanes_.end(), lane)) return;
  if (const LaneRef known = engine_.directory().find(lane); known && may_offer(*known)) offer_due_ = Instant{};
}

// Records go with a claim, if there is one. A worker that never asks, because all its work is claimed by those who
// enqueue it, drops them by themselves.
void Worker::plan_forgets(Instant now, Todo& todo) {
  for (; !forget_later_.empty() && forget_later_.front().first <= now; forget_later_.pop_front())
    forgettable_.push_back(forget_later_.front().second);
  if (session_state_ == SessionState::open && forgettable_.size() >= kForgetAtOnce)
    todo.forget.emplace_back(core::LeaseForget{std::exchange(forgettable_, {})});
}

void Worker::note_offer(const core::TaskClaim& offer) {
  std::vector<core::LaneId> lanes;
  for (const auto& want : offer.lanes) lanes.push_back(want.lane);
  std::sort(lanes.begin(), lanes.end());
  if (offered_lanes_.empty() || offered_lanes_.size() > lanes.size()) return;
  if (!std::includes(lanes.begin(), lanes.end(), offered_lanes_.begin(), offered_lanes_.end())) return;
  others_offer_.push_back(store_now());
  if (others_offer_.size() > kEnoughOffers) others_offer_.pop_front();
}

void Worker::take_over(const store::HandOver& handed, Todo& todo) {
  if (session_state_ != SessionState::open || handed.session != session_) return;
  const bool on_offer = offered_ == handed.claim || SEMEL_MUTANT("word-without-offer");
  if (!on_offer || handed.tasks.empty()) {
    const bool known = claims_.contains(handed.claim) || recovering_.contains(handed.claim);
    if (!known && !over_claims().contains(handed.claim)) start_recovery(handed.claim, todo);
    return;
  }
  offered_.reset();
  offer_due_ = Instant{};
  handed_.insert(handed.claim);
  stats_.handed += handed.tasks.size();
  take_tasks(claim_of(handed.claim, core::Takes::fresh), {handed.tasks, {}}, todo, true);
  plan_dispatch(todo);
}

void Worker::start_recovery(ClaimId claim, Todo& todo) {
  if (offered_ == claim) offered_.reset();
  suspects_.erase(claim);
  recovering_.insert(claim);
  todo.recover.push_back(claim_of(claim, core::Takes::nothing));
}

void Worker::recovered(core::TaskClaim claim, core::Answer answer) {
  Todo todo;
  {
    std::lock_guard lock(mutex_);
    recovering_.erase(claim.id);
    auto* brought = std::get_if<core::ClaimAnswer>(&answer);
    if (brought == nullptr) return;  // the next look finds it again
    const auto runs = std::partition(brought->tasks.begin(), brought->tasks.end(),
                                     [](const auto& task) { return task.execution.kind == Kind::task; });
    for (auto it = runs; it != brought->tasks.end(); ++it)
      todo.give_back.push_back({it->execution.id, it->execution.version, Duration{0}, false});
    brought->tasks.erase(runs, brought->tasks.end());
    offer_due_ = Instant{};
    if (brought->tasks.empty() && todo.give_back.empty()) {
      forgettable_.push_back(claim.id);
    } else {
      handed_.insert(claim.id);
      stats_.recovered += brought->tasks.size();
      take_tasks(claim, std::move(*brought), todo, true);
      plan_dispatch(todo);
    }
  }
  carry_out(std::move(todo));
  poke();
}

// ---- what the store says this session holds -------------------------------------------------------------------------

void Worker::check_records(Instant now) {
  SessionId session;
  {
    std::lock_guard lock(mutex_);
    if (session_state_ != SessionState::open || draining_ || (now < look_at_ && !offered_)) return;
    session = session_;
    look_at_ = add_saturated(now, options_.lease / 3);
  }
  const auto records = env_.store.session_leases(session);
  if (!records) return;
  Todo todo;
  {
    std::lock_guard lock(mutex_);
    look_at_records(session, *records, todo);
  }
  carry_out(std::move(todo));
}

// One that is on offer was made and the hint got lost. Any other has to be unknown twice: it may have been answered, or
// forgotten, while it was read.
void Worker::look_at_records(SessionId session, const std::vector<ClaimId>& records, Todo& todo) {
  if (session != session_ || session_state_ != SessionState::open || asking_tasks_.busy || asking_runs_.busy) return;
  std::unordered_set<ClaimId> unknown;
  const std::unordered_set<ClaimId> over = over_claims();
  for (const ClaimId& id : records) {
    if (claims_.contains(id) || recovering_.contains(id) || over.contains(id)) continue;
    if (offered_ == id || suspects_.contains(id)) start_recovery(id, todo);
    else unknown.insert(id);
  }
  suspects_ = std::move(unknown);
}

std::unordered_set<ClaimId> Worker::over_claims() const {
  std::unordered_set<ClaimId> over(forgettable_.begin(), forgettable_.end());
  for (const auto& [at, claim] : forget_later_) over.insert(claim);
  return over;
}

}  // namespace semel::engine
