#include "engine/explain_run.h"

#include <algorithm>
#include <map>

#include "base/duration.h"
#include "base/json_value.h"
#include "base/text.h"
#include "engine/history_pages.h"

namespace semel::engine {
namespace {

using core::EventKind;
using Open = std::map<std::int32_t, OpenCommand>;  // commands are numbered in the order in which they were given

constexpr std::int64_t kPageBytes = 8 << 20;

void follow(const core::Event& event, Open& open) {
  if (settles_command(event.kind)) open.erase(event.command);
  if (!opens_command(event.kind)) return;
  OpenCommand& command = open[event.command];
  command = {event.kind, event.command, event.name, event.id, {}, event.execution, {}};
  if (event.kind == EventKind::timer_started) command.due_at = event.at;
}

// The execution whose end the run will learn: not the one of the event where the id was taken before, or where a child
// has gone on in another run.
Result<void> find_bringers(store::Store& store, core::TenantId tenant, std::vector<OpenCommand>& open) {
  std::vector<ExecutionId> ids;
  for (const auto& command : open)
    if (command.execution) ids.push_back(*command.execution);
  if (ids.empty()) return {};
  auto views = store.executions_get(tenant, ids);
  if (!views) return views.error();
  std::map<ExecutionId, const core::Execution*> found;
  for (const auto& view : *views) found[view.execution.id] = &view.execution;
  for (auto& command : open) {
    if (!command.execution) continue;
    const auto it = found.find(*command.execution);
    if (it != found.end()) command.status = it->second->status;
    if (command.id.empty() || (it != found.end() && !it->second->next)) continue;
    const auto space = command.kind == EventKind::child_started ? core::Space::workflow : core::Space::task;
    auto newest = store.execution_find(tenant, space, command.id);
    if (!newest) return newest.error();
    if (!*newest) continue;
    command.execution = (*newest)->execution.id;
    command.status = (*newest)->execution.status;
  }
  return {};
}

std::optional<ParkedAt> parked_at_of(const core::Execution& run) {
  if (run.suspend_reason != core::SuspendReason::nondeterminism || !run.error) return std::nullopt;
  auto document = base::JsonDocument::parse(*run.error, base::kMaxPayloadDepth);
  const auto details = document ? document->root().find("details") : std::nullopt;
  if (!details) return std::nullopt;
  const auto text = [&](std::string_view name) {
    const auto value = details->find(name);
    return value ? value->as_string().value_or("") : std::string();
  };
  const auto seq = details->find("seq");
  return ParkedAt{seq ? seq->as_int64().value_or(0) : 0, text("expected"), text("actual")};
}

std::string counted(std::size_t count, std::string_view noun) {
  if (count == 1) return "1 " + std::string(noun);
  return std::to_string(count) + " " + (noun == "child" ? "children" : std::string(noun) + "s");
}

}  // namespace

bool opens_command(EventKind kind) {
  return kind == EventKind::step_scheduled || kind == EventKind::timer_started || kind == EventKind::child_started ||
         kind == EventKind::signal_sent || kind == EventKind::promise_scheduled;
}

bool settles_command(EventKind kind) { return core::is_input(kind) || kind == EventKind::timer_cancelled; }

std::string_view noun_of(EventKind kind) {
  const std::string_view word = core::to_string(kind);
  return word.substr(0, word.find('_'));
}

Result<ExplainedRun> explain_run(store::Store& store, const core::Execution& run) {
  ExplainedRun out;
  out.session = run.session;
  out.parked_at = parked_at_of(run);
  if (is_terminal(run.status)) return out;
  // Read before the history: what is learned in between is found there.
  auto mail = store.mail_list({&run.id, 1});
  if (!mail) return mail.error();
  Open open;
  auto read = read_history(store, run.id, 0, kPageBytes, [&open](const Append& append) -> Result<void> {
    for (const auto& event : append.events) follow(event, open);
    return {};
  });
  if (!read) return std::move(read).error();
  for (const auto& one : *mail) {
    auto event = core::decode_event(one.event);
    if (!event) return event.error();
    if (settles_command(event->kind)) open.erase(event->command);
  }
  out.unread_count = static_cast<std::int64_t>(mail->size());
  out.open_count = static_cast<std::int64_t>(open.size());
  for (auto& [number, command] : open) {
    if (out.open.size() == kMaxOpenCommands) break;
    out.open.push_back(std::move(command));
  }
  if (auto ok = find_bringers(store, run.tenant, out.open); !ok) return ok.error();
  return out;
}

WaitReason why_suspended(const core::Execution& run, const ExplainedRun& facts) {
  if (run.status != Status::suspended) return WaitReason::none;
  if (run.suspend_reason == core::SuspendReason::nondeterminism) return WaitReason::parked;
  if (facts.unread_count > 0) return WaitReason::none;  // its owner is about to read it
  return facts.open_count > 0 ? WaitReason::outcomes : WaitReason::signals;
}

std::string open_words(const ExplainedRun& facts) {
  std::vector<std::pair<std::string_view, std::size_t>> counts;
  std::optional<Instant> due;
  for (const auto& command : facts.open) {
    const std::string_view noun = noun_of(command.kind);
    const auto it = std::find_if(counts.begin(), counts.end(), [&](const auto& row) { return row.first == noun; });
    if (it == counts.end()) counts.emplace_back(noun, 1);
    else ++it->second;
    if (command.due_at) due = std::min(due.value_or(*command.due_at), *command.due_at);
  }
  std::string out;
  for (const auto& [noun, count] : counts) {
    out += (out.empty() ? "" : ", ") + counted(count, noun);
    if (noun == "timer" && due) out += (count > 1 ? ", the first due " : " due ") + base::format_instant(*due);
  }
  const auto more = facts.open_count - static_cast<std::int64_t>(facts.open.size());
  if (more > 0) out += " and " + std::to_string(more) + " more";
  // Histories do not tell for which signals a run waits; timers alone are most often there to end such a wait.
  return counts.size() == 1 && due ? out + ", or a signal" : out;
}

std::string parked_words(const ExplainedRun& facts) {
  return facts.parked_at ? " at event " + std::to_string(facts.parked_at->seq) : "";
}

std::string end_words(const core::Execution& run) {
  const std::string next = run.next ? " as " + run.next->to_string() : "";
  switch (run.close_reason) {
    case core::CloseReason::none:
      return "";
    case core::CloseReason::continued:
      return ": continued" + next;
    case core::CloseReason::terminated:
      return ": terminated, without its clean-up code";
    case core::CloseReason::retried:
      return ": retried" + next;
  }
  return "";
}

std::string owner_words(const core::Execution& run, const ExplainedRun& facts) {
  if (!run.session) return "";
  return "; owned by session " + run.session->to_string() + " of worker " + base::printable(run.worker.value_or("?")) +
         (facts.owner_lost ? ", which stopped renewing: the run is given up with the next sweep" : "");
}

}  // namespace semel::engine
