#include "core/validate.h"

#include <algorithm>

#include "base/duration.h"
#include "base/text.h"
#include "base/utf8.h"

namespace semel::core {
namespace {

using base::format_duration;

constexpr Instant kLastInstant = from_micros(253'402'300'799'999'999);  // 9999-12-31T23:59:59.999999Z

Error invalid(std::string_view field, const std::string& what) {
  return make_error(ErrorCode::InvalidArgument, std::string(field) + " " + what);
}

// Position of the first control character of valid UTF-8, npos when there is none.
std::size_t find_control(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c < 0x20 || c == 0x7f) return i;
    if (c == 0xc2 && static_cast<unsigned char>(text[i + 1]) < 0xa0) return i;
  }
  return std::string_view::npos;
}

Result<void> check_text(std::string_view field, std::string_view value, std::size_t max_bytes) {
  const std::string range = "1 .. " + std::to_string(max_bytes) + " bytes";
  if (value.empty()) return invalid(field, "must be " + range + ", got an empty text");
  if (value.size() > max_bytes) {
    return invalid(field, "must be " + range + ", got " + std::to_string(value.size()) + " bytes");
  }
  if (!base::is_valid_utf8(value)) return invalid(field, "must be valid UTF-8, got " + base::printable(value));
  if (const std::size_t at = find_control(value); at != value.npos) {
    return invalid(field, "must not contain control characters; there is one at byte " + std::to_string(at) + " of " +
                              base::printable(value));
  }
  return {};
}

Result<void> check_duration(std::string_view field, Duration value, Duration low, Duration high) {
  if (value >= low && value <= high) return {};
  return invalid(
      field, "must be " + format_duration(low) + " .. " + format_duration(high) + ", got " + format_duration(value));
}

Result<void> check_integer(std::string_view field, std::int64_t value, std::int64_t low, std::int64_t high) {
  if (value >= low && value <= high) return {};
  return invalid(field,
                 "must be " + std::to_string(low) + " .. " + std::to_string(high) + ", got " + std::to_string(value));
}

}  // namespace

Result<void> validate_id(std::string_view field, std::string_view value) {
  return check_text(field, value, kMaxIdBytes);
}
Result<void> validate_name(std::string_view name) { return check_text("name", name, kMaxIdBytes); }
Result<void> validate_queue(std::string_view queue) { return check_text("queue", queue, kMaxQueueBytes); }

Result<void> validate_tenant(std::string_view tenant) {
  if (auto ok = check_text("tenant", tenant, kMaxTenantBytes); !ok) return ok;
  const auto allowed = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_'; };
  if (tenant[0] != '-' && tenant[0] != '_' && std::all_of(tenant.begin(), tenant.end(), allowed)) return {};
  return invalid("tenant", "must be of a-z 0-9 - _ starting with a letter or digit, got " + base::printable(tenant));
}

Result<void> validate_encoding(std::string_view encoding) {
  if (auto ok = check_text("encoding", encoding, kMaxEncodingBytes); !ok) return ok;
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view(".+-/_").find(c) != std::string_view::npos;
  };
  if (std::all_of(encoding.begin(), encoding.end(), allowed)) return {};
  return invalid("encoding", "must be of A-Z a-z 0-9 . + - / _, got " + base::printable(encoding));
}

Result<void> validate_priority(std::int64_t priority) {
  return check_integer("priority", priority, kMinPriority, kMaxPriority);
}

Result<void> validate_max_attempts(std::int64_t attempts) {
  return check_integer("max_attempts", attempts, 1, kMaxAttemptsLimit);
}

Result<void> validate_payload_size(std::string_view field, std::size_t bytes) {
  if (bytes <= kMaxPayloadBytes) return {};
  return make_error(ErrorCode::PayloadTooLarge, std::string(field) + " must be at most 524288 bytes (512 KiB), got " +
                                                    std::to_string(bytes) +
                                                    " bytes; store large data elsewhere and pass a reference");
}

Result<void> validate_lease(Duration lease) { return check_duration("lease", lease, kMinLease, kMaxLease); }

Result<void> validate_key_ttl(Duration ttl) {
  return check_duration("idempotency_key_ttl_seconds", ttl, kMinKeyTtl, kMaxKeyTtl);
}

Result<void> validate_timeout(std::string_view field, Duration timeout) {
  return check_duration(field, timeout, kMinTimeout, kMaxTimeout);
}

Result<void> validate_delay(std::string_view field, Duration delay) {
  return check_duration(field, delay, Duration{0}, kMaxDelay);
}

Result<void> validate_retention(Duration retention) {
  return check_duration("retention", retention, Duration{0}, kMaxRetention);
}

Result<void> validate_scheduled_at(Instant at) {
  if (at >= Instant{} && at <= kLastInstant) return {};
  return invalid("scheduled_at", "must be within 1970 .. 9999");
}

std::string clip_error_message(std::string_view message) { return base::sanitize_utf8(message, kMaxErrorBytes); }
std::string clip_error_name(std::string_view name) { return base::sanitize_utf8(name, kMaxErrorNameBytes); }

}  // namespace semel::core
