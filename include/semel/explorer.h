// The crash explorer (component semel::testing): runs a workflow once for every place where its worker can die, kills
// it there, and checks that nobody can tell.
//
//   semel::testing::CrashExplorer explorer(order_workflow, order);
//   explorer.worker(semel::WorkerOptions().add(order_workflow).add(charge).add(ship));
//   const auto report = explorer.run();
//   EXPECT_TRUE(report.ok()) << report;
//
// A run without a crash comes first: it finds the places and says what has to come out. Then every place gets a world
// of its own: same seed, same start, one crash. There the worker loses its memory and everything it had not recorded,
// its leases have to expire, and a new worker takes over. The places: every turn of every run, before its code, after
// its code but before its record, after its record; every body of ctx.run, when it has run but is not recorded; every
// attempt of a task, before its function and when it has run but is not recorded.
//
// A crash costs time (the lease), so what depends on the time of day may well differ: use longer timeouts than leases.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "semel/testing.h"

namespace semel::testing {

// Something that came out in another way.
struct CrashFact {
  std::string what;  // "outcome", "state", "'charge' #2 of run 1", ...
  std::string expected;
  std::string actual;
};

// A place whose crash can be told.
struct CrashDifference {
  int point = 0;      // for CrashExplorer::only; 0: no crash at all, two runs of it already differ
  std::string where;  // "after 'charge' ran, before it was recorded (ctx.run #2 of run 1)"
  std::vector<CrashFact> facts;
};

// A function that ran more than once for one call and never looked at its idempotency key: whatever it does to the
// world, it may have done twice.
struct RepeatedCall {
  std::string name;
  bool task = false;  // else a body of ctx.run
  int most = 0;       // runs for one call
  int worlds = 0;     // in which that happened
};

struct CrashReport {
  std::string workflow;
  std::string outcome;  // without a crash
  int turns = 0, bodies = 0, attempts = 0;
  int points = 0;
  int visited = 0;
  std::uint64_t seed = 0;  // of the sample, when not all were visited
  std::vector<CrashDifference> differences;
  std::vector<RepeatedCall> warnings;

  bool ok() const { return differences.empty(); }
  // For people; the first differences in full.
  std::string text() const;
};
std::ostream& operator<<(std::ostream& out, const CrashReport& report);

namespace detail {

struct Exploration {
  std::string workflow;
  std::string workflow_id = "explored";
  Result<Payload> argument;
  StartOptions start;
  TestOptions world;
  WorkerOptions worker;
  bool worker_given = false;
  std::vector<std::function<void(TestEngine&)>> setups;
  std::function<void(TestEngine&, const RawHandle&)> script;
  std::vector<std::pair<std::string, std::function<std::string(TestEngine&)>>> observed;
  std::set<std::string> repeatable;
  int limit = 500;  // 0: all
  std::uint64_t seed = 1;
  std::optional<int> only;
};

CrashReport explore(const Exploration& exploration);

}  // namespace detail

template <class R, class A>
class CrashExplorer {
 public:
  CrashExplorer(const WorkflowType<R, A>& workflow, const std::type_identity_t<A>& argument)
      : exploration_{workflow.name(), "explored", encode_payload(argument)}, starter_(workflow.starter()) {
    exploration_.worker.add(workflow);
  }
  explicit CrashExplorer(const WorkflowType<R, A>& workflow)
    requires std::is_same_v<A, None>
      : CrashExplorer(workflow, None{}) {}

  // Who runs it, in every world; the workflow itself need not be named. Default: a worker that knows nothing else,
  // unless `setup` starts workers.
  CrashExplorer& worker(WorkerOptions options) {
    bool known = false;
    for (const auto& [name, starter] : options.workflows()) known = known || name == exploration_.workflow;
    if (!known) options.add_workflow(exploration_.workflow, starter_);
    exploration_.worker = std::move(options);
    exploration_.worker_given = true;
    return *this;
  }
  // Called first in every world: stubs, queues, more workers, and variables of the test back to their start.
  CrashExplorer& setup(std::function<void(TestEngine&)> call) {
    exploration_.setups.push_back(std::move(call));
    return *this;
  }
  // Called when the workflow was started and nothing has happened yet: moves the clock, sends signals. After it the
  // world goes on by itself until the workflow is over.
  CrashExplorer& script(std::function<void(TestEngine&, WorkflowHandle<R>&)> call) {
    exploration_.script = [call = std::move(call)](TestEngine& kit, const RawHandle& raw) {
      WorkflowHandle<R> run(raw);
      call(kit, run);
    };
    return *this;
  }
  // Something else that has to be the same at the end, such as what a fake bank was charged.
  CrashExplorer& observe(std::string what, std::function<std::string(TestEngine&)> look) {
    exploration_.observed.emplace_back(std::move(what), std::move(look));
    return *this;
  }
  // Running this task or body twice does no harm: no warning about it.
  CrashExplorer& repeatable(std::string name) {
    exploration_.repeatable.insert(std::move(name));
    return *this;
  }
  CrashExplorer& workflow_id(std::string id) {
    exploration_.workflow_id = std::move(id);
    return *this;
  }
  CrashExplorer& start_options(StartOptions options) {
    exploration_.start = std::move(options);
    return *this;
  }
  CrashExplorer& world(TestOptions options) {
    exploration_.world = std::move(options);
    return *this;
  }
  // How many places are visited at most; above it a sample, chosen by the seed. Default 500.
  CrashExplorer& limit(int places) {
    exploration_.limit = places;
    return *this;
  }
  CrashExplorer& seed(std::uint64_t seed) {
    exploration_.seed = seed;
    return *this;
  }
  CrashExplorer& all() { return limit(0); }
  // One place again, by its number in a report: to look at it with a debugger.
  CrashExplorer& only(int point) {
    exploration_.only = point;
    return *this;
  }

  CrashReport run() const { return detail::explore(exploration_); }

 private:
  detail::Exploration exploration_;
  WorkflowStarter starter_;
};

}  // namespace semel::testing
