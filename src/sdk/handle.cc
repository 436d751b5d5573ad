#include "semel/handle.h"

#include <utility>

#include "base/json.h"
#include "sdk/host.h"

namespace semel {

Result<Execution> RawHandle::execution() const {
  return host_->with<Execution>([&](sdk::Driver& driver) -> Result<Execution> {
    auto view = driver.engine().get(tenant_, execution_id_);
    if (!view) return std::move(view).error();
    return sdk::to_execution(*view, host_->sealer());
  });
}

Result<Status> RawHandle::status() const {
  return host_->with<Status>([&](sdk::Driver& driver) -> Result<Status> {
    auto view = driver.engine().get(tenant_, execution_id_);
    if (!view) return std::move(view).error();
    return view->execution.status;
  });
}

Result<Execution> RawHandle::wait(std::optional<Duration> timeout) const { return host_->wait(*this, timeout); }

void RawHandle::on_end(std::function<void(Result<Execution>)> call) const {
  host_->tell<store::ExecutionView>(
      [&](engine::Engine& engine, auto done) {
        engine.wait_result(tenant_, execution_id_, kEndOfTime, std::move(done));
      },
      [host = host_, call = std::move(call)](Result<store::ExecutionView> view) {
        if (!view) return call(std::move(view).error());
        call(sdk::to_execution(*view, host->sealer()));
      });
}

Result<Status> RawHandle::cancel() const {
  auto answer = host_->ask<core::CancelAnswer>(
      [&](engine::Engine& engine, auto done) { engine.cancel(tenant_, execution_id_, std::move(done)); });
  if (!answer) return std::move(answer).error();
  return answer->status;
}

namespace {

constexpr const char* kErrorName = "task_error_name";

Error ended_badly(const Execution& execution, ErrorCode code, std::string_view what) {
  Error out = make_error(code, "task " + execution.task_id + " " + std::string(what));
  out.details.push_back({"execution_id", base::quote_json(execution.execution_id.to_string())});
  out.details.push_back({"status", base::quote_json(to_string(execution.status))});
  if (execution.error) {
    out.message += ": " + execution.error->name + ": " + execution.error->message;
    out.details.push_back({kErrorName, base::quote_json(execution.error->name)});
    if (execution.error->details) out.details.push_back({"task_error_details", *execution.error->details});
  }
  return out;
}

}  // namespace

Result<Payload> outcome_of(const Execution& execution) {
  const std::string attempts = " after attempt " + std::to_string(execution.attempt);
  switch (execution.status) {
    case Status::succeeded:
      return execution.result.value_or(Payload{Encoding::json, "null"});
    case Status::failed:
      return ended_badly(execution, ErrorCode::TaskFailed, "failed" + attempts);
    case Status::dead_lettered:
      return ended_badly(execution, ErrorCode::TaskDeadLettered, "was dead-lettered" + attempts);
    case Status::cancelled:
      return ended_badly(execution, ErrorCode::Cancelled, "was cancelled");
    case Status::timed_out:
      return ended_badly(execution, ErrorCode::TimedOut, "timed out");
    default:
      return make_error(ErrorCode::NotReady, "task " + execution.task_id + " is not over");
  }
}

void throw_outcome(Error error) {
  switch (error.code) {
    case ErrorCode::TaskFailed:
    case ErrorCode::TaskDeadLettered: {
      std::string name;
      for (const ErrorDetail& detail : error.details) {
        if (detail.name == kErrorName) name = json::decode<std::string>(detail.json).value();
      }
      throw TaskFailed(std::move(error), std::move(name));
    }
    case ErrorCode::Cancelled:
      throw Cancelled(std::move(error));
    case ErrorCode::TimedOut:
      throw TimedOut(std::move(error));
    default:
      throw ErrorException(std::move(error));
  }
}

}  // namespace semel
