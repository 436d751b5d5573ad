#include "semel/json.h"

#include <gtest/gtest.h>

#include <limits>

namespace shop {

enum class Colour { red, green };
SEMEL_ENUM(Colour, red, green)

struct Item {
  std::string sku;
  std::int64_t cents = 0;
  bool operator==(const Item&) const = default;
};
SEMEL_FIELDS(Item, sku, cents)

struct Order {
  std::string id;
  std::vector<Item> items;
  std::optional<std::string> note;
  std::map<std::string, double> weights;
  bool gift = false;
  Colour colour = Colour::red;
  std::uint64_t serial = 0;
  std::int8_t small = 0;
  bool operator==(const Order&) const = default;
};
SEMEL_FIELDS(Order, id, items, note, weights, gift, colour, serial, small)

struct Open {
  int known = 0;
};
SEMEL_FIELDS_OPEN(Open, known)

struct Nothing {};
SEMEL_FIELDS(Nothing)

}  // namespace shop

namespace semel::json {
namespace {

using shop::Order;

Order sample() {
  Order order;
  order.id = "o-1";
  order.items = {{"a", std::numeric_limits<std::int64_t>::max()}, {"b", std::numeric_limits<std::int64_t>::min()}};
  order.weights = {{"a", 0.1}, {"b", 1e300}};
  order.gift = true;
  order.colour = shop::Colour::green;
  order.serial = std::numeric_limits<std::uint64_t>::max();
  order.small = -128;
  return order;
}

template <class T>
std::string failure(std::string_view text) {
  const auto result = decode<T>(text);
  if (result) return "decoded";
  EXPECT_EQ(result.error().code, ErrorCode::DecodeFailed);
  return result.error().message;
}

TEST(JsonMapping, StructsComeBackAsTheyWent) {
  const auto text = encode(sample()).value();
  EXPECT_EQ(decode<Order>(text).value(), sample()) << text;
}

TEST(JsonMapping, WritesMembersInTheirOrderAndSkipsEmptyOptionals) {
  EXPECT_EQ(
      encode(sample()).value(),
      R"({"id":"o-1","items":[{"sku":"a","cents":9223372036854775807},{"sku":"b","cents":-9223372036854775808}],)"
      R"("weights":{"a":0.1,"b":1e+300},"gift":true,"colour":"green","serial":18446744073709551615,"small":-128})");
}

TEST(JsonMapping, OptionalMayBeAbsentOrNull) {
  const std::string rest = R"("id":"x","items":[],"weights":{},"gift":false,"colour":"red","serial":0,"small":0)";
  EXPECT_EQ(decode<Order>("{" + rest + "}").value().note, std::nullopt);
  EXPECT_EQ(decode<Order>("{\"note\":null," + rest + "}").value().note, std::nullopt);
  EXPECT_EQ(decode<Order>("{\"note\":\"hi\"," + rest + "}").value().note, "hi");
}

TEST(JsonMapping, ErrorsNameTheMember) {
  EXPECT_EQ(failure<Order>(R"({"id":"x","items":[{"sku":"a","cents":1},{"sku":"b","cents":"2"}]})"),
            "items[1].cents: expected number, found string");
  EXPECT_EQ(failure<Order>(R"({"id":"x","items":[{"sku":"a"}]})"), "items[0]: member 'cents' is missing");
  EXPECT_EQ(failure<shop::Item>(R"({"sku":"a","cents":1,"price":2})"), "the value: unknown member \"price\"");
  EXPECT_EQ(failure<shop::Colour>(R"("blue")"), "the value: 'blue' is not one of: red, green");
  EXPECT_EQ((failure<std::map<std::string, std::vector<int>>>(R"({"a":[1,null]})")),
            "a[1]: expected number, found null");
}

TEST(JsonMapping, NumbersThatDoNotFitAreRefused) {
  EXPECT_NE(failure<std::int8_t>("128").find("from -128 to 127"), std::string::npos);
  EXPECT_NE(failure<std::int64_t>("9223372036854775808").find("is not an integer"), std::string::npos);
  EXPECT_NE(failure<std::uint64_t>("18446744073709551616").find("is not an integer"), std::string::npos);
  EXPECT_NE(failure<std::uint32_t>("-1").find("from 0 to"), std::string::npos);
  EXPECT_NE(failure<int>("1.5").find("is not an integer"), std::string::npos);
  EXPECT_NE(failure<double>("1e309").find("does not fit"), std::string::npos);
  EXPECT_EQ(decode<int>("1e3").value(), 1000);
}

TEST(JsonMapping, TextThatIsNotJsonIsRefused) {
  EXPECT_NE(failure<int>(""), "decoded");
  EXPECT_NE(failure<int>("1 2"), "decoded");
  EXPECT_NE(failure<shop::Item>(R"({"sku":"a","sku":"b","cents":1})"), "decoded");
}

TEST(JsonMapping, OpenStructsIgnoreWhatTheyDoNotKnow) {
  EXPECT_EQ(decode<shop::Open>(R"({"known":7,"later":true})").value().known, 7);
}

TEST(JsonMapping, ValuesWithoutJsonFormAreRefused) {
  EXPECT_EQ(encode(std::numeric_limits<double>::infinity()).error().message,
            "the value is not finite; JSON has no such number");
  EXPECT_EQ(encode(shop::Item{"\xff", 1}).error().message, "member 'sku' is not UTF-8");
  EXPECT_FALSE(encode(Raw{"{"}).ok());
}

TEST(JsonMapping, RawIsPassedOnByteForByte) {
  const std::vector<Raw> values = {Raw{"{ \"a\" : 1.0 }"}, Raw{"null"}};
  EXPECT_EQ(encode(values).value(), R"([{ "a" : 1.0 },null])");
  EXPECT_EQ(decode<std::vector<Raw>>(encode(values).value()).value(), values);
}

TEST(JsonMapping, EmptyStructsAndVectorsOfBoolWork) {
  EXPECT_EQ(encode(shop::Nothing{}).value(), "{}");
  EXPECT_TRUE(decode<shop::Nothing>("{}").ok());
  EXPECT_EQ(encode(std::vector<bool>{true, false}).value(), "[true,false]");
  EXPECT_EQ(decode<std::vector<bool>>("[true,false]").value(), (std::vector<bool>{true, false}));
}

}  // namespace
}  // namespace semel::json
