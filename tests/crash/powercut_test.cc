// L3: SQLite under power cuts. SEMEL_SEED repeats a run, SEMEL_CUTS sets its length.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "tests/crash/powercut_loop.h"

namespace semel::powercut {
namespace {

std::uint64_t seed() {
  const char* given = std::getenv("SEMEL_SEED");
  base::SystemRandom random;
  const std::uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : random.next();
  std::printf("SEMEL_SEED=%llu\n", static_cast<unsigned long long>(seed));
  return seed;
}

int cuts_wanted() {
  const char* given = std::getenv("SEMEL_CUTS");
  return given != nullptr ? std::atoi(given) : 1500;
}

int at_file(const Report& report, const std::string& call) {
  int sum = 0;
  for (const auto& [name, count] : report.cuts_by_call) sum += name.starts_with(call) ? count : 0;
  return sum;
}

// X2
TEST(PowerCut, NothingAcknowledgedIsLostWhereverTheCutFalls) {
  const int cuts = cuts_wanted();
  const Report report = Loop(seed(), false).run(cuts);
  std::printf("%s\n", to_string(report).c_str());
  for (const std::string& line : report.broken) ADD_FAILURE() << line;
  EXPECT_GE(report.cuts, cuts);
  EXPECT_GE(report.cuts_in_checkpoint, cuts / 5);
  for (const char* call : {"write", "sync", "truncate"}) EXPECT_GE(at_file(report, call), cuts / 50) << call;
  EXPECT_GT(report.in_flight_kept, 0);
  EXPECT_GT(report.in_flight_dropped, 0);
}

// A checker that never fails proves nothing: a disk whose WAL syncs do nothing must be caught.
TEST(PowerCut, ADiskThatOnlyClaimsToSyncIsCaught) {
  const Report report = Loop(seed(), true).run(300);
  std::printf("%s\n", to_string(report).c_str());
  EXPECT_FALSE(report.broken.empty());
}

}  // namespace
}  // namespace semel::powercut
