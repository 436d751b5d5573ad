#include "tests/sim/client.h"

#include <algorithm>

namespace semel::sim {

std::optional<ExecutionId> Client::some_execution() {
  if (seen_.empty()) return std::nullopt;
  return seen_[world_.random.below(seen_.size())];
}

// ---- enqueue --------------------------------------------------------------------------------------------------------

engine::EnqueueRequest Client::random_request() {
  auto& random = world_.random;
  engine::EnqueueRequest request;
  static const char* kQueues[] = {"default", "default", "default", "limited", "keyed",
                                  "rated",   "dead",    "short",   "zero"};
  request.queue = kQueues[random.below(9)];
  const auto name = random.below(40);
  request.name = name == 0 ? "ghost" : name < 3 ? "poison" : "work";
  if (random.below(3) != 0) request.task_id = "id-" + std::to_string(random.below(25));
  request.match_args = random.below(3) != 0;
  request.args = request.match_args ? (random.below(6) == 0   ? "[2]"
                                       : random.below(2) == 0 ? "[1]"
                                                              : "[ 1.0 ]")
                                    : "{\"token\":" + std::to_string(next_token_++) + "}";
  if (request.task_id) {
    // Ids keep to one queue and mostly one name, so that duplicates meet.
    const auto number = request.task_id->size() + static_cast<std::size_t>(request.task_id->back());
    request.queue = kQueues[number % 9];
    if (request.name == "ghost") request.name = "work";
  }
  if (request.queue == "keyed") request.concurrency_key = "key-" + std::to_string(random.below(2));
  if (random.below(5) == 0) request.delay = Duration{static_cast<std::int64_t>(random.below(3'000'000))};
  if (random.below(12) == 0) request.timeout = Duration{static_cast<std::int64_t>(1000 + random.below(4'000'000))};
  if (random.below(12) == 0)
    request.attempt_timeout = Duration{static_cast<std::int64_t>(1000 + random.below(500'000))};
  if (random.below(4) == 0) request.max_attempts = 1 + static_cast<int>(random.below(4));
  if (random.below(6) == 0) request.on_duplicate = OnDuplicate::reject;
  if (random.below(6) == 0) request.reuse = random.below(2) == 0 ? Reuse::always : Reuse::never;
  if (random.below(8) == 0) {
    request.idempotency_key = request.task_id ? "key-of-" + *request.task_id : "key-" + std::to_string(random.below(6));
    request.idempotency_key_ttl_seconds = 5 + static_cast<int>(random.below(60));
  }
  request.priority = static_cast<int>(random.below(3)) * 100;
  request.retry.initial_interval = Duration{100'000};
  return request;
}

testing::History::Enqueue Client::noted(const engine::EnqueueRequest& request) {
  testing::History::Enqueue call;
  call.identity = request.task_id.value_or("");
  call.name = request.name;
  call.args = request.args;
  call.match_args = request.match_args;
  call.reuse = request.reuse;
  call.kept = request.queue != "short" && request.queue != "zero";
  if (!request.match_args) call.token = next_token_ - 1;
  return call;
}

void Client::enqueue_done(std::uint64_t history_call, const std::string& id,
                          const Result<engine::EnqueueOutcome>& outcome) {
  auto& goals = world_.goals;
  if (!outcome) {
    const auto code = outcome.error().code;
    if (code == ErrorCode::UnknownCommit) return world_.history.enqueue_unknown(history_call);
    if (code == ErrorCode::FingerprintMismatch) goals.hit("fingerprint mismatch refused");
    if (code == ErrorCode::TaskAlreadyExists || code == ErrorCode::TaskAlreadyCompleted)
      goals.hit("duplicate rejected");
    if (code == ErrorCode::StoreFull) goals.hit("store full answered");
    return world_.history.enqueue_refused(history_call);
  }
  seen_.push_back(outcome->execution_id);
  if (outcome->created) goals.hit("created");
  else if (is_terminal(outcome->status)) goals.hit("existing completed answered");
  else goals.hit("existing live answered");
  if (!outcome->created && id.empty()) goals.hit("key answered");
  core::EnqueueAnswer answer{outcome->execution_id, outcome->status,       outcome->created,
                             outcome->result,       outcome->completed_at, outcome->result_expired};
  world_.history.enqueue_answered(history_call, answer, world_.store);
  const auto view = *world_.store.execution_get(core::kDefaultTenant, outcome->execution_id);
  if (view && outcome->created && view->execution.previous) goals.hit("id reused after failure");
}

void Client::enqueue(SimNode& node) {
  auto request = random_request();
  const std::string id = request.task_id.value_or("");
  const auto history_call = world_.history.enqueue_called(noted(request));
  const auto call = calls_.open(node, "enqueue " + id);
  node.engine().enqueue(std::move(request), [this, call, history_call, id](Result<engine::EnqueueOutcome> outcome) {
    world_.history.line(
        world_.clock.now(), -1,
        "answer #" + std::to_string(call) +
            (outcome ? " " + outcome->execution_id.to_string() + (outcome->created ? " created" : " existing")
                     : " " + std::string(error_info(outcome.error().code).name)));
    if (calls_.close(call)) enqueue_done(history_call, id, outcome);
  });
}

void Client::enqueue_batch(SimNode& node) {
  std::vector<engine::EnqueueRequest> requests;
  std::vector<std::uint64_t> calls;
  std::vector<std::string> ids;
  const auto count = 2 + world_.random.below(8);
  for (std::uint64_t i = 0; i < count; ++i) {
    requests.push_back(random_request());
    ids.push_back(requests.back().task_id.value_or(""));
    calls.push_back(world_.history.enqueue_called(noted(requests.back())));
  }
  const auto call = calls_.open(node, "enqueue_batch");
  node.engine().enqueue_batch(std::move(requests),
                              [this, call, calls, ids](Result<std::vector<Result<engine::EnqueueOutcome>>> all) {
                                if (!calls_.close(call) || !all) return;
                                world_.goals.hit("batch enqueued");
                                for (std::size_t i = 0; i < all->size(); ++i) enqueue_done(calls[i], ids[i], (*all)[i]);
                              });
}

void Client::group(SimNode& node) {
  engine::GroupRequest request;
  request.total = 2;
  request.completion.name = "finale";
  const auto call = calls_.open(node, "group");
  ++world_.history.operations;
  node.engine().group_create(request, [this, call, &node](Result<engine::GroupOutcome> group) {
    if (!calls_.close(call) || !group) return;
    for (int i = 0; i < 2; ++i) {
      engine::EnqueueRequest member;
      member.name = "work";
      member.group = group->id;
      const auto member_call = calls_.open(node, "enqueue member");
      node.engine().enqueue(member, [this, member_call](Result<engine::EnqueueOutcome>) { calls_.close(member_call); });
    }
  });
}

// ---- workers outside ------------------------------------------------------------------------------------------------

void Client::claim(SimNode& node) {
  engine::ClaimRequest request;
  request.worker = "outside";
  request.max = 1 + static_cast<int>(world_.random.below(4));
  request.lease = Duration{1'000'000 + static_cast<std::int64_t>(world_.random.below(3'000'000))};
  if (world_.random.below(2) == 0) request.wait = Duration{1'000'000};
  const auto call = calls_.open(node, "claim");
  ++world_.history.operations;
  node.engine().claim(request, [this, call](Result<std::vector<store::ExecutionView>> views) {
    if (!calls_.close(call) || !views) return;
    for (const auto& view : *views) {
      const auto& row = view.execution;
      world_.history.line(world_.clock.now(), -1, "claimed " + row.id.to_string() + " v" + std::to_string(row.version));
      world_.history.claim_won(row.id, row.version, "outside #" + std::to_string(call));
      if (row.flags & core::kClaimAlone) world_.goals.hit("claimed alone");
      held_.push_back({row.id, row.version});
    }
  });
}

void Client::deliver(SimNode& node) {
  engine::DeliverRequest request;
  request.job_id = "id-" + std::to_string(world_.random.below(25));
  request.worker = "broker";
  request.lease = Duration{2'000'000};
  const auto call = calls_.open(node, "deliver");
  ++world_.history.operations;
  node.engine().deliver(request, [this, call](Result<engine::DeliverOutcome> outcome) {
    if (!calls_.close(call) || !outcome) return;
    world_.goals.hit("delivery " + std::string(engine::to_string(outcome->outcome)));
    if (outcome->outcome != core::DeliveryOutcome::claimed) return;
    const auto& row = outcome->execution.execution;
    world_.history.claim_won(row.id, row.version, "delivery #" + std::to_string(call));
    held_.push_back({row.id, row.version});
  });
}

void Client::end_done(const Result<core::EndAnswer>& answer) {
  if (answer && answer->existing) world_.goals.hit("repeated completion answered");
  if (!answer && answer.error().code == ErrorCode::LeaseLost) world_.goals.hit("stale version refused");
}

void Client::use_held(SimNode& node) {
  if (held_.empty()) return;
  const auto index = world_.random.below(held_.size());
  const Held held = held_[index];
  // Often it is forgotten afterwards; sometimes it comes back as a repeat or a zombie.
  if (world_.random.below(4) != 0) held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(index));
  const auto call = calls_.open(node, "end");
  ++world_.history.operations;
  const auto done = [this, call](Result<core::EndAnswer> answer) {
    if (calls_.close(call)) end_done(answer);
  };
  switch (world_.random.below(5)) {
    case 0:
    case 1:
      return node.engine().complete({held.execution, held.version, "\"outside\""}, done);
    case 2: {
      engine::FailRequest fail;
      fail.execution = held.execution;
      fail.version = held.version;
      fail.error_name = "Outside";
      return node.engine().fail(fail, done);
    }
    case 3:
      return node.engine().release({held.execution, held.version}, done);
    default:
      return node.engine().heartbeat({held.execution, held.version, Duration{2'000'000}, "{\"p\":1}"},
                                     [this, call](Result<core::HeartbeatAnswer> answer) {
                                       if (calls_.close(call) && !answer && answer.error().code == ErrorCode::LeaseLost)
                                         world_.goals.hit("stale version refused");
                                     });
  }
}

// ---- operators and readers ------------------------------------------------------------------------------------------

void Client::operate(SimNode& node) {
  const auto execution = some_execution();
  if (!execution) return;
  ++world_.history.operations;
  const auto call = calls_.open(node, "operate");
  switch (world_.random.below(3)) {
    case 0:
      return node.engine().cancel("default", *execution, [this, call](Result<core::CancelAnswer> answer) {
        if (!calls_.close(call) || !answer) return;
        if (answer->requested) world_.goals.hit("cancel requested while claimed");
        else if (answer->status == Status::cancelled) world_.goals.hit("cancelled while queued");
      });
    case 1:
      return node.engine().redrive("default", *execution, [this, call](Result<core::RedriveAnswer> answer) {
        if (!calls_.close(call) || !answer) return;
        if (answer->created) world_.goals.hit("redriven");
        seen_.push_back(answer->successor);
      });
    default:
      return node.engine().discard("default", *execution, [this, call](Result<core::DiscardAnswer> answer) {
        if (calls_.close(call) && answer && answer->discarded) world_.goals.hit("discarded");
      });
  }
}

void Client::read(SimNode& node) {
  const auto execution = some_execution();
  if (!execution) return;
  ++world_.history.operations;
  const auto text = execution->to_string();
  auto explained = node.engine().explain("default", text);
  if (explained && explained->reason == engine::WaitReason::concurrency_key) world_.goals.hit("blocked behind a key");
  if (explained && explained->reason == engine::WaitReason::rate_limited) world_.goals.hit("rate limited");
  if (explained && !explained->duplicates.empty()) world_.goals.hit("duplicates counted in the ledger");
  const auto call = calls_.open(node, "wait_result");
  node.engine().wait_result("default", *execution, world_.clock.now() + Duration{1'000'000},
                            [this, call](Result<store::ExecutionView>) { calls_.close(call); });
}

void Client::act(SimNode& node) {
  const auto dice = world_.random.below(100);
  if (dice < 40) return enqueue(node);
  if (dice < 46) return enqueue_batch(node);
  if (dice < 48) return group(node);
  if (dice < 58) return claim(node);
  if (dice < 68) return deliver(node);
  if (dice < 82) return use_held(node);
  if (dice < 92) return operate(node);
  read(node);
}

void Client::cancel_leftovers(SimNode& node) {
  held_.clear();
  store::ExecutionFilter filter;
  filter.statuses = {Status::queued};
  filter.name = "ghost";
  filter.limit = 1000;
  const auto rows = *world_.store.execution_list(filter);
  for (const auto& view : rows) node.engine().cancel("default", view.execution.id, [](Result<core::CancelAnswer>) {});
}

}  // namespace semel::sim
