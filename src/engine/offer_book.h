// Claims that idle workers of other processes wish for. Whoever enqueues for one of their lanes makes such a claim in
// the same transaction, for that worker. Thread-safe.
//
// An offer here is a rumour: the store decides whether it still stands. It is used once and forgotten when it is not
// told again.
#pragma once

#include <cstddef>
#include <mutex>
#include <optional>
#include <vector>

#include "engine/lane_directory.h"
#include "engine/writer.h"

namespace semel::engine {

class OfferBook {
 public:
  void note(const std::vector<core::TaskClaim>& offers, Instant now);
  // A claim for what is about to be enqueued, if somebody waits for it. `pick` chooses among those who do.
  std::optional<core::TaskClaim> take(const FreshLanes& lanes, const LaneDirectory& directory, std::uint64_t pick,
                                      Instant now);
  std::size_t size() const;

 private:
  struct Offer {
    core::TaskClaim claim;
    Instant forget_at{};
  };
  mutable std::mutex mutex_;
  std::vector<Offer> offers_;
};

}  // namespace semel::engine
