#include <gtest/gtest.h>

#include <set>

#include "base/json.h"
#include "semel/error.h"
#include "semel/status.h"

namespace semel {
namespace {

TEST(Vocabulary, EveryWordIsReadBack) {
  for (int i = 0; i < kStatusCount; ++i) {
    const auto status = static_cast<Status>(i);
    EXPECT_EQ(status_from_string(to_string(status)), status);
  }
  for (const auto kind : {Kind::task, Kind::workflow}) EXPECT_EQ(kind_from_string(to_string(kind)), kind);
  for (const auto reuse : {Reuse::failed_only, Reuse::never, Reuse::always}) {
    EXPECT_EQ(reuse_from_string(to_string(reuse)), reuse);
  }
  for (const auto mode : {OnDuplicate::return_existing, OnDuplicate::reject, OnDuplicate::replace}) {
    EXPECT_EQ(on_duplicate_from_string(to_string(mode)), mode);
  }
  EXPECT_EQ(to_string(OnDuplicate::return_existing), "return");
  EXPECT_EQ(to_string(Status::dead_lettered), "dead_lettered");
}

TEST(Vocabulary, AliasesAreReadAndNeverPrinted) {
  EXPECT_EQ(status_from_string("pending"), Status::queued);
  EXPECT_EQ(status_from_string("completed"), Status::succeeded);
  for (const char* word : {"", "Queued", "done", "queued "}) EXPECT_FALSE(status_from_string(word).has_value());
  EXPECT_FALSE(on_duplicate_from_string("return_existing").has_value());
}

TEST(ErrorTable, EveryCodeHasItsOwnNameAndAClientOrServerStatus) {
  std::set<std::string_view> names;
  for (int i = 0; i <= static_cast<int>(ErrorCode::Internal); ++i) {
    const ErrorInfo& info = error_info(static_cast<ErrorCode>(i));
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
    EXPECT_GE(info.http_status, 400);
    EXPECT_LT(info.http_status, 600);
    EXPECT_GE(info.grpc_status, 1);
    EXPECT_LE(info.grpc_status, 16);
  }
  EXPECT_EQ(error_info(ErrorCode::FingerprintMismatch).name, "FingerprintMismatch");
  EXPECT_EQ(error_info(ErrorCode::FingerprintMismatch).http_status, 422);
  EXPECT_EQ(error_info(ErrorCode::Internal).name, "Internal");
}

TEST(ErrorTable, PrintsAsOneJsonObject) {
  const Error error{ErrorCode::TaskAlreadyExists, "task \"a\"\nexists", {{"status", "\"queued\""}, {"attempt", "2"}}};
  EXPECT_EQ(error.to_json(),
            R"({"error":"TaskAlreadyExists","message":"task \"a\"\nexists","status":"queued","attempt":2})");
  EXPECT_TRUE(base::validate_json(Error{ErrorCode::Internal, "\xff\x01", {}}.to_json()).ok());
}

}  // namespace
}  // namespace semel
