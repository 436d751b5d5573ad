// What operators do: single verbs, bulk verbs, queues, tenants, keys, purge.
#include <algorithm>
#include <utility>

#include "base/text.h"
#include "core/validate.h"
#include "engine/in_history.h"
#include "engine/prepare.h"
#include "engine/send.h"

namespace semel::engine {
namespace {

constexpr std::int32_t kMaxPage = 1000;

std::vector<Status> statuses_for(Verb verb) {
  switch (verb) {
    case Verb::cancel:
      return {Status::queued, Status::claimed, Status::running, Status::suspended};
    case Verb::redrive:
      return {Status::failed, Status::timed_out, Status::dead_lettered};
    case Verb::discard:
      return {Status::dead_lettered};
  }
  return {};
}

void take_answer(BulkItem& item, const core::Answer& answer) {
  if (const auto* error = std::get_if<Error>(&answer)) item.error = *error;
  if (const auto* redriven = std::get_if<core::RedriveAnswer>(&answer)) {
    item.successor = redriven->successor;
    item.changed = redriven->created;
  }
  if (const auto* discarded = std::get_if<core::DiscardAnswer>(&answer)) item.changed = discarded->discarded;
}

}  // namespace

void Engine::cancel(std::string_view tenant, ExecutionId execution, Callback<core::CancelAnswer> done) {
  const InHistory in(directory_.history());
  auto id = directory_.tenant(tenant);
  if (!id) return done(id.error());
  send(core::ExecutionCancel{*id, execution}, std::move(done));
}

void Engine::redrive(std::string_view tenant, ExecutionId execution, Callback<core::RedriveAnswer> done) {
  const InHistory in(directory_.history());
  auto id = directory_.tenant(tenant);
  if (!id) return done(id.error());
  send(core::ExecutionRedrive{*id, execution, env_.next_id<ExecutionId>()}, std::move(done));
}

void Engine::discard(std::string_view tenant, ExecutionId execution, Callback<core::DiscardAnswer> done) {
  const InHistory in(directory_.history());
  auto id = directory_.tenant(tenant);
  if (!id) return done(id.error());
  send(core::ExecutionDiscard{*id, execution}, std::move(done));
}

void Engine::bulk(BulkRequest request, Callback<BulkPage> done) {
  const InHistory in(directory_.history());
  auto& filter = request.filter;
  if (filter.limit < 1 || filter.limit > kMaxPage)
    return done(
        make_error(ErrorCode::InvalidArgument, "a page has 1 .. 1000 executions, not " + std::to_string(filter.limit)));
  const auto applicable = statuses_for(request.verb);
  if (filter.statuses.empty()) filter.statuses = applicable;
  std::erase_if(filter.statuses,
                [&](Status s) { return std::find(applicable.begin(), applicable.end(), s) == applicable.end(); });
  if (filter.statuses.empty())
    return done(make_error(ErrorCode::InvalidArgument,
                           "none of the statuses asked for can be changed by " + std::string(to_string(request.verb))));
  auto views = env_.store.execution_list(filter);
  if (!views) return done(views.error());
  auto page = std::make_shared<BulkPage>();
  for (const auto& view : *views) page->items.push_back(BulkItem{view.execution.id, {}, {}, true});
  if (static_cast<std::int32_t>(views->size()) == filter.limit) page->next = views->back().execution.id;
  if (request.dry_run || page->items.empty()) return done(std::move(*page));

  std::vector<core::Operation> operations;
  for (const auto& item : page->items) switch (request.verb) {
      case Verb::cancel:
        operations.emplace_back(core::ExecutionCancel{filter.tenant, item.execution});
        break;
      case Verb::redrive:
        operations.emplace_back(core::ExecutionRedrive{filter.tenant, item.execution, env_.next_id<ExecutionId>()});
        break;
      case Verb::discard:
        operations.emplace_back(core::ExecutionDiscard{filter.tenant, item.execution});
        break;
    }
  writer_.submit_all(std::move(operations), [page, done = std::move(done)](std::vector<core::Answer> answers) {
    for (std::size_t i = 0; i < answers.size(); ++i) take_answer(page->items[i], answers[i]);
    done(std::move(*page));
  });
}

// ---- queues and tenants ---------------------------------------------------------------------------------------------

void Engine::queue_set(std::string_view tenant, std::string queue, core::LaneConfig config, Callback<core::Lane> done) {
  if (auto ok = validate_lane_config(config); !ok) return done(ok.error());
  change_lane(tenant, {{}, std::move(queue), std::move(config), {}}, std::move(done));
}

void Engine::queue_pause(std::string_view tenant, std::string queue, bool paused, Callback<core::Lane> done) {
  change_lane(tenant, {{}, std::move(queue), {}, paused}, std::move(done));
}

void Engine::change_lane(std::string_view tenant, core::LaneEnsure change, Callback<core::Lane> done) {
  const InHistory in(directory_.history());
  auto id = directory_.tenant(tenant);
  if (!id) return done(id.error());
  if (auto ok = core::validate_queue(change.queue); !ok) return done(ok.error());
  change.tenant = *id;
  send<core::LaneEnsure, core::Lane>(std::move(change), std::move(done),
                                     [this](core::LaneAnswer answer) -> Result<core::Lane> {
                                       directory_.learn(answer.lane);
                                       if (lane_changed) lane_changed(answer.lane.id);
                                       return answer.lane;
                                     });
}

Result<QueueView> Engine::queue_get(std::string_view tenant, std::string_view queue) {
  auto id = directory_.tenant(tenant);
  if (!id) return id.error();
  LaneRef lane = directory_.find(*id, queue);
  if (!lane) {
    if (auto refreshed = directory_.refresh(); !refreshed) return refreshed.error();
    lane = directory_.find(*id, queue);
  }
  if (!lane) return make_error(ErrorCode::QueueNotFound, "queue " + base::printable(queue) + " does not exist");
  auto stats = env_.store.lane_stats(lane->lane.id);
  if (!stats) return stats.error();
  return QueueView{std::string(tenant), *std::move(stats)};
}

Result<std::vector<QueueView>> Engine::queue_list(std::string_view tenant) {
  auto id = directory_.tenant(tenant);
  if (!id) return id.error();
  if (auto refreshed = directory_.refresh(); !refreshed) return refreshed.error();
  std::vector<QueueView> out;
  for (const auto& lane : directory_.all()) {
    if (lane->lane.tenant != *id) continue;
    auto stats = env_.store.lane_stats(lane->lane.id);
    if (!stats) return stats.error();
    out.push_back(QueueView{std::string(tenant), *std::move(stats)});
  }
  std::sort(out.begin(), out.end(),
            [](const QueueView& a, const QueueView& b) { return a.stats.lane.queue < b.stats.lane.queue; });
  return out;
}

void Engine::tenant_create(std::string name, Callback<core::TenantAnswer> done) {
  if (auto ok = core::validate_tenant(name); !ok) return done(ok.error());
  send<core::TenantEnsure, core::TenantAnswer>(core::TenantEnsure{name}, std::move(done),
                                               [this, name](core::TenantAnswer answer) -> Result<core::TenantAnswer> {
                                                 directory_.learn(answer.tenant, name);
                                                 return answer;
                                               });
}

Result<std::vector<std::string>> Engine::tenant_list() {
  auto tenants = env_.store.tenant_list();
  if (!tenants) return tenants.error();
  std::vector<std::string> names;
  for (auto& [id, name] : *tenants) names.push_back(std::move(name));
  std::sort(names.begin(), names.end());
  return names;
}

// ---- keys and purge -------------------------------------------------------------------------------------------------

void Engine::key_release(std::string_view tenant, std::string key, bool force, Callback<core::KeyAnswer> done) {
  const InHistory in(directory_.history());
  auto id = directory_.tenant(tenant);
  if (!id) return done(id.error());
  if (auto ok = core::validate_id("key", key); !ok) return done(ok.error());
  if (force)
    env_.log.write(base::LogLevel::warn, "idempotency key released by force", {{"tenant", tenant}, {"key", key}});
  send(core::KeyRelease{*id, std::move(key), force}, std::move(done));
}

Result<core::Identity> Engine::key_get(std::string_view tenant, std::string_view key) {
  auto id = directory_.tenant(tenant);
  if (!id) return id.error();
  auto found = env_.store.key_get(*id, key);
  if (!found) return found.error();
  if (!*found) return make_error(ErrorCode::KeyNotFound, "idempotency key " + base::printable(key) + " is not in use");
  return **std::move(found);
}

Result<std::vector<core::Identity>> Engine::key_list(std::string_view tenant, std::string_view after,
                                                     std::int32_t limit) {
  auto id = directory_.tenant(tenant);
  if (!id) return id.error();
  return env_.store.key_list(*id, after, std::clamp(limit, 1, kMaxPage));
}

void Engine::purge(ExecutionId after, Callback<core::SweepAnswer> done) {
  if (auto refreshed = directory_.refresh(); !refreshed) return done(refreshed.error());
  send(core::RetentionSweep{after, kMaxPage, directory_.shortest_retention()}, std::move(done));
}

}  // namespace semel::engine
