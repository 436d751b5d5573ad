#include "sdk/workflow/failure.h"

#include <optional>
#include <utility>

#include "base/json.h"
#include "base/json_writer.h"
#include "sdk/convert.h"
#include "semel/exceptions.h"

namespace semel::sdk {
namespace {

std::string print(std::string_view name, std::string_view message, const std::optional<std::string>& details) {
  std::string out;
  base::JsonWriter to(out);
  to.begin_object().field("name", name).field("message", message);
  if (details && base::validate_json(*details)) to.raw_field("details", *details);
  to.end_object();
  return out;
}

}  // namespace

std::string error_json(std::string_view name, std::string_view message) { return print(name, message, std::nullopt); }

std::string error_json(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const TaskError& error) {
    return print(error.name(), error.what(), error.details());
  } catch (const TaskFailed& error) {
    // A step's failure that nobody handled is the run's failure.
    return error_json(error.error_name().empty() ? "TaskFailed" : error.error_name(), error.what());
  } catch (const ErrorException& error) {
    return error_json(error_info(error.error().code).name, error.what());
  } catch (const std::exception& error) {
    return error_json("Exception", error.what());
  } catch (...) {
    return error_json("UnknownException", "something was thrown that is not a std::exception");
  }
}

bool is_cancelled(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Cancelled&) {
    return true;
  } catch (...) {
    return false;
  }
}

void throw_outcome(const detail::Outcome& outcome, const std::string& what) {
  using Kind = detail::Outcome::Kind;
  if (outcome.thrown) std::rethrow_exception(outcome.thrown);
  if (outcome.kind == Kind::cancelled) throw Cancelled(make_error(ErrorCode::Cancelled, what + " was cancelled"));
  if (outcome.kind == Kind::timed_out) throw TimedOut(make_error(ErrorCode::TimedOut, what + " timed out"));
  Failure recorded = to_failure(outcome.data);
  Error error = make_error(ErrorCode::TaskFailed, what + " failed: " + recorded.name + ": " + recorded.message);
  if (recorded.details) error.details.push_back({"task_error_details", *recorded.details});
  throw TaskFailed(std::move(error), std::move(recorded.name));
}

}  // namespace semel::sdk
