// F10: as exit_test.cc, on PostgreSQL.
#include <gtest/gtest.h>

#include "tests/crash/exit_forms.h"
#include "tests/crash/scratch.h"

namespace semel::crash {
namespace {

class ExitWithARunningWorkerPg : public testing::TestWithParam<const char*> {};

TEST_P(ExitWithARunningWorkerPg, EndsAsAnyProgramWhateverTheSingletonsForm) {
  const ScratchDatabase database;
  EXPECT_EQ(exit_of(GetParam(), database.store()), "exit 0");
}

INSTANTIATE_TEST_SUITE_P(Forms, ExitWithARunningWorkerPg, testing::ValuesIn(kExitForms),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace semel::crash
