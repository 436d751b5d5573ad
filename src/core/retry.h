// When a failed attempt runs again. Call settings win over queue settings, queue settings over the defaults.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "semel/result.h"
#include "semel/time.h"

namespace semel::core {

struct RetryPolicy {
  Duration initial_interval = std::chrono::seconds(1);
  double factor = 2;
  Duration max_interval = std::chrono::seconds(60);
  int max_attempts = 3;
  // Share of the delay that is random, both ways: 0.1 spreads a delay of 10 s over 9 .. 11 s. A tenth breaks up a herd
  // of tasks that failed together and still lets a person predict the next attempt.
  double jitter = 0.1;
  std::vector<std::string> non_retryable;  // error names that end the task at once

  bool operator==(const RetryPolicy&) const = default;
};

// What a call or a queue chose to set.
struct RetryOverrides {
  std::optional<Duration> initial_interval;
  std::optional<double> factor;
  std::optional<Duration> max_interval;
  std::optional<int> max_attempts;
  std::optional<double> jitter;
  std::optional<std::vector<std::string>> non_retryable;

  bool operator==(const RetryOverrides&) const = default;
  bool empty() const { return *this == RetryOverrides{}; }
};

// Field by field: call, else queue, else default. An initial interval above the default maximum raises the maximum with
// it unless one was set.
RetryPolicy resolve_policy(const RetryOverrides& call, const RetryOverrides& queue);

// Ranges: intervals 0 .. 30 d and initial <= max, factor 1 .. 1,000, attempts 1 .. 1,000,000, jitter 0 .. 1.
Result<void> validate_policy(const RetryPolicy& policy);
Result<void> validate_overrides(const RetryOverrides& overrides);

// Delay before attempt `attempt + 1` when `attempt` (1-based) failed. Never negative, never above max_interval,
// whatever the attempt number and the settings are.
Duration backoff(const RetryPolicy& policy, int attempt, std::uint64_t random_bits);

bool is_retryable(const RetryPolicy& policy, std::string_view error_name);

// One line of text, kept beside the payload and the queue: `initial=1000000 factor=2 never=Other%20Name`, durations in
// microseconds. Nothing set is the empty text.
std::string encode_overrides(const RetryOverrides& overrides);
Result<RetryOverrides> decode_overrides(std::string_view text);

// A whole policy in the same form, every field present (decoding fills what is absent with the defaults).
std::string encode_policy(const RetryPolicy& policy);
Result<RetryPolicy> decode_policy(std::string_view text);

}  // namespace semel::core
