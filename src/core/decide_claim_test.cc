// The bucket of a rate limit, under the clocks of several writers.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "core/decide.h"
#include "testing/seeded_random.h"

namespace semel::core {
namespace {

using namespace std::chrono_literals;

constexpr Instant kStart = from_micros(1'772'355'600'000'000);

Lane rated(std::int64_t count, Duration per) {
  Lane lane;
  lane.config.rate_limit = RateLimit{count, per};
  return lane;
}

// C16, F6: an older `now` after a newer one.
TEST(RateBucket, AWriterWithAnOlderNowIsNotCreditedTheTimeBetweenAgain) {
  Lane lane = rated(10, 10s);
  EXPECT_EQ(grant_claims(lane, 10, kStart).count, 10);
  EXPECT_EQ(grant_claims(lane, 10, kStart + 5s).count, 5);
  EXPECT_EQ(grant_claims(lane, 10, kStart).count, 0);
  EXPECT_EQ(lane.tokens_at, kStart + 5s);
  EXPECT_EQ(grant_claims(lane, 10, kStart + 5s).count, 0);
}

TEST(RateBucket, AWriterWithAnOlderNowIsToldWhenTheNextTokenComes) {
  Lane lane = rated(10, 10s);
  EXPECT_EQ(grant_claims(lane, 10, kStart + 5s).count, 10);
  EXPECT_EQ(grant_claims(lane, 1, kStart).retry_at, kStart + 6s);
}

// What nodes with clocks of their own take, in the order of their commits. The time of the bucket is the newest `now`
// that a taker has shown.
struct Taken {
  Instant bucket_time;
  std::int64_t count;
};

std::vector<Taken> take_with_reordered_clocks(testing::SeededRandom& random, Lane& lane) {
  constexpr int kSteps = 300;
  std::vector<Duration> behind(2 + random.below(4));
  for (Duration& lag : behind) lag = Duration{static_cast<std::int64_t>(random.below(3'000'000))};
  std::vector<Taken> out;
  Instant time = kStart, newest = Instant::min();
  for (int step = 0; step < kSteps; ++step) {
    time += Duration{static_cast<std::int64_t>(random.below(200'000))};
    const Instant now = time - behind[random.below(behind.size())];
    Lane after = lane;
    const Grant grant = grant_claims(after, static_cast<std::int32_t>(1 + random.below(8)), now);
    if (grant.count == 0) continue;
    const auto unused = static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(grant.count)));
    return_grant(after, unused);
    lane = after;
    newest = std::max(newest, now);
    out.push_back({newest, grant.count - unused});
  }
  return out;
}

// C16, F6
TEST(RateBucket, NoWindowHoldsMoreThanTheCapacityAndItsRateWhateverTheOrderOfTheClocks) {
  testing::SeededRandom random(testing::test_seed(1706));
  for (int round = 0; round < 100; ++round) {
    const auto count = static_cast<std::int64_t>(1 + random.below(20));
    Lane lane = rated(count, Duration{static_cast<std::int64_t>(100'000 + random.below(5'000'000))});
    const double rate = static_cast<double>(count) / static_cast<double>(lane.config.rate_limit->per.count());
    const std::vector<Taken> taken = take_with_reordered_clocks(random, lane);
    ASSERT_GT(taken.size(), 2u);
    for (std::size_t from = 0; from < taken.size(); ++from) {
      std::int64_t claims = 0;
      for (std::size_t to = from; to < taken.size(); ++to) {
        claims += taken[to].count;
        const auto window = static_cast<double>((taken[to].bucket_time - taken[from].bucket_time).count());
        ASSERT_LE(static_cast<double>(claims), static_cast<double>(count) + window * rate + 1e-6)
            << "round " << round << ", claims " << from << " to " << to;
      }
    }
  }
}

}  // namespace
}  // namespace semel::core
