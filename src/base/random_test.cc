#include "base/random.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <set>

#include "testing/seeded_random.h"

namespace semel::base {
namespace {

TEST(SeededRandom, RepeatsItsSequence) {
  SeededRandom a(7), b(7), c(8);
  for (int i = 0; i < 100; ++i) {
    const auto value = a.next();
    EXPECT_EQ(value, b.next());
    EXPECT_NE(value, c.next());
  }
  SeededRandom reference(1234567);  // published vector of splitmix64
  EXPECT_EQ(reference.next(), 6457827717110365317ull);
  EXPECT_EQ(reference.next(), 3203168211198807973ull);
}

TEST(Random, BelowStaysBelow) {
  SeededRandom random(testing::test_seed(1));
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 1000; ++i) seen.insert(random.below(5));
  EXPECT_EQ(seen, (std::set<std::uint64_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(random.below(0), 0u);
  EXPECT_EQ(random.below(1), 0u);
}

TEST(SystemRandom, DoesNotRepeat) {
  SystemRandom random;
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 1000; ++i) seen.insert(random.next());
  EXPECT_EQ(seen.size(), 1000u);
}

TEST(SystemRandom, ForkedChildDrawsOtherNumbers) {
  SystemRandom random;
  random.next();
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const std::uint64_t drawn = random.next();
    _exit(write(ends[1], &drawn, sizeof drawn) == sizeof drawn ? 0 : 1);
  }
  std::uint64_t of_child = 0;
  ASSERT_EQ(read(ends[0], &of_child, sizeof of_child), static_cast<ssize_t>(sizeof of_child));
  int status = 0;
  waitpid(child, &status, 0);
  close(ends[0]);
  close(ends[1]);
  EXPECT_NE(of_child, random.next());
}

}  // namespace
}  // namespace semel::base
