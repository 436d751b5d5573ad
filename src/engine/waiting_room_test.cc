#include "engine/waiting_room.h"

#include <gtest/gtest.h>

#include "store/memory/memory_store.h"
#include "testing/manual_clock.h"

namespace semel::engine {
namespace {

ExecutionId numbered(std::uint8_t number) {
  ExecutionId id;
  id.bytes[15] = number;
  return id;
}

store::Wakes end_of(ExecutionId id) {
  store::Wakes wakes;
  wakes.ended = {id};
  return wakes;
}

class WaitingRoomTest : public ::testing::Test {
 protected:
  testing::ManualClock clock;
  store::memory::MemoryStore store{clock};
  WaitingRoom room{store};
  int looks = 0;

  // Waits for `first`, from its first look on for `then`; nothing: it is answered there.
  void wait(ExecutionId first, std::optional<ExecutionId> then) {
    room.wait_for_end(
        core::kDefaultTenant, first, kEndOfTime, [this, then](Instant, const SeenExecutions&) { return ++looks, then; },
        [](const Error&) {});
  }
};

TEST_F(WaitingRoomTest, TheNextStepLooksForTheFirstTime) {
  wait(numbered(1), std::nullopt);
  EXPECT_EQ(looks, 0);
  EXPECT_EQ(room.step(clock.now()), kEndOfTime);
  EXPECT_EQ(looks, 1);
  EXPECT_EQ(room.size(), 0u);
}

TEST_F(WaitingRoomTest, WhoWaitsIsWokenByTheEndOfWhatItsLastLookNamed) {
  wait(numbered(1), numbered(2));
  EXPECT_EQ(room.step(clock.now()), clock.now() + WaitingRoom::kPollInterval);
  EXPECT_FALSE(room.note(end_of(numbered(1))));
  room.step(clock.now());
  EXPECT_EQ(looks, 1) << "the successor's end is what counts now";
  EXPECT_TRUE(room.note(end_of(numbered(2))));
  room.step(clock.now());
  EXPECT_EQ(looks, 2);
}

TEST_F(WaitingRoomTest, AnEndNotedDuringALookIsNotMissed) {
  room.wait_for_end(
      core::kDefaultTenant, numbered(1), kEndOfTime,
      [this](Instant, const SeenExecutions&) -> std::optional<ExecutionId> {
        if (++looks == 1) room.note(end_of(numbered(1)));
        return looks == 1 ? std::optional(numbered(1)) : std::nullopt;
      },
      [](const Error&) {});
  EXPECT_EQ(room.step(clock.now()), clock.now()) << "look again at once";
  room.step(clock.now());
  EXPECT_EQ(looks, 2);
}

TEST_F(WaitingRoomTest, WhoIsLookedAtWhileTheRoomClosesIsDropped) {
  int dropped = 0;
  room.wait_for_end(
      core::kDefaultTenant, numbered(1), kEndOfTime,
      [this](Instant, const SeenExecutions&) -> std::optional<ExecutionId> {
        room.drop_all(make_error(ErrorCode::ShuttingDown, "over"));
        return numbered(1);
      },
      [&](const Error& why) { dropped += why.code == ErrorCode::ShuttingDown ? 1 : 0; });
  EXPECT_EQ(room.step(clock.now()), kEndOfTime);
  EXPECT_EQ(dropped, 1);
  EXPECT_EQ(room.size(), 0u);
}

TEST_F(WaitingRoomTest, NobodyWaitsAfterTheEnd) {
  room.drop_all(make_error(ErrorCode::ShuttingDown, "over"));
  std::optional<ErrorCode> told;
  room.wait_for_work(
      kEndOfTime, [](Instant, const SeenExecutions&) { return std::optional(ExecutionId{}); },
      [&](const Error& why) { told = why.code; });
  EXPECT_EQ(told, ErrorCode::ShuttingDown);
  EXPECT_EQ(room.size(), 0u);
}

}  // namespace
}  // namespace semel::engine
