#include "engine/offer_book.h"

#include <algorithm>
#include <utility>

namespace semel::engine {
namespace {

constexpr Duration kForgetAfter{2'000'000};  // idle workers repeat theirs twice as often
constexpr std::size_t kMaxOffers = 1000;

// What of `claim` concerns these lanes, its limit shared among them.
std::vector<core::TaskClaim::Want> wants_of(const core::TaskClaim& claim, const FreshLanes& lanes,
                                            const LaneDirectory& directory) {
  std::vector<core::TaskClaim::Want> wants;
  std::int32_t left = claim.lanes.empty() ? 0 : claim.lanes.front().limit;
  for (const auto& [id, count] : lanes.tasks) {
    const bool wished =
        std::any_of(claim.lanes.begin(), claim.lanes.end(), [id = id](const auto& want) { return want.lane == id; });
    const LaneRef lane = directory.find(id);
    if (left <= 0 || !wished || !lane || lane->lane.config.paused || lane->limited()) continue;
    wants.push_back({id, std::min(left, count), false});
    left -= wants.back().limit;
  }
  return wants;
}

}  // namespace

void OfferBook::note(const std::vector<core::TaskClaim>& offers, Instant now) {
  if (offers.empty()) return;
  const std::lock_guard lock(mutex_);
  std::erase_if(offers_, [now](const Offer& offer) { return offer.forget_at <= now; });
  for (const core::TaskClaim& claim : offers) {
    // A worker has one offer at a time.
    std::erase_if(offers_, [&](const Offer& offer) { return offer.claim.session == claim.session; });
    if (offers_.size() < kMaxOffers) offers_.push_back({claim, add_saturated(now, kForgetAfter)});
  }
}

std::optional<core::TaskClaim> OfferBook::take(const FreshLanes& lanes, const LaneDirectory& directory,
                                               std::uint64_t pick, Instant now) {
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < offers_.size(); ++i) {
    const std::size_t at = (pick + i) % offers_.size();
    if (offers_[at].forget_at <= now) continue;
    auto wants = wants_of(offers_[at].claim, lanes, directory);
    if (wants.empty()) continue;
    core::TaskClaim claim = std::move(offers_[at].claim);
    claim.lanes = std::move(wants);
    offers_.erase(offers_.begin() + static_cast<std::ptrdiff_t>(at));
    return claim;
  }
  return std::nullopt;
}

std::size_t OfferBook::size() const {
  const std::lock_guard lock(mutex_);
  return offers_.size();
}

}  // namespace semel::engine
