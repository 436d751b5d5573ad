// F17: as damaged_values_test.cc, on PostgreSQL.
#include <gtest/gtest.h>

#include "testing/seeded_random.h"
#include "tests/crash/damaged_values.h"
#include "tests/crash/scratch.h"

namespace semel::crash {
namespace {

// A store of its own for each: a few columns, chosen by chance, and those that are known to have made trouble.
TEST(DamagedValuesPg, AreNamedAndHoldUpNobodyElse) {
  testing::SeededRandom random(testing::test_seed(1718));
  std::vector<std::pair<Column, std::string>> chosen = {{{"history", "count"}, "2147483647"},
                                                        {{"history", "first"}, "0"},
                                                        {{"identity", "revision"}, "-1"},
                                                        {{"execution", "version"}, "2147483647"}};
  const std::vector<std::string> values = {"-1", "0", "-32768", "2147483647", "9223372036854775807"};
  std::vector<Column> columns;
  for (long i = 0; i < scaled(2); ++i) {
    if (columns.empty()) {
      const ScratchDatabase database;
      fill_store(database.store());
      columns = integer_columns(database.store());
      ASSERT_GT(columns.size(), 40u);
    }
    chosen.emplace_back(columns[random.below(columns.size())], values[random.below(values.size())]);
  }
  for (const auto& [column, value] : chosen) {
    SCOPED_TRACE(column.table + "." + column.name + " = " + value);
    const ScratchDatabase database;
    fill_store(database.store());
    (void)damage(database.store(), column, value);
    EXPECT_EQ(live_with(database.store()).problem, "");
  }
}

}  // namespace
}  // namespace semel::crash
