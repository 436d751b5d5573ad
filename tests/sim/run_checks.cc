// While the world goes on: commits, bodies, what code learns.
#include "tests/sim/run_checks.h"

#include <algorithm>

namespace semel::sim {

using core::EventKind;

void RunChecks::violation(const core::Execution& row, const std::string& what) {
  history_.violation("run " + row.id.to_string() + " of '" + row.identity.value_or("") + "': " + what);
}

// ---- commits --------------------------------------------------------------------------------------------------------

// One line for each commit that moves a run.
void RunChecks::tell(const core::Operation& operation, const core::Answer& answer, Instant at, int node) {
  if (const auto* claim = std::get_if<core::ClaimAnswer>(&answer))
    for (const auto& task : claim->tasks)
      if (task.execution.kind == Kind::workflow)
        history_.line(at, node,
                      "claimed run " + task.execution.id.to_string() + " v" + std::to_string(task.execution.version) +
                          " by " + std::get<core::TaskClaim>(operation).id.to_string());
  if (const auto* release = std::get_if<core::TaskRelease>(&operation))
    history_.line(at, node, "released " + release->execution.to_string() + " v" + std::to_string(release->version));
  if (const auto* forget = std::get_if<core::LeaseForget>(&operation))
    for (const auto& claim : forget->claims) history_.line(at, node, "forgot claim " + claim.to_string());
  const auto* advance = std::get_if<core::RunAdvance>(&operation);
  if (advance == nullptr) return;
  std::string text = "advanced " + advance->execution.to_string() + " v" + std::to_string(advance->version) + " from " +
                     std::to_string(advance->known) + ":";
  for (const auto& entry : advance->entries)
    text += " " + (entry.mail ? "mail" : std::string(core::to_string(entry.event.kind)));
  if (advance->waits) text += " waits";
  if (const auto* error = std::get_if<Error>(&answer)) text += " refused " + std::string(error_info(error->code).name);
  history_.line(at, node, text);
}

void RunChecks::committed(const store::Batch& batch, int node) {
  started(batch);
  for (std::size_t i = 0; i < batch.operations.size() && i < batch.answers.size(); ++i) {
    const auto& operation = *batch.operations[i];
    const auto& answer = batch.answers[i];
    tell(operation, answer, batch.now, node);
    if (const auto* claim = std::get_if<core::ClaimAnswer>(&answer))
      for (const auto& task : claim->tasks)
        if (task.execution.kind == Kind::workflow) owner_[task.execution.id] = task.execution.version;
    if (const auto* release = std::get_if<core::TaskRelease>(&operation)) {
      const auto owner = owner_.find(release->execution);
      const bool released = owner != owner_.end() && std::holds_alternative<core::EndAnswer>(answer);
      if (released && owner->second == release->version) owner->second = -1;
      if (released && release->no_handler) goals_.hit("run without code given back");
    }
    if (const auto* advance = std::get_if<core::RunAdvance>(&operation)) advanced(*advance, answer, node);
    if (const auto* taken = std::get_if<core::SignalAnswer>(&answer)) {
      if (!taken->created) goals_.hit("signal deduplicated");
      else committed_texts_.emplace(std::get<core::RunSignal>(operation).data, taken->run);
    }
  }
}

void RunChecks::started(const store::Batch& batch) {
  std::set<ExecutionId> fresh;
  for (std::size_t i = 0; i < batch.operations.size() && i < batch.answers.size(); ++i) {
    const auto* start = std::get_if<core::TaskEnqueue>(batch.operations[i]);
    const auto* made = std::get_if<core::EnqueueAnswer>(&batch.answers[i]);
    if (start != nullptr && made != nullptr && made->created && start->kind == Kind::workflow) {
      fresh.insert(made->execution);
      const auto view = *store_.execution_get(core::kDefaultTenant, made->execution);
      if (!view || !view->execution.previous) continue;
      const auto before = *store_.execution_get(core::kDefaultTenant, *view->execution.previous);
      if (before && before->execution.close_reason == core::CloseReason::terminated &&
          start->on_duplicate == OnDuplicate::replace)
        goals_.hit("workflow replaced while live");
    }
    if (const auto* claim = std::get_if<core::ClaimAnswer>(&batch.answers[i]))
      for (const auto& task : claim->tasks)
        if (fresh.contains(task.execution.id)) goals_.hit("run claimed with its start");
  }
}

void RunChecks::advanced(const core::RunAdvance& advance, const core::Answer& answer, int node) {
  const std::string run = advance.execution.to_string();
  if (const auto* error = std::get_if<Error>(&answer)) {
    // The owner's memory differs from the history: never, whatever happened to it.
    if (error->code == ErrorCode::InvalidArgument || error->code == ErrorCode::InvalidTransition)
      history_.violation("run " + run + ": " + error->message);
    if (error->code == ErrorCode::LeaseLost) goals_.hit("stale owner refused");
    return;
  }
  const auto& told = std::get<core::AdvanceAnswer>(answer);
  if (told.unread) return goals_.hit("close refused because of unread mail");
  if (told.existing) return goals_.hit("advance repeated after an unknown commit");
  const auto owner = owner_.find(advance.execution);
  if (owner == owner_.end() || owner->second != advance.version)
    history_.violation("H4: run " + run + " was advanced under version " + std::to_string(advance.version) +
                       ", which does not own it");
  const auto length = length_.find(advance.execution);
  // A process that died in its commit may have added more.
  if (length != length_.end() && length->second > advance.known)
    history_.violation("run " + run + " was advanced from event " + std::to_string(advance.known) + " instead of " +
                       std::to_string(length->second));
  length_[advance.execution] = told.events;
  // Of an advance whose child replaced the run itself, what stands behind that child is not recorded.
  core::RunAdvance kept = advance;
  kept.entries.resize(static_cast<std::size_t>(told.events - advance.known));
  if (told.status == Status::cancelled && kept.entries.back().event.kind == core::EventKind::child_started)
    goals_.hit("run replaced by its own child");
  recorded(kept, node);
}

void RunChecks::recorded(const core::RunAdvance& advance, int node) {
  const std::string run = advance.execution.to_string();
  for (const auto& entry : advance.entries) {
    if (entry.mail && !consumed_.insert(*entry.mail).second)
      history_.violation("W19: run " + run + " learned one mail twice");
    if (entry.event.kind != EventKind::local_completed && entry.event.kind != EventKind::local_failed) continue;
    const Effect effect{advance.execution, entry.event.name};
    if (!recorded_.insert(effect).second)
      history_.violation("W1: '" + effect.second + "' of " + run + " recorded twice");
    not_learned_[node].insert(effect);
  }
}

// ---- bodies and code ------------------------------------------------------------------------------------------------

void RunChecks::body_begins(ExecutionId run, const std::string& name, const std::string& key) {
  goals_.hit("body ran");
  if (recorded_.contains({run, name}))
    history_.violation("W2: the body of '" + name + "' of " + run.to_string() + " ran again after it was recorded");
  const auto [known, fresh] = keys_.emplace(Effect{run, name}, key);
  if (!fresh) goals_.hit("body ran again before it was recorded");
  if (known->second != key)
    history_.violation("W1: '" + name + "' of " + run.to_string() + " was repeated under another key");
}

void RunChecks::handed_over(int node, ExecutionId run, const std::string& name) {
  not_learned_[node].erase({run, name});
  if (!recorded_.contains({run, name}))
    history_.violation("W2: the code of " + run.to_string() + " learned '" + name + "' before it was durable");
}

void RunChecks::code_dropped(int node, ExecutionId run) {
  std::erase_if(not_learned_[node], [&](const Effect& effect) { return effect.first == run; });
}

void RunChecks::node_crashed(int node) {
  if (!not_learned_[node].empty()) goals_.hit("crash between a record and its hand-over");
  not_learned_[node].clear();
}

}  // namespace semel::sim
