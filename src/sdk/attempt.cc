#include "sdk/attempt.h"

#include <utility>

#include "base/json.h"
#include "core/validate.h"

namespace semel::sdk {
namespace {

// The public enumerations repeat the engine's, which public headers may not name.
static_assert(static_cast<int>(StopReason::shutdown) == static_cast<int>(engine::StopReason::shutdown));
static_assert(static_cast<int>(TaskOutcome::Kind::released) ==
              static_cast<int>(engine::HandlerOutcome::Kind::released));

thread_local int handler_depth = 0;

struct InsideHandler {
  InsideHandler() { ++handler_depth; }
  ~InsideHandler() { --handler_depth; }
};

TaskOutcome failure(std::string name, std::string message, bool retryable) {
  TaskOutcome out;
  out.kind = TaskOutcome::Kind::failed;
  out.failure = Failure{std::move(name), std::move(message), std::nullopt};
  out.retryable = retryable;
  return out;
}

TaskOutcome failure(const TaskError& error) {
  TaskOutcome out = failure(error.name(), error.what(), dynamic_cast<const NonRetryable*>(&error) == nullptr);
  out.failure.details = error.details();
  if (const auto* later = dynamic_cast<const RetryAfter*>(&error)) out.next_delay = later->delay();
  return out;
}

// An Error that advises against repeating the request ends the task: the next attempt would meet it again.
TaskOutcome failure(const Error& error) {
  const ErrorInfo& info = error_info(error.code);
  return failure(std::string(info.name), error.message, info.advice != RetryAdvice::never);
}

TaskOutcome guarded(const std::function<TaskOutcome()>& call) {
  try {
    return call();
  } catch (const TaskError& error) {
    return failure(error);
  } catch (const Cancelled&) {
    TaskOutcome out = failure("Cancelled", "the handler stopped because cancel was requested", true);
    out.kind = TaskOutcome::Kind::cancelled;
    return out;
  } catch (const Stopped&) {
    TaskOutcome out;
    out.kind = TaskOutcome::Kind::released;
    return out;
  } catch (const ErrorException& error) {
    return failure(error.error());
  } catch (const std::exception& error) {
    return failure("Exception", error.what(), true);
  } catch (...) {
    return failure("UnknownException", "the handler threw something that is not a std::exception", true);
  }
}

TaskOutcome run_from(std::size_t index, TaskContext& context, const RawHandler& handler,
                     const std::vector<Middleware>& middleware) {
  return guarded([&] {
    if (index < middleware.size()) {
      const Next next = [&] { return run_from(index + 1, context, handler, middleware); };
      return middleware[index](context, next);
    }
    TaskOutcome out;
    out.result = handler(context);
    return out;
  });
}

engine::HandlerOutcome to_engine(TaskOutcome outcome, Attempt& attempt) {
  engine::HandlerOutcome out;
  out.kind = static_cast<engine::HandlerOutcome::Kind>(outcome.kind);
  if (outcome.ok()) {
    out.result = attempt.env.sealer.seal_result(outcome.result, attempt.run.task.payload.encoding);
    return out;
  }
  out.error_name = std::move(outcome.failure.name);
  out.error_message = std::move(outcome.failure.message);
  out.error_details = std::move(outcome.failure.details);
  out.retryable = outcome.retryable;
  const std::lock_guard lock(attempt.mutex);
  out.next_delay = outcome.next_delay ? outcome.next_delay : attempt.next_delay;
  return out;
}

}  // namespace

bool inside_handler() { return handler_depth > 0; }

engine::Handler make_handler(std::shared_ptr<const HandlerEnv> env, RawHandler handler,
                             std::shared_ptr<const std::vector<Middleware>> middleware) {
  return [env = std::move(env), handler = std::move(handler), middleware = std::move(middleware)](engine::Run& run) {
    auto execution = to_execution(run.task, env->sealer);
    if (!execution) {
      return engine::HandlerOutcome::failure("DecodeFailed", "args: " + execution.error().message);
    }
    const InsideHandler inside;
    Attempt attempt{*env, run, *std::move(execution), {}, {}, {}};
    TaskContext context(attempt);
    TaskOutcome outcome = run_from(0, context, handler, *middleware);
    for (const auto& stop : attempt.stop_calls) {
      const std::lock_guard lock(stop->mutex);
      stop->call = nullptr;
    }
    return to_engine(std::move(outcome), attempt);
  };
}

}  // namespace semel::sdk

namespace semel {

const Execution& TaskContext::execution() const { return attempt_.execution; }

std::string TaskContext::idempotency_key() const {
  if (attempt_.env.key_read) attempt_.env.key_read(attempt_.run);
  return execution().execution_id.to_string();
}

std::string TaskContext::idempotency_key(std::string_view step) const {
  return idempotency_key() + "/" + std::string(step);
}

void TaskContext::heartbeat_json(std::string details) {
  core::validate_payload_size("heartbeat details", details.size()).value();
  base::validate_json(details).value();
  attempt_.run.set_progress(std::move(details));
}

StopReason TaskContext::stop_reason() const { return static_cast<StopReason>(attempt_.run.stop_reason()); }

void TaskContext::throw_if_stopped() const {
  switch (stop_reason()) {
    case StopReason::none:
      return;
    case StopReason::cancelled:
      throw Cancelled();
    case StopReason::lease_lost:
    case StopReason::shutdown:
      throw Stopped();
  }
}

void TaskContext::on_stop(std::function<void()> call) {
  auto stop = std::make_shared<sdk::StopCall>();
  stop->call = std::move(call);
  {
    const std::lock_guard lock(attempt_.mutex);
    attempt_.stop_calls.push_back(stop);
  }
  attempt_.run.on_stop([stop, post = attempt_.env.post] {
    post([stop] {
      const std::lock_guard lock(stop->mutex);
      if (stop->call) std::exchange(stop->call, nullptr)();
    });
  });
}

void TaskContext::retry_after(Duration delay) {
  const std::lock_guard lock(attempt_.mutex);
  attempt_.next_delay = delay;
}

void TaskContext::log(LogLevel level, std::string_view message, std::initializer_list<LogField> fields) const {
  if (!attempt_.env.log) return;
  const std::string id = execution_id().to_string();
  const std::string number = std::to_string(attempt());
  std::vector<LogField> all = {{"task", name()}, {"task_id", task_id()}, {"execution_id", id}, {"attempt", number}};
  all.insert(all.end(), fields);
  attempt_.env.log(level, message, all);
}

}  // namespace semel
