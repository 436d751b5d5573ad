#include "base/uuid.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>
#include <vector>

#include "testing/manual_clock.h"

namespace semel::base {
namespace {

using testing::kTestStart;

TEST(IdSource, MakesVersionSevenIdsThatTellTheirTime) {
  SeededRandom random(1);
  for (const std::int64_t micros : {0ll, 1ll, 999ll, 1000ll, 1'772'355'600'123'457ll, 4'102'444'800'000'999ll}) {
    const Instant at = from_micros(micros);
    IdSource fresh(random);
    const auto id = fresh.next<ExecutionId>(at);
    EXPECT_EQ(id.bytes[6] >> 4, 7);
    EXPECT_EQ(id.bytes[8] >> 6, 2);
    if (micros > 0) EXPECT_EQ(uuidv7_time(id), at) << micros;
    EXPECT_EQ(ExecutionId::parse(id.to_string()), id);
  }
}

// K4
TEST(IdSource, RisesEvenWhenTheClockStandsStillOrGoesBack) {
  SeededRandom random(2);
  IdSource ids(random);
  ExecutionId last = ids.next<ExecutionId>(kTestStart);
  for (int i = 0; i < 10'000; ++i) {
    const Instant now = i % 2 == 0 ? kTestStart : kTestStart - std::chrono::hours(1);
    const auto next = ids.next<ExecutionId>(now);
    ASSERT_LT(last, next);
    last = next;
  }
  EXPECT_LT(uuidv7_time(last) - kTestStart, std::chrono::milliseconds(3));
}

TEST(IdSource, IsUniqueAcrossThreads) {
  SystemRandom random;
  IdSource ids(random);
  std::vector<std::vector<ExecutionId>> drawn(4);
  std::vector<std::thread> threads;
  for (auto& mine : drawn) {
    threads.emplace_back([&ids, &mine] {
      for (int i = 0; i < 5000; ++i) mine.push_back(ids.next<ExecutionId>(kTestStart));
    });
  }
  for (auto& thread : threads) thread.join();
  std::vector<ExecutionId> all;
  for (const auto& mine : drawn) {
    EXPECT_TRUE(std::is_sorted(mine.begin(), mine.end()));
    all.insert(all.end(), mine.begin(), mine.end());
  }
  std::sort(all.begin(), all.end());
  EXPECT_EQ(std::adjacent_find(all.begin(), all.end()), all.end());
}

TEST(Uuidv7, LowerBoundSplitsIdsByTime) {
  SeededRandom random(3);
  IdSource ids(random);
  const auto before = ids.next<ExecutionId>(kTestStart - std::chrono::microseconds(1));
  const auto after = ids.next<ExecutionId>(kTestStart);
  const auto bound = uuidv7_lower_bound<ExecutionId>(kTestStart);
  EXPECT_LT(before, bound);
  EXPECT_LE(bound, after);
}

// K5
TEST(Uuidv7, ClampsInstantsItCannotHold) {
  EXPECT_EQ(uuidv7_time(uuidv7_lower_bound<ExecutionId>(from_micros(-5))), from_micros(0));
  EXPECT_EQ(uuidv7_lower_bound<ExecutionId>(kEndOfTime).bytes[0], 0xff);
}

}  // namespace
}  // namespace semel::base
