// R6: a broken row is found and named.
#include <gtest/gtest.h>

#include "tests/crash/damage.h"
#include "tests/crash/scratch.h"

namespace semel::crash {
namespace {

class VerifySqlite : public ::testing::TestWithParam<Damage> {};

TEST_P(VerifySqlite, NamesWhatNoOperationLeavesBehind) {
  Scratch scratch;
  const auto found = verify_after(scratch.store(), GetParam());
  ASSERT_FALSE(found.empty());
  EXPECT_FALSE(found.front().starts_with("before")) << found.front();
}

INSTANTIATE_TEST_SUITE_P(Damages, VerifySqlite, ::testing::ValuesIn(kDamages),
                         [](const auto& info) { return info.param.name; });
INSTANTIATE_TEST_SUITE_P(Payload, VerifySqlite, ::testing::Values(kPayloadGone),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace semel::crash
