// When everything has ended: the histories, read event by event.
#include <algorithm>

#include "base/json_value.h"
#include "tests/sim/program.h"
#include "tests/sim/run_checks.h"

namespace semel::sim {

using core::Event;
using core::EventKind;

namespace {

// Only ends that the engine wrote carry their time.
bool closed_by_code(const Event& last) { return core::is_closing(last.kind) && last.at == Instant{}; }

bool is_outcome(EventKind kind) {
  return core::is_input(kind) && kind != EventKind::signal_received && kind != EventKind::update_received &&
         kind != EventKind::cancel_requested;
}

Status status_of(EventKind closing) {
  switch (closing) {
    case EventKind::run_completed:
    case EventKind::run_continued:
      return Status::succeeded;
    case EventKind::run_failed:
      return Status::failed;
    case EventKind::run_timed_out:
      return Status::timed_out;
    default:
      return Status::cancelled;
  }
}

bool has(const std::vector<Event>& events, EventKind kind) {
  return std::ranges::any_of(events, [kind](const Event& event) { return event.kind == kind; });
}

}  // namespace

std::vector<Event> RunChecks::read_history(const core::Execution& row) {
  std::vector<Event> events;
  const auto rows = *store_.history_get(row.id, 0, 1 << 30);
  for (const auto& append : rows) {
    if (append.first != static_cast<std::int32_t>(events.size()) + 1)
      violation(row, "its history has a gap before event " + std::to_string(append.first));
    auto decoded = core::decode_events(append.events);
    if (!decoded || static_cast<std::int32_t>(decoded->size()) != append.count)
      violation(row, "an append of its history cannot be read");
    else std::ranges::move(*decoded, std::back_inserter(events));
  }
  return events;
}

std::string RunChecks::describe(const core::Execution& row) {
  std::string text;
  for (const auto& event : read_history(row))
    text += " " + std::string(core::to_string(event.kind)) + "#" + std::to_string(event.command) + "/" +
            std::to_string(event.issued) + event.name;
  return text;
}

void RunChecks::check_ended() {
  store::ExecutionFilter ended;
  ended.kind = Kind::workflow;
  ended.statuses = {Status::succeeded, Status::failed, Status::cancelled, Status::timed_out, Status::dead_lettered};
  ended.limit = 1000;
  const auto views = *store_.execution_list(ended);
  for (const auto& view : views) {
    const auto run = *store_.run_get(view.execution.id);
    if (!run) continue;
    const auto [known, fresh] = lengths_.emplace(view.execution.id, run->events);
    if (known->second != run->events) violation(view.execution, "H3: its history grew after its end");
  }
}

void RunChecks::check_end(const engine::WorkflowTable& table) {
  check_ended();
  store::ExecutionFilter filter;
  filter.kind = Kind::workflow;
  filter.limit = 1000;
  const auto listed = *store_.execution_list(filter);
  for (const auto& item : listed) {
    const auto& row = item.execution;
    const auto events = read_history(row);
    check_shape(row, events);
    if (events.empty()) continue;
    check_commands(row, events);
    check_effects(row, events);
    check_signals(row, events);
    check_replay(*(*store_.execution_get(row.tenant, row.id)), events, table);
    note_goals(row, events);
  }
  check_steps();
  check_accepted();
}

void RunChecks::check_shape(const core::Execution& row, const std::vector<Event>& events) {
  const auto run = *store_.run_get(row.id);
  if (!run) return violation(row, "it has no header");
  if (run->events != static_cast<std::int32_t>(events.size())) violation(row, "its header counts other events");
  if (events.empty() || events.front().kind != EventKind::run_started)
    return violation(row, "its history does not begin with its start");
  const auto closing = std::ranges::count_if(events, [](const Event& event) { return core::is_closing(event.kind); });
  const bool closed = core::is_closing(events.back().kind);
  if (closing > 1 || (closing == 1) != closed) violation(row, "its history goes on after its end");
  if (closed != is_terminal(row.status)) violation(row, "row and history disagree about its end");
  if (!closed) return;
  const Status status = row.status == Status::dead_lettered ? Status::failed : row.status;
  if (status != status_of(events.back().kind)) violation(row, "row and history disagree about how it ended");
  if (events.back().kind == EventKind::run_completed && row.result != events.back().data)
    violation(row, "H5: its result is not the one in the history");
  const auto parks = std::ranges::count(events, EventKind::run_parked, &Event::kind);
  if (parks > parks_allowed_[row.id]) violation(row, "W4: it was parked although its code did not change");
}

// H5 and K4: one outcome for each command, after it; time goes forward; no timer fires early (S19).
void RunChecks::check_commands(const core::Execution& row, const std::vector<Event>& events) {
  std::map<std::int32_t, Event> started;
  std::set<std::int32_t> told;
  Instant now = row.created_at;
  for (const auto& event : events) {
    const bool starts = event.kind == EventKind::step_scheduled || event.kind == EventKind::child_started ||
                        event.kind == EventKind::timer_started || event.kind == EventKind::signal_sent;
    if (starts && !started.emplace(event.command, event).second)
      violation(row, "command " + std::to_string(event.command) + " was recorded twice");
    if (event.kind == EventKind::step_scheduled || event.kind == EventKind::child_started)
      starts_[row.id].emplace(event.command, event);
    if (!core::is_input(event.kind)) continue;
    if (event.at < now) violation(row, "K4: the time of its inputs goes back");
    now = event.at;
    if (!is_outcome(event.kind)) continue;
    const bool local = event.kind == EventKind::local_completed || event.kind == EventKind::local_failed;
    if (!local && !started.contains(event.command))
      violation(row, "it learned of command " + std::to_string(event.command) + ", which it never gave");
    if (!told.insert(event.command).second)
      violation(row, "H5: command " + std::to_string(event.command) + " has two outcomes");
    if (event.kind == EventKind::timer_fired && event.at < started[event.command].at)
      violation(row, "S19: timer " + std::to_string(event.command) + " fired early");
    if (event.execution && started[event.command].execution && event.execution != started[event.command].execution)
      goals_.hit(event.kind < EventKind::timer_fired ? "step attached to a task" : "child attached to a run");
  }
}

// W10: what was booked is undone when the code could not go on, once, in reverse order.
void RunChecks::check_effects(const core::Execution& row, const std::vector<Event>& events) {
  std::vector<std::string> booked, undone;
  std::set<std::string> names;
  for (const auto& event : events) {
    if (event.kind != EventKind::local_completed && event.kind != EventKind::local_failed) continue;
    if (!names.insert(event.name).second) violation(row, "H5: '" + event.name + "' has two results");
    if (event.name.starts_with("book-") && event.kind == EventKind::local_completed)
      booked.push_back(event.name.substr(5));
    if (event.name.starts_with("undo-")) undone.push_back(event.name.substr(5));
  }
  std::ranges::reverse(booked);
  const bool by_code = closed_by_code(events.back());
  const bool must = by_code && (row.status == Status::failed || row.status == Status::dead_lettered ||
                                events.back().kind == EventKind::run_cancelled);
  const bool whole = undone == booked;
  const bool part = undone.size() <= booked.size() && std::equal(undone.begin(), undone.end(), booked.begin());
  if (must ? !whole : !part) violation(row, "W10: what was booked is not undone once, in reverse order");
  if (by_code && row.status == Status::succeeded && !undone.empty())
    violation(row, "W10: undone although it succeeded");
  if (must && !undone.empty() && events.back().kind == EventKind::run_cancelled) goals_.hit("cancel with clean-up");
  if (must && undone.size() > 1) goals_.hit("several steps undone");
}

// No signal is doubled, in a run or in its chain; no refused one has an effect.
void RunChecks::check_signals(const core::Execution& row, const std::vector<Event>& events) {
  Heard& heard = heard_[row.id];
  heard.chain = (*store_.run_get(row.id))->chain;
  heard.by_code = closed_by_code(events.back());
  if (row.close_reason == core::CloseReason::retried) heard.retried_in = row.next;
  for (const auto& event : events) {
    if (event.kind != EventKind::signal_received) continue;
    if (!heard.texts.insert(event.data).second) violation(row, "signal " + event.data + " was learned twice");
    if (refused_signals_.contains(event.data)) violation(row, "H1: refused signal " + event.data + " had an effect");
    if (event.id.empty()) continue;
    const auto [known, first] = text_of_.emplace(core::SignalKey{heard.chain, event.name, event.id}, event.data);
    if (!first && known->second == event.data) goals_.hit("signal learned by two runs of a chain");
    if (known->second != event.data)
      violation(row,
                "signal '" + event.id + "' counted again: its chain learned " + known->second + " and " + event.data);
  }
}

// No accepted signal is lost, and a retried run has heard all that the failed one had.
void RunChecks::check_accepted() {
  for (const auto& [text, run] : committed_texts_) {
    const auto taken_by = heard_.find(run);
    if (taken_by == heard_.end() || !taken_by->second.by_code) continue;
    const bool learned = std::ranges::any_of(heard_, [&](const auto& other) {
      return other.second.chain == taken_by->second.chain && other.second.texts.contains(text);
    });
    if (!learned)
      history_.violation("accepted signal " + text + " is in no history of the chain of " + run.to_string());
  }
  for (const auto& [text, run] : accepted_signals_)
    if (heard_.contains(run) && !committed_texts_.contains(text))
      history_.violation("signal " + text + " was never taken");
  for (const auto& [run, heard] : heard_) {
    const auto next = heard.retried_in ? heard_.find(*heard.retried_in) : heard_.end();
    if (next == heard_.end() || !next->second.by_code) continue;
    goals_.hit(heard.texts.empty() ? "run retried" : "retried run told again");
    if (!std::ranges::includes(next->second.texts, heard.texts))
      history_.violation("run " + next->first.to_string() + " was not told all that the failed " + run.to_string() +
                         " had learned");
  }
}

// Is it the next run of a workflow that was started before?
bool RunChecks::goes_on(const core::Execution& row) {
  if (!row.previous) return false;
  const auto before = *store_.execution_get(row.tenant, *row.previous);
  return before && before->execution.next == row.id;
}

// W9: what a command starts exists once, and nothing exists that no command started.
void RunChecks::check_steps() {
  store::ExecutionFilter filter;
  filter.limit = 1000;
  std::set<std::pair<ExecutionId, std::int32_t>> seen;
  while (true) {
    const auto page = *store_.execution_list(filter);
    for (const auto& view : page) {
      const auto& row = view.execution;
      if (!row.parent_run || row.parent_command == 0 || !starts_.contains(*row.parent_run)) continue;
      if (goes_on(row)) continue;
      const auto& commands = starts_[*row.parent_run];
      const auto command = commands.find(row.parent_command);
      if (command == commands.end() || command->second.execution != row.id)
        history_.violation("W9: execution " + row.id.to_string() + " was started by no command of its parent");
      if (!seen.emplace(*row.parent_run, row.parent_command).second)
        history_.violation("W9: a command of " + row.parent_run->to_string() + " started two executions");
    }
    if (page.size() < 1000) return;
    filter.before = page.back().execution.id;
  }
}

// The whole history leads fresh code to the same end.
void RunChecks::check_replay(const store::ExecutionView& view, const std::vector<Event>& events,
                             const engine::WorkflowTable& table) {
  const auto& row = view.execution;
  auto code = (*table.find(row.name))(view);
  const Event& last = events.back();
  const bool by_code = closed_by_code(last);
  // An end that the engine wrote is none that code comes to.
  const std::span<const Event> before(events.data(), events.size() - 1);
  if (const auto replayed = code->replay(before); !replayed)
    return violation(row, "W4, W7: it cannot be replayed: " + replayed.error().message);
  if (!by_code) return;
  code->run();
  const auto commands = code->take_commands();
  if (commands.empty() || commands.back().event.kind != last.kind || commands.back().event.data != last.data)
    violation(row, "W7: its replay ends in another way");
  if (commands.size() > 1) violation(row, "W7: its replay asks for more than is recorded");
  const auto program = base::JsonDocument::parse(view.payload.args)->root().as_int64();
  const bool drained = last.kind == EventKind::run_completed &&
                       make_program(ProgramId::unpack(static_cast<std::uint64_t>(program.value_or(0)))).drains;
  if (drained && !code->unread().empty()) violation(row, "F2: it completed and had not seen all of its signals");
}

void RunChecks::note_goals(const core::Execution& row, const std::vector<Event>& events) {
  const std::pair<EventKind, const char*> wanted[] = {
      {EventKind::run_completed, "run completed"},       {EventKind::run_failed, "run failed"},
      {EventKind::run_cancelled, "run cancelled"},       {EventKind::run_continued, "continue as new"},
      {EventKind::run_timed_out, "run timed out"},       {EventKind::run_terminated, "run terminated"},
      {EventKind::child_completed, "child completed"},   {EventKind::child_cancelled, "child cancelled"},
      {EventKind::child_failed, "child failed"},         {EventKind::step_failed, "step failed"},
      {EventKind::step_timed_out, "step timed out"},     {EventKind::step_cancelled, "step cancelled"},
      {EventKind::timer_fired, "timer fired"},           {EventKind::timer_cancelled, "timer cancelled"},
      {EventKind::signal_received, "signal learned"},    {EventKind::signal_sent, "signal sent by a run"},
      {EventKind::run_parked, "run parked and resumed"}, {EventKind::local_failed, "body failed"},
  };
  for (const auto& [kind, goal] : wanted)
    if (has(events, kind)) goals_.hit(goal);
  if (row.status == Status::dead_lettered) goals_.hit("run dead lettered");
}

}  // namespace semel::sim
