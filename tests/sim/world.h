// A seeded world on one thread: nodes, workers, callers and faults over one store. One seed, one history.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "store/memory/memory_store.h"
#include "tests/sim/client.h"
#include "tests/sim/node.h"
#include "tests/sim/run_checks.h"
#include "tests/sim/run_client.h"

namespace semel::sim {

struct Report {
  std::uint64_t seed = 0;
  std::uint64_t operations = 0;
  std::uint64_t faults = 0;
  std::uint64_t hash = 0;
  Duration simulated{};
  std::vector<std::string> violations;
  std::vector<std::string> tail;  // the last lines of the history, when it failed
  Goals goals;
};

// Workflows: runs beside the tasks, and callers of both.
enum class Traffic : std::uint8_t { tasks, workflows };

// Makes the store of a world; the clock is the world's.
using StoreFactory = std::function<std::unique_ptr<store::Store>(base::Clock& clock)>;
std::unique_ptr<store::Store> memory_store(base::Clock& clock);

class World {
 public:
  World(std::uint64_t seed, const StoreFactory& factory, Traffic traffic = Traffic::tasks);
  ~World();
  Report run();

 private:
  struct Place {
    std::unique_ptr<SimNode> node;  // null: down
    int incarnation = 0;
    Instant restart_at{};
  };
  void choose_faults();
  void set_up_queues();
  void boot(int index);
  void crash(int index, std::string_view where);
  void guard(int index, const std::function<void(SimNode&)>& action);
  testing::Fault choose_fault(const store::Batch& batch);
  void on_failpoint(std::string_view name);
  void disturb();
  void tick(bool calm);
  void advance(bool calm);
  void meanwhile(int node);
  void act(SimNode& node);
  void check_now();
  void heal();
  std::vector<store::ExecutionView> live_rows();
  void quiet_down();
  SimNode* some_node();
  std::uint64_t below(std::uint64_t bound) { return random_.below(bound); }

  std::uint64_t seed_;
  Traffic traffic_;
  base::SeededRandom random_;
  testing::ManualClock clock_;
  testing::ManualMonotonic monotonic_;
  std::unique_ptr<store::Store> store_;
  testing::History history_;
  Goals goals_;
  Wire wire_;
  RunChecks runs_;
  Surroundings around_;
  Calls calls_;
  Client client_;
  RunClient run_client_;
  std::vector<Place> places_;
  testing::History::Limits limits_;
  std::vector<testing::Fault> enabled_;
  std::uint64_t fault_rate_ = 0;  // per thousand batches
  std::uint64_t crash_rate_ = 0;  // per ten thousand ticks
  std::uint64_t pause_rate_ = 0;
  std::uint64_t point_rate_ = 0;  // per ten thousand visits of a named point
  std::uint64_t faults_ = 0;
  bool calm_ = false;
  bool in_body_ = false;     // the world goes on inside a body of ctx.run
  std::size_t current_ = 0;  // the place that acts now
};

}  // namespace semel::sim
