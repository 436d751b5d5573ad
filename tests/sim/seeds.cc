#include "tests/sim/seeds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace semel::sim {
namespace {

constexpr std::uint64_t kEnoughForGoals = 250;
// A sanitizer looks at every step and needs fewer worlds.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::uint64_t kShare = 10;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr std::uint64_t kShare = 10;
#else
constexpr std::uint64_t kShare = 1;
#endif
#else
constexpr std::uint64_t kShare = 1;
#endif
constexpr int kFailuresShown = 5;

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

std::string describe(const Report& report, bool whole) {
  std::string text =
      "seed " + std::to_string(report.seed) + " (repeat with SEMEL_SEED=" + std::to_string(report.seed) + ")\n";
  for (const auto& violation : report.violations) text += "  " + violation + "\n";
  const std::size_t shown = whole ? report.tail.size() : std::min<std::size_t>(report.tail.size(), 15);
  for (std::size_t i = report.tail.size() - shown; i < report.tail.size(); ++i) text += "    " + report.tail[i] + "\n";
  return text;
}

struct Totals {
  std::uint64_t seeds = 0, operations = 0, faults = 0;
  Duration simulated{0};
  Goals goals;

  void add(const Report& report) {
    ++seeds;
    operations += report.operations;
    faults += report.faults;
    simulated += report.simulated;
    goals.add(report.goals);
  }
  void print() const {
    std::fprintf(stderr, "%llu seeds, %llu operations, %llu faults, %lld simulated seconds\n",
                 static_cast<unsigned long long>(seeds), static_cast<unsigned long long>(operations),
                 static_cast<unsigned long long>(faults),
                 static_cast<long long>(std::chrono::duration_cast<std::chrono::seconds>(simulated).count()));
    for (const auto& [goal, hits] : goals.counts())
      std::fprintf(stderr, "  %8llu  %s\n", static_cast<unsigned long long>(hits), goal.c_str());
  }
};

void run_alone(std::uint64_t seed, const SeedPlan& plan) {
  const Report report = run_seed(seed, plan);
  std::fprintf(stderr, "%s", describe(report, true).c_str());
  EXPECT_TRUE(report.violations.empty());
}

}  // namespace

Report run_seed(std::uint64_t seed, const SeedPlan& plan) { return World(seed, plan.store, plan.traffic).run(); }

void expect_promises(const SeedPlan& plan) {
  if (std::getenv("SEMEL_SEED") != nullptr) return run_alone(from_environment("SEMEL_SEED", 0), plan);
  const std::uint64_t first = from_environment("SEMEL_FIRST_SEED", 1);
  const std::uint64_t usual = std::getenv("SEMEL_LONG") != nullptr ? plan.count_long : plan.count;
  const std::uint64_t count = from_environment("SEMEL_SEEDS", std::max<std::uint64_t>(1, usual / kShare));
  Totals totals;
  int failed = 0;
  for (std::uint64_t seed = first; seed < first + count && failed < kFailuresShown; ++seed) {
    const Report report = run_seed(seed, plan);
    totals.add(report);
    if (report.violations.empty()) {
      EXPECT_GE(report.operations, 300u) << "seed " << seed;
      EXPECT_GE(report.faults, 3u) << "seed " << seed;
      continue;
    }
    ++failed;
    EXPECT_EQ(report.hash, run_seed(seed, plan).hash) << "seed " << seed << " does not repeat";
    ADD_FAILURE() << describe(report, false);
    if (::testing::GTEST_FLAG(fail_fast)) break;
  }
  totals.print();
  if (count < kEnoughForGoals || failed > 0) return;
  for (const auto& goal : totals.goals.missing(plan.goals)) ADD_FAILURE() << "never happened: " << goal;
}

}  // namespace semel::sim
