// The calls of a run's code, and the slots they wait in.
#include <algorithm>
#include <utility>

#include "core/validate.h"
#include "sdk/workflow/failure.h"
#include "sdk/workflow/run.h"

namespace semel::sdk {

using core::EventKind;
using detail::Outcome;

namespace {

core::Event call_body(int number, const std::string& name, const std::function<std::string()>& body) {
  core::Event out;
  out.command = number;
  out.name = name;
  try {
    out.data = body();
    out.kind = EventKind::local_completed;
    if (const auto fits = core::validate_payload_size("result", out.data.size()); !fits) {
      out.data = error_json("PayloadTooLarge", "ctx.run '" + name + "': " + fits.error().message);
      out.kind = EventKind::local_failed;
    }
  } catch (...) {
    out.data = error_json(std::current_exception());
    out.kind = EventKind::local_failed;
  }
  return out;
}

Outcome cancelled_outcome() { return {.kind = Outcome::Kind::cancelled}; }

}  // namespace

std::string_view to_string(SlotKind kind) {
  constexpr std::array<std::string_view, 9> kWords = {"step", "child", "local", "timer",  "signal",
                                                      "part", "all",   "any",   "timeout"};
  return kWords[static_cast<std::size_t>(kind)];
}

// ---- calls ---------------------------------------------------------------------------------------------------------

int Run::add_slot(SlotKind kind, std::string name) {
  forbid_in_query();
  Slot slot{kind};
  slot.name = std::move(name);
  slot.owner = &strand();
  slot.shielded = slot.owner->shields > 0;
  slots_.push_back(std::move(slot));
  return static_cast<int>(slots_.size()) - 1;
}

// In a cancelled strand the call takes its number and is over: nothing is asked for.
int Run::add_numbered(SlotKind kind, std::string name) {
  const int slot = add_slot(kind, std::move(name));
  by_number_.push_back(slot);
  slots_[slot].number = numbers_given();
  if (!current_->open()) settle(slot, cancelled_outcome());
  return slot;
}

Command& Run::issue(EventKind kind, std::int32_t number, std::string name, std::string id) {
  forbid_in_query();
  Command command;
  command.event.kind = kind;
  command.event.command = number;
  command.event.name = std::move(name);
  command.event.id = std::move(id);
  std::deque<Command>& to = closed_ ? dropped_ : commands_;
  to.push_back(std::move(command));
  return to.back();
}

int Run::local(std::string name, std::function<std::string()> body) {
  const int slot = add_numbered(SlotKind::local, name);
  if (settled(slot)) return slot;
  slots_[slot].ends_itself = true;
  const int number = slots_[slot].number;
  LocalRun local{number, name, [number, name, body = std::move(body)] { return call_body(number, name, body); }};
  locals_.emplace_back(slot, std::move(local));
  return slot;
}

std::vector<LocalRun> Run::take_locals() {
  std::vector<LocalRun> out;
  for (auto& [slot, local] : locals_)
    if (!settled(slot)) out.push_back(std::move(local));
  locals_.clear();
  return out;
}

int Run::step(std::string name, Payload args, StepOptions options) {
  const int slot = add_numbered(SlotKind::step, name);
  if (settled(slot)) return slot;
  Command& command = issue(EventKind::step_scheduled, slots_[slot].number, std::move(name));
  slots_[slot].ends_itself = options.wait_for_end().value_or(false);
  command.event.id = options.task_id().value_or("");
  command.args = std::move(args);
  command.step = std::move(options);
  return slot;
}

int Run::child(std::string name, Payload args, ChildOptions options) {
  const int slot = add_numbered(SlotKind::child, name);
  if (settled(slot)) return slot;
  const std::int32_t number = slots_[slot].number;
  Command& command = issue(EventKind::child_started, number, std::move(name));
  slots_[slot].ends_itself = options.wait_for_end().value_or(false);
  command.event.id = options.workflow_id().value_or(info_.run_id.to_string() + ":" + std::to_string(number));
  command.args = std::move(args);
  command.child = std::move(options);
  return slot;
}

int Run::timer(Instant due) {
  const int slot = add_numbered(SlotKind::timer, {});
  if (!settled(slot)) issue(EventKind::timer_started, slots_[slot].number).event.at = due;
  return slot;
}

int Run::signal(std::string name) { return add_numbered(SlotKind::signal, std::move(name)); }

void Run::send_signal(std::string workflow_id, std::string name, std::string data) {
  forbid_in_query();
  by_number_.push_back(-1);
  issue(EventKind::signal_sent, numbers_given(), std::move(name), std::move(workflow_id)).event.data = std::move(data);
}

void Run::set_state(std::string data) { issue(EventKind::state_set).event.data = std::move(data); }

void Run::continue_as_new() {
  if (!closed_) close(EventKind::run_continued, std::move(next_args_), info_.workflow_name);
}

void Run::on_query(std::string name, detail::QueryHandler handler) {
  forbid_in_query();
  queries_[std::move(name)] = std::move(handler);
}

void Run::on_update(std::string name, detail::UpdateHandler handler) {
  forbid_in_query();
  updates_[std::move(name)] = std::move(handler);
}

int Run::spawn(detail::Started part) {
  const int slot = add_slot(SlotKind::part, {});
  Strand& strand = add_strand(std::move(part));
  strand.slot = slot;
  strand.cancelled = !current_->open();
  slots_[slot].strand = &strand;
  run_strand(strand, strand.started.frame);
  return slot;
}

// ---- slots ---------------------------------------------------------------------------------------------------------

int Run::group(detail::Group kind, std::vector<int> members) {
  constexpr std::array<SlotKind, 3> kKinds = {SlotKind::all, SlotKind::any, SlotKind::timeout};
  const int group = add_slot(kKinds[static_cast<std::size_t>(kind)], {});
  slots_[group].members = members;
  slots_[group].left = members.size();
  slots_[group].listening = true;
  if (members.empty()) settle(group, Outcome{});
  for (std::size_t i = 0; i < members.size(); ++i) {
    Slot& member = slots_[members[i]];
    if (!settled(group)) listen(members[i]);
    if (member.settled) member_settled(group, i);
    else member.groups.emplace_back(group, i);
  }
  return group;
}

// A signal is taken by whoever waits for it then: by a future that is awaited, or a member of a group that has not
// settled, in the order in which they began to wait; else it lies unread. Whatever nobody awaits any more takes
// nothing.
bool Run::ready(int slot) {
  if (!in_query_ && !settled(slot)) {
    take_unread(slot);
    for (std::size_t i = 0; i < slots_[slot].members.size() && !settled(slot); ++i) ready(slots_[slot].members[i]);
  }
  return settled(slot);
}

void Run::take_unread(int slot) {
  const Slot& taker = slots_[slot];
  if (taker.kind != SlotKind::signal || taker.settled) return;
  const auto unread = std::ranges::find_if(
      unread_, [&](const core::Event& e) { return e.kind == EventKind::signal_received && e.name == taker.name; });
  if (unread == unread_.end()) return;
  std::string data = std::move(unread->data);
  unread_.erase(unread);
  settle(slot, Outcome{Outcome::Kind::ok, std::move(data)});
}

void Run::listen(int slot) {
  take_unread(slot);
  Slot& listener = slots_[slot];
  if (listener.settled || std::exchange(listener.listening, true)) return;
  if (listener.kind == SlotKind::signal) signal_waits_[listener.name].push_back(slot);
  for (std::size_t i = 0; i < listener.members.size() && !listener.settled; ++i) listen(listener.members[i]);
}

// Called for the members of a group that settled without them.
void Run::release(int slot) {
  Slot& listener = slots_[slot];
  if (listener.settled || !listener.listening || !listener.waiters.empty()) return;
  const auto wants = [this](const auto& in) { return !slots_[in.first].settled && slots_[in.first].listening; };
  if (std::ranges::any_of(listener.groups, wants)) return;
  listener.listening = false;
  if (listener.kind == SlotKind::signal) std::erase(signal_waits_[listener.name], slot);
  for (const int member : listener.members) release(member);
}

void Run::settle(int slot, Outcome outcome) {
  Slot& settled = slots_[slot];
  if (settled.settled) return;
  settled.settled = true;
  settled.outcome = std::move(outcome);
  for (const Waiter& waiter : settled.waiters) ready_.push_back(waiter);
  settled.waiters.clear();
  for (const auto& [group, index] : std::exchange(settled.groups, {})) member_settled(group, index);
  for (const int member : settled.members) release(member);
}

void Run::member_settled(int group, std::size_t index) {
  Slot& slot = slots_[group];
  if (slot.settled) return;
  const Outcome& outcome = slots_[slot.members[index]].outcome;
  const bool ok = outcome.kind == Outcome::Kind::ok;
  if (slot.kind == SlotKind::any) {
    Outcome first;
    first.index = index;
    return settle(group, std::move(first));
  }
  if (slot.kind == SlotKind::all) {
    if (!ok) slot.cause = slot.members[index];
    if (!ok || --slot.left == 0) settle(group, Outcome{outcome.kind});
    return;
  }
  if (index == 1 && !ok) return;  // the timer was taken back, which is no end
  if (index == 0) slot.cause = slot.members[0];
  settle(group, Outcome{index == 0 ? outcome.kind : Outcome::Kind::timed_out});
  cancel(slot.members[1 - index]);
}

bool Run::wait(int slot, std::coroutine_handle<> waiter) {
  if (!current_->open() && !slots_[slot].ends_itself) return false;
  if (current_->shields > 0) mark_shielded(slot);
  listen(slot);
  if (settled(slot)) return false;
  slots_[slot].waiters.push_back({current_, waiter});
  return true;
}

const Outcome& Run::outcome(int slot) const {
  const Slot& from = slots_[slot];
  if (!from.settled) throw_outcome(cancelled_outcome(), "the run");
  if (from.outcome.kind == Outcome::Kind::ok) return from.outcome;
  if (from.cause >= 0) return outcome(from.cause);
  throw_outcome(from.outcome, label(slot));
}

std::string Run::label(int slot) const {
  const Slot& what = slots_[slot];
  if (what.kind == SlotKind::timeout) return label(what.members[0]);
  return std::string(to_string(what.kind)) + (what.name.empty() ? "" : " '" + what.name + "'");
}

std::optional<Run::Call> Run::at(std::int32_t number) const {
  if (number < 1 || number > numbers_given()) return std::nullopt;
  const int slot = by_number_[number - 1];
  if (slot < 0) return std::nullopt;
  return Call{slots_[slot].kind, slots_[slot].name};
}

// ---- cancellation --------------------------------------------------------------------------------------------------

void* Run::shield() {
  ++strand().shields;
  return current_;
}

void Run::unshield(void* strand) noexcept { --static_cast<Strand*>(strand)->shields; }

void Run::mark_shielded(int slot) {
  slots_[slot].shielded = true;
  for (const int member : slots_[slot].members) mark_shielded(member);
}

void Run::cancel(int slot) {
  forbid_in_query();
  Slot& what = slots_[slot];
  if (what.settled) return;
  if (what.kind == SlotKind::part) return cancel_strand(*what.strand);
  request_stop(what);
  if (what.kind == SlotKind::signal) std::erase(signal_waits_[what.name], slot);
  settle(slot, cancelled_outcome());
  for (const int member : std::vector<int>(what.members)) cancel(member);
}

void Run::request_stop(Slot& slot) {
  if (std::exchange(slot.stopping, true)) return;
  if (slot.kind == SlotKind::step) issue(EventKind::step_cancel_requested, slot.number, slot.name);
  if (slot.kind == SlotKind::child) issue(EventKind::child_cancel_requested, slot.number, slot.name);
  if (slot.kind == SlotKind::timer) issue(EventKind::timer_cancelled, slot.number);
}

// Groups first, so that whoever waits for one is told of the cancellation and not of what it does to the members.
void Run::cancel_strand(Strand& strand) {
  if (strand.done || strand.cancelled) return;
  strand.cancelled = true;
  std::vector<int> pending;
  for (std::size_t i = 0; i < slots_.size(); ++i)
    if (slots_[i].owner == &strand && !slots_[i].settled && !slots_[i].shielded) pending.push_back(static_cast<int>(i));
  for (const int slot : pending)
    if (is_group(slots_[slot])) settle(slot, cancelled_outcome());
  for (const int slot : pending) slots_[slot].ends_itself ? request_stop(slots_[slot]) : cancel(slot);
}

}  // namespace semel::sdk
