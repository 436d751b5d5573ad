// One simulated process: an engine with workers over the shared store. It can stop at any point and start again empty.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/offer_book.h"
#include "engine/worker.h"
#include "testing/engine_node.h"
#include "testing/fault_store.h"
#include "testing/history.h"
#include "tests/sim/goals.h"
#include "tests/sim/run_host.h"

namespace semel::sim {

using engine::HandlerOutcome;
using engine::RunRef;

// Hints from node to node. Some get lost, the others come when their node gets to it.
class Wire {
 public:
  void connect(int node) { inboxes_[node].clear(); }
  void send(int from, const store::Wakes& hint, base::SeededRandom& random) {
    for (auto& [node, inbox] : inboxes_)
      if (node != from && random.below(5) != 0) inbox.push_back(hint);
  }
  std::vector<store::Wakes> read(int node) { return std::exchange(inboxes_[node], {}); }

 private:
  std::map<int, std::vector<store::Wakes>> inboxes_;
};

// What a node needs of its world.
struct Surroundings {
  store::Store& store;
  testing::ManualClock& clock;
  testing::ManualMonotonic& monotonic;
  base::SeededRandom& random;
  testing::History& history;
  Goals& goals;
  Wire& wire;
  RunChecks* runs = nullptr;             // null: a world without workflows
  std::function<void(int)> meanwhile{};  // lets the others go on while a body of this node takes its time
};

struct NodeOptions {
  int index = 0;
  std::uint64_t seed = 0;
  Duration skew{0};  // of its own clock
  int workers = 1;
  Duration lease{2'000'000};
};

// Handlers take simulated time and end as chance has it.
class SimExecutor final : public engine::Executor {
 public:
  SimExecutor(Surroundings& world, int node) : world_(world), node_(node) {}
  void start(std::vector<RunRef> runs) override;
  std::vector<RunRef> take_unstarted() override;
  // Starts and ends handlers. Throws Crash when a poison task takes the process down.
  void progress(engine::Worker& worker, bool calm);
  bool idle() const { return waiting_.empty() && running_.empty(); }

 private:
  struct Running {
    RunRef run;
    Instant until{};
    HandlerOutcome outcome;
  };
  Running begin(RunRef run, bool calm);
  HandlerOutcome chosen_outcome(const engine::Run& run, bool calm);

  Surroundings& world_;
  int node_;
  std::vector<RunRef> waiting_;
  std::vector<Running> running_;
};

class SimNode {
 public:
  SimNode(Surroundings& world, NodeOptions options);
  ~SimNode();

  // Some of what its threads would do, in an order that chance chooses. Throws Crash.
  void run_some(bool calm);
  void finish_everything();  // no faults: everything due now
  void stop_workers();       // graceful
  void beat();               // what the threads beside a long body do
  bool workers_stopped() const;

  testing::FaultStore& faults() { return store_; }
  testing::EngineNode& engine_node() { return *node_; }
  engine::Engine& engine() { return node_->engine; }
  int index() const { return options_.index; }
  void collect_goals();
  std::string state() const;  // for a world that does not come to its end

  Instant paused_until{};
  bool doomed = false;  // its store said fatal

 private:
  struct Pool {
    std::unique_ptr<SimExecutor> executor;
    std::shared_ptr<SimRunExecutor> run_executor;  // both null without workflows
    std::shared_ptr<engine::RunKeeper> keeper;
    std::unique_ptr<engine::Worker> worker;
    Instant beat_at{};
    Instant poll_at{};
    bool stopping = false;
  };
  void add_pool();
  void step_pool(Pool& pool, bool calm);
  void tell_handed(const store::Batch& batch);
  void hear();

  Surroundings& world_;
  NodeOptions options_;
  testing::ManualClock local_clock_;
  testing::FaultStore second_store_;  // a second line of the writer, on every other node
  testing::FaultStore slow_store_;
  testing::FaultStore store_;
  engine::HandlerTable handlers_;
  std::unique_ptr<RunHost> host_;  // null without workflows
  std::unique_ptr<testing::EngineNode> node_;
  std::vector<Pool> pools_;
  engine::OfferBook offers_;
  Instant clockwork_at_{};
  Instant engine_at_{};
};

}  // namespace semel::sim
