// Enqueue in all its forms, and deliveries.
#include <utility>

#include "sdk/host.h"
#include "semel/engine.h"

namespace semel {
namespace {

using Outcomes = std::vector<Result<engine::EnqueueOutcome>>;

}  // namespace

Result<RawHandle> Engine::enqueue_raw(Item item) {
  auto request = sdk::to_request(item, host_->tenant(), host_->sealer());
  if (!request) return std::move(request).error();
  const std::string tenant = request->tenant;
  auto outcome = host_->ask<engine::EnqueueOutcome>(
      [&](engine::Engine& engine, auto done) { engine.enqueue(*std::move(request), std::move(done)); });
  if (!outcome) return std::move(outcome).error();
  return host_->handle(*outcome, tenant);
}

void Engine::enqueue_raw_async(Item item, std::function<void(Result<RawHandle>)> done) {
  auto request = sdk::to_request(item, host_->tenant(), host_->sealer());
  if (!request) {
    host_->post([done = std::move(done), error = std::move(request).error()] { done(error); });
    return;
  }
  const std::string tenant = request->tenant;
  host_->tell<engine::EnqueueOutcome>(
      [&](engine::Engine& engine, auto answer) { engine.enqueue(*std::move(request), std::move(answer)); },
      [host = host_, tenant, done = std::move(done)](Result<engine::EnqueueOutcome> outcome) {
        if (!outcome) return done(std::move(outcome).error());
        done(host->handle(*outcome, tenant));
      });
}

Result<std::vector<Result<RawHandle>>> Engine::enqueue_batch(std::vector<Item> items) {
  std::vector<engine::EnqueueRequest> requests;
  std::vector<std::pair<std::size_t, std::string>> sent;  // place in the answer, tenant
  std::vector<Result<RawHandle>> out;
  out.reserve(items.size());
  for (const Item& item : items) {
    auto request = sdk::to_request(item, host_->tenant(), host_->sealer());
    if (!request) {
      out.emplace_back(std::move(request).error());
      continue;
    }
    sent.emplace_back(out.size(), request->tenant);
    out.emplace_back(RawHandle());
    requests.push_back(*std::move(request));
  }
  auto outcomes = host_->ask<Outcomes>(
      [&](engine::Engine& engine, auto done) { engine.enqueue_batch(std::move(requests), std::move(done)); });
  if (!outcomes) return std::move(outcomes).error();
  for (std::size_t i = 0; i < outcomes->size(); ++i) {
    auto& outcome = (*outcomes)[i];
    auto& [place, tenant] = sent[i];
    if (outcome) out[place] = host_->handle(*outcome, std::move(tenant));
    else out[place] = std::move(outcome).error();
  }
  return out;
}

Result<std::vector<RawHandle>> Engine::enqueue_within(std::function<Result<void>(sqlite3*)> write,
                                                      std::vector<Item> items) {
  std::vector<engine::EnqueueRequest> requests;
  std::vector<std::string> tenants;
  for (const Item& item : items) {
    auto request = sdk::to_request(item, host_->tenant(), host_->sealer());
    if (!request) return std::move(request).error();
    tenants.push_back(request->tenant);
    requests.push_back(*std::move(request));
  }
  // An exception must not reach the writer.
  auto guarded = [write = std::move(write)](void* connection) -> Result<void> {
    try {
      return write(static_cast<sqlite3*>(connection));
    } catch (const ErrorException& error) {
      return error.error();
    } catch (const std::exception& error) {
      return make_error(ErrorCode::InvalidArgument, std::string("enqueue_within: the function threw: ") + error.what());
    } catch (...) {
      return make_error(ErrorCode::InvalidArgument, "enqueue_within: the function threw");
    }
  };
  auto outcomes = host_->ask<std::vector<engine::EnqueueOutcome>>([&](engine::Engine& engine, auto done) {
    engine.enqueue_within(std::move(guarded), std::move(requests), std::move(done));
  });
  if (!outcomes) return std::move(outcomes).error();
  std::vector<RawHandle> out;
  for (std::size_t i = 0; i < outcomes->size(); ++i) {
    out.push_back(host_->handle((*outcomes)[i], std::move(tenants[i])));
  }
  return out;
}

Result<std::pair<GroupId, RawHandle>> Engine::create_group_raw(int total, Item completion) {
  auto request = sdk::to_request(completion, host_->tenant(), host_->sealer());
  if (!request) return std::move(request).error();
  const std::string tenant = request->tenant;
  auto group = host_->ask<engine::GroupOutcome>([&](engine::Engine& engine, auto done) {
    engine.group_create(engine::GroupRequest{total, *std::move(request)}, std::move(done));
  });
  if (!group) return std::move(group).error();
  engine::EnqueueOutcome outcome;
  outcome.execution_id = group->completion;
  outcome.task_id = group->completion.to_string();
  outcome.created = true;
  return std::pair(group->id, host_->handle(outcome, tenant));
}

Result<Delivery> Engine::deliver_raw(std::string_view job_id, std::string_view worker, std::string_view name,
                                     const RawHandler& handler, const DeliverOptions& options) {
  engine::DeliverRequest request;
  request.tenant = host_->tenant();
  request.job_id = std::string(job_id);
  request.execution = options.execution;
  request.worker = std::string(worker);
  request.lease = options.lease;
  const auto inner = sdk::make_handler(host_->env(), handler, std::make_shared<const std::vector<Middleware>>());
  std::string other_name;
  const engine::Handler guarded = [&](engine::Run& run) {
    if (name.empty() || run.task.execution.name == name) return inner(run);
    other_name = run.task.execution.name;
    engine::HandlerOutcome out;
    out.kind = engine::HandlerOutcome::Kind::released;
    return out;
  };
  return host_->with_handler<Delivery>([&](sdk::Driver& driver) -> Result<Delivery> {
    auto outcome = driver.deliver(std::move(request), guarded);
    if (!outcome) return std::move(outcome).error();
    if (!other_name.empty()) {
      return make_error(ErrorCode::InvalidArgument, "job " + std::string(job_id) + " runs '" + other_name + "', not '" +
                                                        std::string(name) + "'; the claim was given back");
    }
    auto execution = sdk::to_execution(outcome->execution, host_->sealer());
    if (!execution) return std::move(execution).error();
    return Delivery{static_cast<DeliveryOutcome>(outcome->outcome), *std::move(execution)};
  });
}

}  // namespace semel
