#include "tests/differential/race.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "store/snapshot_text.h"
#include "testing/manual_clock.h"
#include "tests/differential/generator.h"
#include "tests/differential/words.h"

namespace semel::differential {
namespace {

std::uint64_t number(const char* name, std::uint64_t fallback) {
  const char* given = std::getenv(name);
  return given && *given ? std::strtoull(given, nullptr, 10) : fallback;
}

// One seed. Stops at the first difference.
class Heat {
 public:
  Heat(std::uint64_t seed, const Settings& settings, const MakeStore& oracle, const MakeStore& other,
       Coverage& coverage)
      : seed_(seed),
        settings_(settings),
        oracle_(oracle(clock_)),
        other_(other(clock_)),
        generator_(seed, *oracle_),
        coverage_(coverage) {
    for (const auto& kind : settings.leave_out) generator_.leave_out(kind);
  }

  void run() {
    for (core::Operation& operation : generator_.opening(clock_.now())) {
      std::vector<core::Operation> one;
      one.push_back(std::move(operation));
      if (!step(one)) return;
    }
    for (; step_ < settings_.steps; ++step_) {
      clock_.advance(generator_.next_pause());
      std::vector<core::Operation> operations;
      if (settings_.max_batch == 1) operations.push_back(generator_.next(clock_.now()));
      else
        operations =
            generator_.next_batch(clock_.now(), 1 + static_cast<std::size_t>(rand_.below(settings_.max_batch)));
      if (!step(operations)) return;
    }
  }

 private:
  bool step(std::vector<core::Operation>& operations) {
    store::Batch a, b;
    a.id = b.id = generator_.next_batch_id(clock_.now());
    // Batches of several writers are not in the order of their clocks.
    a.now = b.now =
        clock_.now() - Duration{late_.below(20) == 0 ? static_cast<std::int64_t>(late_.below(3'000'000)) : 0};
    for (auto& operation : operations) {
      a.operations.push_back(&operation);
      b.operations.push_back(&operation);
    }
    std::string found;
    const store::Applied left = oracle_->apply(a);
    store::Applied right;
    try {
      right = other_->apply(b);
    } catch (const std::exception& error) {
      found = std::string("threw ") + error.what() + "\n";
    }
    if (right.kind != left.kind) found += "outcome of the batch: " + right.error.message + "\n";
    for (std::size_t i = 0; i < operations.size() && found.empty(); ++i) {
      const std::string mine = describe(a.answers[i]), theirs = i < b.answers.size() ? describe(b.answers[i]) : "none";
      if (mine != theirs) found += describe(operations[i]) + "\n  memory: " + mine + "\n  other:  " + theirs + "\n";
    }
    if (const auto mine = describe_effects(a), theirs = describe_effects(b); mine != theirs)
      found += "effects\n" + difference(mine, theirs);
    found += compare_rows();
    if (!found.empty()) {
      report(operations, found);
      return false;
    }
    for (std::size_t i = 0; i < operations.size(); ++i) {
      ++coverage_[outcome_of(operations[i], a.answers[i])];
      generator_.observe(operations[i], a.answers[i], i == 0 ? a.notes : std::vector<core::LedgerNote>{});
    }
    return recheck(a, b, operations);
  }

  std::string compare_rows() {
    const auto mine = oracle_->snapshot(), theirs = other_->snapshot();
    if (!theirs.ok()) return "snapshot: " + theirs.error().message + "\n";
    std::string out;
    if (*mine != *theirs) out = "rows (- memory, + other)\n" + difference(*mine, *theirs);
    for (store::Store* store : {oracle_.get(), other_.get()}) {
      if (step_ % 5 != 0 && out.empty()) break;  // rows were equal; the invariants are checked now and then
      const auto broken = store->verify();
      if (!broken.ok()) return out + "verify: " + broken.error().message + "\n";
      for (const auto& line : *broken) out += std::string(store->backend()) + " verify: " + line + "\n";
    }
    return out;
  }

  // Once in a while nobody heard the answer and the batch is asked again: nothing may change.
  bool recheck(store::Batch& a, store::Batch& b, const std::vector<core::Operation>& operations) {
    if (!generator_.chance(5)) return true;
    a.recheck = b.recheck = true;
    const bool wrote = b.rows_written > 0;
    if (!wrote) return true;
    oracle_->apply(a);
    const store::Applied again = other_->apply(b);
    std::string found;
    if (again.kind != store::Applied::Kind::committed) found = "asked again: " + again.error.message + "\n";
    for (std::size_t i = 0; i < b.answers.size() && operations.size() == 1; ++i) {
      const std::string mine = essence_of(a.answers[i]), theirs = essence_of(b.answers[i]);
      // A row that went with its end cannot tell how it ended.
      const bool gone = std::holds_alternative<Error>(b.answers[i]) &&
                        std::get<Error>(b.answers[i]).code == ErrorCode::ExecutionNotFound;
      if (mine != theirs && !gone) found += "answered " + mine + "\n   then " + describe(b.answers[i]) + "\n";
    }
    found += compare_rows();
    if (found.empty()) return true;
    report(operations, "after recheck\n" + found);
    return false;
  }

  void report(const std::vector<core::Operation>& operations, const std::string& found) {
    std::string text = "seed " + std::to_string(seed_) + " step " + std::to_string(step_) + " at " +
                       std::to_string(to_micros(clock_.now())) + " (replay with SEMEL_SEED=" + std::to_string(seed_) +
                       ")\n";
    for (const auto& operation : operations) text += "  " + describe(operation) + "\n";
    ADD_FAILURE() << text << found;
  }

  std::uint64_t seed_;
  const Settings& settings_;
  testing::ManualClock clock_;
  std::unique_ptr<store::Store> oracle_;
  std::unique_ptr<store::Store> other_;
  Generator generator_;
  base::SeededRandom rand_{seed_ ^ 0x5eed};
  base::SeededRandom late_{seed_ ^ 0x1a7e};
  Coverage& coverage_;
  std::uint64_t step_ = 0;
};

}  // namespace

Settings from_environment(Settings settings) {
  settings.steps = number("SEMEL_STEPS", settings.steps);
  settings.seeds = number("SEMEL_SEEDS", settings.seeds * (std::getenv("SEMEL_LONG") ? 20 : 1));
  if (std::getenv("SEMEL_SEED")) {
    settings.first_seed = number("SEMEL_SEED", 1);
    settings.seeds = 1;
  }
  return settings;
}

Coverage race(const Settings& settings, const MakeStore& oracle, const MakeStore& other) {
  Coverage coverage;
  for (std::uint64_t i = 0; i < settings.seeds; ++i) {
    Heat(settings.first_seed + i, settings, oracle, other, coverage).run();
    if (::testing::Test::HasFailure()) break;
  }
  return coverage;
}

void require(const Coverage& coverage, const std::vector<std::string>& wanted) {
  for (const auto& [outcome, count] : coverage)
    std::printf("%8llu  %s\n", static_cast<unsigned long long>(count), outcome.c_str());
  if (::testing::Test::HasFailure() || std::getenv("SEMEL_SEED")) return;
  for (const auto& outcome : wanted)
    EXPECT_TRUE(coverage.contains(outcome)) << "never met: " << outcome << "; the run proves too little";
}

std::vector<std::string> wanted_outcomes() {
  return {"TaskEnqueue created",
          "TaskEnqueue existing",
          "TaskEnqueue result_expired",
          "TaskEnqueue FingerprintMismatch",
          "TaskEnqueue KeyConflict",
          "TaskEnqueue TaskAlreadyExists",
          "TaskEnqueue TaskAlreadyCompleted",
          "TaskEnqueue TaskDeadLettered",
          "TaskEnqueue InvalidArgument",
          "TaskClaim claimed",
          "TaskClaim nothing",
          "TaskClaim held back",
          "TaskDeliver claimed",
          "TaskDeliver already-claimed",
          "TaskDeliver no-op-terminal",
          "TaskDeliver JobNotFound",
          "TaskDeliver NotReady \"not_due\"",
          "TaskDeliver NotReady \"paused\"",
          "TaskDeliver NotReady \"concurrency\"",
          "TaskDeliver NotReady \"concurrency_key\"",
          "TaskDeliver NotReady \"rate_limit\"",
          "TaskHeartbeat renewed",
          "TaskHeartbeat cancel requested",
          "TaskHeartbeat LeaseLost",
          "TaskComplete succeeded",
          "TaskComplete existing",
          "TaskComplete LeaseLost",
          "TaskComplete FingerprintMismatch",
          "TaskComplete ExecutionNotFound",
          "TaskFail queued",
          "TaskFail failed",
          "TaskFail dead_lettered",
          "TaskFail cancelled",
          "TaskFail existing",
          "TaskFail LeaseLost",
          "TaskRelease queued",
          "TaskRelease LeaseLost",
          "ExecutionCancel cancelled",
          "ExecutionCancel requested",
          "ExecutionCancel succeeded",
          "ExecutionRedrive created",
          "ExecutionRedrive existing",
          "ExecutionRedrive InvalidTransition",
          "ExecutionDiscard discarded",
          "ExecutionDiscard InvalidTransition",
          "TenantEnsure created",
          "TenantEnsure found",
          "LaneEnsure created",
          "LaneEnsure found",
          "KeyRelease released",
          "KeyRelease KeyNotFound",
          "KeyRelease InvalidTransition",
          "GroupCreate created",
          "GroupCreate existing",
          "SessionOpen until",
          "SessionRenew until",
          "SessionRenew LeaseLost",
          "SessionClose until",
          "LeaseForget done",
          "SessionsExpire changed",
          "TimersFire changed",
          "BlockedSweep changed",
          "RetentionSweep changed",
          "KeysExpire changed",
          "LedgerSweep changed",
          "InboxFeed not fed",
          "LedgerAdd done",
          "RunAdvance running",
          "RunAdvance suspended",
          "RunAdvance succeeded",
          "RunAdvance failed",
          "RunAdvance cancelled",
          "RunAdvance unread",
          "RunAdvance LeaseLost",
          "RunSignal created",
          "RunSignal created started",
          "RunSignal existing",
          "RunSignal ExecutionNotFound",
          "RunSignal InvalidArgument",
          "RunResume resumed",
          "RunResume as it was"};
}

}  // namespace semel::differential
