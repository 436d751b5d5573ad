#include "semel/explorer.h"

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <utility>

#include "testing/kit/facts.h"
#include "testing/kit/kit.h"
#include "testing/kit/tour.h"

namespace semel::testing::detail {
namespace {

constexpr int kMostSteps = 100'000;  // of the clock: a workflow that is not over by then never will be

// A worker that lost its session looks for work again after a while, which no timer tells.
constexpr int kPatience = 3;
constexpr Duration kLookAgain = std::chrono::seconds(10);

// ---- one world ------------------------------------------------------------------------------------------------------

struct World {
  Tour tour;
  Facts facts;
  std::set<std::string> stubbed;
  bool ended = false;
};

void hire(const Exploration& what, TestEngine& kit) {
  for (const auto& setup : what.setups) setup(kit);
  if (what.worker_given || !Kit::driver(kit).has_workers()) kit->start_worker(what.worker).value();
}

Result<Execution> run_to_the_end(TestEngine& kit, const RawHandle& run, const Tour& tour) {
  int idle = 0;
  for (int i = 0; i < kMostSteps; ++i) {
    auto ended = run.wait();
    if (ended || ended.error().code != ErrorCode::NotReady) return ended;
    if (tour.refused()) return *tour.refused();
    if (kit.advance_to_next()) idle = 0;
    else if (++idle <= kPatience) kit.advance(kLookAgain);
    else return make_error(ErrorCode::NotReady, "it waits for something that never comes: a signal of the script?");
  }
  return make_error(ErrorCode::NotReady, "it is not over after " + std::to_string(kMostSteps) + " timers and retries");
}

std::unique_ptr<World> live(const Exploration& what, std::optional<int> dies_at) {
  auto world = std::make_unique<World>(World{Tour(dies_at), {}, {}, false});
  TestEngine kit(TestOptions(what.world).cleanup(false));  // every run of the chain is looked at in the end
  Kit::driver(kit).witness = &world->tour;
  hire(what, kit);
  const auto run = kit->start_raw(what.workflow, what.workflow_id, what.argument, what.start).value();
  if (what.script) what.script(kit, run);
  const auto ended = run_to_the_end(kit, run, world->tour);
  world->ended = static_cast<bool>(ended);
  kit.run_until_idle();
  world->facts = facts_of(kit, run, ended);
  for (const auto& [name, look] : what.observed) world->facts.observed.emplace_back(name, look(kit));
  for (const auto& [name, handler] : Kit::driver(kit).stubs) world->stubbed.insert(name);
  world->tour.end();
  return world;
}

// ---- all of them ----------------------------------------------------------------------------------------------------

std::vector<int> choose(const Exploration& what, int count) {
  if (what.only) return *what.only >= 1 && *what.only <= count ? std::vector<int>{*what.only} : std::vector<int>{};
  std::vector<int> all(static_cast<std::size_t>(count));
  std::iota(all.begin(), all.end(), 1);
  if (what.limit <= 0 || count <= what.limit) return all;
  base::SeededRandom random(what.seed);
  const auto limit = static_cast<std::size_t>(what.limit);
  for (std::size_t i = 0; i < limit; ++i) std::swap(all[i], all[i + random.below(all.size() - i)]);
  all.resize(limit);
  std::ranges::sort(all);
  return all;
}

class Warnings {
 public:
  explicit Warnings(const Exploration& what) : what_(what) {}

  void add(const World& world) {
    std::map<std::pair<bool, std::string>, int> most;
    for (const auto& calls : world.tour.calls()) {
      const bool harmless = calls.key_read || what_.repeatable.contains(calls.name);
      if (calls.count < 2 || harmless || (calls.task && world.stubbed.contains(calls.name))) continue;
      int& count = most[{calls.task, calls.name}];
      count = std::max(count, calls.count);
    }
    for (const auto& [who, count] : most) {
      RepeatedCall& warning = found_.try_emplace(who, RepeatedCall{who.second, who.first}).first->second;
      warning.most = std::max(warning.most, count);
      ++warning.worlds;
    }
  }
  std::vector<RepeatedCall> take() const {
    std::vector<RepeatedCall> out;
    for (const auto& [who, warning] : found_) out.push_back(warning);
    return out;
  }

 private:
  const Exploration& what_;
  std::map<std::pair<bool, std::string>, RepeatedCall> found_;
};

// The way to the crash has to be the way of the run without one.
std::optional<CrashFact> other_way(const Tour::Place& expected, const Tour& tour) {
  if (tour.died_at() == expected.key) return std::nullopt;
  return CrashFact{"the way to the crash", expected.key, tour.died_at().value_or("it was never reached")};
}

CrashReport begin_report(const Exploration& what, const World& reference) {
  CrashReport out;
  out.workflow = what.workflow;
  out.outcome = reference.facts.outcome;
  out.turns = reference.tour.turns();
  out.bodies = reference.tour.bodies();
  out.attempts = reference.tour.attempts();
  out.points = static_cast<int>(reference.tour.places().size());
  out.seed = what.seed;
  return out;
}

// Is there something to compare with?
bool is_steady(const Exploration& what, const World& reference, CrashReport& report) {
  std::vector<CrashFact> facts = differences(reference.facts, reference.facts);  // what is broken in itself
  if (!reference.ended) facts.push_back({"outcome", "the workflow ends", report.outcome});
  const auto again = facts.empty() ? live(what, std::nullopt) : nullptr;
  if (again) facts = differences(reference.facts, again->facts);
  if (facts.empty()) return true;
  report.differences.push_back({0, again ? "without any crash, run a second time" : "without any crash", facts});
  return false;
}

}  // namespace

CrashReport explore(const Exploration& what) {
  const auto reference = live(what, std::nullopt);
  CrashReport report = begin_report(what, *reference);
  Warnings warnings(what);
  warnings.add(*reference);
  if (!is_steady(what, *reference, report)) return report;
  for (const int point : choose(what, report.points)) {
    const Tour::Place& place = reference->tour.places()[static_cast<std::size_t>(point) - 1];
    const auto world = live(what, point);
    ++report.visited;
    warnings.add(*world);
    auto facts = differences(reference->facts, world->facts);
    if (auto way = other_way(place, world->tour)) facts.insert(facts.begin(), *std::move(way));
    if (!facts.empty()) report.differences.push_back({point, place.text, std::move(facts)});
  }
  report.warnings = warnings.take();
  return report;
}

}  // namespace semel::testing::detail
