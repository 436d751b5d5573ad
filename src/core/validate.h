// The limits of the contract, checked at the door. Each error names the field, the limit and the size or value it met.
// Text is compared byte for byte everywhere; nothing is normalised or trimmed.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "semel/result.h"
#include "semel/time.h"

namespace semel::core {

inline constexpr std::size_t kMaxIdBytes = 255;
inline constexpr std::size_t kMaxQueueBytes = 128;
inline constexpr std::size_t kMaxTenantBytes = 63;
inline constexpr std::size_t kMaxEncodingBytes = 64;
inline constexpr std::size_t kMaxPayloadBytes = 512 * 1024;
inline constexpr std::size_t kMaxErrorBytes = 64 * 1024;
inline constexpr std::size_t kMaxErrorNameBytes = 255;
inline constexpr std::size_t kMaxBatchItems = 1000;
inline constexpr std::size_t kMaxBatchBytes = 4 * 1024 * 1024;
inline constexpr int kMinPriority = 0;
inline constexpr int kMaxPriority = 32767;
inline constexpr int kDefaultPriority = 100;
inline constexpr int kMaxAttemptsLimit = 1'000'000;
inline constexpr Duration kMinLease = std::chrono::seconds(1);
inline constexpr Duration kMaxLease = std::chrono::hours(24 * 7);
inline constexpr Duration kDefaultLease = std::chrono::seconds(30);
inline constexpr Duration kMinKeyTtl = std::chrono::seconds(1);
inline constexpr Duration kMaxKeyTtl = std::chrono::hours(24 * 30);
inline constexpr Duration kDefaultKeyTtl = std::chrono::hours(24);
inline constexpr Duration kMinTimeout = std::chrono::milliseconds(1);
inline constexpr Duration kMaxTimeout = std::chrono::hours(24 * 3650);
inline constexpr Duration kMaxDelay = std::chrono::hours(24 * 3650);
inline constexpr Duration kMaxRetention = std::chrono::hours(24 * 3650);

// task_id, workflow_id, idempotency_key, concurrency_key, worker, name: 1..255 bytes of UTF-8 without control
// characters (U+0000..U+001F, U+007F..U+009F).
Result<void> validate_id(std::string_view field, std::string_view value);
Result<void> validate_name(std::string_view name);
Result<void> validate_queue(std::string_view queue);        // as an id, at most 128 bytes
Result<void> validate_tenant(std::string_view tenant);      // 1..63 of a-z 0-9 - _, first a letter or digit
Result<void> validate_encoding(std::string_view encoding);  // 1..64 of A-Z a-z 0-9 . + - / _

Result<void> validate_priority(std::int64_t priority);
Result<void> validate_max_attempts(std::int64_t attempts);

// PayloadTooLarge above 512 KiB. `field` is args, result or value.
Result<void> validate_payload_size(std::string_view field, std::size_t bytes);

Result<void> validate_lease(Duration lease);
Result<void> validate_key_ttl(Duration ttl);
Result<void> validate_timeout(std::string_view field, Duration timeout);
Result<void> validate_delay(std::string_view field, Duration delay);  // 0 allowed
Result<void> validate_retention(Duration retention);                  // 0 allowed: delete at completion
Result<void> validate_scheduled_at(Instant at);                       // 1970 .. 9999

// Error texts from handlers never fail a task: they are made valid UTF-8 and cut to fit.
std::string clip_error_message(std::string_view message);
std::string clip_error_name(std::string_view name);

}  // namespace semel::core
