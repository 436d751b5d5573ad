#include "tests/sim/run_host.h"

#include <utility>

#include "sdk/workflow/code.h"
#include "tests/sim/node.h"

namespace semel::sim {
namespace {

using core::EventKind;

bool is_local(EventKind kind) { return kind == EventKind::local_completed || kind == EventKind::local_failed; }

engine::WorkflowTable::Maker maker_of(Effects& effects) {
  return sdk::make_run_code(program_starter(effects), sdk::Sealer(nullptr), {});
}

// Real code, watched.
class WatchedCode final : public engine::RunCode {
 public:
  WatchedCode(Surroundings& world, int node, ExecutionId run, std::unique_ptr<engine::RunCode> inner)
      : world_(world), node_(node), run_(run), inner_(std::move(inner)) {}
  ~WatchedCode() override { world_.runs->code_dropped(node_, run_); }

  Result<void> replay(std::span<const core::Event> history) override {
    if (history.size() > 1) world_.goals.hit("run replayed");
    world_.history.line(world_.clock.now(), node_,
                        "replay " + run_.to_string() + " of " + std::to_string(history.size()) + " events");
    // W4: a worker whose code was changed comes by.
    if (history.size() > 1 && world_.random.below(100) == 0 && world_.runs->may_park(run_))
      return make_error(ErrorCode::NondeterminismError, "the code was changed");
    return inner_->replay(history);
  }
  core::Event stamp(core::Event input, Instant now) const override { return inner_->stamp(std::move(input), now); }
  void hand_over(const core::Event& input) override {
    if (is_local(input.kind)) world_.runs->handed_over(node_, run_, input.name);
    inner_->hand_over(input);
  }
  void run() override { inner_->run(); }
  bool closed() const override { return inner_->closed(); }
  std::vector<engine::RunCommand> take_commands() override { return inner_->take_commands(); }
  std::vector<engine::LocalCall> take_locals() override { return inner_->take_locals(); }
  std::vector<core::Event> unread() const override { return inner_->unread(); }
  bool key_read(std::int32_t command) const override { return inner_->key_read(command); }
  Result<std::string> query(const std::string& name, const std::string& args) override {
    return inner_->query(name, args);
  }

 private:
  Surroundings& world_;
  int node_;
  ExecutionId run_;
  std::unique_ptr<engine::RunCode> inner_;
};

struct NoEffects final : Effects {
  void happen(ExecutionId, const std::string&, const std::string&) override {}
};

}  // namespace

// ---- executor -------------------------------------------------------------------------------------------------------

void SimRunExecutor::call(std::function<void()> job) {
  if (in_job_ && world_.random.below(3) == 0) return job();
  bodies_.push_back(std::move(job));
}

void SimRunExecutor::run_one(std::vector<std::function<void()>>& from) {
  const auto place = from.begin() + static_cast<std::ptrdiff_t>(world_.random.below(from.size()));
  const auto job = std::move(*place);
  from.erase(place);
  const bool before = std::exchange(in_job_, &from == &turns_);
  job();
  in_job_ = before;
}

void SimRunExecutor::progress(bool calm) {
  auto left = calm ? 1000 : world_.random.below(8);
  for (; left > 0 && !(turns_.empty() && bodies_.empty()); --left) {
    const bool body = turns_.empty() || (!bodies_.empty() && world_.random.below(3) == 0);
    if (body && !calm && world_.random.below(3) == 0) continue;  // it takes its time
    run_one(body ? bodies_ : turns_);
  }
}

// Dropping a job may drop code, whose destructors leave another job.
void SimRunExecutor::clear() {
  while (!turns_.empty() || !bodies_.empty()) {
    auto turns = std::exchange(turns_, {});
    auto bodies = std::exchange(bodies_, {});
  }
}

// ---- host -----------------------------------------------------------------------------------------------------------

RunHost::RunHost(Surroundings& world, int node, bool knows_rare) : world_(world), node_(node) {
  auto table = std::make_shared<engine::WorkflowTable>();
  const auto watched = [this, make = maker_of(*this)](const store::ExecutionView& run) {
    return std::make_unique<WatchedCode>(world_, node_, run.execution.id, make(run));
  };
  table->add("flow", watched);
  if (knows_rare) table->add("rare", watched);
  table_ = std::move(table);
}

void RunHost::happen(ExecutionId run, const std::string& name, const std::string& key) {
  world_.runs->body_begins(run, name, key);
  world_.history.line(world_.clock.now(), node_, "body " + name + " of " + run.to_string());
  const auto dice = world_.random.below(100);
  // The others go on while it takes its time: its run may be lost meanwhile.
  if (dice < 3 && world_.meanwhile) world_.meanwhile(node_);
  if (world_.runs->is_recorded(run, name)) world_.goals.hit("run lost while its body ran");
  if (dice >= 90) throw TaskError("Flaky", key);
}

const engine::WorkflowTable& replay_table() {
  static NoEffects nowhere;
  static const engine::WorkflowTable table = [] {
    engine::WorkflowTable out;
    for (const char* name : {"flow", "rare"}) out.add(name, maker_of(nowhere));
    return out;
  }();
  return table;
}

engine::KeeperOptions keeper_options(base::SeededRandom& random) {
  engine::KeeperOptions options;
  const std::size_t hot[] = {0, 1, 3, 10'000};
  const std::size_t turns[] = {1, 2, 5, 1'000};
  options.max_hot = hot[random.below(4)];
  options.max_turns = turns[random.below(4)];
  options.no_handler_delay = Duration{500'000};
  options.park_first = Duration{300'000};
  options.park_most = Duration{2'000'000};
  return options;
}

}  // namespace semel::sim
