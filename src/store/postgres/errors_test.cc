// What every kind of failure means for a batch.
#include <gtest/gtest.h>

#include "store/postgres/hints.h"
#include "store/postgres/tables.h"

namespace semel::store::postgres {
namespace {

using Kind = Applied::Kind;

Kind kind_of(const char* sqlstate, const char* constraint = "") {
  return to_tables_error(PgError{sqlstate, "m", constraint, false, 0}, std::nullopt).kind;
}

// C12, X19
TEST(PgErrors, ATransactionThatLostARaceIsRunAgain) {
  for (const char* state : {"40001", "40P01", "57P01", "57014", "SM001"})
    EXPECT_EQ(kind_of(state), Kind::retry) << state;
  EXPECT_EQ(kind_of("23505", "identity_pkey"), Kind::retry);
  EXPECT_EQ(kind_of("23505", "key_slot_pkey"), Kind::retry);
}

TEST(PgErrors, AStrangersLockMovesTheBatchToTheSlowLane) { EXPECT_EQ(kind_of("55P03"), Kind::locked); }

TEST(PgErrors, AServerThatCannotWriteIsUnavailable) {
  EXPECT_EQ(kind_of("53100"), Kind::unavailable);
  EXPECT_EQ(to_error(PgError{"53100", "m", "", false, 0}).code, ErrorCode::StoreFull);
  EXPECT_EQ(kind_of("25006"), Kind::unavailable);
  EXPECT_EQ(to_error(PgError{"25006", "m", "", false, 0}).code, ErrorCode::StoreReadOnly);
}

TEST(PgErrors, WhatOneOperationRaisesHalvesTheBatch) {
  for (const char* state : {"22021", "22003", "23514", "SM002"}) EXPECT_EQ(kind_of(state), Kind::halve) << state;
  EXPECT_EQ(kind_of("23505", "execution_pkey"), Kind::halve);
}

TEST(PgErrors, DamageStopsTheStore) { EXPECT_EQ(kind_of("XX001"), Kind::fatal); }

TEST(PgErrors, ALostConnectionIsUnknownOnlyAroundCommit) {
  const auto lost = [](const char* sqlstate, std::size_t at, std::optional<std::size_t> commit_at) {
    return to_tables_error(PgError{sqlstate, "m", "", true, at}, commit_at).kind;
  };
  EXPECT_EQ(lost("", 0, std::nullopt), Kind::retry);
  EXPECT_EQ(lost("", 2, 5), Kind::unknown) << "silence: answers may be lost on the way";
  EXPECT_EQ(lost("57P01", 2, 5), Kind::retry) << "the server stopped before it came to COMMIT";
  EXPECT_EQ(lost("57P01", 5, 5), Kind::unknown);
}

// F5: what a pooler says of a dead server may stand for a commit that happened, wherever the answers broke off.
TEST(PgErrors, OnlyTheServersWordProvesThatNothingHappened) {
  const auto kind = [](const char* sqlstate, bool foreign, bool lost, std::optional<std::size_t> commit_at) {
    return to_tables_error(PgError{sqlstate, "m", "", lost, 0, foreign}, commit_at).kind;
  };
  for (const char* state : {"08P01", "08006", "57P01", "XX000", "23505"}) {
    EXPECT_EQ(kind(state, true, true, 5), Kind::unknown) << state;
    EXPECT_EQ(kind(state, true, false, 5), Kind::unknown) << state;
    EXPECT_EQ(kind(state, true, true, std::nullopt), Kind::retry) << state << ": COMMIT was not sent";
    EXPECT_EQ(to_error(PgError{state, "m", "", false, 0, true}).code, ErrorCode::StoreUnavailable) << state;
  }
  EXPECT_EQ(kind("08006", false, false, 5), Kind::unknown) << "also from a server that asked another one";
  EXPECT_EQ(kind("23505", false, false, 5), Kind::retry);
}

TEST(PgHints, ComeBackAsTheyWereSent) {
  Wakes sent;
  sent.lanes = {core::LaneId{1}, core::LaneId{42}};
  sent.ended = {ExecutionId{{1, 2, 3}}};
  sent.cancel_requested = {ExecutionId{{4}}, ExecutionId{{5}}};
  Wakes heard;
  EXPECT_TRUE(decode_hint(encode_hint(sent), heard));
  EXPECT_EQ(heard.lanes, sent.lanes);
  EXPECT_EQ(heard.ended, sent.ended);
  EXPECT_EQ(heard.cancel_requested, sent.cancel_requested);
  EXPECT_EQ(encode_hint({}), "");
}

TEST(PgHints, TooManyLanesMeanLookEverywhere) {
  Wakes sent, heard;
  for (int i = 0; i < 1000; ++i) sent.lanes.push_back(core::LaneId{i});
  for (int i = 0; i < 1000; ++i) sent.ended.push_back(ExecutionId{});
  EXPECT_LT(encode_hint(sent).size(), 7000u);
  EXPECT_FALSE(decode_hint(encode_hint(sent), heard));
  EXPECT_FALSE(decode_hint("garbage", heard));
}

}  // namespace
}  // namespace semel::store::postgres
