#include "base/json_value.h"

#include <gtest/gtest.h>

#include "base/json_writer.h"

namespace semel::base {
namespace {

JsonDocument parse(std::string text) { return JsonDocument::parse(std::move(text)).value(); }

TEST(JsonValue, WalksADocumentAndKeepsSourceBytes) {
  const auto doc =
      parse(R"( {"name": "charge", "args": { "b":1.0,  "a":[1, 2 ,{}] }, "\u0070riority":5, "x":null, "f":false} )");
  const JsonValue root = doc.root();
  ASSERT_EQ(root.kind(), JsonKind::object);
  ASSERT_EQ(root.size(), 5u);
  EXPECT_EQ(root.find("name")->as_string(), "charge");
  EXPECT_EQ(root.find("args")->raw(), R"({ "b":1.0,  "a":[1, 2 ,{}] })");
  EXPECT_EQ(root.find("args")->find("a")->size(), 3u);
  EXPECT_EQ(root.find("args")->find("a")->at(2).kind(), JsonKind::object);
  EXPECT_EQ(root.find("args")->find("a")->at(1).as_int64(), 2);
  EXPECT_EQ(root.find("priority")->as_int64(), 5);
  EXPECT_EQ(root.name_at(2), "priority");
  EXPECT_TRUE(root.find("x")->is_null());
  EXPECT_EQ(root.find("f")->as_bool(), false);
  EXPECT_FALSE(root.find("absent").has_value());
  EXPECT_FALSE(root.find("name")->as_int64().has_value());
  EXPECT_FALSE(root.find("name")->find("x").has_value());
}

TEST(JsonValue, SurvivesAMoveOfItsDocument) {
  auto doc = parse("[1,\"two\"]");
  const JsonValue two = doc.root().at(1);
  const JsonDocument moved = std::move(doc);
  EXPECT_EQ(two.as_string(), "two");
}

// A9: typed fields refuse what they cannot hold.
TEST(JsonValue, NumbersAreExactOrRefused) {
  const auto as_int = [](const char* text) { return parse(text).root().as_int64(); };
  EXPECT_EQ(as_int("9223372036854775807"), INT64_MAX);
  EXPECT_EQ(as_int("-9223372036854775808"), INT64_MIN);
  EXPECT_EQ(as_int("1.0"), 1);
  EXPECT_EQ(as_int("1e3"), 1000);
  EXPECT_EQ(as_int("-0"), 0);
  EXPECT_EQ(as_int("5e18"), 5'000'000'000'000'000'000);
  for (const char* text : {"9223372036854775808", "1.5", "1e19", "1e-1", "1e400", "1e99999999999999999999", "\"1\""}) {
    EXPECT_FALSE(as_int(text).has_value()) << text;
  }
  EXPECT_EQ(parse("2.5").root().as_double(), 2.5);
  EXPECT_FALSE(parse("1e309").root().as_double().has_value());
  EXPECT_FALSE(parse("-1e400").root().as_double().has_value());
}

TEST(JsonDocument, RefusesBadDocuments) {
  EXPECT_FALSE(JsonDocument::parse("{\"a\":1,\"a\":2}").ok());
  EXPECT_FALSE(JsonDocument::parse(std::string(40, '[') + std::string(40, ']')).ok());
  EXPECT_FALSE(JsonDocument::parse("").ok());
}

TEST(JsonWriter, PrintsNestedValues) {
  std::string out;
  JsonWriter w(out);
  w.begin_object()
      .field("text", "a\"b")
      .field("int", -5)
      .field("big", std::uint64_t{18446744073709551615ull})
      .field("flag", true)
      .field("none", std::optional<std::string>())
      .field("some", std::optional<int>(3))
      .field("half", 0.5)
      .field("at", from_micros(1'772'355'600'000'000))
      .field("id", ExecutionId{})
      .raw_field("args", "{ \"a\":1 }");
  w.key("list").begin_array().value(1).value("two").begin_object().end_object().begin_array().end_array().end_array();
  w.null_field("end").end_object();
  EXPECT_EQ(out, R"({"text":"a\"b","int":-5,"big":18446744073709551615,"flag":true,"none":null,"some":3,"half":0.5,)"
                 R"("at":"2026-03-01T09:00:00Z","id":"00000000-0000-0000-0000-000000000000","args":{ "a":1 },)"
                 R"("list":[1,"two",{},[]],"end":null})");
  EXPECT_TRUE(validate_json(out).ok());
}

}  // namespace
}  // namespace semel::base
