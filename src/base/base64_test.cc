#include "base/base64.h"

#include <gtest/gtest.h>

namespace semel::base {
namespace {

// RFC 4648, section 10.
TEST(Base64, PrintsAndReadsTheVectorsOfTheStandard) {
  constexpr std::pair<std::string_view, std::string_view> kVectors[] = {{"", ""},
                                                                        {"f", "Zg=="},
                                                                        {"fo", "Zm8="},
                                                                        {"foo", "Zm9v"},
                                                                        {"foob", "Zm9vYg=="},
                                                                        {"fooba", "Zm9vYmE="},
                                                                        {"foobar", "Zm9vYmFy"},
                                                                        {"\xff\xfe\xfd", "//79"}};
  for (const auto& [bytes, text] : kVectors) {
    EXPECT_EQ(to_base64(bytes), text);
    EXPECT_EQ(from_base64(text), bytes);
  }
}

TEST(Base64, RefusesWhatItWouldNotPrint) {
  for (const std::string_view text : {"Z", "Zg", "Zg=", "Zh==", "Zg==Zg==", "Z g==", "Zm8=\n", "====", "Zm9v=", "Zm-_"})
    EXPECT_FALSE(from_base64(text).has_value()) << text;
}

}  // namespace
}  // namespace semel::base
