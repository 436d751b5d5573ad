#include "base/text.h"

#include <gtest/gtest.h>

#include "base/log.h"
#include "base/sha256.h"
#include "base/utf8.h"

namespace semel::base {
namespace {

using namespace std::string_view_literals;

TEST(Sha256, MatchesPublishedVectors) {
  EXPECT_EQ(to_hex(sha256("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(to_hex(sha256("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256({"a", "", "bc"}), sha256("abc"));
}

TEST(Utf8, KnowsValidFromInvalid) {
  for (const std::string_view good :
       {""sv, "plain ascii text"sv, "é"sv, "\xe2\x82\xac"sv, "😀"sv, "\xf4\x8f\xbf\xbf"sv, "\0"sv}) {
    EXPECT_TRUE(is_valid_utf8(good));
  }
  for (const std::string_view bad :
       {"\x80"sv, "\xc0\x80"sv, "\xc1\xbf"sv, "\xc3"sv, "\xe0\x80\x80"sv, "\xed\xa0\x80"sv, "\xe2\x82"sv,
        "\xf0\x80\x80\x80"sv, "\xf4\x90\x80\x80"sv, "\xf5\x80\x80\x80"sv, "\xff"sv, "12345678\xff"sv}) {
    EXPECT_FALSE(is_valid_utf8(bad)) << to_hex({reinterpret_cast<const std::uint8_t*>(bad.data()), bad.size()});
  }
}

// D16
TEST(Utf8, SanitizedTextIsValidAndFits) {
  EXPECT_EQ(sanitize_utf8("abc", 10), "abc");
  EXPECT_EQ(sanitize_utf8("a\xff"
                          "b",
                          10),
            "a\xef\xbf\xbd"
            "b");
  EXPECT_EQ(sanitize_utf8("aé", 2), "a");
  EXPECT_EQ(sanitize_utf8("aé", 3), "aé");
  EXPECT_EQ(sanitize_utf8("\xff\xff", 4), "\xef\xbf\xbd");
  const std::string huge(50'000'000, '\xfe');
  const std::string clipped = sanitize_utf8(huge, 64 * 1024);
  EXPECT_LE(clipped.size(), 64u * 1024);
  EXPECT_TRUE(is_valid_utf8(clipped));
}

TEST(Printable, ShowsHostileTextHarmlessly) {
  EXPECT_EQ(printable("plain é"), "\"plain é\"");
  EXPECT_EQ(printable("a\nb\x1b[31m\"\\"), "\"a\\nb\\x1b[31m\\\"\\\\\"");
  EXPECT_EQ(printable("\xc2\x9b"
                      "1m\x7f\xff"),
            "\"\\xc2\\x9b1m\\x7f\\xff\"");
  EXPECT_EQ(printable(std::string(100, 'x'), 4), "\"xxxx\"... (100 bytes)");
  EXPECT_EQ(printable("aé", 2), "\"a\"... (3 bytes)");
}

// A21
TEST(Log, OneLineWhateverTheFieldsContain) {
  EXPECT_EQ(format_log_line("claimed", {{"task_id", "pay-1"}, {"attempt", 2}, {"who", "two words"}, {"none", ""}}),
            "claimed task_id=pay-1 attempt=2 who=\"two words\" none=\"\"");
  const std::string line =
      format_log_line("evil\nmessage", {{"id", "a\nlevel=error x\x1b[2J"}, {"big", std::string(1'000'000, 'y')}});
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_EQ(line.find('\x1b'), std::string::npos);
  EXPECT_NE(line.find("evil\\nmessage"), std::string::npos);
  EXPECT_NE(line.find("(1000000 bytes)"), std::string::npos);
  EXPECT_LT(line.size(), 2000u);
}

TEST(Log, NullSinkIsSilentAndStderrSinkFiltersByLevel) {
  EXPECT_FALSE(null_log().enabled(LogLevel::error));
  null_log().write(LogLevel::error, "nobody hears this", {});
  const auto sink = make_stderr_log(LogLevel::warn);
  EXPECT_FALSE(sink->enabled(LogLevel::info));
  EXPECT_TRUE(sink->enabled(LogLevel::error));
  ::testing::internal::CaptureStderr();
  sink->write(LogLevel::info, "hidden", {});
  sink->write(LogLevel::warn, "shown", {{"k", "v"}});
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "warn shown k=v\n");
}

}  // namespace
}  // namespace semel::base
