#include "engine/handler.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "base/json.h"
#include "core/validate.h"

namespace semel::engine {

HandlerOutcome HandlerOutcome::success(std::optional<std::string> result) {
  HandlerOutcome out;
  out.result = std::move(result);
  return out;
}

HandlerOutcome HandlerOutcome::failure(std::string name, std::string message, bool retryable) {
  HandlerOutcome out;
  out.kind = Kind::failed;
  out.error_name = std::move(name);
  out.error_message = std::move(message);
  out.retryable = retryable;
  return out;
}

// ---- run ------------------------------------------------------------------------------------------------------------

void Run::set_progress(std::string json) {
  std::lock_guard lock(mutex_);
  progress_ = std::move(json);
}

std::optional<std::string> Run::take_progress() {
  std::lock_guard lock(mutex_);
  return std::exchange(progress_, std::nullopt);
}

void Run::on_stop(std::function<void()> call) {
  {
    std::lock_guard lock(mutex_);
    if (!stop_requested()) {
      on_stop_ = std::move(call);
      return;
    }
  }
  if (call) call();
}

void Run::request_stop(StopReason reason) {
  std::function<void()> call;
  {
    std::lock_guard lock(mutex_);
    // A lost lease is the last word; otherwise the first reason stays.
    if (stop_requested() && reason != StopReason::lease_lost) return;
    stop_.store(reason, std::memory_order_release);
    call = std::exchange(on_stop_, nullptr);
  }
  if (call) call();
}

// ---- table ----------------------------------------------------------------------------------------------------------

void HandlerTable::add(std::string name, Handler handler) {
  handlers_.insert_or_assign(std::move(name), std::move(handler));
}

void HandlerTable::use(Middleware middleware) { middleware_.push_back(std::move(middleware)); }

void HandlerTable::seal() {
  if (std::exchange(sealed_, true)) return;
  for (auto& [name, handler] : handlers_)
    for (auto it = middleware_.rbegin(); it != middleware_.rend(); ++it)
      handler = [around = *it, inner = std::move(handler)](Run& run) { return around(run, inner); };
}

const Handler* HandlerTable::find(const std::string& name) const {
  const auto it = handlers_.find(name);
  return it == handlers_.end() ? nullptr : &it->second;
}

HandlerOutcome HandlerTable::call(Run& run) const {
  const Handler* handler = find(run.task.execution.name);
  if (handler == nullptr) return HandlerOutcome::failure("NoHandler", "no handler is registered for this task");
  return call_guarded(*handler, run);
}

HandlerOutcome call_guarded(const Handler& handler, Run& run) {
  try {
    return handler(run);
  } catch (const std::exception& error) {
    return HandlerOutcome::failure("Exception", error.what());
  } catch (...) {
    return HandlerOutcome::failure("UnknownException", "the handler threw something that is not a std::exception");
  }
}

HandlerOutcome storable(HandlerOutcome outcome, core::Encoding encoding) {
  if (outcome.next_delay) outcome.next_delay = std::clamp(*outcome.next_delay, Duration{0}, core::kMaxDelay);
  if (outcome.kind != HandlerOutcome::Kind::succeeded || !outcome.result) return outcome;
  if (auto fits = core::validate_payload_size("result", outcome.result->size()); !fits)
    return HandlerOutcome::failure("PayloadTooLarge", fits.error().message, false);
  if (encoding != core::Encoding::json) return outcome;
  if (auto valid = base::validate_json(*outcome.result); !valid)
    return HandlerOutcome::failure("InvalidResult", "the handler's result is no JSON: " + valid.error().message, false);
  return outcome;
}

}  // namespace semel::engine
