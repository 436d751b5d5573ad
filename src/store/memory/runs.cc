// docs/rules.md, "Runs": mail, history, what an owner records, signals.
#include <algorithm>
#include <utility>

#include "base/json.h"
#include "core/error_text.h"
#include "store/memory/model.h"

namespace semel::store::memory {

using core::AttemptEnd;
using core::Event;
using core::EventKind;
using core::Execution;
using core::RunAdvance;
using core::RunSignal;

namespace {

constexpr std::int32_t kMostEvents = 50'000;
constexpr std::int64_t kMostBytes = 50 << 20;

Event outcome(const Execution& e, std::int32_t command) {
  Event event;
  event.command = command;
  event.execution = e.id;
  const bool step = e.kind == Kind::task;
  if (e.status == Status::succeeded) {
    event.kind = step ? EventKind::step_completed : EventKind::child_completed;
    event.data = e.result.value_or("");
  } else if (e.status == Status::cancelled) {
    event.kind = step ? EventKind::step_cancelled : EventKind::child_cancelled;
  } else if (e.status == Status::timed_out) {
    event.kind = step ? EventKind::step_timed_out : EventKind::child_timed_out;
  } else {
    event.kind = step ? EventKind::step_failed : EventKind::child_failed;
    event.data = e.error.value_or("");
  }
  return event;
}

Event refusal(const Event& command, const Error& error) {
  Event event;
  event.kind = command.kind == EventKind::child_started ? EventKind::child_failed : EventKind::step_failed;
  event.command = command.command;
  event.data = core::refused_error(error.code);
  return event;
}

Error takes_none(ExecutionId run, Status status) {
  Error error = make_error(ErrorCode::WorkflowAlreadyCompleted, "a finished run takes no signals");
  error.details.push_back({"existing_execution_id", base::quote_json(run.to_string())});
  error.details.push_back({"status", base::quote_json(to_string(status))});
  return error;
}

bool parking(const RunAdvance& q) {
  return !q.entries.empty() && !q.entries.back().mail && q.entries.back().event.kind == EventKind::run_parked;
}
bool closing(const RunAdvance& q) { return !q.entries.empty() && core::is_closing(q.entries.back().event.kind); }

}  // namespace

void Model::start_run(const Execution& e, const std::string& memo, const std::string& attributes, ExecutionId chain) {
  t_.runs[e.id] = {e.id, 0, 0, {}, memo, attributes, chain};
  Event started;
  started.kind = EventKind::run_started;
  started.at = now_;
  started.name = e.name;
  record(e.id, {started});
}

void Model::record(ExecutionId run, const std::vector<Event>& events) {
  if (events.empty()) return;
  ++effects_.changes;
  core::Run& header = t_.runs.at(run);
  core::HistoryRow row{run, header.events + 1, static_cast<std::int32_t>(events.size()), now_, ""};
  for (const Event& event : events) core::append_event(row.events, core::encode_event(event));
  header.events += row.count;
  header.bytes += static_cast<std::int64_t>(row.events.size());
  t_.history[{run, row.first}] = row;
}

void Model::close_from_outside(const Execution& e, EventKind kind) {
  if (e.kind != Kind::workflow || !find_row(t_.runs, e.id)) return;
  Event event;
  event.kind = kind;
  event.at = now_;
  record(e.id, {event});
}

bool Model::has_mail(ExecutionId run) const {
  const auto first = t_.mail.lower_bound({run, Instant::min(), {}});
  return first != t_.mail.end() && first->first.run == run;
}

void Model::send_mail(ExecutionId run, Event input, MailId id) {
  Execution* e = find_row(t_.executions, run);
  if (!e || e->kind != Kind::workflow || is_terminal(e->status)) return;
  const core::MailKey key{run, now_, id};
  if (!t_.mail.try_emplace(key, core::Mail{key, core::encode_event(input)}).second) return;
  ++effects_.changes;
  if (e->session) return effects_.wakes.mailed.push_back(run);
  if (e->status != Status::suspended || e->suspend_reason != core::SuspendReason::none) return;
  e->status = Status::running;
  e->scheduled_at = now_;
  put_ready(*e);
}

void Model::tell_outcome(const Execution& ended) {
  if (ended.parent_run)
    send_mail(*ended.parent_run, outcome(ended, ended.parent_command), mail_number(ended.parent_command));
  std::vector<core::Watch> told;
  for (auto it = t_.watches.lower_bound({ended.id, {}, INT32_MIN}); it != t_.watches.end() && it->target == ended.id;
       ++it)
    told.push_back(*it);
  for (const core::Watch& watch : told) {
    t_.watches.erase(watch);
    send_mail(watch.run, outcome(ended, watch.command), mail_number(watch.command));
  }
}

Execution Model::give_up(Execution& run, AttemptEnd how, Instant at) {
  ++effects_.changes;
  run.version += 1;
  run.last_end = how;
  run.session.reset();
  run.lease_expires_at.reset();
  const bool something = run.suspend_reason == core::SuspendReason::none && has_mail(run.id);
  if (run.status == Status::suspended && something) run.status = Status::running;
  if (run.status != Status::running) return run;
  run.scheduled_at = at;
  enters(run);
  return run;
}

void Model::park(Execution& run, const std::string& error, Instant until) {
  ++effects_.changes;
  run.error = error;
  run.status = Status::suspended;
  run.suspend_reason = core::SuspendReason::nondeterminism;
  run.version += 1;
  run.last_end = AttemptEnd::released;
  run.session.reset();
  run.lease_expires_at.reset();
  run.scheduled_at = until;
  put_timer({until, core::TimerKind::due, run.id, 0});
}

void Model::unpark(Execution& run, Instant at) {
  t_.timers.remove(run.id, core::TimerKind::due);
  run.status = Status::running;
  run.suspend_reason = core::SuspendReason::none;
  run.scheduled_at = at;
  enters(run);
}

void Model::forget_run(const Execution& e) {
  const ExecutionId run = e.id;
  if (const core::Run* header = find_row(t_.runs, run); header && !e.next) {
    const ExecutionId chain = header->chain;
    std::erase_if(t_.signals, [&](const auto& row) { return row.first.chain == chain; });
  }
  t_.runs.erase(run);
  std::erase_if(t_.history, [&](const auto& row) { return row.first.first == run; });
  std::erase_if(t_.mail, [&](const auto& row) { return row.first.run == run; });
  std::erase_if(t_.watches, [&](const auto& row) { return row.run == run; });
}

// ---- advance --------------------------------------------------------------------------------------------------------

// NoAnswer: the owner may add its entries.
core::Answer Model::refuse_advance(const RunAdvance& q, const Execution* e) {
  if (!e) {
    Error error = make_error(ErrorCode::ExecutionNotFound, "no such execution");
    error.details.push_back({"precondition", "\"missing\""});
    return error;
  }
  if (e->kind != Kind::workflow) return make_error(ErrorCode::InvalidTransition, "a task is no run");
  const core::Run* run = find_row(t_.runs, e->id);
  const auto count = static_cast<std::int32_t>(q.entries.size());
  const bool recorded = run && count > 0 && run->events == q.known + count;
  if (!is_held(*e) || e->version != q.version) {
    const bool by_others = e->status == Status::timed_out || e->close_reason == core::CloseReason::terminated;
    if (is_terminal(e->status) && !by_others && e->version == q.version + 1 && recorded && closing(q))
      return core::AdvanceAnswer{e->status, run->events, false, true};
    const bool given_up = !is_terminal(e->status) && !e->session && e->version == q.version + 1;
    if (given_up && recorded && parking(q) && e->error == q.entries.back().event.data)
      return core::AdvanceAnswer{e->status, run->events, false, true};
    return answer_stranger(*e, Standing::lost);
  }
  if (recorded) return core::AdvanceAnswer{e->status, run->events, false, true};
  if (run->events != q.known) return make_error(ErrorCode::InvalidArgument, "the history has another length");
  for (const auto& entry : q.entries)
    if (entry.mail && !find_row(t_.mail, *entry.mail)) return make_error(ErrorCode::InvalidArgument, "no such mail");
  const bool fails = closing(q) && q.entries.back().event.kind == EventKind::run_failed;
  if (!fails && (run->events + count > kMostEvents || run->bytes > kMostBytes))
    return make_error(ErrorCode::HistoryTooLong, "the history is too long");
  return core::NoAnswer{};
}

core::Answer Model::run(const RunAdvance& q) {
  Execution* e = find_row(t_.executions, q.execution);
  if (Answer refused = refuse_advance(q, e); !std::holds_alternative<core::NoAnswer>(refused)) return refused;
  if (closing(q)) {
    std::size_t unread = 0, read = 0;
    for (const auto& [key, mail] : t_.mail) unread += key.run == q.execution;
    for (const auto& entry : q.entries) read += entry.mail.has_value();
    if (unread > read) return core::AdvanceAnswer{e->status, t_.runs.at(q.execution).events, true, false};
  }
  std::int32_t count = t_.runs.at(q.execution).events;
  std::vector<Event> events;
  std::size_t done = 0;
  for (std::size_t i = 0; i < q.entries.size(); ++i) {
    const auto& entry = q.entries[i];
    Event event = entry.event;
    if (entry.mail) {
      event = *core::decode_event(t_.mail.at(*entry.mail).event);
      event.issued = entry.event.issued;
      event.joined = entry.event.joined;
      event.at = entry.event.at;
      t_.mail.erase(*entry.mail);
    }
    events.push_back(std::move(event));
    const bool replaces =
        entry.start && !core::is_closing(entry.event.kind) && entry.start->on_duplicate == OnDuplicate::replace;
    if (!replaces && i + 1 < q.entries.size()) continue;
    record(q.execution, std::exchange(events, {}));
    count = t_.runs.at(q.execution).events;
    for (; done <= i; ++done) {
      if (!core::is_closing(q.entries[done].event.kind)) carry_out(q.execution, q.entries[done]);
      e = find_row(t_.executions, q.execution);
      if (!e || is_terminal(e->status)) return core::AdvanceAnswer{Status::cancelled, count, false, false};
    }
  }
  if (closing(q)) {
    const auto& last = q.entries.back();
    const Execution closed = close_run(*e, last);
    if (closed.next)
      for (std::size_t i = 0; i < q.carried.size(); ++i)
        send_mail(*closed.next, q.carried[i], mail_number(INT32_MIN + static_cast<std::int32_t>(i) + 1));
    const Status status = closed.status;
    return core::AdvanceAnswer{status, count, false, false};
  }
  if (parking(q)) {
    park(*e, q.entries.back().event.data, add_saturated(now_, q.park_for));
    return core::AdvanceAnswer{Status::suspended, count, false, false};
  }
  const Status status = q.waits && !has_mail(q.execution) ? Status::suspended : Status::running;
  effects_.changes += e->status != status;
  e->status = status;
  return core::AdvanceAnswer{status, count, false, false};
}

void Model::start_for(ExecutionId run, const RunAdvance::Entry& entry) {
  if (!entry.start) return;
  const Answer answer = this->run(*entry.start);
  const MailId mail = mail_number(entry.event.command);
  if (const auto* error = std::get_if<Error>(&answer)) return send_mail(run, refusal(entry.event, *error), mail);
  const auto& enqueued = std::get<core::EnqueueAnswer>(answer);
  if (enqueued.created) return;
  Execution* target = find_row(t_.executions, enqueued.execution);
  if (target && !is_terminal(target->status)) {
    ++effects_.changes;
    target->flags |= core::kWatched;
    t_.watches.insert({target->id, run, entry.event.command});
    return;
  }
  Execution known;  // all that its key remembers
  known.id = enqueued.execution;
  known.kind = entry.event.kind == EventKind::child_started ? Kind::workflow : Kind::task;
  known.status = enqueued.status;
  known.result = enqueued.result;
  send_mail(run, outcome(target ? *target : known, entry.event.command), mail);
}

void Model::carry_out(ExecutionId run, const RunAdvance::Entry& entry) {
  const Event& event = entry.event;
  if (event.kind == EventKind::step_scheduled || event.kind == EventKind::child_started) return start_for(run, entry);
  if (event.kind == EventKind::timer_started) {
    ++effects_.changes;
    return put_timer({event.at, core::TimerKind::run, run, event.command});
  }
  if (event.kind == EventKind::timer_cancelled) {
    ++effects_.changes;
    return t_.timers.remove(run, core::TimerKind::run, event.command);
  }
  if (event.kind == EventKind::step_cancel_requested || event.kind == EventKind::child_cancel_requested) {
    const Execution* target = cancel_target(event);
    if (target && target->parent_run == run) this->run(core::ExecutionCancel{target->tenant, target->id, false});
    return;
  }
  if (event.kind == EventKind::state_set) {
    t_.runs.at(run).state = event.data;
    return;
  }
  if (event.kind == EventKind::update_completed || event.kind == EventKind::update_rejected) {
    core::Signal* update = find_row(t_.signals, core::SignalKey{t_.runs.at(run).chain, "\x1f", event.id});
    if (!update || update->answer) return;
    Event answer;
    answer.kind = event.kind;
    answer.id = event.id;
    answer.data = event.data;
    update->answer = core::encode_event(answer);
    return;
  }
  if (event.kind != EventKind::signal_sent) return;
  RunSignal signal;
  signal.tenant = t_.executions.at(run).tenant;
  signal.identity = event.id;
  signal.name = event.name;
  signal.dedupe = run.to_string() + ":" + std::to_string(event.command);
  signal.data = event.data;
  signal.mail = MailId{run.bytes};
  const MailId number = mail_number(event.command);
  for (std::size_t i = 12; i < 16; ++i) signal.mail.bytes[i] ^= number.bytes[i];
  const Answer answer = this->run(signal);
  if (const auto* error = std::get_if<Error>(&answer)) return send_mail(run, refusal(event, *error), number);
  Event done;
  done.kind = EventKind::step_completed;
  done.command = event.command;
  send_mail(run, done, number);
}

Execution* Model::cancel_target(const Event& cancel) {
  Execution* e = find_row(t_.executions, *cancel.execution);
  if (!e || !e->next || !e->identity) return e;
  const core::Identity* id = find_row(t_.identities, id_row_key(*e));
  Execution* last = id ? find_row(t_.executions, id->target) : nullptr;
  if (!last || last->parent_run != e->parent_run || last->parent_command != e->parent_command) return e;
  return last;
}

Execution Model::go_on(Execution& e, const core::TaskEnqueue& next, core::CloseReason why) {
  constexpr std::uint32_t kTies = core::kHasKey | core::kHasGroup | core::kHasParent | core::kWatched;
  e.next = next.id;
  e.close_reason = why;
  const Execution before = e;
  const core::Run header = t_.runs.at(e.id);
  if (core::Identity* key = e.idempotency_key ? find_row(t_.identities, key_row_key(e)) : nullptr;
      key && key->target == e.id) {
    key->target = next.id;
    key->revision += 1;
  }
  for (const core::Watch& watch : std::set<core::Watch>(t_.watches)) {
    if (watch.target != e.id) continue;
    t_.watches.erase(watch);
    const Execution* waits = find_row(t_.executions, watch.run);
    if (waits != &e && waits && !is_terminal(waits->status)) t_.watches.insert({next.id, watch.run, watch.command});
  }
  e.flags &= ~kTies;
  const bool retried = why == core::CloseReason::retried;
  const Execution ended =
      end(e, retried ? Status::failed : Status::succeeded, retried ? AttemptEnd::failed : AttemptEnd::succeeded);
  core::TaskEnqueue request = next;
  if (request.memo.empty() && request.attributes.empty()) {
    request.memo = header.memo;
    request.attributes = header.attributes;
  }
  request.idempotency_key.reset();
  request.group.reset();
  request.parent.reset();
  create(request, &ended);
  t_.runs.at(next.id).chain = header.chain;
  Execution& row = t_.executions.at(next.id);
  row.flags |= before.flags & kTies;
  row.idempotency_key = before.idempotency_key;
  row.idempotency_key_ttl_seconds = before.idempotency_key_ttl_seconds;
  row.group = before.group;
  row.parent_run = before.parent_run;
  row.parent_workflow_id = before.parent_workflow_id;
  row.parent_command = before.parent_command;
  if (before.timeout_at && (!row.timeout_at || *before.timeout_at < *row.timeout_at)) {
    row.flags |= core::kHasTimer;
    row.timeout_at = before.timeout_at;
    put_timer({*row.timeout_at, core::TimerKind::timeout, row.id, 0});
  }
  if (retried) {
    row.attempt = before.attempt;
    row.max_attempts = before.max_attempts;
  }
  return ended;
}

Execution Model::close_run(Execution& e, const RunAdvance::Entry& entry) {
  const Event& event = entry.event;
  if (event.kind == EventKind::run_cancelled) return end(e, Status::cancelled, AttemptEnd::cancelled);
  if (event.kind == EventKind::run_completed) {
    e.result = event.data;
    e.error.reset();
    return end(e, Status::succeeded, AttemptEnd::succeeded);
  }
  if (event.kind == EventKind::run_continued) {
    e.error.reset();
    return go_on(e, *entry.start, core::CloseReason::continued);
  }
  e.error = event.data;
  if (entry.start && e.attempt < e.max_attempts && !e.cancel_requested_at)
    return go_on(e, *entry.start, core::CloseReason::retried);
  return end(e, spent_status(e), AttemptEnd::failed);
}

core::Answer Model::run(const core::RunResume& q) {
  Execution* e = find_execution(q.tenant, q.execution);
  if (!e) return make_error(ErrorCode::ExecutionNotFound, "no such execution");
  if (e->kind != Kind::workflow) return make_error(ErrorCode::InvalidTransition, "a task is not resumed");
  const bool parked = is_parked(*e);
  if (parked) unpark(*e, now_);
  return core::ResumeAnswer{e->status, parked};
}

// ---- signals --------------------------------------------------------------------------------------------------------

// Where the chain of `e` goes on now; `e` when it does not, or when the id is another chain's.
const Execution* Model::newest_of_chain(const Execution& e) const {
  if (!e.next || !e.identity) return &e;
  const core::Identity* id = find_row(t_.identities, id_row_key(e));
  const core::Run* last = id ? find_row(t_.runs, id->target) : nullptr;
  if (!last || last->chain != t_.runs.at(e.id).chain) return &e;
  return &t_.executions.at(id->target);
}

core::Answer Model::run(const RunSignal& q) {
  if (q.update && q.dedupe.empty()) return make_error(ErrorCode::InvalidArgument, "an update needs an id");
  const Execution* e = nullptr;
  bool started = false;
  if (q.start) {
    core::TaskEnqueue start = *q.start;
    const bool fits = start.kind == Kind::workflow && start.tenant == q.tenant && start.identity == q.identity;
    if (!fits || q.execution) return make_error(ErrorCode::InvalidArgument, "another workflow than the signal's");
    start.on_duplicate = OnDuplicate::return_existing;
    Answer answer = run(start);
    if (std::holds_alternative<Error>(answer)) return answer;
    const auto& found = std::get<core::EnqueueAnswer>(answer);
    started = found.created;
    e = find_row(t_.executions, found.execution);
    if (!e) return takes_none(found.execution, found.status);
  } else if (q.execution) {
    e = find_row(t_.executions, *q.execution);
  } else if (const auto* id = find_row(t_.identities, core::IdentityKey{q.tenant, core::Space::workflow, q.identity})) {
    e = find_row(t_.executions, id->target);
  }
  if (!e || e->tenant != q.tenant || e->kind != Kind::workflow)
    return make_error(ErrorCode::ExecutionNotFound, "no such workflow");
  e = newest_of_chain(*e);
  const core::SignalKey key{t_.runs.at(e->id).chain, q.update ? "\x1f" : q.name, q.dedupe};
  const bool own_id = !q.update && q.dedupe == q.mail.to_string();
  if (const core::Signal* taken = q.dedupe.empty() ? nullptr : find_row(t_.signals, key)) {
    core::SignalAnswer answer{e->id, own_id || taken->mail == q.mail, started, {}};
    if (taken->answer) answer.answer = *core::decode_event(*taken->answer);
    return answer;
  }
  if (is_terminal(e->status)) return takes_none(e->id, e->status);
  if (!q.dedupe.empty()) t_.signals[key] = {key, q.mail, {}};
  Event event;
  event.kind = q.update ? EventKind::update_received : EventKind::signal_received;
  event.name = q.name;
  event.id = own_id ? "" : q.dedupe;
  event.data = q.data;
  send_mail(e->id, event, q.mail);
  return core::SignalAnswer{e->id, true, started};
}

}  // namespace semel::store::memory
