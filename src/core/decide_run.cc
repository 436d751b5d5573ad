// Runs: what their owner records. The order of the checks is that of docs/rules.md, "RunAdvance".
#include <algorithm>
#include <limits>
#include <map>

#include "base/mutant.h"
#include "core/decide_parts.h"
#include "core/precondition.h"
#include "core/run.h"

namespace semel::core {
namespace {

bool closes(const RunAdvance& op) { return !op.entries.empty() && is_closing(op.entries.back().event.kind); }

bool parks(const RunAdvance& op) {
  return !op.entries.empty() && !op.entries.back().mail && op.entries.back().event.kind == EventKind::run_parked;
}

std::int64_t unread_allowed() { return SEMEL_MUTANT("close-ignores-mail") ? 1 << 30 : 0; }  // when a run ends

bool owns(const Execution& e, std::int32_t version) {
  return is_claimed(e) && (e.version == version || SEMEL_MUTANT("advance-without-version"));
}

// A child that replaces whoever has its id may replace its own parent.
bool may_replace(const RunAdvance::Entry& entry) {
  return entry.start && !is_closing(entry.event.kind) && entry.start->on_duplicate == OnDuplicate::replace;
}

// Does the decision depend on what lies in the mailbox?
bool reads_mail(const RunAdvance& op) {
  return op.waits || closes(op) ||
         std::any_of(op.entries.begin(), op.entries.end(), [](const auto& entry) { return entry.mail.has_value(); });
}

// A child that went on is cancelled where it is now.
ExecutionId target_of(const Event& cancel, const RowCache& rows) {
  const Execution* e = peek(rows.executions, *cancel.execution);
  const bool went_on = e && e->next && e->identity;
  const Identity* newest = went_on ? peek(rows.identities, identity_key_of(*e)) : nullptr;
  const Execution* current = newest ? peek(rows.executions, newest->target) : nullptr;
  const bool same = current && current->parent_run == e->parent_run && current->parent_command == e->parent_command;
  return same ? current->id : *cancel.execution;
}

void gather_cancel(const Execution& run, const Event& cancel, const RowCache& rows, Instant now, Needs& needs) {
  gather_part(ExecutionCancel{run.tenant, *cancel.execution, false}, rows, now, needs);
  const Execution* e = peek(rows.executions, *cancel.execution);
  if (!e || !e->next || !e->identity || !want(rows.identities, identity_key_of(*e), needs.identities)) return;
  if (const Identity* newest = rows.identities.find(identity_key_of(*e)))
    gather_part(ExecutionCancel{run.tenant, newest->target, false}, rows, now, needs);
}

// What one advance starts and cancels does not exist yet when the rows of its end are gathered.
std::optional<Execution> cancelled_at_birth(const RunAdvance& op, const Event& cancel) {
  const auto begun = std::find_if(op.entries.begin(), op.entries.end(), [&](const auto& entry) {
    return entry.start && entry.start->id == *cancel.execution;
  });
  if (begun == op.entries.end()) return std::nullopt;
  const TaskEnqueue& start = *begun->start;
  Execution e;
  e.id = start.id;
  e.tenant = start.tenant;
  e.lane = start.lane;
  e.kind = start.kind;
  e.identity = start.identity;
  e.concurrency_key = start.concurrency_key;
  e.flags = (start.concurrency_key ? kHoldsSlot : 0) | (start.drop_at_end ? kDropAtEnd : 0);
  return e;
}

// Each cancel may free a slot, and with it let in the next one, which may be cancelled too.
void gather_cancels(const RunAdvance& op, const Execution& run, const RowCache& rows, Instant now, Needs& needs) {
  std::map<SlotKey, std::int32_t> frees;
  for (const auto& entry : op.entries) {
    if (entry.event.kind != EventKind::step_cancel_requested && entry.event.kind != EventKind::child_cancel_requested)
      continue;
    gather_cancel(run, entry.event, rows, now, needs);
    const auto unborn = cancelled_at_birth(op, entry.event);
    if (unborn) gather_end(*unborn, rows, needs);
    const Execution* target = unborn ? &*unborn : peek(rows.executions, *entry.event.execution);
    if (target && target->concurrency_key) ++frees[slot_key_of(*target)];
  }
  gather_frees(frees, rows, needs);
}

// The command's number makes it the same signal however often it is sent.
RunSignal signal_of(const Execution& run, const Event& event) {
  RunSignal signal;
  signal.tenant = run.tenant;
  signal.identity = event.id;
  signal.name = event.name;
  signal.dedupe = run.id.to_string() + ":" + std::to_string(event.command);
  signal.data = event.data;
  signal.mail = MailId{run.id.bytes};
  const MailId number = mail_id_of(event.command);
  for (std::size_t i = 12; i < 16; ++i) signal.mail.bytes[i] ^= number.bytes[i];
  return signal;
}

Error not_found(ExecutionId id) {
  Error error = make_error(ErrorCode::ExecutionNotFound, "execution " + id.to_string() + " does not exist");
  add_precondition(error, Precondition::missing);
  return error;
}

Answer stale(RowCache& rows, const Execution& e, std::int32_t version, Instant now) {
  note(rows, e, LedgerRule::stale_version, now);
  Error error = make_error(ErrorCode::LeaseLost, "version " + std::to_string(version) + " no longer owns run " +
                                                     e.id.to_string() + "; forget what is in memory");
  add_precondition(error, classify(e.status));
  return error;
}

// None: the owner may add its entries.
std::optional<Answer> refuse(const RunAdvance& op, RowCache& rows, Instant now) {
  const Execution* e = rows.executions.find(op.execution);
  if (!e) return not_found(op.execution);
  if (e->kind != Kind::workflow)
    return make_error(ErrorCode::InvalidTransition, "execution " + e->id.to_string() + " is a task, not a run");
  const Run* run = rows.runs.find(op.execution);
  const auto count = static_cast<std::int32_t>(op.entries.size());
  const bool same = run && count > 0 && run->events == op.known + count;
  const bool from_outside = e->close_reason == CloseReason::terminated || e->status == Status::timed_out;
  const bool over = same && !is_claimed(*e) && e->version == op.version + 1;
  const bool closed = closes(op) && is_terminal(e->status) && !from_outside;
  const bool parked = parks(op) && !is_terminal(e->status) && e->error == op.entries.back().event.data;
  if (!owns(*e, op.version)) {
    if (over && (closed || parked)) return AdvanceAnswer{e->status, run->events, false, true};
    return stale(rows, *e, op.version, now);
  }
  if (!run) throw InvariantBroken("run " + e->id.to_string() + " has no header");
  if (same) return AdvanceAnswer{e->status, run->events, false, true};
  if (run->events != op.known)
    return make_error(ErrorCode::InvalidArgument, "the history of run " + e->id.to_string() + " has " +
                                                      std::to_string(run->events) + " events, not " +
                                                      std::to_string(op.known));
  for (const auto& entry : op.entries)
    if (entry.mail && !(rows.mail.knows(*entry.mail) && rows.mail.find(*entry.mail)))
      return make_error(ErrorCode::InvalidArgument, "run " + e->id.to_string() + " has no such mail");
  const bool fails = closes(op) && op.entries.back().event.kind == EventKind::run_failed;
  if (!fails && (run->events + count > kMaxEvents || run->bytes > kMaxHistoryBytes))
    return make_error(ErrorCode::HistoryTooLong, "the history of run " + e->id.to_string() + " has " +
                                                     std::to_string(run->events) +
                                                     " events; continue as new before that");
  return std::nullopt;
}

std::int64_t unread_after(const RunAdvance& op, const RowCache& rows) {
  std::int64_t unread = 0;
  for (const auto& [key, slot] : rows.mail.all())
    if (key.run == op.execution && slot.row) ++unread;
  for (const auto& entry : op.entries)
    if (entry.mail) --unread;
  return unread;
}

// What a step or child came to when nothing could be started.
void tell_refusal(RowCache& rows, ExecutionId run, const Event& command, const Error& error, Instant now) {
  Event event;
  event.kind = command.kind == EventKind::child_started ? EventKind::child_failed : EventKind::step_failed;
  event.command = command.command;
  event.data = refused_error(error.code);
  put_mail(rows, run, event, mail_id_of(command.command), now);
}

// The id was taken: the run waits for that execution instead, or learns at once what came of it.
void attach(RowCache& rows, ExecutionId run, const Event& command, const EnqueueAnswer& existing, Instant now) {
  const Execution* target = peek(rows.executions, existing.execution);
  if (!target || is_terminal(target->status)) {
    Execution gone;  // only its key is left
    gone.id = existing.execution;
    gone.kind = command.kind == EventKind::child_started ? Kind::workflow : Kind::task;
    gone.status = existing.status;
    gone.result = existing.result;
    return put_mail(rows, run, outcome_of(target ? *target : gone, command.command), mail_id_of(command.command), now);
  }
  rows.watches.add({target->id, run, command.command});
  if (!(target->flags & kWatched)) rows.executions.update(existing.execution).flags |= kWatched;
}

// Without `start` it was refused before it got here, and its failure is recorded beside it.
void start(RowCache& rows, ExecutionId run, const RunAdvance::Entry& entry, Instant now) {
  if (!entry.start) return;
  const Answer answer = decide_part(*entry.start, rows, now);
  if (const auto* error = std::get_if<Error>(&answer)) return tell_refusal(rows, run, entry.event, *error, now);
  const auto& enqueued = std::get<EnqueueAnswer>(answer);
  if (!enqueued.created) attach(rows, run, entry.event, enqueued, now);
}

void send_signal(RowCache& rows, const Execution& run, const Event& command, Instant now) {
  const ExecutionId id = run.id;
  const Answer answer = decide_part(signal_of(run, command), rows, now);
  if (const auto* error = std::get_if<Error>(&answer)) return tell_refusal(rows, id, command, *error, now);
  Event done;
  done.kind = EventKind::step_completed;
  done.command = command.command;
  put_mail(rows, id, done, mail_id_of(command.command), now);
}

bool answers_update(const Event& event) {
  return event.kind == EventKind::update_completed || event.kind == EventKind::update_rejected;
}

SignalKey update_key(const Run& run, const Event& answer) { return {run.chain, std::string(kUpdateName), answer.id}; }

// Whoever sends the update again, to whichever run of the chain, is told this.
void keep_answer(RowCache& rows, ExecutionId run, const Event& event) {
  const SignalKey key = update_key(*rows.runs.find(run), event);
  const Signal* taken = rows.signals.find(key);
  if (!taken || taken->answer) return;
  Event answer;
  answer.kind = event.kind;
  answer.id = event.id;
  answer.data = event.data;
  rows.signals.update(key).answer = encode_event(answer);
}

// What a recorded command does, closing ones apart.
void carry_out(RowCache& rows, ExecutionId run, const RunAdvance::Entry& entry, Instant now) {
  const Event& event = entry.event;
  switch (event.kind) {
    case EventKind::step_scheduled:
    case EventKind::child_started:
      return start(rows, run, entry, now);
    case EventKind::timer_started:
      return rows.timers.add({event.at, TimerKind::run, run, event.command});
    case EventKind::timer_cancelled:
      return rows.timers.remove({event.at, TimerKind::run, run, event.command});
    case EventKind::step_cancel_requested:
    case EventKind::child_cancel_requested: {
      const Execution* target = peek(rows.executions, target_of(event, rows));
      if (target && target->parent_run == run)
        decide_part(ExecutionCancel{rows.executions.at(run).tenant, target->id, false}, rows, now);
      return;
    }
    case EventKind::signal_sent:
      return send_signal(rows, rows.executions.at(run), event, now);
    case EventKind::state_set:
      rows.runs.update(run).state = event.data;
      return;
    case EventKind::update_completed:
    case EventKind::update_rejected:
      return keep_answer(rows, run, event);
    default:
      return;
  }
}

// Whoever asked for the end does not want another attempt.
bool is_retried(const Execution& e) { return e.attempt < e.max_attempts && !e.cancel_requested_at; }

// The run ends, the workflow does not: nobody is told, and what waits for it waits for the next run.
void go_on(RowCache& rows, Execution& e, const TaskEnqueue& next, CloseReason why, Instant now) {
  const bool retried = why == CloseReason::retried;
  e.next = next.id;
  e.close_reason = why;
  const Execution before = e;
  const Run header = *rows.runs.find(e.id);
  TaskEnqueue request = next;
  if (request.memo.empty() && request.attributes.empty()) {
    request.memo = header.memo;
    request.attributes = header.attributes;
  }
  if (e.flags & kWatched) move_watches(rows, e.id, next.id);
  e.flags &= ~(kHasKey | kHasGroup | kHasParent | kWatched);
  end(rows, e, retried ? Status::failed : Status::succeeded, retried ? AttemptEnd::failed : AttemptEnd::succeeded, now);
  start_next(request, rows, before, header.chain, now);
}

// Numbers below those of commands: what comes of the successor's first command is mail of its own, even at this
// instant.
void carry(const RunAdvance& op, RowCache& rows, Instant now) {
  const ExecutionId next = op.entries.back().start->id;
  std::int32_t number = std::numeric_limits<std::int32_t>::min();
  for (const Event& signal : op.carried) put_mail(rows, next, signal, mail_id_of(++number), now);
}

void close(const RunAdvance& op, RowCache& rows, Instant now) {
  const RunAdvance::Entry& entry = op.entries.back();
  Execution& e = rows.executions.update(op.execution);
  switch (entry.event.kind) {
    case EventKind::run_completed:
      e.result = entry.event.data;
      e.error.reset();
      return end(rows, e, Status::succeeded, AttemptEnd::succeeded, now);
    case EventKind::run_cancelled:
      return end(rows, e, Status::cancelled, AttemptEnd::cancelled, now);
    case EventKind::run_continued:
      e.error.reset();
      go_on(rows, e, *entry.start, CloseReason::continued, now);
      return carry(op, rows, now);
    default:
      e.error = entry.event.data;
      if (!entry.start || !is_retried(e))
        return end(rows, e, rows.lanes.at(e.lane).config.dead_letter ? Status::dead_lettered : Status::failed,
                   AttemptEnd::failed, now);
      go_on(rows, e, *entry.start, CloseReason::retried, now);
      return carry(op, rows, now);
  }
}

// The event as it is recorded; mail leaves the mailbox.
std::string take_event(RowCache& rows, const RunAdvance::Entry& entry) {
  if (!entry.mail) return encode_event(entry.event);
  auto event = decode_event(rows.mail.at(*entry.mail).event);
  if (!event) throw InvariantBroken("mail of run " + entry.mail->run.to_string() + " cannot be read");
  event->issued = entry.event.issued;
  event->joined = entry.event.joined;
  event->at = entry.event.at;
  rows.mail.erase(*entry.mail);
  return encode_event(*event);
}

// Records the entries and carries out their commands, closing ones apart; `events` is the length of the history then.
// What stands behind a child that may replace the run waits for what comes of that. False: one of them ended the run.
bool add_entries(const RunAdvance& op, RowCache& rows, Instant now, std::int32_t& events) {
  const auto end = op.entries.end();
  for (auto next = op.entries.begin(); next != end;) {
    auto until = std::find_if(next, end, may_replace);
    if (until != end) ++until;
    Append append;
    for (auto it = next; it != until; ++it) add_event(append, take_event(rows, *it));
    append_history(rows, op.execution, std::move(append), now);
    events = rows.runs.at(op.execution).events;
    for (; next != until; ++next) {
      if (!is_closing(next->event.kind)) carry_out(rows, op.execution, *next, now);
      const Execution* e = rows.executions.find(op.execution);
      if (!e || is_terminal(e->status)) return false;
    }
  }
  return true;
}

}  // namespace

void gather_part(const RunAdvance& op, const RowCache& rows, Instant now, Needs& needs) {
  want(rows.runs, op.execution, needs.runs);
  if (reads_mail(op) && !rows.mail_known.contains(op.execution)) needs.mail.push_back(op.execution);
  if (!want(rows.executions, op.execution, needs.executions)) return;
  const Execution* e = rows.executions.find(op.execution);
  if (!e || e->kind != Kind::workflow || !owns(*e, op.version)) return;
  for (const auto& entry : op.entries) {
    if (entry.start && is_closing(entry.event.kind)) gather_next(*entry.start, rows, needs);
    else if (entry.start) gather_part(*entry.start, rows, now, needs);
    if (entry.event.kind == EventKind::signal_sent) gather_part(signal_of(*e, entry.event), rows, now, needs);
    const Run* run = answers_update(entry.event) ? peek(rows.runs, op.execution) : nullptr;
    if (run) want(rows.signals, update_key(*run, entry.event), needs.signals);
  }
  gather_cancels(op, *e, rows, now, needs);
  if (!closes(op)) return;
  want(rows.lanes, e->lane, needs.lanes);
  gather_end(*e, rows, needs);
}

Answer decide_part(const RunAdvance& op, RowCache& rows, Instant now) {
  if (auto refused = refuse(op, rows, now)) return *refused;
  const std::int64_t unread = reads_mail(op) ? unread_after(op, rows) : 0;
  const Run& header = rows.runs.at(op.execution);
  if (closes(op) && unread > unread_allowed())
    return AdvanceAnswer{rows.executions.at(op.execution).status, header.events, true, false};
  std::int32_t events = header.events;
  if (!add_entries(op, rows, now, events)) return AdvanceAnswer{Status::cancelled, events, false, false};
  if (closes(op)) {
    close(op, rows, now);
    const Execution* after = rows.executions.find(op.execution);
    return AdvanceAnswer{after ? after->status : rows.dropped->status, events, false, false};
  }
  if (parks(op)) {
    park(rows, rows.executions.update(op.execution), op.entries.back().event.data, add_saturated(now, op.park_for));
    return AdvanceAnswer{Status::suspended, events, false, false};
  }
  // What the commands themselves brought is mail too: then there is something to decide at once.
  const bool idle = op.waits && unread == 0 && !has_mail(rows, op.execution);
  const Status status = idle ? Status::suspended : Status::running;
  if (rows.executions.at(op.execution).status != status) rows.executions.update(op.execution).status = status;
  return AdvanceAnswer{status, events, false, false};
}

}  // namespace semel::core
