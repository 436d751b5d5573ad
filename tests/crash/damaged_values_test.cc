// F17: a value out of its range in any integer column of any table.
#include <gtest/gtest.h>

#include <filesystem>

#include "testing/seeded_random.h"
#include "tests/crash/damaged_values.h"
#include "tests/crash/scratch.h"

namespace semel::crash {
namespace {

const std::vector<std::string> kValues = {"-1", "0", "-9223372036854775808", "9223372036854775807", "2147483648"};

bool names(const std::vector<std::string>& found, const std::string& table) {
  for (const auto& line : found)
    if (line.find("table " + table + ", row") != std::string::npos) return true;
  return false;
}

class DamagedValues : public ::testing::Test {
 protected:
  void SetUp() override { fill_store(scratch.store()); }
  // What a process meets whose store has this value there.
  Met meet(const Column& column, const std::string& value) {
    const std::string copy = scratch.path("copy.db");
    for (const char* end : {"", "-wal", "-shm", "-owner", "-ballast"}) std::filesystem::remove(copy + end);
    std::filesystem::copy(scratch.path("semel.db"), copy);
    changed = damage("sqlite:" + copy, column, value);
    return live_with("sqlite:" + copy);
  }
  Scratch scratch;
  long changed = 0;
};

// Every value of every column takes minutes: chance chooses, unless SEMEL_LONG is set.
TEST_F(DamagedValues, AreNamedAndHoldUpNobodyElse) {
  const bool all = scaled(1) > 1;
  testing::SeededRandom random(testing::test_seed(1717));
  const auto columns = integer_columns(scratch.store());
  ASSERT_GT(columns.size(), 80u);
  for (const Column& column : columns) {
    const std::size_t chosen = random.below(2 * kValues.size());
    for (std::size_t i = 0; i < kValues.size(); ++i) {
      if (!all && i != chosen) continue;
      SCOPED_TRACE(column.table + "." + column.name + " = " + kValues[i]);
      const Met met = meet(column, kValues[i]);
      EXPECT_EQ(met.problem, "");
      const bool read_by_nobody = column.name == "slot" || column.name == "number";  // places in a ring of notes
      if (changed > 0 && kValues[i].front() == '-' && !read_by_nobody) EXPECT_TRUE(names(met.verified, column.table));
    }
  }
}

TEST_F(DamagedValues, OfAHistoryParkTheRunAndNeitherSpinNorHang) {
  for (const auto& [name, value] : std::vector<std::pair<std::string, std::string>>{{"count", "2147483648"},
                                                                                    {"count", "-2147483648"},
                                                                                    {"count", "0"},
                                                                                    {"first", "0"},
                                                                                    {"first", "2147483647"}}) {
    SCOPED_TRACE(name + " = " + value);
    const Met met = meet({"history", name}, value);
    EXPECT_EQ(met.problem, "");
    EXPECT_TRUE(names(met.verified, "history"));
  }
}

}  // namespace
}  // namespace semel::crash
