#include "core/retry.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "testing/seeded_random.h"

namespace semel::core {
namespace {

using namespace std::chrono_literals;
constexpr std::uint64_t kMiddle = 1ull << 63;  // no deviation

TEST(Retry, DefaultsAreThoseOfTheContract) {
  const RetryPolicy policy;
  EXPECT_EQ(policy.initial_interval, 1s);
  EXPECT_EQ(policy.factor, 2);
  EXPECT_EQ(policy.max_interval, 60s);
  EXPECT_EQ(policy.max_attempts, 3);
  EXPECT_TRUE(validate_policy(policy).ok());
}

TEST(Backoff, DoublesUpToTheMaximum) {
  RetryPolicy policy;
  policy.jitter = 0;
  const Duration expected[] = {1s, 2s, 4s, 8s, 16s, 32s, 60s, 60s};
  for (int attempt = 1; attempt <= 8; ++attempt) EXPECT_EQ(backoff(policy, attempt, kMiddle), expected[attempt - 1]);
}

// D18
TEST(Backoff, SaturatesForAnyAttemptAndAnySetting) {
  testing::SeededRandom random(testing::test_seed(31));
  for (const double factor : {0.0, -3.0, 1.0, 1.5, 2.0, 1e300, std::numeric_limits<double>::infinity(), std::nan("")}) {
    for (const Duration initial :
         {Duration::min(), Duration{-1}, Duration{0}, Duration{1}, Duration{1s}, Duration::max()}) {
      for (const Duration limit : {Duration::min(), Duration{0}, Duration{60s}, Duration::max()}) {
        for (const int attempt :
             {std::numeric_limits<int>::min(), 0, 1, 2, 64, 10'000, std::numeric_limits<int>::max()}) {
          const RetryPolicy policy{initial, factor, limit, 3, 0.5, {}};
          const Duration delay = backoff(policy, attempt, random.next());
          ASSERT_GE(delay, Duration{0});
          ASSERT_LE(delay, std::max(limit, Duration{0}));
        }
      }
    }
  }
  EXPECT_EQ(backoff(RetryPolicy{1s, 2, 60s, 3, 0, {}}, 10'000, 0), 60s);
}

TEST(Backoff, JitterSpreadsBothWaysAndNeverPassesTheMaximum) {
  RetryPolicy policy;
  testing::SeededRandom random(testing::test_seed(32));
  Duration low = 1h, high = 0s;
  for (int i = 0; i < 2000; ++i) {
    const Duration delay = backoff(policy, 1, random.next());
    low = std::min(low, delay);
    high = std::max(high, delay);
    ASSERT_LE(backoff(policy, 20, random.next()), 60s);
    ASSERT_GE(backoff(policy, 20, random.next()), 54s);
  }
  EXPECT_GE(low, 900ms);
  EXPECT_LT(low, 910ms);
  EXPECT_LE(high, 1100ms);
  EXPECT_GT(high, 1090ms);
}

TEST(Retry, CallWinsOverQueueWinsOverDefault) {
  RetryOverrides call, queue;
  call.factor = 3;
  queue.factor = 4;
  queue.max_attempts = 9;
  queue.non_retryable = {{"CardDeclined"}};
  const RetryPolicy policy = resolve_policy(call, queue);
  EXPECT_EQ(policy.factor, 3);
  EXPECT_EQ(policy.max_attempts, 9);
  EXPECT_EQ(policy.initial_interval, 1s);
  EXPECT_FALSE(is_retryable(policy, "CardDeclined"));
  EXPECT_TRUE(is_retryable(policy, "cardDeclined"));
  call.non_retryable.emplace();
  EXPECT_TRUE(is_retryable(resolve_policy(call, queue), "CardDeclined"));
}

TEST(Retry, LongInitialIntervalRaisesAnUnsetMaximum) {
  RetryOverrides call;
  call.initial_interval = 5min;
  EXPECT_EQ(resolve_policy(call, {}).max_interval, 5min);
  call.max_interval = 10min;
  EXPECT_EQ(resolve_policy(call, {}).max_interval, 10min);
}

// C9
TEST(Retry, BadSettingsAreRefusedByName) {
  const auto refused = [](RetryOverrides o, const char* field) {
    const auto result = validate_overrides(o);
    ASSERT_FALSE(result.ok()) << field;
    EXPECT_EQ(result.error().code, ErrorCode::InvalidArgument);
    EXPECT_NE(result.error().message.find(field), std::string::npos) << result.error().message;
  };
  refused({.initial_interval = Duration{-1}}, "retry.initial_interval");
  refused({.initial_interval = Duration::max()}, "retry.initial_interval");
  refused({.initial_interval = 10s, .max_interval = 5s}, "retry.initial_interval");
  refused({.max_interval = Duration{-1}}, "retry.max_interval");
  refused({.factor = 0.5}, "retry.factor");
  refused({.factor = std::nan("")}, "retry.factor");
  refused({.factor = std::numeric_limits<double>::infinity()}, "retry.factor");
  refused({.max_attempts = 0}, "max_attempts");
  refused({.max_attempts = 1'000'001}, "max_attempts");
  refused({.jitter = -0.1}, "retry.jitter");
  refused({.jitter = 1.1}, "retry.jitter");
  refused({.non_retryable = {{""}}}, "retry.non_retryable");
  EXPECT_TRUE(validate_overrides({}).ok());
}

TEST(RetryText, RoundTrips) {
  RetryOverrides o;
  EXPECT_EQ(encode_overrides(o), "");
  EXPECT_EQ(decode_overrides("").value(), o);
  o.initial_interval = 250ms;
  o.factor = 1.1;
  o.non_retryable = {{"Card Declined", "100%", "é=x"}};
  EXPECT_EQ(encode_overrides(o), "initial=250000 factor=1.1 never=Card%20Declined never=100%25 never=é=x");
  EXPECT_EQ(decode_overrides(encode_overrides(o)).value(), o);
  o.non_retryable.emplace();
  EXPECT_EQ(decode_overrides(encode_overrides(o)).value(), o);
  const RetryPolicy policy{5s, 3, 1h, 7, 0.25, {"A"}};
  EXPECT_EQ(decode_policy(encode_policy(policy)).value(), policy);
  EXPECT_EQ(decode_policy("").value(), RetryPolicy{});
}

TEST(RetryText, DamagedTextIsAnErrorNotADefault) {
  for (const char* bad : {"x", "initial", "initial=", "initial=1x", "factor=abc", "attempts=99999999999", "unknown=1",
                          "never=%2", "never=%zz", " ", "initial=1  factor=2"}) {
    const auto result = decode_overrides(bad);
    ASSERT_FALSE(result.ok()) << bad;
    EXPECT_EQ(result.error().code, ErrorCode::StoreCorrupt);
  }
}

}  // namespace
}  // namespace semel::core
