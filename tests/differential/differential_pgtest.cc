// L1: the oracle against PostgreSQL.
#include <gtest/gtest.h>

#include "store/memory/memory_store.h"
#include "testing/temp_postgres.h"
#include "tests/differential/race.h"

namespace semel::differential {
namespace {

std::unique_ptr<store::Store> memory(base::Clock& clock) { return std::make_unique<store::memory::MemoryStore>(clock); }
std::unique_ptr<store::Store> postgres(base::Clock& clock) { return testing::make_temp_postgres_store(&clock); }

// A caller's function on the writer's connection is offered by SQLite only.
const std::vector<std::string> kSqliteOnly = {"EnqueueWithin"};

TEST(DifferentialPostgres, AnswersAndStoresWhatTheOracleDoes) {
  Settings settings;
  settings.first_seed = 501;
  settings.seeds = 8;
  settings.steps = 500;
  settings.leave_out = kSqliteOnly;
  require(race(from_environment(settings), memory, postgres), wanted_outcomes());
}

TEST(DifferentialPostgres, BatchesEqualTheOraclesSingleSteps) {
  Settings settings;
  settings.first_seed = 200001;
  settings.seeds = 4;
  settings.steps = 60;
  settings.max_batch = 50;
  settings.leave_out = kSqliteOnly;
  require(race(from_environment(settings), memory, postgres),
          {"TaskEnqueue created", "TaskEnqueue existing", "TaskClaim claimed"});
}

}  // namespace
}  // namespace semel::differential
