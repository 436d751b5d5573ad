// Reads, and waiting for a result.
#include <algorithm>

#include "base/text.h"
#include "engine/engine.h"

namespace semel::engine {
namespace {

constexpr int kFollowedAtOnce = 100;  // runs of a chain; a longer one is followed on at the next look

Error unknown_execution(ExecutionId id) {
  return make_error(ErrorCode::ExecutionNotFound,
                    "execution " + id.to_string() + " does not exist (or its retention is over)");
}

}  // namespace

Result<store::ExecutionView> Engine::get(std::string_view tenant, ExecutionId execution) {
  auto id = directory_.tenant(tenant);
  if (!id) return id.error();
  auto view = env_.store.execution_get(*id, execution);
  if (!view) return view.error();
  if (!*view) return unknown_execution(execution);
  return **std::move(view);
}

Result<store::ExecutionView> Engine::get_task(std::string_view tenant, std::string_view task_id, Kind kind) {
  auto id = directory_.tenant(tenant);
  if (!id) return id.error();
  auto view = env_.store.execution_find(*id, core::identity_space(kind), task_id);
  if (!view) return view.error();
  if (*view) return **std::move(view);
  if (const auto execution = ExecutionId::parse(task_id)) return get(tenant, *execution);
  const std::string noun = kind == Kind::task ? "task_id " : "workflow_id ";
  return make_error(ErrorCode::ExecutionNotFound, noun + base::printable(task_id) + " is not known");
}

Result<std::vector<store::ExecutionView>> Engine::list(std::string_view tenant, store::ExecutionFilter filter) {
  auto id = directory_.tenant(tenant);
  if (!id) return id.error();
  filter.tenant = *id;
  if (filter.limit < 1 || filter.limit > 1000)
    return make_error(ErrorCode::InvalidArgument, "limit must be 1 .. 1000, not " + std::to_string(filter.limit));
  return env_.store.execution_list(filter);
}

void Engine::wait_result(std::string_view tenant, ExecutionId execution, Instant deadline,
                         Callback<store::ExecutionView> done) {
  auto id = directory_.tenant(tenant);
  if (!id) return done(id.error());
  // Runs that were continued or retried are followed to the one that holds the result.
  auto look = [tenant = *id, deadline, done, reached = execution](
                  Instant now, const SeenExecutions& seen) mutable -> std::optional<ExecutionId> {
    for (int hops = 0; hops < kFollowedAtOnce; ++hops) {
      auto view = seen.get(tenant, reached);
      if (!view || !*view) {
        done(!view ? view.error() : unknown_execution(reached));
        return std::nullopt;
      }
      const auto& row = (*view)->execution;
      const bool goes_on =
          row.close_reason == core::CloseReason::continued || row.close_reason == core::CloseReason::retried;
      if (is_terminal(row.status) && goes_on && row.next) {
        reached = *row.next;
        continue;
      }
      if (!is_terminal(row.status) && now < deadline) return reached;
      done(**std::move(view));
      return std::nullopt;
    }
    return reached;
  };
  waiting_.wait_for_end(*id, execution, deadline, look, [done](const Error& why) { done(why); });
  look_wake();
}

}  // namespace semel::engine
