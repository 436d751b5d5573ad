#include "core/precondition.h"

#include <gtest/gtest.h>

namespace semel::core {
namespace {

TEST(Precondition, SecondWorkerSeesAConcurrentClaimThenTheCompletion) {
  EXPECT_EQ(Precondition::concurrent_claim, classify(Status::claimed));
  EXPECT_EQ(Precondition::concurrent_claim, classify(Status::running));
  EXPECT_EQ(Precondition::already_completed, classify(Status::succeeded));
  EXPECT_EQ(Precondition::missing, classify(std::nullopt));
}

TEST(Precondition, OnlyTheUnexpectedOnesAreErrorsToLog) {
  for (Status status : {Status::failed, Status::cancelled, Status::timed_out, Status::dead_lettered}) {
    EXPECT_EQ(Precondition::unexpected_terminal, classify(status));
    EXPECT_TRUE(is_unexpected(classify(status)));
  }
  EXPECT_TRUE(is_unexpected(classify(Status::queued)));
  EXPECT_TRUE(is_unexpected(classify(Status::suspended)));
  EXPECT_FALSE(is_unexpected(classify(Status::running)));
  EXPECT_FALSE(is_unexpected(classify(Status::succeeded)));
  EXPECT_FALSE(is_unexpected(classify(std::nullopt)));
}

TEST(Precondition, TravelsWithTheError) {
  Error error = make_error(ErrorCode::LeaseLost, "gone");
  EXPECT_EQ(std::nullopt, precondition_of(error));
  add_precondition(error, Precondition::unexpected_nonterminal);
  EXPECT_EQ(Precondition::unexpected_nonterminal, precondition_of(error));
  EXPECT_NE(std::string::npos, error.to_json().find(R"("precondition":"unexpected-nonterminal")"));
}

}  // namespace
}  // namespace semel::core
