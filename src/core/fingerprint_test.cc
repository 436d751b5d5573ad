#include "core/fingerprint.h"

#include <gtest/gtest.h>

#include "base/sha256.h"

namespace semel::core {
namespace {

using namespace std::string_view_literals;

Fingerprint of(std::string_view args) { return fingerprint_of("charge", args).value(); }

TEST(Fingerprint, HashesTheDocumentedBytes) {
  EXPECT_EQ(fingerprint_of("charge", R"({ "order": 1.0, "a": "\u0041" })").value().bytes,
            base::sha256("v1\0json\0charge\0{\"a\":\"A\",\"order\":1}"sv));
  EXPECT_EQ(fingerprint_of_raw("charge", "protobuf", "\x01\x02").value().bytes,
            base::sha256("v1\0raw\0charge\0protobuf\0\x01\x02"sv));
}

// A change of this text is a change of every stored fingerprint.
TEST(Fingerprint, IsStableAcrossVersions) {
  EXPECT_EQ(of(R"({"order":1})").to_string(), "v1:d37063de0132e0b342046404a6878637bdc698bc3cc35af571cf0d0c3f0dd6d5");
  EXPECT_EQ(of("").to_string(), "v1:dd1dd84acb5ca8b8ba7c016f4c9974dcccb9038020106694dd52f8deceb9213a");
}

// D14
TEST(Fingerprint, SameValueInAnotherSpellingIsTheSame) {
  const Fingerprint base = of(R"({"order":1,"note":"é","list":[1,2.50]})");
  EXPECT_EQ(base, of(R"({"list":[1,2.50],"note":"é","order":1})"));
  EXPECT_EQ(base, of("{\n\t\"order\" : 1.0 , \"note\":\"\\u00e9\" , \"list\" : [ 1e0 , 25E-1 ] }"));
}

// D14
TEST(Fingerprint, OtherValueIsAnother) {
  const Fingerprint base = of(R"({"order":1})");
  for (const char* other :
       {R"({"order":"1"})", R"({"order":2})", R"({"order":1,"x":null})", R"({"Order":1})", "[1]", "{}", "1"}) {
    EXPECT_NE(base, of(other)) << other;
  }
  EXPECT_NE(of("9007199254740993"), of("9007199254740992"));
  EXPECT_NE(of("1e400"), of("1e401"));
  EXPECT_NE(base, fingerprint_of("refund", R"({"order":1})").value());
}

TEST(Fingerprint, NoArgsIsNull) {
  EXPECT_EQ(of(""), of("null"));
  EXPECT_NE(of(""), of("{}"));
}

TEST(Fingerprint, OpaqueBytesAreComparedVerbatimAndNeverEqualJson) {
  const auto raw = [](std::string_view encoding, std::string_view bytes) {
    return fingerprint_of_raw("charge", encoding, bytes).value();
  };
  EXPECT_EQ(raw("bin", "1"), raw("bin", "1"));
  EXPECT_NE(raw("bin", "1"), raw("bin", "1.0"));
  EXPECT_NE(raw("bin", "1"), raw("other", "1"));
  EXPECT_NE(raw("json", "1"), of("1"));
}

// D14
TEST(Fingerprint, RefusesArgsThatAreNotOneJsonValue) {
  for (const char* bad : {R"({"a":1,"a":2})", "{", "nul", "\"\xff\"", " "}) {
    const auto result = fingerprint_of("charge", bad);
    ASSERT_FALSE(result.ok()) << bad;
    EXPECT_EQ(result.error().code, ErrorCode::InvalidArgument);
    EXPECT_EQ(result.error().message.substr(0, 6), "args: ");
  }
  EXPECT_FALSE(fingerprint_of("a\0b"sv, "1").ok());
}

}  // namespace
}  // namespace semel::core
