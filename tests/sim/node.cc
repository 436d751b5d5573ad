#include "tests/sim/node.h"

#include <algorithm>

namespace semel::sim {
namespace {

// Callers that are told soon of an unknown commit ask again in a batch of its own.
engine::WriterOptions writer_options(base::SeededRandom& random) {
  engine::WriterOptions options;
  const std::size_t sizes[] = {1, 2, 7, 50, 1000};
  options.max_batch = sizes[random.below(5)];
  const std::int64_t patience[] = {0, 100'000, 3'000'000};
  options.unknown_patience = Duration{patience[random.below(3)]};
  return options;
}

engine::ClockworkOptions clockwork_options() {
  engine::ClockworkOptions options;
  options.cleanup_interval = Duration{5'000'000};
  options.keys_interval = Duration{5'000'000};
  options.session_interval = Duration{300'000};
  options.max_clock_step = Duration{3'600'000'000};
  options.page = 20;
  return options;
}

}  // namespace

// ---- executor -------------------------------------------------------------------------------------------------------

void SimExecutor::start(std::vector<RunRef> runs) {
  for (auto& run : runs) waiting_.push_back(std::move(run));
}

std::vector<RunRef> SimExecutor::take_unstarted() { return std::exchange(waiting_, {}); }

HandlerOutcome SimExecutor::chosen_outcome(const engine::Run& run, bool calm) {
  const auto dice = world_.random.below(100);
  if (calm || dice < 70) return HandlerOutcome::success("\"node " + std::to_string(node_) + "\"");
  if (dice < 90) return HandlerOutcome::failure("Flaky", "attempt " + std::to_string(run.task.execution.attempt));
  if (dice < 95) return HandlerOutcome::failure("Broken", "for good", false);
  HandlerOutcome own = HandlerOutcome::failure("Later", "chose its own delay");
  own.next_delay = Duration{500'000};
  return own;
}

SimExecutor::Running SimExecutor::begin(RunRef run, bool calm) {
  const auto& row = run->task.execution;
  world_.history.claim_won(row.id, row.version, "node " + std::to_string(node_));
  world_.history.line(world_.clock.now(), node_, "begin " + row.id.to_string() + " v" + std::to_string(row.version));
  world_.goals.hit("handler ran");
  if (row.flags & core::kClaimAlone) world_.goals.hit("claimed alone");
  if (row.name == "poison" && !calm && world_.random.below(2) == 0) throw testing::Crash{"poison"};
  Running out{run, {}, chosen_outcome(*run, calm)};
  const std::uint64_t micros =
      world_.random.below(10) == 0 ? world_.random.below(6'000'000) : world_.random.below(200'000);
  out.until = add_saturated(world_.clock.now(), Duration{static_cast<std::int64_t>(calm ? micros / 10 : micros)});
  if (world_.random.below(4) == 0) run->set_progress("{\"half\":true}");
  return out;
}

void SimExecutor::progress(engine::Worker& worker, bool calm) {
  auto waiting = std::exchange(waiting_, {});
  for (std::size_t i = 0; i < waiting.size(); ++i) {
    if (running_.size() >= 4 || world_.random.below(4) == 0) {
      waiting_.push_back(std::move(waiting[i]));
      continue;
    }
    if (worker.begin(*waiting[i], world_.clock.now())) running_.push_back(begin(std::move(waiting[i]), calm));
  }
  std::vector<Running> over;
  for (auto it = running_.begin(); it != running_.end();) {
    const bool stops = it->run->cancel_requested() && world_.random.below(2) == 0;
    if (stops) {
      it->outcome = HandlerOutcome::failure("Cancelled", "asked to stop");
      it->outcome.kind = HandlerOutcome::Kind::cancelled;
      world_.goals.hit("handler stopped by cancel");
    }
    if (stops || it->until <= world_.clock.now()) {
      over.push_back(std::move(*it));
      it = running_.erase(it);
    } else {
      ++it;
    }
  }
  for (auto& end : over) {
    if (end.outcome.kind == HandlerOutcome::Kind::failed) world_.goals.hit("handler failed");
    worker.finish(end.run, std::move(end.outcome));
  }
}

// ---- node -----------------------------------------------------------------------------------------------------------

SimNode::SimNode(Surroundings& world, NodeOptions options)
    : world_(world),
      options_(options),
      local_clock_(world.clock.now() + options.skew),
      second_store_(world.store),
      slow_store_(world.store),
      store_(world.store) {
  store_.slow = &slow_store_;
  if (world.random.below(2) == 0) store_.second = &second_store_;
  const auto committed = [this](const store::Batch& batch) {
    if (!world_.history.committed(batch)) return;
    tell_handed(batch);
    if (world_.runs != nullptr) world_.runs->committed(batch, options_.index);
  };
  world.wire.connect(options.index);
  store_.on_offer = [this](const core::TaskClaim& claim) {
    store::Wakes hint;
    hint.offers.push_back(claim);
    world_.wire.send(options_.index, hint, world_.random);
  };
  second_store_.choose = [this](const store::Batch& batch) {
    return store_.choose ? store_.choose(batch) : testing::Fault::none;
  };
  second_store_.on_slow = [this] {
    if (store_.on_slow) store_.on_slow();
  };
  store_.on_commit = second_store_.on_commit = slow_store_.on_commit = committed;
  for (const char* name : {"work", "poison", "finale"})
    handlers_.add(name, [](engine::Run&) { return HandlerOutcome::success(); });
  handlers_.seal();
  node_ = std::make_unique<testing::EngineNode>(store_, local_clock_, world.monotonic, options.seed,
                                                writer_options(world.random), clockwork_options());
  // A new version of a program comes to one node after the other: the first one knows every workflow.
  if (world.runs != nullptr)
    host_ = std::make_unique<RunHost>(world, options.index, options.index == 0 || world.random.below(2) == 0);
  for (int i = 0; i < options.workers; ++i) add_pool();
  node_->ride = [this](const engine::FreshLanes& lanes) {
    for (auto& pool : pools_)
      if (auto riders = pool.worker->ride(lanes, world_.clock.now()); !riders.empty()) {
        world_.goals.hit("claimed with its enqueue");
        return riders;
      }
    std::vector<engine::Rider> riders;
    if (auto claim = offers_.take(lanes, node_->engine.directory(), world_.random.next(), world_.clock.now()))
      riders.push_back({*std::move(claim), [](const core::Answer&) {}});
    return riders;
  };
  node_->published = [this](const store::Wakes& wakes) {
    for (auto& pool : pools_) pool.worker->note_wakes(wakes);
  };
}

void SimNode::add_pool() {
  Pool pool;
  pool.executor = std::make_unique<SimExecutor>(world_, options_.index);
  engine::WorkerOptions chosen;
  chosen.name = "node-" + std::to_string(options_.index);
  chosen.slots = 1 + static_cast<int>(world_.random.below(8));
  chosen.lease = options_.lease;
  chosen.no_handler_delay = Duration{1'000'000};
  if (host_) {
    pool.run_executor = std::make_shared<SimRunExecutor>(world_);
    pool.keeper = std::make_shared<engine::RunKeeper>(node_->engine, host_->table(), pool.run_executor,
                                                      keeper_options(world_.random));
  }
  pool.worker = std::make_unique<engine::Worker>(node_->engine, handlers_, *pool.executor, chosen, pool.keeper.get());
  if (pool.keeper) {
    engine::Worker* worker = pool.worker.get();
    pool.keeper->over = [worker](ClaimId claim, bool closed) { worker->run_over(claim, closed); };
    pool.keeper->holds = [worker](SessionId session) { return worker->holds(session); };
  }
  pools_.push_back(std::move(pool));
}

// What was under way is gone with the process; code is dropped where it stands.
SimNode::~SimNode() {
  for (auto& pool : pools_) {
    if (!pool.keeper) continue;
    pool.keeper->close();
    pool.run_executor->clear();
  }
  node_->published = nullptr;
  node_->ride = nullptr;
}

void SimNode::tell_handed(const store::Batch& batch) {
  store::Wakes hint;
  for (std::size_t i = 0; i < batch.operations.size(); ++i) {
    const auto* claim = std::get_if<core::TaskClaim>(batch.operations[i]);
    const auto* answer = std::get_if<core::ClaimAnswer>(&batch.answers[i]);
    if (claim == nullptr || answer == nullptr || answer->tasks.empty() || claim->takes != core::Takes::fresh) continue;
    world_.goals.hit("handed over");
    hint.handed.push_back({claim->id, claim->session, {}});
    if (world_.random.below(4) != 0) hint.handed.back().tasks = answer->tasks;
  }
  if (!hint.handed.empty()) world_.wire.send(options_.index, hint, world_.random);
}

void SimNode::hear() {
  for (const store::Wakes& hint : world_.wire.read(options_.index)) {
    offers_.note(hint.offers, world_.clock.now());
    for (auto& pool : pools_) pool.worker->note_wakes(hint);
  }
}

void SimNode::step_pool(Pool& pool, bool calm) {
  const Instant now = world_.clock.now();
  if (calm || world_.random.below(3) != 0) pool.worker->step(now);
  if (now >= pool.beat_at && (calm || world_.random.below(3) != 0)) pool.beat_at = pool.worker->heartbeat(now);
  if (now >= pool.poll_at && (calm || world_.random.below(3) != 0)) pool.poll_at = pool.worker->poll(now);
  pool.executor->progress(*pool.worker, calm);
  if (pool.run_executor) pool.run_executor->progress(calm);
}

void SimNode::beat() {
  const Instant now = world_.clock.now();
  for (auto& pool : pools_) pool.beat_at = pool.worker->heartbeat(now);
  for (std::size_t line = 0; line < node_->writer.lines(); ++line) node_->writer.step(now, line);
}

void SimNode::run_some(bool calm) {
  local_clock_.set(world_.clock.now() + options_.skew);
  const Instant now = world_.clock.now();
  if (calm || world_.random.below(3) != 0) hear();
  const auto order = world_.random.below(4);
  for (std::uint64_t i = 0; i < 4; ++i) switch ((i + order) % 4) {
      case 0: {
        const auto steps = calm ? 20 : world_.random.below(4);
        for (std::uint64_t n = 0; n < steps; ++n) {
          const std::size_t lines = node_->writer.lines();
          if (!calm) node_->writer.step(now, world_.random.below(lines));
          for (std::size_t line = 0; calm && line < lines; ++line) node_->writer.step(now, line);
        }
        break;
      }
      case 1:
        for (auto& pool : pools_) step_pool(pool, calm);
        break;
      case 2:
        if (now >= clockwork_at_ || world_.random.below(8) == 0) clockwork_at_ = node_->clockwork.step(now);
        if (now >= engine_at_ || calm) engine_at_ = node_->engine.step(now);
        break;
      case 3:
        node_->writer.slow_step(now);
        break;
    }
}

void SimNode::finish_everything() {
  for (int i = 0; i < 3; ++i) run_some(true);
}

void SimNode::stop_workers() {
  for (auto& pool : pools_) {
    pool.stopping = true;
    pool.worker->drain();
  }
}

bool SimNode::workers_stopped() const {
  return std::all_of(pools_.begin(), pools_.end(),
                     [](const Pool& pool) { return pool.stopping && pool.worker->drained(); });
}

std::string SimNode::state() const {
  std::string text = "node " + std::to_string(options_.index) + ": " + std::to_string(node_->writer.stats().queued) +
                     " operations queued";
  for (const auto& pool : pools_) {
    text += pool.stopping ? "; a pool that stops" : "; a pool";
    text += pool.worker->quiet() ? "" : " with operations under way";
    if (!pool.keeper) continue;
    const auto runs = pool.keeper->stats();
    text += " of " + std::to_string(runs.hot) + " runs, " + std::to_string(runs.waiting) +
            " of them waiting, room for " + std::to_string(pool.keeper->room()) + ", " +
            std::to_string(pool.run_executor->queued()) + " jobs";
  }
  return text;
}

void SimNode::collect_goals() {
  auto& goals = world_.goals;
  for (auto& pool : pools_) {
    const auto stats = pool.worker->stats();
    if (stats.no_handler > 0) goals.hit("no handler released", stats.no_handler);
    if (stats.released > 0) goals.hit("graceful release", stats.released);
    if (stats.recovered > 0) goals.hit("handed over and found by its record", stats.recovered);
    if (!pool.keeper) continue;
    const auto runs = pool.keeper->stats();
    if (runs.evicted > 0) goals.hit("run evicted", runs.evicted);
    if (runs.lost > 0) goals.hit("run lost with its session", runs.lost);
  }
  const auto writer = node_->writer.stats();
  if (writer.unknown_commits > 0) goals.hit("unknown commit looked up", writer.unknown_commits);
  if (writer.halvings > 0) goals.hit("batch halved", writer.halvings);
  if (writer.slow_batches > 0) goals.hit("slow lane used", writer.slow_batches);
  if (node_->clockwork.stats().rows_cleaned > 0) goals.hit("retention removed a row");
  if (node_->clockwork.stats().leases_expired > 0) goals.hit("lease lost and returned");
}

}  // namespace semel::sim
