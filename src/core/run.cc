#include "core/run.h"

#include <algorithm>

namespace semel::core {

// ---- start ----------------------------------------------------------------------------------------------------------

void start_run(RowCache& rows, const Execution& e, Run header, Instant now) {
  const ExecutionId chain = header.chain.is_nil() ? e.id : header.chain;
  rows.runs.insert(e.id, Run{e.id, 0, 0, {}, std::move(header.memo), std::move(header.attributes), chain});
  Event started;
  started.kind = EventKind::run_started;
  started.at = now;
  started.name = e.name;
  Append append;
  add_event(append, encode_event(started));
  append_history(rows, e.id, std::move(append), now);
}

void erase_run(RowCache& rows, const Execution& e) {
  const Run* run = rows.runs.find(e.id);
  if (!run) return;
  if (!e.next) rows.chains_over.push_back(run->chain);
  rows.runs.erase(e.id);
}

// ---- mail -----------------------------------------------------------------------------------------------------------

MailId mail_id_of(std::int32_t command) {
  MailId id;
  for (int i = 0; i < 4; ++i)
    id.bytes[static_cast<std::size_t>(15 - i)] =
        static_cast<std::uint8_t>(static_cast<std::uint32_t>(command) >> (8 * i));
  return id;
}

bool has_mail(const RowCache& rows, ExecutionId run) {
  return std::any_of(rows.mail.all().begin(), rows.mail.all().end(),
                     [&](const auto& slot) { return slot.first.run == run && slot.second.row; });
}

void gather_mail(ExecutionId run, const RowCache& rows, Needs& needs) { want(rows.executions, run, needs.executions); }

void put_mail(RowCache& rows, ExecutionId run, const Event& input, MailId id, Instant now) {
  const Execution* found = rows.executions.find(run);
  if (!found || found->kind != Kind::workflow || is_terminal(found->status)) return;
  const MailKey key{run, now, id};
  if (rows.mail.knows(key) && rows.mail.find(key)) return;
  rows.mail.insert(key, Mail{key, encode_event(input)});
  if (found->session) return rows.mailed.push_back(run);
  if (found->status != Status::suspended || found->suspend_reason != SuspendReason::none) return;
  Execution& e = rows.executions.update(run);
  e.status = Status::running;
  e.scheduled_at = now;
  rows.ready.add(ready_row_of(e));
}

// ---- outcome --------------------------------------------------------------------------------------------------------

void gather_outcome(const Execution& e, const RowCache& rows, Needs& needs) {
  if (e.flags & kHasParent) gather_mail(*e.parent_run, rows, needs);
  if (!(e.flags & kWatched)) return;
  if (!rows.watches_known.contains(e.id)) return needs.watches.push_back(e.id);
  for (const auto& [watch, presence] : rows.watches.all())
    if (watch.target == e.id && presence != Presence::removed) gather_mail(watch.run, rows, needs);
}

Event outcome_of(const Execution& ended, std::int32_t command) {
  const bool step = ended.kind == Kind::task;
  Event event;
  event.command = command;
  event.execution = ended.id;
  switch (ended.status) {
    case Status::succeeded:
      event.kind = step ? EventKind::step_completed : EventKind::child_completed;
      event.data = ended.result.value_or("");
      break;
    case Status::cancelled:
      event.kind = step ? EventKind::step_cancelled : EventKind::child_cancelled;
      break;
    case Status::timed_out:
      event.kind = step ? EventKind::step_timed_out : EventKind::child_timed_out;
      break;
    default:
      event.kind = step ? EventKind::step_failed : EventKind::child_failed;
      event.data = ended.error.value_or("");
      break;
  }
  return event;
}

void tell_outcome(RowCache& rows, const Execution& ended, Instant now) {
  const Execution e = ended;  // the rows may move
  if (e.flags & kHasParent)
    put_mail(rows, *e.parent_run, outcome_of(e, e.parent_command), mail_id_of(e.parent_command), now);
  if (!(e.flags & kWatched)) return;
  std::vector<Watch> told;
  for (const auto& [watch, presence] : rows.watches.all())
    if (watch.target == e.id && presence != Presence::removed) told.push_back(watch);
  for (const Watch& watch : told) {
    rows.watches.remove(watch);
    put_mail(rows, watch.run, outcome_of(e, watch.command), mail_id_of(watch.command), now);
  }
}

void move_watches(RowCache& rows, ExecutionId from, ExecutionId to) {
  std::vector<Watch> moved;
  for (const auto& [watch, presence] : rows.watches.all())
    if (watch.target == from && presence != Presence::removed) moved.push_back(watch);
  for (const Watch& watch : moved) {
    rows.watches.remove(watch);
    const Execution* waits = rows.executions.find(watch.run);
    if (watch.run != from && waits && !is_terminal(waits->status)) rows.watches.add({to, watch.run, watch.command});
  }
}

// ---- give up --------------------------------------------------------------------------------------------------------

void gather_give_up(const Execution& run, const RowCache& rows, Needs& needs) {
  if (!rows.mail_known.contains(run.id)) needs.mail.push_back(run.id);
}

void give_up(RowCache& rows, Execution& run, AttemptEnd how, Instant at, Instant now) {
  run.version += 1;
  run.last_end = how;
  run.session.reset();
  run.lease_expires_at.reset();
  if (run.status == Status::suspended && has_mail(rows, run.id) && run.suspend_reason == SuspendReason::none)
    run.status = Status::running;
  if (run.status != Status::running) return;
  run.scheduled_at = at;
  enter(rows, run, now);
}

// ---- park -----------------------------------------------------------------------------------------------------------

void park(RowCache& rows, Execution& run, const std::string& error, Instant until) {
  run.error = error;
  run.status = Status::suspended;
  run.suspend_reason = SuspendReason::nondeterminism;
  run.version += 1;
  run.last_end = AttemptEnd::released;
  run.session.reset();
  run.lease_expires_at.reset();
  run.scheduled_at = until;
  rows.timers.add({until, TimerKind::due, run.id, 0});
}

void unpark(RowCache& rows, Execution& run, Instant at, Instant now) {
  withdraw(rows, run);
  run.status = Status::running;
  run.suspend_reason = SuspendReason::none;
  run.scheduled_at = at;
  enter(rows, run, now);
}

// ---- history --------------------------------------------------------------------------------------------------------

void add_event(Append& append, std::string_view encoded) {
  append_event(append.bytes, encoded);
  append.count += 1;
}

void append_history(RowCache& rows, ExecutionId run, Append append, Instant now) {
  if (append.count == 0) return;
  Run& header = rows.runs.update(run);
  const std::int32_t first = header.events + 1;
  header.events += append.count;
  header.bytes += static_cast<std::int64_t>(append.bytes.size());
  rows.history.push_back({run, first, append.count, now, std::move(append.bytes)});
}

void gather_close(const Execution& run, const RowCache& rows, Needs& needs) {
  if (run.kind == Kind::workflow) want(rows.runs, run.id, needs.runs);
}

void close_history(RowCache& rows, const Execution& run, EventKind kind, Instant now) {
  if (run.kind != Kind::workflow || !rows.runs.find(run.id)) return;
  Event event;
  event.kind = kind;
  event.at = now;
  Append append;
  add_event(append, encode_event(event));
  append_history(rows, run.id, std::move(append), now);
}

}  // namespace semel::core
