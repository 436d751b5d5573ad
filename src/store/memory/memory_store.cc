#include "store/memory/memory_store.h"

#include <algorithm>

#include "store/snapshot_text.h"

namespace semel::store::memory {

Applied MemoryStore::apply(Batch& batch) {
  const std::lock_guard lock(mutex_);
  Mark mark;
  if (const Mark* seen = batch.recheck ? find_row(marks_, batch.id) : nullptr) {
    mark = *seen;
  } else {
    mark.at = batch.now;
    Effects effects;
    Model model(tables_, batch.now, effects);
    bool drops_marks = false;
    for (const core::Operation* operation : batch.operations) {
      mark.answers.push_back(model.apply(*operation));
      drops_marks = drops_marks || std::holds_alternative<core::KeysExpire>(*operation);
    }
    if (drops_marks)
      std::erase_if(marks_, [&](const auto& entry) { return entry.second.at < batch.now - std::chrono::hours(1); });
    for (auto* lanes : {&effects.wakes.lanes, &effects.wakes.alone, &effects.wakes.runs}) {
      std::sort(lanes->begin(), lanes->end());
      lanes->erase(std::unique(lanes->begin(), lanes->end()), lanes->end());
    }
    mark.notes = std::move(effects.notes);
    mark.wakes = std::move(effects.wakes);
    mark.rows_written = effects.changes;
    if (effects.changes > 0) marks_[batch.id] = mark;
  }
  batch.answers = std::move(mark.answers);
  batch.notes = std::move(mark.notes);
  batch.wakes = std::move(mark.wakes);
  batch.rows_written = mark.rows_written;
  return {};
}

Result<std::vector<std::string>> MemoryStore::verify() {
  const std::lock_guard lock(mutex_);
  return broken_invariants(tables_);
}

Result<std::string> MemoryStore::snapshot() {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> lines;
  const auto add = [&](const auto& map) {
    for (const auto& [key, row] : map) lines.push_back(to_line(row));
  };
  for (const auto& [id, name] : tables_.tenants) lines.push_back(to_line(id, name));
  add(tables_.lanes);
  add(tables_.identities);
  add(tables_.executions);
  add(tables_.payloads);
  for (const auto& row : tables_.ready) lines.push_back(to_line(row));
  for (const auto& row : tables_.blocked) lines.push_back(to_line(row));
  for (const auto& row : tables_.timers.all()) lines.push_back(to_line(row));
  for (const auto& [name, used] : tables_.key_slots)
    lines.push_back(to_line(core::KeySlot{name.first, name.second, used}));
  add(tables_.sessions);
  add(tables_.leases);
  add(tables_.groups);
  add(tables_.runs);
  add(tables_.history);
  add(tables_.mail);
  for (const auto& row : tables_.watches) lines.push_back(to_line(row));
  add(tables_.signals);
  add(tables_.attention);
  for (const auto& [id, entry] : tables_.ledger) {
    for (const auto& [rule, count] : entry.counts) lines.push_back(to_line(id, rule, count));
    for (const auto& note : entry.recent) lines.push_back(to_line(note));
  }
  return to_snapshot(std::move(lines));
}

}  // namespace semel::store::memory
