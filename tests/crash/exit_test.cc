// F10: an engine in a singleton, its worker running when main returns.
#include <gtest/gtest.h>

#include "tests/crash/exit_forms.h"
#include "tests/crash/scratch.h"

namespace semel::crash {
namespace {

class ExitWithARunningWorker : public testing::TestWithParam<const char*> {};

TEST_P(ExitWithARunningWorker, EndsAsAnyProgramWhateverTheSingletonsForm) {
  for (int round = 0; round < 3; ++round) {
    const Scratch scratch;
    EXPECT_EQ(exit_of(GetParam(), scratch.store()), "exit 0");
  }
  EXPECT_EQ(exit_of(GetParam(), "memory:"), "exit 0");
}

INSTANTIATE_TEST_SUITE_P(Forms, ExitWithARunningWorker, testing::ValuesIn(kExitForms),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace semel::crash
