#include "core/validate.h"

#include <gtest/gtest.h>

#include "base/utf8.h"

namespace semel::core {
namespace {

using namespace std::chrono_literals;
using namespace std::string_view_literals;

void expect_refused(const Result<void>& result, std::string_view text) {
  ASSERT_FALSE(result.ok()) << text;
  EXPECT_NE(result.error().message.find(text), std::string::npos) << result.error().message;
}

// D12
TEST(Validate, IdsAreAcceptedByteForByte) {
  for (const std::string_view id : {"a"sv, "pay-1"sv, " leading and trailing "sv, "CaSe"sv, "é"sv, "e\xcc\x81"sv,
                                    "日本"sv, "a/b?c=d%20"sv, "😀"sv, "\xc2\xa0"sv}) {
    EXPECT_TRUE(validate_id("task_id", id).ok()) << id;
  }
  EXPECT_TRUE(validate_id("task_id", std::string(255, 'x')).ok());
}

// D12
TEST(Validate, BadIdsNameTheFieldTheLimitAndTheSize) {
  expect_refused(validate_id("task_id", ""), "task_id must be 1 .. 255 bytes, got an empty text");
  expect_refused(validate_id("workflow_id", std::string(256, 'x')),
                 "workflow_id must be 1 .. 255 bytes, got 256 bytes");
  expect_refused(validate_id("task_id", "a\0b"sv), "control characters; there is one at byte 1");
  expect_refused(validate_id("task_id", "a\nb"), "control characters");
  expect_refused(validate_id("task_id", "\x7f"), "control characters");
  expect_refused(validate_id("task_id", "x\xc2\x85"), "control characters; there is one at byte 1");
  expect_refused(validate_id("task_id", "\xff"), "valid UTF-8");
  expect_refused(validate_id("task_id", "\xc2"), "valid UTF-8");
  expect_refused(validate_name(""), "name must be");
  EXPECT_EQ(validate_id("task_id", "").error().code, ErrorCode::InvalidArgument);
}

TEST(Validate, QueuesTenantsAndEncodings) {
  EXPECT_TRUE(validate_queue("payments").ok());
  EXPECT_TRUE(validate_queue(std::string(128, 'q')).ok());
  expect_refused(validate_queue(std::string(129, 'q')), "queue must be 1 .. 128 bytes, got 129 bytes");
  for (const char* good : {"default", "a", "acme-1", "0x_y"}) EXPECT_TRUE(validate_tenant(good).ok()) << good;
  for (const std::string bad : {"", "-a", "_a", "Acme", "a.b", "a b", "é", "a/b"})
    expect_refused(validate_tenant(bad), "tenant");
  expect_refused(validate_tenant(std::string(64, 'a')), "64 bytes");
  EXPECT_TRUE(validate_encoding("application/x-protobuf").ok());
  expect_refused(validate_encoding("a b"), "encoding");
}

TEST(Validate, NumbersAndSizes) {
  EXPECT_TRUE(validate_priority(0).ok());
  EXPECT_TRUE(validate_priority(32767).ok());
  expect_refused(validate_priority(-1), "priority must be 0 .. 32767, got -1");
  expect_refused(validate_priority(32768), "got 32768");
  EXPECT_TRUE(validate_max_attempts(1).ok());
  expect_refused(validate_max_attempts(0), "max_attempts must be 1 .. 1000000, got 0");
  EXPECT_TRUE(validate_payload_size("args", 512 * 1024).ok());
  expect_refused(validate_payload_size("args", 512 * 1024 + 1),
                 "args must be at most 524288 bytes (512 KiB), got 524289");
  EXPECT_EQ(validate_payload_size("result", 1 << 30).error().code, ErrorCode::PayloadTooLarge);
}

// C9
TEST(Validate, DurationsHaveRanges) {
  EXPECT_TRUE(validate_lease(1s).ok());
  EXPECT_TRUE(validate_lease(168h).ok());
  for (const Duration bad :
       {Duration{0}, Duration{-1s}, Duration{999ms}, Duration{168h + 1us}, Duration::max(), Duration::min()}) {
    expect_refused(validate_lease(bad), "lease must be 1s .. 7d");
  }
  EXPECT_TRUE(validate_key_ttl(30 * 24h).ok());
  expect_refused(validate_key_ttl(0s), "1s .. 30d, got 0s");
  expect_refused(validate_key_ttl(30 * 24h + 1s), "idempotency_key_ttl_seconds");
  EXPECT_TRUE(validate_timeout("timeout", 100ms).ok());
  expect_refused(validate_timeout("timeout", 0s), "timeout must be");
  expect_refused(validate_timeout("attempt_timeout", -1s), "attempt_timeout must be");
  expect_refused(validate_timeout("timeout", Duration::max()), "timeout must be");
  EXPECT_TRUE(validate_delay("delay", 0s).ok());
  expect_refused(validate_delay("delay", -1us), "delay must be");
  EXPECT_TRUE(validate_retention(0s).ok());
  expect_refused(validate_retention(-1s), "retention must be");
}

// K5
TEST(Validate, ScheduledAtHasARange) {
  EXPECT_TRUE(validate_scheduled_at(from_micros(0)).ok());
  EXPECT_TRUE(validate_scheduled_at(from_micros(253'402'300'799'999'999)).ok());
  expect_refused(validate_scheduled_at(from_micros(-1)), "scheduled_at");
  expect_refused(validate_scheduled_at(kEndOfTime), "scheduled_at");
}

// D16
TEST(Validate, ErrorTextIsClippedNeverRefused) {
  EXPECT_EQ(clip_error_message("card declined"), "card declined");
  EXPECT_EQ(clip_error_message(std::string(10'000'000, 'x')).size(), 64u * 1024);
  EXPECT_TRUE(base::is_valid_utf8(clip_error_message("\xff\xfe broken")));
  EXPECT_EQ(clip_error_name(std::string(1000, 'n')).size(), 255u);
}

}  // namespace
}  // namespace semel::core
