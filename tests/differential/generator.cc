#include "tests/differential/generator.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/fingerprint.h"
#include "core/retry.h"
#include "tests/differential/spaces.h"
#include "tests/differential/words.h"

namespace semel::differential {

using namespace std::chrono_literals;
using namespace core;

namespace {

constexpr std::size_t kRemembered = 60;

template <class T>
void remember(std::vector<T>& list, T value) {
  list.push_back(std::move(value));
  if (list.size() > kRemembered) list.erase(list.begin());
}

}  // namespace

LaneConfig Generator::config(const std::string& queue) {
  LaneConfig out;
  out.dead_letter = queue == "dead" || chance(10);
  if (queue == "wide") out.concurrency = 1 + static_cast<std::int32_t>(random_.below(4));
  if (queue.starts_with("keyed") && !chance(10))
    out.concurrency_per_key = 1 + static_cast<std::int32_t>(random_.below(3));
  if (queue == "rated")
    out.rate_limit = RateLimit{1 + static_cast<std::int64_t>(random_.below(5)), chance(50) ? 1s : 60s};
  if (queue == "brief") out.retention = std::chrono::seconds(1 + random_.below(120));
  if (queue == "dropped") out.retention = Duration{0};
  if (chance(20)) {
    RetryOverrides retry;
    retry.initial_interval = std::chrono::milliseconds(random_.below(5000));
    if (chance(30)) retry.non_retryable = std::vector<std::string>{"Boom"};
    out.retry = encode_overrides(retry);
  }
  out.paused = chance(5);
  return out;
}

std::vector<Operation> Generator::opening(Instant now) {
  std::vector<Operation> out;
  for (const std::string& queue : kQueues) {
    LaneEnsure ensure;
    ensure.queue = queue;
    ensure.config = config(queue);
    out.emplace_back(std::move(ensure));
  }
  for (int i = 0; i < 3; ++i)
    out.emplace_back(SessionOpen{ids_.next<SessionId>(now), "worker-" + std::to_string(i), 60s});
  return out;
}

Duration Generator::next_pause() {
  const std::uint64_t dice = random_.below(100);
  if (dice < 35) return Duration{0};
  if (dice < 80 || (pace_ == 0 && dice < 97))
    return Duration{static_cast<std::int64_t>(1 + random_.below(pace_ == 0 ? 300'000 : 2'000'000))};
  if (dice < 97) return std::chrono::milliseconds(1 + random_.below(pace_ == 1 ? 10'000 : 30'000));
  if (dice < 99 || pace_ == 0) return std::chrono::seconds(1 + random_.below(pace_ == 2 ? 3600 : 120));
  return std::chrono::hours(1 + random_.below(24 * (chance(40) ? 45 : 8)));
}

ExecutionId Generator::execution() {
  if (executions_.empty() || chance(2)) return ids_.next<ExecutionId>(Instant{});
  return pick(executions_);
}

// Mostly one of the latest: the others are over.
SessionId Generator::session() {
  const std::size_t recent = std::min<std::size_t>(sessions_.size(), 3);
  return chance(80) ? sessions_[sessions_.size() - 1 - random_.below(recent)] : pick(sessions_);
}

Generator::Held Generator::held() {
  if (held_.empty()) return {execution(), 2};
  Held out = chance(40) ? held_.back() : pick(held_);
  if (chance(65)) {
    std::vector<Held> current;
    for (const Held& one : held_) {
      const auto view = oracle_.execution_get(kDefaultTenant, one.execution).value();
      if (view && view->execution.version == one.version) current.push_back(one);
    }
    if (!current.empty()) out = pick(current);
  }
  if (chance(6)) out.version += chance(50) ? 1 : -1;
  return out;
}

TaskEnqueue Generator::enqueue(Instant now) {
  TaskEnqueue q;
  q.id = ids_.next<ExecutionId>(now);
  q.kind = chance(15) ? Kind::workflow : Kind::task;
  q.lane = q.kind == Kind::workflow ? flows_ : chance(35) ? pick(keyed_) : pick(lanes_);
  q.name = pick(kNames);
  q.args = pick(kArgs);
  if (q.kind == Kind::workflow || chance(55)) q.identity = pick(kIds);
  if (chance(30)) {
    q.idempotency_key = pick(kKeys);
    q.idempotency_key_ttl_seconds = static_cast<std::int64_t>(1 + random_.below(chance(50) ? 60 : 100'000));
  }
  if (q.identity || q.idempotency_key) q.fingerprint = fingerprint_of(q.name, q.args).value();
  q.priority = static_cast<std::int32_t>(random_.below(4)) * 50;
  q.max_attempts = 1 + static_cast<std::int32_t>(random_.below(3));
  if (chance(15)) {
    RetryOverrides retry;
    retry.initial_interval = std::chrono::milliseconds(random_.below(3000));
    q.policy = encode_overrides(retry);
  }
  if (chance(15)) q.delay = std::chrono::milliseconds(random_.below(20'000));
  else if (chance(5)) q.scheduled_at = now + std::chrono::milliseconds(random_.below(20'000)) - 5s;
  if (chance(15)) q.timeout = std::chrono::milliseconds(1 + random_.below(60'000));
  if (chance(20)) q.attempt_timeout = std::chrono::milliseconds(1 + random_.below(20'000));
  if (chance(50)) q.concurrency_key = pick(kSlots);
  q.on_duplicate = static_cast<OnDuplicate>(chance(70) ? 0 : q.kind == Kind::workflow || chance(5) ? 2 : 1);
  q.reuse = static_cast<Reuse>(random_.below(3));
  q.match_args = !chance(15);
  if (!groups_.empty() && chance(10)) q.group = pick(groups_);
  const auto stats = oracle_.lane_stats(q.lane);
  q.drop_at_end = stats.ok() && stats->lane.config.retention == Duration{0};
  return q;
}

TaskClaim Generator::claim(Instant now) {
  if (!claims_.empty() && chance(5)) return pick(claims_);
  TaskClaim q;
  q.id = ids_.next<ClaimId>(now);
  q.session = chance(3) ? SessionId{} : session();  // void from the start
  q.worker = "worker";
  q.lease = std::chrono::milliseconds(1000 + random_.below(30'000));
  if (chance(20)) {
    q.pool = Pool::runs;
    q.lanes.push_back({flows_, 1 + static_cast<std::int32_t>(random_.below(3)), false});
    return q;
  }
  if (chance(20)) q.pool = Pool::alone;
  else if (chance(10)) q.takes = chance(50) ? core::Takes::nothing : core::Takes::fresh;
  std::vector<LaneId> lanes = lanes_;
  const std::size_t count = q.pool == Pool::alone ? 1 : 1 + random_.below(3);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = random_.below(lanes.size());
    const LaneConfig config = oracle_.lane_stats(lanes[at]).value().lane.config;
    q.lanes.push_back({lanes[at], q.pool == Pool::alone ? 1 : 1 + static_cast<std::int32_t>(random_.below(4)),
                       config.rate_limit || config.concurrency});
    lanes.erase(lanes.begin() + static_cast<std::ptrdiff_t>(at));
  }
  return q;
}

TaskDeliver Generator::deliver(Instant now) {
  if (!deliveries_.empty() && chance(5)) return pick(deliveries_);
  TaskDeliver q;
  q.identity = pick(kIds);
  if (chance(40)) q.execution = execution();
  // A workflow is run by decisions, never by a delivery.
  if (const auto view = q.execution ? oracle_.execution_get(q.tenant, *q.execution).value() : std::nullopt)
    if (view->execution.kind == Kind::workflow) q.execution.reset();
  q.claim = ids_.next<ClaimId>(now);
  q.session = session();
  q.worker = "courier";
  q.lease = std::chrono::milliseconds(1000 + random_.below(30'000));
  return q;
}

TaskFail Generator::fail() {
  const Held target = held();
  TaskFail q;
  q.execution = target.execution;
  q.version = target.version;
  q.error_name = "Boom";
  q.error = pick(kErrors);
  q.retryable = !chance(20);
  if (chance(20)) q.next_delay = std::chrono::milliseconds(random_.below(5000));
  q.cancelled = chance(25);
  q.random_bits = random_.next();
  return q;
}

GroupCreate Generator::group(Instant now) {
  if (!groups_.empty() && chance(20)) return {Group{pick(groups_), kDefaultTenant, 1, 0, 0, 0, {}, {}, false}};
  GroupCreate q;
  q.group.id = ids_.next<GroupId>(now);
  q.group.total = 1 + static_cast<std::int32_t>(random_.below(3));
  Execution& e = q.group.completion;
  e.id = ids_.next<ExecutionId>(now);
  e.lane = pick(lanes_);
  e.name = "all-done";
  e.created_at = e.scheduled_at = now;
  if (chance(30)) e.concurrency_key = pick(kSlots);
  q.group.completion_payload = {e.id, Encoding::json, "{}", ""};
  return q;
}

LaneEnsure Generator::lane() {
  LaneEnsure q;
  q.queue = chance(40) ? "keyed" : pick(kQueues);
  if (chance(80)) q.config = config(q.queue);
  if (chance(10)) q.paused = chance(30);
  return q;
}

LeaseForget Generator::forget() {
  LeaseForget q;
  if (claims_.empty()) return q;
  const ClaimId claim = pick(claims_).id;
  // Only records of which nothing is held any more, as the engine does.
  const std::string text = oracle_.snapshot().value();
  const std::size_t at = text.find("lease|id=" + claim.to_string());
  if (at == std::string::npos) return q;
  const std::string line = text.substr(at, text.find('\n', at) - at);
  const std::size_t list = line.find("executions=\"") + 12;
  for (std::size_t from = list; from < line.size();) {
    const auto id = ExecutionId::parse(line.substr(from, 36));
    if (id) {
      const auto view = oracle_.execution_get(kDefaultTenant, *id).value();
      if (view && view->execution.session) return q;
    }
    const std::size_t comma = line.find(',', from);
    if (comma == std::string::npos) break;
    from = comma + 1;
  }
  q.claims.push_back(claim);
  return q;
}

EnqueueWithin Generator::within(Instant now) {
  EnqueueWithin q;
  const bool fails = chance(20);
  q.function = [fails](void*) {
    return fails ? Result<void>(make_error(ErrorCode::InvalidArgument, "the caller changed its mind")) : Result<void>();
  };
  for (std::uint64_t i = 0, count = 1 + random_.below(3); i < count; ++i) q.tasks.push_back(enqueue(now));
  return q;
}

Operation Generator::draw_sweep(Instant) {
  switch (random_.below(7)) {
    case 0:
      return SessionsExpire{1000, random_.next()};
    case 1:
      return TimersFire{1000, random_.next()};
    case 2:
      return BlockedSweep{pick(chance(80) ? keyed_ : lanes_), chance(30) ? 2 : 500};
    case 3:
      return RetentionSweep{chance(50) ? ExecutionId{} : sweep_after_, chance(30) ? 5 : 1000,
                            chance(50) ? Duration{0} : Duration{std::chrono::minutes(random_.below(60))}};
    case 4:
    case 5:
      return LedgerSweep{{}, chance(30) ? 2 : 1000};
    default:
      return KeysExpire{1000};
  }
}

Operation Generator::draw(Instant now) {
  const std::uint64_t dice = random_.below(1000);
  if (dice < 170) return enqueue(now);
  if (dice < 240) return advance(now);
  if (dice < 260) return signal(now);
  if (dice < 265) return resume();
  if (dice < 390) return claim(now);
  if (dice < 470) return deliver(now);
  if (dice < 520) {
    const Held target = held();
    return TaskHeartbeat{target.execution, target.version, std::chrono::milliseconds(1000 + random_.below(20'000)),
                         chance(30) ? std::optional<std::string>("{\"at\":1}") : std::nullopt};
  }
  if (dice < 620) {
    const Held target = held();
    return TaskComplete{target.execution, target.version, chance(10) ? std::nullopt : std::optional(pick(kResults))};
  }
  if (dice < 700) return fail();
  if (dice < 735) {
    const Held target = held();
    return TaskRelease{target.execution, target.version,
                       std::chrono::milliseconds(chance(50) ? 0 : random_.below(3000)), chance(30)};
  }
  if (dice < 775) return ExecutionCancel{kDefaultTenant, chance(50) ? held().execution : execution()};
  if (dice < 815) return ExecutionRedrive{kDefaultTenant, execution(), ids_.next<ExecutionId>(now)};
  if (dice < 835) return ExecutionDiscard{kDefaultTenant, execution()};
  if (dice < 840) return TenantEnsure{chance(50) ? "default" : "tenant-" + std::to_string(random_.below(3))};
  if (dice < 862) return lane();
  if (dice < 880) return KeyRelease{kDefaultTenant, pick(kKeys), chance(40)};
  if (dice < 890) return group(now);
  if (dice < 897)
    return SessionOpen{chance(30) ? session() : ids_.next<SessionId>(now), "worker",
                       std::chrono::seconds(1 + random_.below(90))};
  if (dice < 912) return SessionRenew{session(), std::chrono::seconds(1 + random_.below(90))};
  if (dice < 919) return SessionClose{pick(sessions_)};
  if (dice < 924) return forget();
  if (dice < 930) return InboxFeed{static_cast<std::int64_t>(random_.below(1000)), {}, "unreadable"};
  if (dice < 936) return within(now);
  if (dice < 948) {
    LedgerAdd q;
    for (std::uint64_t i = 0; i < 5 && !notes_.empty(); ++i) q.notes.push_back(pick(notes_));
    return q;
  }
  return draw_sweep(now);
}

LaneId Generator::lane_named(const std::string& queue) {
  const std::vector<Lane> lanes = oracle_.lane_list().value();
  for (const Lane& lane : lanes)
    if (lane.tenant == kDefaultTenant && lane.queue == queue) return lane.id;
  return lanes_.front();
}

LaneEnsure Generator::settings(const std::string& queue, LaneConfig config) {
  LaneEnsure q;
  q.queue = queue;
  q.config = std::move(config);
  return q;
}

TaskDeliver Generator::deliver_to(ExecutionId id, Instant now) {
  TaskDeliver q;
  q.execution = id;
  q.claim = ids_.next<ClaimId>(now);
  q.session = session();
  q.worker = "courier";
  q.lease = 10s;
  return q;
}

void Generator::rehearse(Instant now) {
  const auto plain = [&](const std::string& queue) {
    TaskEnqueue q;
    q.id = ids_.next<ExecutionId>(now);
    q.lane = lane_named(queue);
    q.name = "charge";
    q.args = "{}";
    return q;
  };
  switch (random_.below(5)) {
    case 0: {  // a key that outlives its execution
      TaskEnqueue first = plain("dropped");
      first.drop_at_end = true;
      first.idempotency_key = pick(kKeys);
      first.fingerprint = fingerprint_of(first.name, first.args).value();
      TaskEnqueue second = first;
      second.id = ids_.next<ExecutionId>(now);
      script_.push_back(first);
      script_.push_back(deliver_to(first.id, now));
      script_.push_back(TaskComplete{first.id, 2, pick(kResults)});
      script_.push_back(second);
      break;
    }
    case 1: {  // a limit per key that is raised or lifted
      for (int i = 0; i < 4; ++i) {
        TaskEnqueue q = plain("keyed");
        q.concurrency_key = kSlots[0];
        script_.push_back(q);
      }
      LaneConfig wider;
      if (chance(70)) wider.concurrency_per_key = 3 + static_cast<std::int32_t>(random_.below(3));
      script_.push_back(settings("keyed", wider));
      script_.push_back(BlockedSweep{lane_named("keyed"), 500});
      break;
    }
    case 2: {  // a dead letter, its blocked id, and what an operator does about it
      TaskEnqueue first = plain("dead");
      first.max_attempts = 1;
      first.identity = pick(kIds);
      first.fingerprint = fingerprint_of(first.name, first.args).value();
      first.reuse = Reuse::always;
      TaskEnqueue second = first;
      second.id = ids_.next<ExecutionId>(now);
      if (chance(50)) second.on_duplicate = OnDuplicate::reject;
      script_.push_back(first);
      script_.push_back(deliver_to(first.id, now));
      script_.push_back(TaskFail{first.id, 2, "Odd", kErrors[0], true, {}, false, 0});
      script_.push_back(second);
      if (chance(30)) script_.push_back(ExecutionRedrive{kDefaultTenant, first.id, ids_.next<ExecutionId>(now)});
      script_.push_back(ExecutionDiscard{kDefaultTenant, first.id});
      break;
    }
    case 3:
      return rehearse_run(now);
    default: {  // a lane that is full
      LaneConfig narrow;
      const std::string queue = chance(33) ? "plain" : chance(50) ? "rated" : "wide";
      if (queue == "plain") narrow.paused = true;
      if (queue == "rated") narrow.rate_limit = RateLimit{1, 60s};
      if (queue == "wide") narrow.concurrency = 1;
      script_.push_back(settings(queue, narrow));
      for (int i = 0; i < 2; ++i) {
        const TaskEnqueue q = plain(queue);
        script_.push_back(q);
        script_.push_back(deliver_to(q.id, now));
      }
    }
  }
}

Operation Generator::next(Instant now) {
  if (script_.empty() && chance(2)) rehearse(now);
  if (!script_.empty() && chance(70)) {
    Operation out = std::move(script_.front());
    script_.pop_front();
    return out;
  }
  for (;;) {
    Operation out = draw(now);
    if (!left_out_.contains(kind_of(out))) return out;
  }
}

// A free id goes to whoever of one batch writes it first, which may be an enqueue behind the redrive.
bool Generator::id_is_taken(ExecutionId id) {
  const auto view = oracle_.execution_get(kDefaultTenant, id).value();
  if (!view || !view->execution.identity) return true;
  return oracle_.execution_find(kDefaultTenant, identity_space(view->execution.kind), *view->execution.identity)
      .value()
      .has_value();
}

bool Generator::is_repeat(const TaskClaim& claim) const {
  return std::any_of(claims_.begin(), claims_.end(), [&](const auto& one) { return one.id == claim.id; });
}

std::vector<Operation> Generator::next_batch(Instant now, std::size_t size) {
  std::vector<Operation> claims, successes, rest;  // a plain success is written before anything is decided
  std::set<ExecutionId> completed;
  bool names_tenant = false;
  const bool sweeps = chance(20);
  if (sweeps) rest.push_back(draw_sweep(now));
  while (claims.size() + successes.size() + rest.size() < size) {
    Operation one = next(now);
    const bool scans =
        one.index() >= Operation(SessionsExpire{}).index() && one.index() <= Operation(LedgerSweep{}).index();
    if (scans || std::holds_alternative<EnqueueWithin>(one) || std::holds_alternative<LeaseForget>(one)) continue;
    // Names that are new in one batch are numbered in their own order.
    if (std::holds_alternative<TenantEnsure>(one) && std::exchange(names_tenant, true)) continue;
    if (const auto* redrive = std::get_if<ExecutionRedrive>(&one); redrive && !id_is_taken(redrive->execution))
      continue;
    // So does the id of a step: an enqueue behind the advance may take it.
    if (const auto* advance = std::get_if<RunAdvance>(&one);
        advance && std::any_of(advance->entries.begin(), advance->entries.end(),
                               [](const auto& entry) { return entry.start.has_value(); }))
      continue;
    if (const auto* signal = std::get_if<RunSignal>(&one); signal && signal->start) continue;
    if (const auto* claim = std::get_if<TaskClaim>(&one)) {
      // A repeat is decided behind the successes of its batch.
      if (!sweeps && !is_repeat(*claim)) claims.push_back(std::move(one));
    } else if (const auto* success = std::get_if<TaskComplete>(&one)) {
      if (!sweeps && completed.insert(success->execution).second) successes.push_back(std::move(one));
    } else {
      rest.push_back(std::move(one));
    }
  }
  for (Operation& one : successes) claims.push_back(std::move(one));
  for (Operation& one : rest) claims.push_back(std::move(one));
  return claims;
}

void Generator::learn_execution(ExecutionId id) {
  if (std::find(executions_.begin(), executions_.end(), id) == executions_.end()) remember(executions_, id);
}

void Generator::learn(const Execution& e) {
  learn_execution(e.id);
  if (e.kind == Kind::workflow) remember(runs_, Held{e.id, e.version});
  if (e.status == Status::claimed || e.status == Status::running) remember(held_, Held{e.id, e.version});
}

void Generator::observe(const Operation& operation, const Answer& answer, const std::vector<LedgerNote>& notes) {
  for (const LedgerNote& note : notes) remember(notes_, note);
  if (const auto* a = std::get_if<EnqueueAnswer>(&answer)) learn_execution(a->execution);
  if (const auto* a = std::get_if<SignalAnswer>(&answer)) learn_execution(a->run);
  if (const auto* a = std::get_if<RedriveAnswer>(&answer)) learn_execution(a->successor);
  if (const auto* a = std::get_if<ClaimAnswer>(&answer)) {
    for (const auto& task : a->tasks) learn(task.execution);
    if (!a->tasks.empty()) remember(claims_, std::get<TaskClaim>(operation));
  }
  if (const auto* a = std::get_if<DeliverAnswer>(&answer)) {
    learn(a->task.execution);
    if (a->outcome == DeliveryOutcome::claimed) remember(deliveries_, std::get<TaskDeliver>(operation));
  }
  if (const auto* a = std::get_if<LaneAnswer>(&answer); a && a->created) {
    // Workflows are run by decisions, never claimed: they wait in a lane of their own.
    if (a->lane.queue == "flows") flows_ = a->lane.id;
    else lanes_.push_back(a->lane.id);
    if (a->lane.queue.starts_with("keyed")) keyed_.push_back(a->lane.id);
  }
  if (const auto* q = std::get_if<SessionOpen>(&operation)) remember(sessions_, q->session);
  if (const auto* q = std::get_if<GroupCreate>(&operation)) {
    remember(groups_, q->group.id);
    if (!q->group.completion.id.is_nil()) learn_execution(q->group.completion.id);
  }
  if (std::holds_alternative<RetentionSweep>(operation))
    if (const auto* a = std::get_if<SweepAnswer>(&answer)) sweep_after_ = a->more ? a->next_after : ExecutionId{};
}

}  // namespace semel::differential
