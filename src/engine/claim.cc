// Claims and deliveries for workers that are not embedded: a session for each call, long polls without a thread each.
#include <algorithm>
#include <utility>

#include "base/duration.h"
#include "core/validate.h"
#include "engine/in_history.h"
#include "engine/send.h"

namespace semel::engine {
namespace {

constexpr Duration kLongestWait = std::chrono::seconds(60);

Result<void> check_claim(const ClaimRequest& request) {
  if (auto ok = core::validate_id("worker", request.worker); !ok) return ok;
  if (auto ok = core::validate_lease(request.lease); !ok) return ok;
  if (request.max < 1 || request.max > 1000)
    return make_error(ErrorCode::InvalidArgument, "max must be 1 .. 1000, not " + std::to_string(request.max));
  if (request.wait.count() < 0 || request.wait > kLongestWait)
    return make_error(ErrorCode::InvalidArgument, "wait must be 0s .. 60s, not " + base::format_duration(request.wait));
  for (const auto& queue : request.queues)
    if (auto ok = core::validate_queue(queue); !ok) return ok;
  return {};
}

}  // namespace

store::ExecutionView Engine::view_of(core::ClaimedTask task) {
  store::ExecutionView view{std::move(task.execution), std::move(task.payload), {}, {}};
  LaneRef lane = directory_.find(view.execution.lane);
  if (!lane && directory_.refresh()) lane = directory_.find(view.execution.lane);  // made by another process
  if (lane) {
    view.tenant = lane->tenant;
    view.queue = lane->lane.queue;
  }
  return view;
}

void Engine::claim(ClaimRequest request, Callback<Views> done) {
  const InHistory in(directory_.history());
  if (auto ok = check_claim(request); !ok) return done(ok.error());
  auto tenant = directory_.tenant(request.tenant);
  if (!tenant) return done(tenant.error());
  const Duration wait = request.wait;
  auto shared = std::make_shared<const ClaimRequest>(std::move(request));
  claim_once(shared, *tenant, [this, shared, tenant = *tenant, wait, done = std::move(done)](Result<Views> views) {
    if (!views || !views->empty() || wait.count() == 0) return done(std::move(views));
    wait_for_claim(shared, tenant, add_saturated(env_.store.clock().now(), wait), done);
  });
}

// Lanes that hold ready rows now, shared over what was asked for. Empty: nothing to claim.
Result<std::vector<core::TaskClaim::Want>> Engine::wants_of(const ClaimRequest& request, core::TenantId tenant) {
  auto ready = env_.store.ready_lanes();
  if (!ready) return ready.error();
  std::vector<core::TaskClaim::Want> wants;
  std::vector<core::TaskClaim::Want> alone;
  for (const auto& row : *ready) {
    if (row.pool == core::Pool::runs) continue;  // a workflow is decided, not worked on
    LaneRef lane = directory_.find(row.lane);
    if (!lane) {
      if (auto refreshed = directory_.refresh(); !refreshed) return refreshed.error();
      lane = directory_.find(row.lane);
    }
    if (!lane || lane->lane.tenant != tenant || lane->lane.config.paused) continue;
    const auto& queues = request.queues;
    if (!queues.empty() && std::find(queues.begin(), queues.end(), lane->lane.queue) == queues.end()) continue;
    (row.pool == core::Pool::alone ? alone : wants).push_back({row.lane, request.max, lane->limited()});
  }
  if (!alone.empty()) {
    alone.resize(1);
    alone.front().limit = 0;  // marks a claim of one execution by itself
    return alone;
  }
  const auto share =
      std::max<std::int32_t>(1, request.max / std::max<std::int32_t>(1, static_cast<std::int32_t>(wants.size())));
  std::int32_t left = request.max;
  for (auto& want : wants) {
    want.limit = std::min(left, share);
    left -= want.limit;
  }
  if (!wants.empty()) wants.front().limit += left;
  std::erase_if(wants, [](const auto& want) { return want.limit == 0; });
  return wants;
}

void Engine::claim_once(std::shared_ptr<const ClaimRequest> request, core::TenantId tenant, Callback<Views> done) {
  auto wants = wants_of(*request, tenant);
  if (!wants) return done(wants.error());
  if (wants->empty()) return done(Views{});
  const SessionId session = request->session ? *request->session : env_.next_id<SessionId>();
  if (!request->session) writer_.submit(core::SessionOpen{session, request->worker, request->lease}, nullptr);
  claim_in(session, std::move(request), *std::move(wants), std::move(done));
}

void Engine::claim_in(SessionId session, std::shared_ptr<const ClaimRequest> request,
                      std::vector<core::TaskClaim::Want> wants, Callback<Views> done) {
  core::TaskClaim claim;
  claim.id = env_.next_id<ClaimId>();
  claim.session = session;
  claim.worker = request->worker;
  claim.lease = request->lease;
  if (wants.size() == 1 && wants.front().limit == 0) claim.pool = core::Pool::alone;
  claim.lanes = std::move(wants);
  if (claim.pool == core::Pool::alone) claim.lanes.front().limit = 1;
  send<core::TaskClaim, Views>(std::move(claim), std::move(done), [this](core::ClaimAnswer answer) -> Result<Views> {
    Views views;
    for (auto& task : answer.tasks) views.push_back(view_of(std::move(task)));
    return views;
  });
}

void Engine::wait_for_claim(std::shared_ptr<const ClaimRequest> request, core::TenantId tenant, Instant deadline,
                            Callback<Views> done) {
  auto look = [this, request, tenant, deadline, done, history = InHistory::current().value_or(directory_.history())](
                  Instant now, const SeenExecutions&) -> std::optional<ExecutionId> {
    const InHistory in(history);
    auto wants = wants_of(*request, tenant);
    if (wants && wants->empty()) {
      if (now < deadline) return ExecutionId{};
      done(Views{});
      return std::nullopt;
    }
    // Somebody else may win the race: then wait on.
    claim_once(request, tenant, [this, request, tenant, deadline, done](Result<Views> views) {
      const bool go_on = views && views->empty() && env_.store.clock().now() < deadline;
      if (go_on) return wait_for_claim(request, tenant, deadline, done);
      done(std::move(views));
    });
    return std::nullopt;
  };
  waiting_.wait_for_work(deadline, std::move(look), [done](const Error& why) { done(why); });
  look_wake();
}

void Engine::deliver(DeliverRequest request, Callback<DeliverOutcome> done) {
  const InHistory in(directory_.history());
  if (!request.execution)
    if (auto ok = core::validate_id("job_id", request.job_id); !ok) return done(ok.error());
  if (auto ok = core::validate_id("worker", request.worker); !ok) return done(ok.error());
  if (auto ok = core::validate_lease(request.lease); !ok) return done(ok.error());
  auto tenant = directory_.tenant(request.tenant);
  if (!tenant) return done(tenant.error());
  const SessionId session = request.session ? *request.session : env_.next_id<SessionId>();
  if (!request.session) writer_.submit(core::SessionOpen{session, request.worker, request.lease}, nullptr);
  core::TaskDeliver operation;
  operation.tenant = *tenant;
  operation.identity = std::move(request.job_id);
  operation.execution = request.execution;
  operation.claim = env_.next_id<ClaimId>();
  operation.session = session;
  operation.worker = std::move(request.worker);
  operation.lease = request.lease;
  if (!operation.execution)
    if (const auto id = ExecutionId::parse(operation.identity)) {
      // A task without task_id prints its execution id in that place, so a message may carry it.
      auto known = env_.store.execution_find(*tenant, core::Space::task, operation.identity);
      if (known && !*known) operation.execution = *id;
    }
  send<core::TaskDeliver, DeliverOutcome>(std::move(operation), std::move(done),
                                          [this](core::DeliverAnswer answer) -> Result<DeliverOutcome> {
                                            return DeliverOutcome{answer.outcome, view_of(std::move(answer.task))};
                                          });
}

}  // namespace semel::engine
