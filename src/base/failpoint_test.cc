#include "base/failpoint.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <vector>

namespace semel::base {
namespace {

TEST(Failpoint, VisitsAreCountedAndToldToTheHook) {
  std::vector<std::string> seen;
  set_failpoint_hook([&](std::string_view name) { seen.emplace_back(name); });
  count_failpoints(true);
  for (int i = 0; i < 3; ++i) SEMEL_FP("test.point");
  set_failpoint_hook(nullptr);
  const auto visits = failpoint_visits();
  count_failpoints(false);
  EXPECT_EQ(seen, std::vector<std::string>(3, "test.point"));
  ASSERT_EQ(visits.size(), 1u);
  EXPECT_EQ(visits[0].second, 3u);
  EXPECT_FALSE(failpoints_active());
}

TEST(Failpoint, TextThatCannotBeReadArmsNothing) {
  EXPECT_FALSE(arm_failpoint("name:0"));
  EXPECT_FALSE(arm_failpoint("name:x"));
  EXPECT_FALSE(failpoints_active());
  EXPECT_TRUE(arm_failpoint("name:2"));
  EXPECT_TRUE(failpoints_active());
  EXPECT_TRUE(arm_failpoint(""));
  EXPECT_FALSE(failpoints_active());
}

TEST(Failpoint, ArmedPointKillsAtTheCountedVisit) {
  const pid_t child = fork();
  if (child == 0) {
    arm_failpoint("test.kill:3");
    for (int i = 0; i < 2; ++i) SEMEL_FP("test.kill");
    SEMEL_FP("test.other");
    if (failpoints_active()) SEMEL_FP("test.kill");
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
}

}  // namespace
}  // namespace semel::base
