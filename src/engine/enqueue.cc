// Enqueue, alone and in batches: one path. What a duplicate is told is decided by core, in the store's transaction.
#include <utility>

#include "core/validate.h"
#include "engine/in_history.h"
#include "engine/prepare.h"
#include "engine/request_json.h"
#include "engine/send.h"

namespace semel::engine {

struct Engine::Prepared {
  core::TaskEnqueue operation;
  core::RetryOverrides retry;
  std::string queue;
};

namespace {

EnqueueOutcome outcome_of(const std::optional<std::string>& task_id, core::EnqueueAnswer answer) {
  EnqueueOutcome out;
  out.execution_id = answer.execution;
  out.task_id = task_id ? *task_id : answer.execution.to_string();
  out.status = answer.status;
  out.created = answer.created;
  out.result = std::move(answer.result);
  out.completed_at = answer.completed_at;
  out.result_expired = answer.result_expired;
  return out;
}

Result<EnqueueOutcome> outcome_of(const std::optional<std::string>& task_id, core::Answer answer) {
  if (auto* error = std::get_if<Error>(&answer)) return std::move(*error);
  return outcome_of(task_id, std::get<core::EnqueueAnswer>(std::move(answer)));
}

}  // namespace

Result<Engine::Prepared> Engine::prepare(EnqueueRequest& request) {
  auto tenant = directory_.tenant(request.tenant);
  if (!tenant) return tenant.error();
  const Instant now = request.unique ? env_.store.clock().now() : Instant{};
  auto operation = prepare_enqueue(request, *tenant, env_.next_id<ExecutionId>(), now);
  if (!operation) return std::move(operation).error();
  return Prepared{*std::move(operation), std::move(request.retry), std::move(request.queue)};
}

void Engine::with_lane(core::TenantId tenant, const std::string& queue, Callback<LaneRef> done) {
  if (LaneRef lane = directory_.find(tenant, queue)) return done(std::move(lane));
  send<core::LaneEnsure, LaneRef>(core::LaneEnsure{tenant, queue, std::nullopt}, std::move(done),
                                  [this](core::LaneAnswer answer) -> Result<LaneRef> {
                                    directory_.learn(answer.lane);
                                    return directory_.find(answer.lane.id);
                                  });
}

void Engine::enqueue(EnqueueRequest request, Callback<EnqueueOutcome> done) {
  const InHistory in(directory_.history());
  auto prepared = prepare(request);
  if (!prepared) return done(std::move(prepared).error());
  const auto submit = [this](Prepared& ready, const LaneEntry& lane, Callback<EnqueueOutcome> answer) {
    if (auto applied = apply_lane(ready.operation, ready.retry, lane); !applied)
      return answer(std::move(applied).error());
    auto task_id = ready.operation.identity;
    writer_.submit(std::move(ready.operation),
                   [task_id = std::move(task_id), answer = std::move(answer)](core::Answer result) {
                     answer(outcome_of(task_id, std::move(result)));
                   });
  };
  if (LaneRef lane = directory_.find(prepared->operation.tenant, prepared->queue))
    return submit(*prepared, *lane, std::move(done));
  auto shared = std::make_shared<Prepared>(*std::move(prepared));
  with_lane(shared->operation.tenant, shared->queue, [shared, submit, done = std::move(done)](Result<LaneRef> lane) {
    if (!lane) return done(std::move(lane).error());
    submit(*shared, **lane, done);
  });
}

void Engine::settle_lanes(std::shared_ptr<std::vector<Result<Prepared>>> all, std::size_t from,
                          std::function<void()> then) {
  for (std::size_t i = from; i < all->size(); ++i) {
    auto& item = (*all)[i];
    if (!item) continue;
    const LaneRef lane = directory_.find(item->operation.tenant, item->queue);
    if (lane) {
      if (auto applied = apply_lane(item->operation, item->retry, *lane); !applied) item = std::move(applied).error();
      continue;
    }
    const core::TenantId tenant = item->operation.tenant;
    const std::string queue = item->queue;
    return with_lane(tenant, queue, [this, all, i, then = std::move(then)](Result<LaneRef> made) {
      if (!made) (*all)[i] = made.error();
      settle_lanes(all, made ? i : i + 1, then);
    });
  }
  then();
}

void Engine::enqueue_batch(std::vector<EnqueueRequest> requests, Callback<std::vector<Result<EnqueueOutcome>>> done) {
  const InHistory in(directory_.history());
  if (requests.size() > core::kMaxBatchItems)
    return done(make_error(ErrorCode::PayloadTooLarge, "a batch has at most " + std::to_string(core::kMaxBatchItems) +
                                                           " items, not " + std::to_string(requests.size())));
  std::size_t bytes = 0;
  for (const auto& request : requests) bytes += request.args.size();
  if (bytes > core::kMaxBatchBytes)
    return done(make_error(ErrorCode::PayloadTooLarge, "the args of a batch are at most " +
                                                           std::to_string(core::kMaxBatchBytes) +
                                                           " bytes together, not " + std::to_string(bytes)));
  auto all = std::make_shared<std::vector<Result<Prepared>>>();
  all->reserve(requests.size());
  for (auto& request : requests) all->push_back(prepare(request));
  settle_lanes(all, 0, [this, all, done = std::move(done)] {
    std::vector<core::Operation> operations;
    std::vector<std::optional<std::string>> ids;
    operations.reserve(all->size());
    for (auto& item : *all) {
      if (!item) continue;
      ids.push_back(item->operation.identity);
      operations.push_back(std::move(item->operation));
    }
    writer_.submit_all(std::move(operations), [all, done, ids = std::move(ids)](std::vector<core::Answer> answers) {
      std::vector<Result<EnqueueOutcome>> outcomes;
      outcomes.reserve(all->size());
      std::size_t next = 0;
      for (auto& item : *all) {
        if (!item) {
          outcomes.push_back(item.error());
          continue;
        }
        outcomes.push_back(outcome_of(ids[next], std::move(answers[next])));
        ++next;
      }
      done(std::move(outcomes));
    });
  });
}

void Engine::enqueue_within(std::function<Result<void>(void*)> function, std::vector<EnqueueRequest> requests,
                            Callback<std::vector<EnqueueOutcome>> done) {
  const InHistory in(directory_.history());
  auto all = std::make_shared<std::vector<Result<Prepared>>>();
  for (auto& request : requests) {
    auto prepared = prepare(request);
    if (!prepared) return done(std::move(prepared).error());
    all->push_back(*std::move(prepared));
  }
  settle_lanes(all, 0, [this, all, function = std::move(function), done = std::move(done)] {
    core::EnqueueWithin operation{function, {}};
    std::vector<std::optional<std::string>> ids;
    for (auto& item : *all) {
      if (!item) return done(item.error());
      ids.push_back(item->operation.identity);
      operation.tasks.push_back(std::move(item->operation));
    }
    send<core::EnqueueWithin, std::vector<EnqueueOutcome>>(
        std::move(operation), done,
        [ids = std::move(ids)](core::EnqueueWithinAnswer answer) -> Result<std::vector<EnqueueOutcome>> {
          std::vector<EnqueueOutcome> outcomes;
          for (std::size_t i = 0; i < answer.tasks.size(); ++i)
            outcomes.push_back(outcome_of(ids[i], std::move(answer.tasks[i])));
          return outcomes;
        });
  });
}

void Engine::signal_with_start(SignalRequest request, EnqueueRequest start, Callback<core::SignalAnswer> done) {
  const InHistory in(directory_.history());
  request.tenant = start.tenant;
  request.workflow_id = start.task_id.value_or("");
  request.execution.reset();
  auto all = std::make_shared<std::vector<Result<Prepared>>>();
  all->push_back(prepare(start));
  if (auto& item = all->front(); !item) return done(item.error());
  auto operation = prepare_signal(std::move(request), all->front()->operation.tenant, env_.next_id<MailId>());
  if (!operation) return done(std::move(operation).error());
  settle_lanes(all, 0, [this, all, operation = *std::move(operation), done = std::move(done)]() mutable {
    auto& item = all->front();
    if (!item) return done(item.error());
    operation.start = std::move(item->operation);
    send(std::move(operation), done);
  });
}

void Engine::feed_inbox(core::InboxRow row, Callback<bool> done) {
  const InHistory in(directory_.history());
  const auto feed = [this, done](core::InboxFeed operation) {
    writer_.submit_internal(std::move(operation), [done](core::Answer answer) {
      if (auto* error = std::get_if<Error>(&answer)) return done(std::move(*error));
      done(std::get<core::InboxAnswer>(answer).fed);
    });
  };
  auto request = enqueue_request_from_json(row.request);
  if (request) request->tenant = row.tenant;
  auto prepared = request ? prepare(*request) : Result<Prepared>(request.error());
  if (!prepared) return feed(core::InboxFeed{row.id, std::nullopt, prepared.error().to_json()});
  auto all = std::make_shared<std::vector<Result<Prepared>>>();
  all->push_back(*std::move(prepared));
  settle_lanes(all, 0, [all, feed, done, id = row.id] {
    auto& item = all->front();
    if (item) return feed(core::InboxFeed{id, std::move(item->operation), {}});
    if (error_info(item.error().code).advice == RetryAdvice::never)
      return feed(core::InboxFeed{id, std::nullopt, item.error().to_json()});
    done(item.error());
  });
}

void Engine::group_create(GroupRequest request, Callback<GroupOutcome> done) {
  const InHistory in(directory_.history());
  if (request.total < 1)
    return done(
        make_error(ErrorCode::InvalidArgument, "total must be at least 1, not " + std::to_string(request.total)));
  if (request.completion.delay || request.completion.scheduled_at)
    return done(make_error(ErrorCode::InvalidArgument,
                           "completion runs when the last member ended; leave delay and scheduled_at out"));
  if (request.completion.task_id || request.completion.idempotency_key || request.completion.unique)
    return done(make_error(ErrorCode::InvalidArgument,
                           "completion is made once by its group; leave task_id, idempotency_key and unique out"));
  auto all = std::make_shared<std::vector<Result<Prepared>>>();
  all->push_back(prepare(request.completion));
  settle_lanes(all, 0, [this, all, total = request.total, done = std::move(done)] {
    auto& item = all->front();
    if (!item) return done(item.error());
    const auto& task = item->operation;
    core::Group group;
    group.id = env_.next_id<GroupId>();
    group.tenant = task.tenant;
    group.total = total;
    auto& row = group.completion;
    row.id = task.id;
    row.tenant = task.tenant;
    row.lane = task.lane;
    row.kind = task.kind;
    row.name = task.name;
    row.identity = task.identity;
    row.priority = task.priority;
    row.max_attempts = task.max_attempts;
    row.attempt_timeout = task.attempt_timeout;
    row.concurrency_key = task.concurrency_key;
    row.fingerprint = task.fingerprint;
    if (task.attempt_timeout.count() > 0) row.flags |= core::kHasTimer;
    if (task.drop_at_end) row.flags |= core::kDropAtEnd;
    if (!task.policy.empty()) row.flags |= core::kHasPolicy;
    group.completion_payload = core::Payload{task.id, task.encoding, task.args, task.policy};
    const GroupOutcome outcome{group.id, task.id};
    send<core::GroupCreate, GroupOutcome>(core::GroupCreate{std::move(group)}, done,
                                          [outcome](core::GroupAnswer) -> Result<GroupOutcome> { return outcome; });
  });
}

}  // namespace semel::engine
