// L1: the oracle against SQLite.
#include <gtest/gtest.h>

#include "store/memory/memory_store.h"
#include "testing/temp_sqlite.h"
#include "tests/differential/race.h"

namespace semel::differential {
namespace {

std::unique_ptr<store::Store> memory(base::Clock& clock) { return std::make_unique<store::memory::MemoryStore>(clock); }

std::unique_ptr<store::Store> temp_sqlite(base::Clock& clock) {
  store::sqlite::SqliteOptions options = testing::temp_sqlite_options(&clock);
  options.batch_marks = true;  // so that a batch can be asked for again
  auto opened = store::sqlite::open_sqlite(options);
  return opened.ok() ? std::move(opened).value() : nullptr;
}

TEST(Differential, SqliteAnswersAndStoresWhatTheOracleDoes) {
  Settings settings;
  settings.seeds = 12;
  settings.steps = 500;
  const Coverage coverage = race(from_environment(settings), memory, temp_sqlite);
  auto wanted = wanted_outcomes();
  wanted.push_back("EnqueueWithin committed");
  require(coverage, wanted);
}

TEST(Differential, SqliteBatchesEqualTheOraclesSingleSteps) {
  Settings settings;
  settings.first_seed = 100001;
  settings.seeds = 6;
  settings.steps = 100;
  settings.max_batch = 50;
  require(race(from_environment(settings), memory, temp_sqlite),
          {"TaskEnqueue created", "TaskEnqueue existing", "TaskClaim claimed"});
}

}  // namespace
}  // namespace semel::differential
