#include "core/lifecycle.h"

#include <gtest/gtest.h>

#include <string>

namespace semel::core {
namespace {

// One row per `from`, one column per `to`, in the order of Status: q c r s | S F C T D.
void expect_table(Kind kind, const char* const (&rows)[kStatusCount]) {
  for (int from = 0; from < kStatusCount; ++from) {
    ASSERT_EQ(std::string(rows[from]).size(), static_cast<std::size_t>(kStatusCount));
    for (int to = 0; to < kStatusCount; ++to) {
      const auto a = static_cast<Status>(from);
      const auto b = static_cast<Status>(to);
      EXPECT_EQ(can_move(kind, a, b), rows[from][to] == 'x')
          << to_string(kind) << ": " << to_string(a) << " -> " << to_string(b);
    }
  }
}

// D3
TEST(Lifecycle, TaskMovesAreExactlyTheseOnes) {
  expect_table(Kind::task, {
                               ".x....xx.",  // queued
                               "x.x.xxxxx",  // claimed
                               "x...xxxxx",  // running
                               ".........",  // suspended: never a task
                               ".........",  // succeeded
                               ".........",  // failed
                               ".........",  // cancelled
                               ".........",  // timed_out
                               ".........",  // dead_lettered
                           });
}

TEST(Lifecycle, WorkflowMovesAreExactlyTheseOnes) {
  expect_table(Kind::workflow, {
                                   "..x...xx.",  // queued
                                   ".........",  // claimed: never a workflow
                                   "...xxxxxx",  // running
                                   "..x.xxxxx",  // suspended
                                   ".........",
                                   ".........",
                                   ".........",
                                   ".........",
                                   ".........",
                               });
}

TEST(Lifecycle, EveryMoveConnectsStatusesTheKindHasAndSaysWhy) {
  for (const Move& move : kMoves) {
    EXPECT_TRUE(has_status(move.kind, move.from));
    EXPECT_TRUE(has_status(move.kind, move.to));
    EXPECT_NE(std::string(move.because), "");
  }
  EXPECT_FALSE(has_status(Kind::task, Status::suspended));
  EXPECT_FALSE(has_status(Kind::workflow, Status::claimed));
}

}  // namespace
}  // namespace semel::core
