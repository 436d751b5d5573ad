// Settings of a queue by name: shared by semel.toml and `semel queue set`.
#include <charconv>
#include <limits>
#include <map>

#include "base/duration.h"
#include "base/text.h"
#include "cli/settings.h"
#include "core/retry.h"
#include "core/validate.h"

namespace semel::cli {
namespace {

using Setter = Result<void> (*)(core::LaneConfig&, std::string_view);

Error bad(std::string_view expected, std::string_view text) {
  return make_error(ErrorCode::InvalidArgument, "must be " + std::string(expected) + ", not " + base::printable(text));
}

bool is_unset(std::string_view text) { return text == "none" || text == "default"; }

Result<void> set_duration(std::optional<Duration>& out, std::string_view text) {
  if (is_unset(text)) {
    out.reset();
    return {};
  }
  auto parsed = base::parse_duration(text);
  if (!parsed) return parsed.error();
  out = *parsed;
  return {};
}

Result<void> set_count(std::optional<std::int32_t>& out, std::string_view text) {
  if (is_unset(text)) {
    out.reset();
    return {};
  }
  std::int64_t value = 0;
  const auto [at, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc{} || at != text.data() + text.size() || value < 1 ||
      value > std::numeric_limits<std::int32_t>::max()) {
    return bad("a whole number from 1 (or none)", text);
  }
  out = static_cast<std::int32_t>(value);
  return {};
}

Result<void> set_flag(bool& out, std::string_view text) {
  if (text != "true" && text != "false") return bad("true or false", text);
  out = text == "true";
  return {};
}

Result<void> set_real(std::optional<double>& out, std::string_view text) {
  if (is_unset(text)) {
    out.reset();
    return {};
  }
  double value = 0;
  const auto [at, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc{} || at != text.data() + text.size()) return bad("a number", text);
  out = value;
  return {};
}

// Changes one override inside the encoded text of the queue.
template <class Change>
Result<void> change_retry(core::LaneConfig& config, Change change) {
  auto retry = core::decode_overrides(config.retry);
  if (!retry) return retry.error();
  if (auto changed = change(*retry); !changed) return changed;
  if (auto valid = core::validate_overrides(*retry); !valid) return valid;
  config.retry = core::encode_overrides(*retry);
  return {};
}

Result<void> set_rate(core::LaneConfig& config, std::string_view text) {
  if (is_unset(text)) {
    config.rate_limit.reset();
    return {};
  }
  auto rate = base::parse_rate(text);
  if (!rate) return rate.error();
  config.rate_limit = core::RateLimit{rate->count, rate->per};
  return {};
}

Result<void> set_retention(core::LaneConfig& config, std::string_view text) {
  if (auto set = set_duration(config.retention, text); !set) return set;
  return config.retention ? core::validate_retention(*config.retention) : Result<void>{};
}

Result<void> set_max_attempts(core::LaneConfig& config, std::string_view text) {
  if (auto set = set_count(config.max_attempts, text); !set) return set;
  return config.max_attempts ? core::validate_max_attempts(*config.max_attempts) : Result<void>{};
}

Result<void> set_non_retryable(core::LaneConfig& config, std::string_view text) {
  return change_retry(config, [&](core::RetryOverrides& retry) -> Result<void> {
    if (is_unset(text)) {
      retry.non_retryable.reset();
      return {};
    }
    retry.non_retryable.emplace();
    while (!text.empty()) {
      const std::size_t comma = std::min(text.find(','), text.size());
      retry.non_retryable->emplace_back(text.substr(0, comma));
      text.remove_prefix(std::min(comma + 1, text.size()));
    }
    return {};
  });
}

const std::map<std::string_view, Setter>& setters() {
  using Config = core::LaneConfig;
  using Text = std::string_view;
  using Retry = core::RetryOverrides;
  static const auto& kSetters = *new std::map<std::string_view, Setter>{
      {"retention", set_retention},
      {"rate_limit", set_rate},
      {"concurrency", [](Config& c, Text t) { return set_count(c.concurrency, t); }},
      {"concurrency_per_key", [](Config& c, Text t) { return set_count(c.concurrency_per_key, t); }},
      {"dead_letter", [](Config& c, Text t) { return set_flag(c.dead_letter, t); }},
      {"max_attempts", set_max_attempts},
      {"paused", [](Config& c, Text t) { return set_flag(c.paused, t); }},
      {"retry_initial_interval",
       [](Config& c, Text t) {
         return change_retry(c, [&](Retry& r) { return set_duration(r.initial_interval, t); });
       }},
      {"retry_max_interval",
       [](Config& c, Text t) { return change_retry(c, [&](Retry& r) { return set_duration(r.max_interval, t); }); }},
      {"retry_factor",
       [](Config& c, Text t) { return change_retry(c, [&](Retry& r) { return set_real(r.factor, t); }); }},
      {"retry_jitter",
       [](Config& c, Text t) { return change_retry(c, [&](Retry& r) { return set_real(r.jitter, t); }); }},
      {"retry_non_retryable", set_non_retryable},
  };
  return kSetters;
}

}  // namespace

std::string queue_field_names() {
  std::string out;
  for (const auto& [name, setter] : setters()) out += (out.empty() ? "" : ", ") + std::string(name);
  return out;
}

Result<void> set_queue_field(core::LaneConfig& config, std::string_view name, std::string_view text) {
  const auto setter = setters().find(name);
  if (setter == setters().end()) {
    return make_error(ErrorCode::InvalidArgument,
                      "unknown queue setting " + base::printable(name) + "; known are " + queue_field_names());
  }
  core::LaneConfig changed = config;
  if (auto set = setter->second(changed, text); !set) {
    const std::string& message = set.error().message;
    const bool named = message.starts_with(name);
    return make_error(ErrorCode::InvalidArgument,
                      named ? message : std::string(name) + (message.starts_with("must") ? " " : ": ") + message);
  }
  config = changed;
  return {};
}

}  // namespace semel::cli
