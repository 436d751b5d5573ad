#include "base/duration.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "testing/seeded_random.h"

namespace semel::base {
namespace {

using namespace std::chrono_literals;

TEST(Duration, ReadsEveryAcceptedForm) {
  const struct {
    const char* text;
    Duration value;
  } cases[] = {
      {"0", 0s},           {"0s", 0s},
      {"100us", 100us},    {"250ms", 250ms},
      {"30s", 30s},        {"5m", 5min},
      {"2h", 2h},          {"7d", 168h},
      {"1w", 168h},        {"1h30m", 90min},
      {"1.5s", 1500ms},    {"0.25ms", 250us},
      {"PT30S", 30s},      {"PT1.5S", 1500ms},
      {"P1D", 24h},        {"P1DT12H", 36h},
      {"P2W", 336h},       {"PT5M", 5min},
      {"PT2H30M", 150min}, {"1d2h3m4s5ms6us", 93784005006us},
      {"007s", 7s},        {"9223372036854775807us", Duration::max()},
  };
  for (const auto& c : cases) {
    const auto parsed = parse_duration(c.text);
    ASSERT_TRUE(parsed.ok()) << c.text << ": " << parsed.error().message;
    EXPECT_EQ(*parsed, c.value) << c.text;
  }
}

// A24, C9, S15
TEST(Duration, RefusesEverythingElseByName) {
  const char* const cases[] = {"",
                               " ",
                               "1",
                               "s",
                               "-1s",
                               "-1ns",
                               "+1s",
                               "1ns",
                               "1 s",
                               "1s ",
                               "1S",
                               "1d1d",
                               "1m1h",
                               "1e3s",
                               "1e309s",
                               "NaN",
                               "nans",
                               "inf",
                               "1..5s",
                               ".5s",
                               "5.s",
                               "1.5h30m",
                               "0x10s",
                               "1,5s",
                               "P",
                               "PT",
                               "P1Y",
                               "P1M",
                               "P1DT",
                               "pt5m",
                               "PT5m",
                               "P-1D",
                               "P9999999Y",
                               "PT1H1H",
                               "P1H",
                               "99999999999999d",
                               "9223372036854775808us",
                               "106751992d",
                               "0.0000001s",
                               "1.00000000000000000001s",
                               "P99999999999999999999D",
                               "−1s",
                               "1s\n",
                               "30 s",
                               "٣s"};
  for (const char* text : cases) {
    const auto parsed = parse_duration(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_EQ(parsed.error().code, ErrorCode::InvalidArgument);
    EXPECT_NE(parsed.error().message.find("PT30S"), std::string::npos) << parsed.error().message;
  }
  EXPECT_NE(parse_duration("5 parsecs").error().message.find("\"5 parsecs\""), std::string::npos);
  EXPECT_FALSE(parse_duration(std::string_view("1s\0", 3)).ok());
  EXPECT_FALSE(parse_duration(std::string(1'000'000, '9') + "s").ok());
}

TEST(Duration, PrintsWhatItReads) {
  EXPECT_EQ(format_duration(0s), "0s");
  EXPECT_EQ(format_duration(30s), "30s");
  EXPECT_EQ(format_duration(90s), "1m30s");
  EXPECT_EQ(format_duration(168h), "7d");
  EXPECT_EQ(format_duration(1500us), "1ms500us");
  EXPECT_EQ(format_duration(-90s), "-1m30s");
  EXPECT_EQ(format_duration(Duration::min()).front(), '-');
  SeededRandom random(testing::test_seed(11));
  for (int i = 0; i < 10'000; ++i) {
    const Duration value{static_cast<std::int64_t>(random.next() >> (1 + random.below(60)))};
    const auto back = parse_duration(format_duration(value));
    ASSERT_TRUE(back.ok()) << format_duration(value);
    ASSERT_EQ(*back, value);
  }
}

TEST(Rate, ReadsCountAndPeriod) {
  EXPECT_EQ(*parse_rate("100/sec"), (Rate{100, 1s}));
  EXPECT_EQ(*parse_rate("30/min"), (Rate{30, 1min}));
  EXPECT_EQ(*parse_rate("5/hour"), (Rate{5, 1h}));
  EXPECT_EQ(*parse_rate("7/day"), (Rate{7, 24h}));
  EXPECT_EQ(*parse_rate("1/s"), (Rate{1, 1s}));
  EXPECT_EQ(*parse_rate("1000000000/minute"), (Rate{1'000'000'000, 1min}));
  for (const char* text : {"100/sec", "30/min", "5/hour", "7/day"}) EXPECT_EQ(format_rate(*parse_rate(text)), text);
  for (const char* text : {"", "/", "100", "100/", "/sec", "0/sec", "-1/sec", "1.5/sec", "1e3/sec", "100 / sec",
                           "100/fortnight", "1000000001/sec", "99999999999999999999/sec", "100/sec ", "100/SEC"}) {
    EXPECT_FALSE(parse_rate(text).ok()) << text;
  }
}

TEST(Instant, ReadsRfc3339) {
  const struct {
    const char* text;
    const char* printed;
  } cases[] = {
      {"2026-03-01T09:00:00Z", "2026-03-01T09:00:00Z"},
      {"2026-03-01t09:00:00z", "2026-03-01T09:00:00Z"},
      {"2026-03-01 09:00:00Z", "2026-03-01T09:00:00Z"},
      {"2026-03-01T09:00:00+00:00", "2026-03-01T09:00:00Z"},
      {"2026-03-01T10:30:00+01:30", "2026-03-01T09:00:00Z"},
      {"2026-02-28T20:00:00-13:00", "2026-03-01T09:00:00Z"},
      {"2026-03-01T09:00:00.25Z", "2026-03-01T09:00:00.25Z"},
      {"2026-03-01T09:00:00.123456789Z", "2026-03-01T09:00:00.123456Z"},
      {"2026-03-01T09:00:00.000001Z", "2026-03-01T09:00:00.000001Z"},
      {"1970-01-01T00:00:00Z", "1970-01-01T00:00:00Z"},
      {"2038-01-19T03:14:08Z", "2038-01-19T03:14:08Z"},
      {"2024-02-29T23:59:59Z", "2024-02-29T23:59:59Z"},
      {"9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999999Z"},
      {"2016-12-31T23:59:60Z", "2017-01-01T00:00:00Z"},  // S16
      {"2017-01-01T00:59:60+01:00", "2017-01-01T00:00:00Z"},
  };
  for (const auto& c : cases) {
    const auto parsed = parse_instant(c.text);
    ASSERT_TRUE(parsed.ok()) << c.text << ": " << parsed.error().message;
    EXPECT_EQ(format_instant(*parsed), c.printed);
  }
  EXPECT_EQ(to_micros(*parse_instant("2026-03-01T09:00:00Z")), 1'772'355'600'000'000);
}

// K5, S9
TEST(Instant, RefusesWhatItCannotHold) {
  const char* const cases[] = {"",
                               "now",
                               "2026-03-01",
                               "2026-03-01T09:00:00",
                               "2026-03-01T09:00Z",
                               "2026-3-1T09:00:00Z",
                               "2026-02-30T00:00:00Z",
                               "2025-02-29T00:00:00Z",
                               "2026-13-01T00:00:00Z",
                               "2026-00-01T00:00:00Z",
                               "2026-01-00T00:00:00Z",
                               "2026-01-01T24:00:00Z",
                               "2026-01-01T00:60:00Z",
                               "2026-01-01T00:00:61Z",
                               "2026-01-01T12:00:60Z",
                               "2026-01-01T00:00:00.Z",
                               "2026-01-01T00:00:00.1234567890Z",
                               "2026-01-01T00:00:00+24:00",
                               "2026-01-01T00:00:00+0100",
                               "2026-01-01T00:00:00+01",
                               "1969-12-31T23:59:59Z",
                               "1970-01-01T00:00:00+00:01",
                               "9999-12-31T23:59:59-00:01",
                               "0000-01-01T00:00:00Z",
                               "10000-01-01T00:00:00Z",
                               "-2026-01-01T00:00:00Z",
                               "2026-01-01T00:00:00Z ",
                               "2026-01-01T00:00:00ZZ",
                               "1772355600"};
  for (const char* text : cases) {
    const auto parsed = parse_instant(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_NE(parsed.error().message.find("RFC 3339"), std::string::npos);
  }
}

TEST(Instant, PrintsTheNearestEndWhenOutOfRange) {
  EXPECT_EQ(format_instant(kEndOfTime), "9999-12-31T23:59:59.999999Z");
  EXPECT_EQ(format_instant(from_micros(-1)), "1970-01-01T00:00:00Z");
}

TEST(Instant, RoundTripsEveryMicrosecond) {
  SeededRandom random(testing::test_seed(12));
  for (int i = 0; i < 10'000; ++i) {
    const Instant at = from_micros(static_cast<std::int64_t>(random.below(253'402'300'800'000'000)));
    ASSERT_EQ(*parse_instant(format_instant(at)), at);
  }
}

}  // namespace
}  // namespace semel::base
