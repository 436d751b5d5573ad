#include "testing/history.h"

#include <algorithm>

#include "core/fingerprint.h"

namespace semel::testing {
namespace {

constexpr std::size_t kKeptLines = 2000;

std::string at_text(ExecutionId id, std::int32_t version) { return id.to_string() + " v" + std::to_string(version); }

bool same_args(const std::string& name, const std::string& a, const std::string& b) {
  const auto left = core::fingerprint_of(name, a);
  const auto right = core::fingerprint_of(name, b);
  return left.ok() && right.ok() && *left == *right;
}

}  // namespace

void History::line(Instant at, int node, const std::string& text) {
  std::string full = std::to_string(to_micros(at)) + " n" + std::to_string(node) + " " + text;
  for (const char c : full) hash_ = (hash_ ^ static_cast<unsigned char>(c)) * 1099511628211ull;
  ++position_;
  if (lines_.size() >= kKeptLines) lines_.erase(lines_.begin(), lines_.begin() + kKeptLines / 2);
  lines_.push_back(std::move(full));
}

void History::violation(std::string what) {
  if (violations_.size() < 20) violations_.push_back(std::move(what));
}

// ---- enqueue --------------------------------------------------------------------------------------------------------

std::uint64_t History::enqueue_called(Enqueue call) {
  ++operations;
  call.invoked = position_;
  enqueues_.push_back(std::move(call));
  return enqueues_.size() - 1;
}

void History::enqueue_refused(std::uint64_t call) {
  if (enqueues_[call].token) refused_tokens_.insert(*enqueues_[call].token);
}

void History::enqueue_answered(std::uint64_t call, const core::EnqueueAnswer& answer, store::Store& store) {
  const Enqueue& request = enqueues_[call];
  const auto view = *store.execution_get(core::kDefaultTenant, answer.execution);
  if (view) {
    const auto& row = view->execution;
    if (row.identity.value_or("") != request.identity && !row.idempotency_key)
      violation("H8: id '" + request.identity + "' was answered with the execution of '" + row.identity.value_or("") +
                "'");
    if (row.name != request.name) violation("H8: another name was accepted for id '" + request.identity + "'");
    const bool compares = !answer.created && request.match_args && !request.identity.empty();
    if (compares && !same_args(request.name, view->payload.args, request.args))
      violation("H8: other args were accepted for id '" + request.identity + "'");
  }
  if (!answer.created) {
    const auto known = newest_ack_.find(request.identity);
    // H14: what was acknowledged before this call began is what it meets, or something newer.
    if (known != newest_ack_.end() && known->second.at <= request.invoked && view &&
        answer.execution < known->second.execution) {
      const auto newest = *store.execution_find(core::kDefaultTenant, core::Space::task, request.identity);
      if (newest && newest->execution.id != answer.execution && !is_terminal(view->execution.status))
        violation("H14: id '" + request.identity +
                  "' was answered with an older execution than one acknowledged before");
    }
    return;
  }
  const auto [it, fresh] = created_.emplace(answer.execution, request.identity);
  if (!fresh) violation("H1: execution " + answer.execution.to_string() + " was created twice");
  if (!request.kept) forgetful_.insert(answer.execution);
  if (request.identity.empty()) return;
  const auto previous = newest_ack_.find(request.identity);
  if (previous != newest_ack_.end() && previous->second.at <= request.invoked &&
      previous->second.execution != answer.execution) {
    const auto before = *store.execution_get(core::kDefaultTenant, previous->second.execution);
    // Gone by retention, or ended in a way that frees the id.
    if (before && !is_terminal(before->execution.status))
      violation("H14: id '" + request.identity + "' was created while " + before->execution.id.to_string() +
                " was live");
    // Others may have come between unseen; the row says whom it follows.
    const bool follows = view && view->execution.previous == previous->second.execution;
    if (follows && before && before->execution.status == Status::succeeded && request.reuse != Reuse::always)
      violation("H14: id '" + request.identity + "' was created again after it succeeded");
  }
  newest_ack_[request.identity] = Acked{answer.execution, position_};
}

// ---- claims and ends ------------------------------------------------------------------------------------------------

void History::claim_won(ExecutionId execution, std::int32_t version, const std::string& who) {
  const auto [it, fresh] = claims_.emplace(std::pair(execution, version), who);
  if (!fresh) violation("H2: " + at_text(execution, version) + " was won by " + it->second + " and by " + who);
}

// Asked again under its id, a claim answers what it won before.
void History::committed_claims(ClaimId claim, const std::vector<core::ClaimedTask>& tasks, Instant now) {
  auto& won = won_[claim];
  if (!won.empty() && !tasks.empty()) ++repeated_claims;
  for (const auto& [row, payload] : tasks)
    if (won.emplace(row.id, row.version).second) committed_claim(row, now);
}

void History::committed_claim(const core::Execution& row, Instant now) {
  auto& newest = newest_claim_[row.id];
  if (row.version <= newest)
    violation("H2: " + at_text(row.id, row.version) + " was claimed after version " + std::to_string(newest));
  newest = std::max(newest, row.version);
  if (row.kind == Kind::task) claimed_at_[row.lane].push_back(now);  // the limits of a queue are about tasks
}

void History::committed_end(ExecutionId execution, std::int32_t version, const core::Answer& answer) {
  const auto* end = std::get_if<core::EndAnswer>(&answer);
  if (end == nullptr || end->existing) return;
  if (version != newest_claim_[execution])
    violation("H4: " + at_text(execution, version) + " was accepted although version " +
              std::to_string(newest_claim_[execution]) + " is the newest claim");
  if (!accepted_ends_.emplace(execution, version).second)
    violation("H3: " + at_text(execution, version) + " was ended twice");
}

bool History::committed(const store::Batch& batch) {
  // Looked up again after an unknown commit. A batch that wrote nothing left no mark: it is simply run again.
  if (batches_.count(batch.id) != 0) return false;
  if (batch.rows_written > 0) batches_.insert(batch.id);
  for (std::size_t i = 0; i < batch.operations.size() && i < batch.answers.size(); ++i) {
    const auto& operation = *batch.operations[i];
    const auto& answer = batch.answers[i];
    if (const auto* enqueue = std::get_if<core::TaskEnqueue>(&operation); enqueue && enqueue->idempotency_key) {
      const auto* made = std::get_if<core::EnqueueAnswer>(&answer);
      if (made != nullptr && made->created) key_target_[*enqueue->idempotency_key] = made->execution;
    }
    if (const auto* claim = std::get_if<core::ClaimAnswer>(&answer))
      committed_claims(std::get<core::TaskClaim>(operation).id, claim->tasks, batch.now);
    if (const auto* deliver = std::get_if<core::DeliverAnswer>(&answer))
      if (deliver->outcome == core::DeliveryOutcome::claimed) committed_claim(deliver->task.execution, batch.now);
    if (const auto* end = std::get_if<core::TaskComplete>(&operation))
      committed_end(end->execution, end->version, answer);
    if (const auto* end = std::get_if<core::TaskFail>(&operation)) committed_end(end->execution, end->version, answer);
    if (const auto* end = std::get_if<core::TaskRelease>(&operation))
      committed_end(end->execution, end->version, answer);
  }
  return true;
}

// ---- the store ------------------------------------------------------------------------------------------------------

std::vector<store::ExecutionView> History::all_rows(store::Store& store) {
  std::vector<store::ExecutionView> rows;
  store::ExecutionFilter filter;
  filter.limit = 1000;
  while (true) {
    auto page = *store.execution_list(filter);
    const std::size_t count = page.size();
    std::move(page.begin(), page.end(), std::back_inserter(rows));
    if (count < 1000) return rows;
    filter.before = rows.back().execution.id;
  }
}

void History::check_terminal(const core::Execution& row) {
  if (!is_terminal(row.status)) {
    if (terminal_.count(row.id) != 0) violation("H3: terminal execution " + row.id.to_string() + " came back to life");
    return;
  }
  const auto [it, fresh] = terminal_.emplace(row.id, row);
  if (!fresh && it->second != row) violation("H3: terminal execution " + row.id.to_string() + " changed");
}

void History::check_store(store::Store& store, const Limits& limits, Instant now) {
  std::map<std::pair<Kind, std::string>, int> live_of_identity;
  std::map<std::string, int> running_of_queue;
  std::map<std::pair<std::string, std::string>, int> running_of_key;
  for (const auto& view : all_rows(store)) {
    const auto& row = view.execution;
    check_terminal(row);
    if (row.identity && !is_terminal(row.status) && ++live_of_identity[{row.kind, *row.identity}] > 1)
      violation("H8: id '" + *row.identity + "' has two live executions");
    if (row.kind == Kind::task && (row.status == Status::claimed || row.status == Status::running)) {
      ++running_of_queue[view.queue];
      if (row.concurrency_key) ++running_of_key[{view.queue, *row.concurrency_key}];
    }
    // The key belongs to the newest execution made with it; that of a run that goes on follows it.
    if (row.idempotency_key && !row.next && row.status == Status::succeeded &&
        key_target_[*row.idempotency_key] == row.id) {
      const auto key = *store.key_get(core::kDefaultTenant, *row.idempotency_key);
      const Instant until = add_saturated(*row.completed_at, std::chrono::seconds(row.idempotency_key_ttl_seconds));
      if (now < until && !key) violation("H12: key '" + *row.idempotency_key + "' is gone before its time");
    }
  }
  for (const auto& [queue, config] : limits.by_queue) {
    if (config.concurrency && running_of_queue[queue] > *config.concurrency)
      violation("H10: queue '" + queue + "' runs " + std::to_string(running_of_queue[queue]) + " at once");
    if (!config.concurrency_per_key) continue;
    for (const auto& [key, count] : running_of_key)
      if (key.first == queue && count > *config.concurrency_per_key)
        violation("H10: key '" + key.second + "' runs " + std::to_string(count) + " at once");
  }
  const auto broken = store.verify();
  if (!broken.ok()) violation("verify failed: " + broken.error().message);
  else
    for (const auto& what : *broken) violation("invariant: " + what);
}

void History::check_rates(store::Store& store, const Limits& limits) {
  const auto lanes = *store.lane_list();
  for (const auto& lane : lanes) {
    const auto limit = limits.by_queue.find(lane.queue);
    if (limit == limits.by_queue.end() || !limit->second.rate_limit) continue;
    const auto& rate = *limit->second.rate_limit;
    auto times = claimed_at_[lane.id];
    std::sort(times.begin(), times.end());
    for (std::size_t from = 0; from < times.size(); ++from)
      for (std::size_t to = from; to < times.size(); ++to) {
        const double window = static_cast<double>((times[to] - times[from]).count());
        const double allowed =
            static_cast<double>(rate.count) * (1 + window / static_cast<double>(rate.per.count())) + 1e-6;
        if (static_cast<double>(to - from + 1) <= allowed) continue;
        violation("H10: queue '" + lane.queue + "' claimed " + std::to_string(to - from + 1) + " in " +
                  std::to_string(window) + " us");
        return;
      }
  }
}

void History::check_end(store::Store& store, const Limits& limits) {
  std::map<ExecutionId, const store::ExecutionView*> by_id;
  const auto rows = all_rows(store);
  for (const auto& view : rows) by_id[view.execution.id] = &view;
  for (const auto& [id, identity] : created_)
    if (by_id.count(id) == 0 && forgetful_.count(id) == 0)
      violation("H1: acknowledged execution " + id.to_string() + " of id '" + identity + "' is not in the store");
  for (const auto& view : rows) {
    const auto full = *store.execution_get(core::kDefaultTenant, view.execution.id);
    const auto at = full->payload.args.find("\"token\":");
    if (at == std::string::npos) continue;
    const std::uint64_t token = std::stoull(full->payload.args.substr(at + 8));
    if (refused_tokens_.count(token) != 0)
      violation("H1: refused call with token " + std::to_string(token) + " had an effect");
  }
  check_rates(store, limits);
}

}  // namespace semel::testing
