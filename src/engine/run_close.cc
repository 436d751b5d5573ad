// How a run closes: a refused end that is decided again, and what the run that goes on in its stead is told.
#include <algorithm>
#include <set>
#include <utility>

#include "base/json_value.h"
#include "base/mutant.h"
#include "core/retry.h"
#include "engine/owned_run.h"

namespace semel::engine {

using core::EventKind;

namespace {

// Of all that a run learned: its signals, and the updates that it did not answer.
std::vector<core::Event> to_tell_again(std::vector<core::Event> learned) {
  std::set<std::string, std::less<>> answered;
  for (const auto& event : learned)
    if (event.kind == EventKind::update_completed || event.kind == EventKind::update_rejected)
      answered.insert(event.id);
  std::erase_if(learned, [&](const core::Event& event) {
    if (event.kind == EventKind::update_received) return answered.contains(event.id);
    return event.kind != EventKind::signal_received;
  });
  return learned;
}

}  // namespace

// The end was refused, since there is mail that the code has not seen: nothing of the decision is recorded, and none of
// its bodies was begun. The code that made it is dropped. Its successor is brought to the same place by the history and
// decides again, with the mail before it.
void RunKeeper::take_back(const OwnedRef& run) {
  if (SEMEL_MUTANT("close-kept-behind-mail")) return;
  run->joins = run->rested_at != run->known;
  run->entries.clear();
  run->close.reset();
  run->handed.reset();
  run->refused.clear();
  run->locals.clear();
  run->carried.clear();
  run->started.clear();
  run->parks = 0;
  executor_->decide([code = std::shared_ptr<RunCode>(std::move(run->code))] {});  // destructors of user code run
}

// A failed run with attempts left is followed by another one with the same arguments and an empty history.
void RunKeeper::retry_after_failure(Owned& run) {
  PendingEntry& last = *run.close;
  const core::Execution& row = run.row();
  if (last.entry.event.kind != EventKind::run_failed || last.request || row.attempt >= row.max_attempts) return;
  const LaneRef lane = engine_.directory().find(row.lane);
  const auto call = core::decode_overrides(run.claimed.view.payload.policy);
  if (!call || !lane) return;
  const core::RetryPolicy policy = core::resolve_policy(*call, lane->retry);
  const auto error = base::JsonDocument::parse(last.entry.event.data);
  const auto name = error ? error->root().find("name") : std::nullopt;
  if (name && !core::is_retryable(policy, name->as_string().value_or(""))) return;
  EnqueueRequest next;
  next.kind = Kind::workflow;
  next.name = row.name;
  next.task_id = row.identity;
  next.encoding = run.claimed.view.payload.encoding;
  next.args = run.claimed.view.payload.args;
  next.delay = core::backoff(policy, row.attempt, env_.random.next());
  last.request = std::move(next);
}

// What the start of the workflow chose holds for every run of its chain.
void RunKeeper::hand_on(const Owned& run, EnqueueRequest& next) {
  next.queue = run.claimed.view.queue;
  next.priority = run.row().priority;
  next.max_attempts = run.row().max_attempts;
  if (auto call = core::decode_overrides(run.claimed.view.payload.policy)) next.retry = *std::move(call);
}

// Its successor begins anew, and so learns all signals again. False: the store does not tell them now.
bool RunKeeper::tell_again(Owned& run) {
  std::vector<core::Event> learned;
  if (run.known > 1 && !read_history(run, learned)) return false;
  const ExecutionId id = run.row().id;
  const auto mail = env_.store.mail_list({&id, 1});
  if (!mail) return false;
  for (const auto& pending : run.entries) {
    const auto read = std::ranges::find_if(*mail, [&](const auto& one) { return one.key == pending.entry.mail; });
    auto event = read == mail->end() ? Result(pending.entry.event) : core::decode_event(read->event);
    if (event) learned.push_back(*std::move(event));
  }
  run.carried = to_tell_again(std::move(learned));
  return true;
}

}  // namespace semel::engine
