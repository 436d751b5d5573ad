#include "base/json.h"

#include <gtest/gtest.h>

#include "testing/seeded_random.h"

namespace semel::base {
namespace {

using namespace std::string_view_literals;

std::string canonical(std::string_view text) {
  auto out = canonical_json(text);
  return out ? *out : "error: " + out.error().message;
}

TEST(Json, AcceptsPayloadsAsTheyAre) {
  for (const std::string_view text : {"null"sv, "true"sv, " [ ] "sv, "{}"sv, "0"sv, "-0"sv, "1e400"sv, "-1.5E+3"sv,
                                      "9223372036854775809"sv, R"("\u0000")"sv, R"("😀\ud83d\ude00")"sv,
                                      R"({"a":{"a":1},"b":[{"a":2}]})"sv, "\t\r\n 1 \n"sv, R"("\"\\\/\b\f\n\r\t")"sv}) {
    EXPECT_TRUE(validate_json(text).ok()) << text;
    EXPECT_TRUE(canonical_json(text).ok()) << text;
  }
}

// A9
TEST(Json, RefusesBadTextWithItsOffset) {
  const struct {
    std::string_view text;
    const char* message;
  } cases[] = {
      {"", "empty text at byte 0"},
      {"  ", "empty text at byte 2"},
      {"nul", "expected a value at byte 0"},
      {"[1,]", "expected a value at byte 3"},
      {"[1 2]", "expected , or ] at byte 3"},
      {"{\"a\":1,}", "expected a string at byte 7"},
      {"{\"a\" 1}", "expected : at byte 5"},
      {"{\"a\":1 \"b\":2}", "expected , or } at byte 7"},
      {"{a:1}", "expected a string at byte 1"},
      {"01", "leading zero at byte 0"},
      {"1.", "digits after the point at byte 0"},
      {".5", "expected a value at byte 0"},
      {"+1", "expected a value at byte 0"},
      {"1e", "exponent at byte 0"},
      {"NaN", "expected a value at byte 0"},
      {"Infinity", "expected a value at byte 0"},
      {"1 2", "bytes after the value at byte 2"},
      {"{} x", "bytes after the value at byte 3"},
      {"1\0"sv, "bytes after the value at byte 1"},
      {"\xef\xbb\xbf{}", "expected a value at byte 0"},
      {"\"abc", "unterminated string at byte 0"},
      {"\"abc\\", "unterminated string"},
      {"\"a\nb\"", "control character in a string at byte 2"},
      {"\"\\x41\"", "unknown escape at byte 1"},
      {"\"\\\0\""sv, "unknown escape at byte 1"},
      {"\"\\u12g4\"", "four hex digits at byte 1"},
      {"\"\\ud800\"", "lone surrogate at byte 1"},
      {"\"\\udc00\"", "lone surrogate at byte 1"},
      {"\"\\ud800\\u0041\"", "lone surrogate at byte 1"},
      {"\"\xff\"", "invalid UTF-8 at byte 1"},
      {"\"\xc0\xaf\"", "invalid UTF-8 at byte 1"},
      {"\"12345678\xed\xa0\x80\"", "invalid UTF-8 at byte 9"},
      {"{\"a\":1,\"b\":2,\"a\":3}", "duplicate member \"a\" at byte 13"},
      {"{\"b\":1,\"\\u0062\":2}", "duplicate member \"b\" at byte 7"},
      {"[{\"x\":[{\"k\":1,\"k\":1}]}]", "duplicate member \"k\" at byte 14"},
  };
  for (const auto& c : cases) {
    for (const Error& error : {validate_json(c.text).error(), canonical_json(c.text).error()}) {
      EXPECT_EQ(error.code, ErrorCode::InvalidArgument);
      EXPECT_NE(error.message.find(c.message), std::string::npos) << c.text << " -> " << error.message;
      ASSERT_EQ(error.details.size(), 1u);
      EXPECT_EQ(error.details[0].name, "offset");
    }
  }
}

// A9
TEST(Json, DepthIsLimited) {
  const auto nested = [](int depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_TRUE(validate_json(nested(32), kMaxDocumentDepth).ok());
  EXPECT_FALSE(validate_json(nested(33), kMaxDocumentDepth).ok());
  EXPECT_TRUE(canonical_json(nested(128)).ok());
  EXPECT_FALSE(canonical_json(nested(129)).ok());
  EXPECT_NE(validate_json(std::string(1'000'000, '[')).error().message.find("nested too deeply at byte 128"),
            std::string::npos);
}

// A9
TEST(Json, ManyMembersAreCheckedInReasonableTime) {
  std::string text = "{";
  for (int i = 0; i < 50'000; ++i) text += "\"k" + std::to_string(i * 7919 % 50'000) + "\":0,";
  EXPECT_TRUE(canonical_json(text + "\"z\":0}").ok());
  EXPECT_FALSE(canonical_json(text + "\"k0\":0}").ok());
}

// D14
TEST(CanonicalJson, SpellingOfNumbersDoesNotMatter) {
  for (const char* one : {"1", "1.0", "1e0", "1E+0", "10e-1", "0.1e1", "100e-2", "1.000e00"}) {
    EXPECT_EQ(canonical(one), "1") << one;
  }
  EXPECT_EQ(canonical("100"), "1e2");
  EXPECT_EQ(canonical("1e2"), "1e2");
  EXPECT_EQ(canonical("-1.50"), "-15e-1");
  EXPECT_EQ(canonical("0.15"), "15e-2");
  EXPECT_EQ(canonical("1050"), "105e1");
  for (const char* zero : {"0", "-0", "0.0", "0e5", "-0.00e-7", "0e99999999999999999999"})
    EXPECT_EQ(canonical(zero), "0");
}

// D14
TEST(CanonicalJson, NumbersAreExact) {
  EXPECT_NE(canonical("9007199254740993"), canonical("9007199254740992"));
  EXPECT_NE(canonical("0.1"), canonical("0.1000000000000000055511151231257827"));
  EXPECT_EQ(canonical("1e400"), "1e400");
  EXPECT_EQ(canonical("1e1000000000"), "1e1000000000");
  EXPECT_EQ(canonical("10e999999999"), "1e1000000000");
  EXPECT_EQ(canonical("1e-0000000000000000000000001"), "1e-1");
  EXPECT_EQ(canonical("123456789012345678901234567890.5"), "1234567890123456789012345678905e-1");
  EXPECT_NE(canonical("1e9999999999999999999").find("exponent out of range"), std::string::npos);
}

// D14
TEST(CanonicalJson, OrderAndWhiteSpaceDoNotMatter) {
  EXPECT_EQ(canonical("{ \"b\" : [ 1 , 2 ] , \"a\" : { \"d\":1, \"c\":null } }"),
            R"({"a":{"c":null,"d":1},"b":[1,2]})");
  EXPECT_EQ(canonical(R"({"b":1,"a":[{"z":0,"y":{"q":1,"p":2}}],"":0})"),
            R"({"":0,"a":[{"y":{"p":2,"q":1},"z":0}],"b":1})");
  EXPECT_NE(canonical("[1,2]"), canonical("[2,1]"));
}

TEST(CanonicalJson, MembersSortByBytesOfTheUnescapedName) {
  // " (0x22) sorts before A (0x41) although its escaped form starts with a backslash; U+E000 before U+1F600 in UTF-8.
  EXPECT_EQ(canonical(R"({"A":1,"\"":2})"), R"({"\"":2,"A":1})");
  EXPECT_EQ(canonical(R"({"😀":1,"\ue000":2})"), "{\"\xee\x80\x80\":2,\"😀\":1}");
  EXPECT_EQ(canonical(R"({"\u0062":1,"a":2})"), R"({"a":2,"b":1})");
}

TEST(CanonicalJson, SpellingOfStringsDoesNotMatter) {
  EXPECT_EQ(canonical(R"("\u0041\/\u00e9\ud83d\ude00")"), "\"A/é😀\"");
  EXPECT_EQ(canonical(R"("\u0000\u001F\u000a\n\"\u005c\u007f")"), "\"\\u0000\\u001f\\n\\n\\\"\\\\\x7f\"");
  EXPECT_NE(canonical("\"e\xcc\x81\""), canonical("\"\xc3\xa9\""));  // no Unicode normalising
  EXPECT_NE(canonical("\"1\""), canonical("1"));
}

std::string random_json(SeededRandom& random, int depth) {
  const auto kind = random.below(depth > 4 ? 4 : 6);
  if (kind == 0) return "null";
  if (kind == 1)
    return std::to_string(random.below(1000)) + (random.below(2) ? ".50" : "") + (random.below(2) ? "e3" : "");
  if (kind == 2) return R"("x\u00e9\n)" + std::to_string(random.below(9)) + "\"";
  if (kind == 3) return random.below(2) ? "true" : " false ";
  std::string out = kind == 4 ? "[" : "{";
  const auto count = random.below(5);
  for (std::uint64_t i = 0; i < count; ++i) {
    if (i > 0) out += " , ";
    if (kind == 5) out += "\"" + std::string(i % 2 ? "\\u006b" : "k") + std::to_string((i * 7 + 3) % 5) + "\" : ";
    out += random_json(random, depth + 1);
  }
  return out + (kind == 4 ? "]" : "}");
}

TEST(CanonicalJson, IsValidJsonAndCanonicalItself) {
  SeededRandom random(testing::test_seed(21));
  for (int i = 0; i < 3000; ++i) {
    const std::string text = random_json(random, 0);
    const auto once = canonical_json(text);
    ASSERT_TRUE(once.ok()) << text << " " << once.error().message;
    ASSERT_EQ(canonical(*once), *once) << text;
  }
}

TEST(Json, MutatedTextNeverCrashes) {
  SeededRandom random(testing::test_seed(22));
  for (int i = 0; i < 20'000; ++i) {
    std::string text = random_json(random, 0);
    for (std::uint64_t n = random.below(4); n > 0 && !text.empty(); --n) {
      const auto at = random.below(text.size());
      if (random.below(2)) text[at] = static_cast<char>(random.next());
      else text.erase(at, 1);
    }
    const auto checked = validate_json(text);
    const auto form = canonical_json(text);
    if (!checked.ok()) ASSERT_FALSE(form.ok()) << text;
    if (form.ok()) ASSERT_TRUE(validate_json(*form).ok()) << text;
  }
}

TEST(QuoteJson, IsAlwaysValid) {
  EXPECT_EQ(quote_json("a\"b\\c\n\x01"), R"("a\"b\\c\n\u0001")");
  EXPECT_EQ(quote_json("é😀"), "\"é😀\"");
  EXPECT_EQ(quote_json("a\xff"
                       "b"),
            "\"a\xef\xbf\xbd"
            "b\"");
  EXPECT_EQ(quote_json("\0"sv), R"("\u0000")");
}

}  // namespace
}  // namespace semel::base
