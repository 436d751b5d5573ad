// Where runs live on a simulated node: their code, and the jobs and bodies that the world carries out when it likes.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/run_keeper.h"
#include "tests/sim/program.h"
#include "tests/sim/run_checks.h"

namespace semel::sim {

struct Surroundings;

// Jobs wait until `progress`; their order is chance's, as it is among threads.
class SimRunExecutor final : public engine::RunExecutor {
 public:
  explicit SimRunExecutor(Surroundings& world) : world_(world) {}
  void decide(std::function<void()> job) override { turns_.push_back(std::move(job)); }
  void call(std::function<void()> job) override;
  void progress(bool calm);
  void clear();  // the process is gone
  std::size_t queued() const { return turns_.size() + bodies_.size(); }

 private:
  void run_one(std::vector<std::function<void()>>& from);
  Surroundings& world_;
  std::vector<std::function<void()>> turns_, bodies_;
  bool in_job_ = false;
};

// The workflows of one node: bodies of ctx.run happen in the world, and the checks see what code learns.
class RunHost final : public Effects {
 public:
  RunHost(Surroundings& world, int node, bool knows_rare);
  void happen(ExecutionId run, const std::string& name, const std::string& key) override;
  std::shared_ptr<const engine::WorkflowTable> table() const { return table_; }

 private:
  Surroundings& world_;
  int node_;
  std::shared_ptr<const engine::WorkflowTable> table_;
};

// The same workflows without a world, to replay histories with.
const engine::WorkflowTable& replay_table();

engine::KeeperOptions keeper_options(base::SeededRandom& random);

}  // namespace semel::sim
