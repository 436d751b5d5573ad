#include "core/retry.h"

#include <algorithm>
#include <cmath>

#include "base/duration.h"
#include "core/validate.h"

namespace semel::core {
namespace {

constexpr Duration kMaxInterval = std::chrono::hours(24 * 30);
constexpr double kMaxFactor = 1000;
constexpr std::size_t kMaxNonRetryable = 64;

template <class T>
T pick(const std::optional<T>& call, const std::optional<T>& queue, T fallback) {
  return call ? *call : queue ? *queue : fallback;
}

Error out_of_range(const char* field, const std::string& range, const std::string& value) {
  return make_error(ErrorCode::InvalidArgument, std::string("retry.") + field + " must be " + range + ", got " + value);
}

Result<void> check_interval(const char* field, Duration value) {
  if (value >= Duration{0} && value <= kMaxInterval) return {};
  return out_of_range(field, "0s .. 30d", base::format_duration(value));
}

Result<void> check_number(const char* field, double value, double low, double high) {
  if (value >= low && value <= high) return {};  // false for NaN
  return out_of_range(field, std::to_string(low) + " .. " + std::to_string(high), std::to_string(value));
}

Result<void> check_names(const std::vector<std::string>& names) {
  if (names.size() > kMaxNonRetryable) {
    return out_of_range("non_retryable", "at most 64 names", std::to_string(names.size()));
  }
  for (const std::string& name : names) {
    if (auto ok = validate_id("retry.non_retryable", name); !ok) return ok;
  }
  return {};
}

// Uniform in [0, 1).
double to_unit(std::uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

}  // namespace

RetryPolicy resolve_policy(const RetryOverrides& call, const RetryOverrides& queue) {
  const RetryPolicy defaults;
  RetryPolicy out;
  out.initial_interval = pick(call.initial_interval, queue.initial_interval, defaults.initial_interval);
  out.factor = pick(call.factor, queue.factor, defaults.factor);
  out.max_interval = pick(call.max_interval, queue.max_interval, std::max(defaults.max_interval, out.initial_interval));
  out.max_attempts = pick(call.max_attempts, queue.max_attempts, defaults.max_attempts);
  out.jitter = pick(call.jitter, queue.jitter, defaults.jitter);
  out.non_retryable = pick(call.non_retryable, queue.non_retryable, defaults.non_retryable);
  return out;
}

Result<void> validate_overrides(const RetryOverrides& o) {
  Result<void> ok;
  if (o.initial_interval && !(ok = check_interval("initial_interval", *o.initial_interval))) return ok;
  if (o.max_interval && !(ok = check_interval("max_interval", *o.max_interval))) return ok;
  if (o.initial_interval && o.max_interval && *o.initial_interval > *o.max_interval) {
    return out_of_range("initial_interval", "at most retry.max_interval", base::format_duration(*o.initial_interval));
  }
  if (o.factor && !(ok = check_number("factor", *o.factor, 1, kMaxFactor))) return ok;
  if (o.jitter && !(ok = check_number("jitter", *o.jitter, 0, 1))) return ok;
  if (o.max_attempts && !(ok = validate_max_attempts(*o.max_attempts))) return ok;
  if (o.non_retryable) return check_names(*o.non_retryable);
  return {};
}

Result<void> validate_policy(const RetryPolicy& policy) {
  return validate_overrides({policy.initial_interval, policy.factor, policy.max_interval, policy.max_attempts,
                             policy.jitter, policy.non_retryable});
}

Duration backoff(const RetryPolicy& policy, int attempt, std::uint64_t random_bits) {
  const double cap = static_cast<double>(std::clamp(policy.max_interval, Duration{0}, kMaxInterval).count());
  const double factor = policy.factor >= 1 ? policy.factor : 1;
  const double jitter = policy.jitter >= 0 ? std::min(policy.jitter, 1.0) : 0;
  const double first = static_cast<double>(std::max(policy.initial_interval, Duration{0}).count());
  // A power that overflows is infinite and ends at the cap; 0 x infinity must stay 0.
  const double grown = first == 0 ? 0 : first * std::pow(factor, std::max(attempt, 1) - 1);
  const double base = std::min(grown, cap);
  const double low = base * (1 - jitter);
  const double high = std::min(base * (1 + jitter), cap);
  return Duration{static_cast<std::int64_t>(low + (high - low) * to_unit(random_bits))};
}

bool is_retryable(const RetryPolicy& policy, std::string_view error_name) {
  return std::find(policy.non_retryable.begin(), policy.non_retryable.end(), error_name) == policy.non_retryable.end();
}

}  // namespace semel::core
