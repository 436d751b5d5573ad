#include "tests/sim/world.h"

#include <algorithm>

#include "base/failpoint.h"

namespace semel::sim {
namespace {

constexpr std::uint64_t kOperations = 400;
constexpr int kMaxTicks = 60'000;
constexpr std::uint64_t kMinFaults = 4;

}  // namespace

std::unique_ptr<store::Store> memory_store(base::Clock& clock) {
  return std::make_unique<store::memory::MemoryStore>(clock);
}

World::World(std::uint64_t seed, const StoreFactory& factory, Traffic traffic)
    : seed_(seed),
      traffic_(traffic),
      random_(seed * 0x9e3779b97f4a7c15ull + 1),
      store_(factory(clock_)),
      runs_(*store_, history_, goals_),
      around_{*store_, clock_, monotonic_, random_, history_, goals_, wire_},
      calls_(around_),
      client_(around_, calls_),
      run_client_(around_, calls_) {
  if (traffic == Traffic::workflows) {
    around_.runs = &runs_;
    around_.meanwhile = [this](int node) { meanwhile(node); };
  }
  choose_faults();
  base::set_failpoint_hook([this](std::string_view name) { on_failpoint(name); });
  places_.resize(1 + below(3));
  for (std::size_t i = 0; i < places_.size(); ++i) boot(static_cast<int>(i));
  set_up_queues();
}

World::~World() { base::set_failpoint_hook(nullptr); }

// Swarm: each seed has its own subset of faults and its own rates.
void World::choose_faults() {
  using testing::Fault;
  for (const Fault fault : {Fault::retry, Fault::lost_before, Fault::lost_after, Fault::halve, Fault::locked,
                            Fault::full, Fault::read_only, Fault::unavailable, Fault::fatal, Fault::lost_wakes,
                            Fault::doubled_wakes, Fault::slow, Fault::crash_before, Fault::crash_after})
    if (below(2) == 0) enabled_.push_back(fault);
  fault_rate_ = 5 + below(60);
  crash_rate_ = below(2) == 0 ? 20 + below(60) : 5;
  pause_rate_ = below(2) == 0 ? 20 + below(60) : 5;
  point_rate_ = below(2) == 0 ? 1 + below(20) : 0;
}

void World::set_up_queues() {
  core::LaneConfig limited, keyed, rated, dead, brief, zero;
  limited.concurrency = 2;
  keyed.concurrency_per_key = 1;
  rated.rate_limit = core::RateLimit{2, Duration{1'000'000}};
  dead.dead_letter = true;
  dead.max_attempts = 2;
  brief.retention = Duration{10'000'000};
  zero.retention = Duration{0};
  limits_.by_queue = {{"limited", limited}, {"keyed", keyed}, {"rated", rated},
                      {"dead", dead},       {"short", brief}, {"zero", zero}};
  calm_ = true;
  auto& node = places_[0].node->engine_node();
  for (const auto& [queue, config] : limits_.by_queue) {
    const auto made = node.get<core::Lane>(
        [&, &queue = queue, &config = config](auto done) { node.engine.queue_set("default", queue, config, done); });
    if (!made) history_.violation("queue not set: " + made.error().message);
  }
  // Every node knows the limits before the first claim: a limit that is new binds after a refresh.
  for (auto& place : places_)
    if (!place.node->engine().directory().refresh()) history_.violation("directory not read");
  calm_ = false;
}

void World::boot(int index) {
  auto& place = places_[static_cast<std::size_t>(index)];
  NodeOptions options;
  options.index = index;
  options.seed =
      seed_ * 1000 + static_cast<std::uint64_t>(index) * 100 + static_cast<std::uint64_t>(++place.incarnation);
  options.skew = Duration{static_cast<std::int64_t>(below(1'200'000'000)) - 600'000'000};  // K3: ten minutes either way
  options.workers = static_cast<int>(1 + below(2));
  place.node = std::make_unique<SimNode>(around_, options);
  place.node->faults().choose = [this](const store::Batch& batch) { return choose_fault(batch); };
  place.node->faults().on_slow = [this] {
    clock_.advance(Duration{500'000});
    monotonic_.advance(Duration{500'000});
  };
  if (place.incarnation > 1 && !place.node->engine().directory().refresh()) history_.violation("directory not read");
  history_.line(clock_.now(), index, "boot");
}

void World::crash(int index, std::string_view where) {
  auto& place = places_[static_cast<std::size_t>(index)];
  history_.line(clock_.now(), index, "crash at " + std::string(where));
  place.node->collect_goals();
  runs_.node_crashed(index);
  place.node.reset();
  calls_.node_died(index);
  place.restart_at = add_saturated(clock_.now(), Duration{static_cast<std::int64_t>(below(3'000'000))});
  goals_.hit("node crashed");
  if (where.starts_with("writer.") || where.starts_with("worker.") || where.starts_with("clockwork."))
    goals_.hit("node crashed at a named point");
}

void World::guard(int index, const std::function<void(SimNode&)>& action) {
  auto& place = places_[static_cast<std::size_t>(index)];
  if (!place.node) return;
  try {
    action(*place.node);
  } catch (const testing::Crash& crashed) {
    ++faults_;
    return crash(index, crashed.where);
  }
  if (place.node->doomed) {
    place.node->doomed = false;
    crash(index, "fatal store error");
  }
}

testing::Fault World::choose_fault(const store::Batch&) {
  if (calm_ || enabled_.empty() || below(1000) >= fault_rate_) return testing::Fault::none;
  const auto fault = enabled_[below(enabled_.size())];
  ++faults_;
  history_.line(clock_.now(), -1, "fault " + std::string(testing::to_string(fault)));
  if (fault == testing::Fault::fatal)
    for (auto& place : places_)
      if (place.node) place.node->doomed = &place == &places_[current_];
  return fault;
}

void World::on_failpoint(std::string_view name) {
  if (calm_ || point_rate_ == 0 || below(10'000) >= point_rate_) return;
  throw testing::Crash{name};
}

SimNode* World::some_node() {
  const auto start = below(places_.size());
  for (std::size_t i = 0; i < places_.size(); ++i) {
    auto& place = places_[(start + i) % places_.size()];
    if (place.node && place.node->paused_until <= clock_.now()) return place.node.get();
  }
  return nullptr;
}

// Crashes, pauses and graceful stops that are nobody's answer to a batch.
void World::disturb() {
  for (std::size_t i = 0; i < places_.size(); ++i) {
    auto& place = places_[i];
    if (!place.node) continue;
    if (below(10'000) < crash_rate_) {
      ++faults_;
      crash(static_cast<int>(i), "any point");
    } else if (below(10'000) < pause_rate_) {
      ++faults_;
      const auto micros = static_cast<std::int64_t>(below(8'000'000));
      place.node->paused_until = add_saturated(clock_.now(), Duration{micros});
      if (micros > 4'000'000) goals_.hit("node paused past its lease");
      history_.line(clock_.now(), static_cast<int>(i), "paused");
    } else if (below(10'000) < 10) {
      guard(static_cast<int>(i), [](SimNode& node) { node.stop_workers(); });
    }
  }
}

void World::advance(bool calm) {
  const auto dice = below(100);
  std::uint64_t micros = below(20'000);
  if (calm) micros = 100'000;
  else if (dice < 3) micros = below(3'000'000);
  else if (dice < 20) micros = below(200'000);
  clock_.advance(Duration{static_cast<std::int64_t>(micros)});
  monotonic_.advance(Duration{static_cast<std::int64_t>(micros)});
}

void World::tick(bool calm) {
  for (std::size_t i = 0; i < places_.size(); ++i) {
    auto& place = places_[i];
    current_ = i;
    if (!place.node && clock_.now() >= place.restart_at) {
      boot(static_cast<int>(i));
      goals_.hit("node restarted");
    }
    if (!place.node || place.node->paused_until > clock_.now()) continue;
    guard(static_cast<int>(i), [calm](SimNode& node) { calm ? node.finish_everything() : node.run_some(false); });
    if (place.node && place.node->workers_stopped()) {
      goals_.hit("worker stopped gracefully");
      crash(static_cast<int>(i), "after a graceful stop");
    }
  }
  advance(calm);
}

// A body of ctx.run takes its time: the other nodes go on, its own keeps its session if it can.
void World::meanwhile(int node) {
  if (calm_ || in_body_) return;
  in_body_ = true;
  const auto current = current_;
  for (auto rounds = 1 + below(40); rounds > 0; --rounds) {
    for (std::size_t i = 0; i < places_.size(); ++i) {
      auto& place = places_[i];
      current_ = i;
      if (!place.node || place.node->paused_until > clock_.now()) continue;
      if (static_cast<int>(i) != node) guard(static_cast<int>(i), [](SimNode& other) { other.run_some(false); });
      else if (below(10) == 0) calm_ = true, place.node->beat(), calm_ = false;
    }
    advance(false);
  }
  current_ = current;
  in_body_ = false;
}

// ---- a run ----------------------------------------------------------------------------------------------------------

void World::heal() {
  calm_ = true;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    auto& place = places_[i];
    if (place.node) place.node->paused_until = Instant{};
    place.restart_at = Instant{};
  }
  history_.line(clock_.now(), -1, "healed");
}

std::vector<store::ExecutionView> World::live_rows() {
  store::ExecutionFilter live;
  live.statuses = {Status::queued, Status::claimed, Status::running, Status::suspended};
  live.limit = 5;
  return *store_->execution_list(live);
}

// After the last fault everything accepted ends in bounded time.
void World::quiet_down() {
  heal();
  const Instant deadline = clock_.now() + Duration{600'000'000};
  while (clock_.now() < deadline) {
    tick(true);
    if (SimNode* node = some_node()) client_.cancel_leftovers(*node);
    if (live_rows().empty() && calls_.unanswered() == 0) return;
  }
  const auto rows = live_rows();
  for (const auto& view : rows)
    history_.violation("liveness: execution " + view.execution.id.to_string() + " (" + view.execution.name + " in " +
                       view.queue + ") is still " + std::string(to_string(view.execution.status)));
  for (const auto& view : rows)
    if (view.execution.kind == Kind::workflow) history_.violation("liveness:" + runs_.describe(view.execution));
  for (const auto& place : places_)
    if (place.node && !rows.empty()) history_.violation("liveness: " + place.node->state());
  if (calls_.unanswered() > 0)
    history_.violation("liveness: " + std::to_string(calls_.unanswered()) + " calls were never answered");
}

void World::act(SimNode& node) {
  if (traffic_ == Traffic::workflows && below(10) < 7) run_client_.act(node);
  else client_.act(node);
}

void World::check_now() {
  history_.check_store(*store_, limits_, clock_.now());
  if (traffic_ == Traffic::workflows) runs_.check_ended();
}

Report World::run() {
  const Instant start = clock_.now();
  int ticks = 0;
  while ((history_.operations < kOperations || faults_ < kMinFaults) && ticks++ < kMaxTicks &&
         history_.violations().empty()) {
    tick(false);
    for (auto calls = below(3); calls > 0; --calls)
      if (SimNode* node = some_node()) {
        current_ = static_cast<std::size_t>(node->index());
        guard(node->index(), [this](SimNode& target) { act(target); });
      }
    disturb();
    if (below(20) == 0) check_now();
  }
  if (history_.violations().empty()) quiet_down();
  check_now();
  history_.check_end(*store_, limits_);
  if (traffic_ == Traffic::workflows && history_.violations().empty()) runs_.check_end(replay_table());
  store::ExecutionFilter everything;
  everything.limit = 1000;
  const auto rows = *store_->execution_list(everything);
  for (const auto& view : rows) {
    const auto& row = view.execution;
    if (row.status == Status::dead_lettered) goals_.hit("dead lettered");
    if (row.status == Status::timed_out) goals_.hit("timed out");
    if (row.last_end == core::AttemptEnd::attempt_timeout) goals_.hit("attempt timed out");
    if (row.name == "finale" && row.status == Status::succeeded) goals_.hit("group completed");
  }
  for (auto& place : places_)
    if (place.node) place.node->collect_goals();
  if (history_.repeated_claims > 0) goals_.hit("claim repeated in a new batch", history_.repeated_claims);
  history_.line(clock_.now(), -1, *store_->snapshot());
  Report report{seed_, history_.operations, faults_, history_.hash(), clock_.now() - start, history_.violations(), {},
                goals_};
  if (!report.violations.empty()) report.tail = history_.lines();
  if (!report.tail.empty()) report.tail.pop_back();  // the snapshot
  return report;
}

}  // namespace semel::sim
