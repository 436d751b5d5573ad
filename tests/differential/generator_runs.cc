// Operations on runs: what an owner records, signals, parking.
#include "core/fingerprint.h"
#include "tests/differential/generator.h"
#include "tests/differential/spaces.h"

namespace semel::differential {

using namespace std::chrono_literals;
using namespace core;

RunAdvance::Entry Generator::closing(const RunAdvance& op, Instant now) {
  RunAdvance::Entry entry;
  entry.event.data = pick(kResults);
  switch (random_.below(4)) {
    case 0:
      entry.event.kind = EventKind::run_completed;
      break;
    case 1:
      entry.event.kind = EventKind::run_failed;
      if (chance(70)) entry.start = successor(op, now);
      break;
    case 2:
      entry.event.kind = EventKind::run_cancelled;
      break;
    default:
      entry.event.kind = EventKind::run_continued;
      entry.start = successor(op, now);
  }
  return entry;
}

// The next run of the workflow; what it asks for besides is not its own to choose.
TaskEnqueue Generator::successor(const RunAdvance& op, Instant now) {
  TaskEnqueue next = enqueue(now);
  next.kind = Kind::workflow;
  next.lane = flows_;
  next.concurrency_key.reset();
  const auto view = oracle_.execution_get(kDefaultTenant, op.execution).value();
  if (view) next.identity = view->execution.identity;
  next.fingerprint = fingerprint_of(next.name, next.args).value();
  return next;
}

RunAdvance::Entry Generator::parking() {
  RunAdvance::Entry entry;
  entry.event.kind = EventKind::run_parked;
  entry.event.data = pick(kErrors);
  return entry;
}

RunAdvance::Entry Generator::following(const RunAdvance& op, const std::string& id, Instant now) {
  RunAdvance::Entry entry;
  entry.event.kind = chance(50) ? EventKind::run_failed : EventKind::run_continued;
  entry.event.data = pick(kErrors);
  entry.start = successor(op, now);
  entry.start->identity = id;
  return entry;
}

RunAdvance::Entry Generator::command(const RunAdvance& op, Instant now) {
  RunAdvance::Entry entry;
  entry.event.command = ++last_command_;
  switch (random_.below(10)) {
    case 0:
    case 1:
    case 2:
      entry.start = enqueue(now);
      entry.start->parent = TaskEnqueue::Parent{op.execution, "parent", entry.event.command};
      entry.event.kind = entry.start->kind == Kind::task ? EventKind::step_scheduled : EventKind::child_started;
      entry.event.execution = entry.start->id;
      break;
    case 3:
      entry.event.kind = EventKind::timer_started;
      entry.event.at = now + std::chrono::milliseconds(random_.below(20'000));
      break;
    case 4:
      entry.event.kind = EventKind::step_cancel_requested;
      entry.event.execution = execution();
      for (const Held& one : runs_) {  // rather a child of this run
        const auto view = oracle_.execution_get(kDefaultTenant, one.execution).value();
        if (view && view->execution.parent_run == op.execution && chance(50)) entry.event.execution = one.execution;
      }
      break;
    case 5:
      entry.event.kind = EventKind::signal_sent;
      entry.event.name = "go";
      entry.event.id = pick(kIds);
      break;
    case 9:
      entry.event.kind = chance(50) ? EventKind::update_completed : EventKind::update_rejected;
      entry.event.id = pick(kKeys);
      entry.event.data = pick(kResults);
      break;
    case 6:
      entry.event.kind = EventKind::state_set;
      entry.event.data = pick(kResults);
      break;
    default:
      entry.event.kind = EventKind::local_completed;
      entry.event.data = pick(kResults);
  }
  return entry;
}

RunAdvance Generator::advance(Instant now) {
  RunAdvance op;
  std::vector<Held> owned;
  for (const Held& one : runs_) {
    const auto view = oracle_.execution_get(kDefaultTenant, one.execution).value();
    if (view && view->execution.session && view->execution.version == one.version) owned.push_back(one);
  }
  const Held target = !owned.empty() && !chance(10) ? pick(owned) : runs_.empty() ? held() : pick(runs_);
  op.execution = target.execution;
  op.version = target.version;
  if (chance(4)) op.version += chance(50) ? 1 : -1;
  if (const auto header = oracle_.run_get(op.execution).value()) op.known = header->events;
  if (chance(4)) op.known -= 1;
  const std::vector<Mail> mailbox = chance(60) ? oracle_.mail_list({&op.execution, 1}).value() : std::vector<Mail>{};
  for (const Mail& mail : mailbox) {
    if (chance(10)) continue;
    Event stamp;
    stamp.issued = static_cast<std::int32_t>(random_.below(5));
    stamp.joined = chance(30);
    stamp.at = now;
    op.entries.push_back({mail.key, stamp, {}});
  }
  for (std::uint64_t i = 0, count = random_.below(4); i < count; ++i) op.entries.push_back(command(op, now));
  if (chance(20)) op.entries.push_back(closing(op, now));
  else if (chance(12)) op.entries.push_back(parking());
  hand_on(op);
  op.waits = chance(50);
  op.park_for = std::chrono::milliseconds(random_.below(20'000));
  return op;
}

// Signals and updates for the run that follows.
void Generator::hand_on(RunAdvance& op) {
  if (op.entries.empty() || !op.entries.back().start || !is_closing(op.entries.back().event.kind)) return;
  for (std::uint64_t i = 0, count = random_.below(3); i < count; ++i) {
    Event event;
    event.kind = chance(70) ? EventKind::signal_received : EventKind::update_received;
    event.name = "go";
    if (chance(50)) event.id = pick(kKeys);
    event.data = pick(kResults);
    op.carried.push_back(std::move(event));
  }
}

// Mostly one that is parked.
RunResume Generator::resume() {
  RunResume op;
  op.execution = execution();
  for (const Held& one : runs_) {
    const auto view = oracle_.execution_get(kDefaultTenant, one.execution).value();
    if (view && view->execution.suspend_reason != SuspendReason::none && chance(60)) op.execution = one.execution;
  }
  return op;
}

RunSignal Generator::signal(Instant now) {
  if (!last_signal_.dedupe.empty() && chance(35)) {
    RunSignal again = last_signal_;
    if (chance(50)) again.mail = ids_.next<MailId>(now);  // another request that says the same
    if (chance(50)) again.start.reset();
    return again;
  }
  RunSignal op;
  op.identity = pick(kIds);
  if (chance(20)) op.execution = execution();
  op.name = chance(50) ? "go" : "stop";
  if (chance(50)) op.dedupe = pick(kKeys);
  op.data = pick(kResults);
  op.mail = ids_.next<MailId>(now);
  if (op.dedupe.empty() && chance(50)) op.dedupe = op.mail.to_string();
  op.update = chance(30);
  if (chance(40)) {
    op.start = enqueue(now);
    op.start->kind = chance(95) ? Kind::workflow : Kind::task;
    op.start->lane = flows_;
    if (chance(95)) op.start->identity = op.identity;
    op.start->fingerprint = fingerprint_of(op.start->name, op.start->args).value();
    if (chance(90)) op.execution.reset();
  }
  return last_signal_ = op;
}

// A run that is claimed, and then parked and resumed, or followed by another.
void Generator::rehearse_run(Instant now) {
  TaskEnqueue start = enqueue(now);
  start.kind = Kind::workflow;
  start.lane = flows_;
  start.identity = pick(kIds) + "-run";
  start.idempotency_key.reset();
  start.group.reset();
  start.fingerprint = fingerprint_of(start.name, start.args).value();
  start.priority = 0;
  start.delay.reset();
  start.scheduled_at.reset();
  TaskClaim take;
  take.id = ids_.next<ClaimId>(now);
  take.session = session();
  take.worker = "worker";
  take.lease = 60s;
  take.pool = Pool::runs;
  take.lanes.push_back({flows_, 3, false});
  if (!runs_.empty() && chance(50))
    start.parent = TaskEnqueue::Parent{pick(runs_).execution, "parent", ++last_command_};
  RunAdvance op;
  op.execution = start.id;
  op.version = 2;
  op.known = 1;
  const bool parks = chance(50);
  op.entries.push_back(parks ? parking() : following(op, *start.identity, now));
  op.park_for = 10s;
  hand_on(op);
  script_.push_back(start);
  script_.push_back(take);
  script_.push_back(op);
  if (chance(30)) script_.push_back(op);
  if (parks) script_.push_back(RunResume{kDefaultTenant, start.id});
  if (parks) return;
  RunSignal late = signal(now);  // to a run that went on
  late.execution = start.id;
  late.start.reset();
  script_.push_back(late);
}

}  // namespace semel::differential
