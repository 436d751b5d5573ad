#include "engine/prepare.h"

#include "base/json.h"
#include "base/json_value.h"
#include "base/json_writer.h"
#include "base/sha256.h"
#include "base/text.h"
#include "core/fingerprint.h"
#include "core/validate.h"

namespace semel::engine {
namespace {

#define SEMEL_CHECK(expression)                                        \
  do {                                                                 \
    if (auto checked = (expression); !checked) return checked.error(); \
  } while (false)

constexpr std::size_t kMaxAttributes = 100;

Error invalid(std::string message) { return make_error(ErrorCode::InvalidArgument, std::move(message)); }

Result<void> check_words(const EnqueueRequest& request) {
  SEMEL_CHECK(core::validate_name(request.name));
  SEMEL_CHECK(core::validate_queue(request.queue));
  if (request.task_id)
    SEMEL_CHECK(core::validate_id(request.kind == Kind::task ? "task_id" : "workflow_id", *request.task_id));
  if (request.concurrency_key) SEMEL_CHECK(core::validate_id("concurrency_key", *request.concurrency_key));
  if (request.idempotency_key) SEMEL_CHECK(core::validate_id("idempotency_key", *request.idempotency_key));
  if (request.kind == Kind::workflow && !request.task_id) return invalid("workflow_id is required to start a workflow");
  if (request.kind == Kind::workflow && request.concurrency_key)
    return invalid("concurrency_key is for tasks; give it to the workflow's steps");
  if (request.kind == Kind::workflow && request.attempt_timeout)
    return invalid("attempt_timeout is for tasks; use timeout for a workflow");
  if (request.kind == Kind::task && request.on_duplicate == OnDuplicate::replace)
    return invalid("on_duplicate = \"replace\" is for workflows; use \"return\" or \"reject\" for tasks");
  if (request.unique && request.task_id) return invalid("unique derives the task_id; leave task_id out, or unique");
  return {};
}

Result<void> check_times(const EnqueueRequest& request) {
  if (request.delay && request.scheduled_at)
    return invalid("delay and scheduled_at exclude each other; give one of them");
  if (request.delay) SEMEL_CHECK(core::validate_delay("delay", *request.delay));
  if (request.scheduled_at) SEMEL_CHECK(core::validate_scheduled_at(*request.scheduled_at));
  if (request.timeout) SEMEL_CHECK(core::validate_timeout("timeout", *request.timeout));
  if (request.attempt_timeout) SEMEL_CHECK(core::validate_timeout("attempt_timeout", *request.attempt_timeout));
  if (request.idempotency_key_ttl_seconds) {
    if (!request.idempotency_key) return invalid("idempotency_key_ttl_seconds needs an idempotency_key");
    const auto seconds = *request.idempotency_key_ttl_seconds;
    const auto max = std::chrono::duration_cast<std::chrono::seconds>(core::kMaxKeyTtl).count();
    if (seconds < 1 || seconds > max)
      return invalid("idempotency_key_ttl_seconds must be 1 .. " + std::to_string(max) + ", not " +
                     std::to_string(seconds));
  }
  return {};
}

Result<void> check_numbers(const EnqueueRequest& request) {
  SEMEL_CHECK(core::validate_priority(request.priority));
  if (request.max_attempts) SEMEL_CHECK(core::validate_max_attempts(*request.max_attempts));
  SEMEL_CHECK(core::validate_overrides(request.retry));
  SEMEL_CHECK(core::validate_payload_size("args", request.args.size()));
  if (request.unique && request.unique->period.count() < 0) return invalid("unique.period must not be negative");
  return {};
}

Result<base::JsonDocument> parse_object(std::string_view field, const std::string& text) {
  SEMEL_CHECK(core::validate_payload_size(field, text.size()));
  auto document = base::JsonDocument::parse(text, base::kMaxPayloadDepth);
  if (!document) return invalid(std::string(field) + ": " + document.error().message);
  if (document->root().kind() != base::JsonKind::object)
    return invalid(std::string(field) + " must be a JSON object, not " +
                   std::string(base::to_string(document->root().kind())));
  return document;
}

Result<void> check_attributes(const std::string& text) {
  auto document = parse_object("attributes", text);
  if (!document) return document.error();
  const base::JsonValue root = document->root();
  if (root.size() > kMaxAttributes)
    return invalid("attributes must have at most " + std::to_string(kMaxAttributes) + " members, got " +
                   std::to_string(root.size()));
  for (std::size_t i = 0; i < root.size(); ++i) {
    const base::JsonKind kind = root.at(i).kind();
    if (kind == base::JsonKind::object || kind == base::JsonKind::array)
      return invalid("attributes: " + base::printable(root.name_at(i)) +
                     " must be a string, number, boolean or null, " + "not " + std::string(base::to_string(kind)) +
                     "; other data belongs in memo");
  }
  return {};
}

Result<void> check_about_run(const EnqueueRequest& request) {
  if (request.memo.empty() && request.attributes.empty()) return {};
  if (request.kind == Kind::task)
    return invalid(std::string(request.memo.empty() ? "attributes" : "memo") +
                   " is for workflows; give a task its data in args");
  if (!request.attributes.empty()) SEMEL_CHECK(check_attributes(request.attributes));
  if (request.memo.empty()) return {};
  auto memo = parse_object("memo", request.memo);
  return memo ? Result<void>() : Result<void>(memo.error());
}

// The payload's check and its fingerprint are one walk over the text.
Result<void> check_args(const EnqueueRequest& request, core::TaskEnqueue& operation) {
  const bool named = operation.identity || operation.idempotency_key;
  if (request.encoding == core::Encoding::json) {
    if (!named) return base::validate_json(operation.args);
    auto fingerprint = core::fingerprint_of(operation.name, operation.args);
    if (!fingerprint) return fingerprint.error();
    operation.fingerprint = *fingerprint;
  } else if (named) {
    auto fingerprint = core::fingerprint_of_raw(operation.name, "opaque", operation.args);
    if (!fingerprint) return fingerprint.error();
    operation.fingerprint = *fingerprint;
  }
  return {};
}

}  // namespace

Result<core::TaskEnqueue> prepare_enqueue(EnqueueRequest& request, core::TenantId tenant, ExecutionId id, Instant now) {
  SEMEL_CHECK(check_words(request));
  SEMEL_CHECK(check_times(request));
  SEMEL_CHECK(check_numbers(request));
  SEMEL_CHECK(check_about_run(request));
  if (request.encoding == core::Encoding::json && request.args.empty()) request.args = "null";
  if (request.unique) {
    auto derived = unique_task_id(request, now);
    if (!derived) return derived.error();
    request.task_id = *std::move(derived);
  }
  core::TaskEnqueue operation;
  operation.id = id;
  operation.tenant = tenant;
  operation.kind = request.kind;
  operation.name = std::move(request.name);
  operation.identity = std::move(request.task_id);
  operation.encoding = request.encoding;
  operation.args = std::move(request.args);
  operation.priority = static_cast<std::int32_t>(request.priority);
  operation.delay = request.delay;
  operation.scheduled_at = request.scheduled_at;
  operation.timeout = request.timeout;
  operation.attempt_timeout = request.attempt_timeout.value_or(Duration{0});
  operation.concurrency_key = std::move(request.concurrency_key);
  operation.idempotency_key = std::move(request.idempotency_key);
  operation.idempotency_key_ttl_seconds = request.idempotency_key_ttl_seconds.value_or(86400);
  operation.on_duplicate = request.on_duplicate;
  operation.reuse = request.reuse;
  operation.match_args = request.match_args;
  operation.group = request.group;
  operation.memo = std::move(request.memo);
  operation.attributes = std::move(request.attributes);
  operation.policy = core::encode_overrides(request.retry);
  if (request.max_attempts) request.retry.max_attempts = static_cast<int>(*request.max_attempts);
  SEMEL_CHECK(check_args(request, operation));
  return operation;
}

Result<void> apply_lane(core::TaskEnqueue& operation, const core::RetryOverrides& call, const LaneEntry& lane) {
  operation.lane = lane.lane.id;
  core::RetryOverrides queue = lane.retry;
  if (lane.lane.config.max_attempts) queue.max_attempts = lane.lane.config.max_attempts;
  const core::RetryPolicy policy = core::resolve_policy(call, queue);
  SEMEL_CHECK(core::validate_policy(policy));
  // A workflow is run again as a whole only when its caller asked for that: its steps have their own attempts.
  operation.max_attempts = operation.kind == Kind::workflow ? call.max_attempts.value_or(1) : policy.max_attempts;
  operation.drop_at_end = lane.lane.config.retention && lane.lane.config.retention->count() == 0;
  return {};
}

Result<std::string> unique_task_id(const EnqueueRequest& request, Instant now) {
  std::string args;
  if (request.unique->args) {
    if (request.encoding == core::Encoding::json) {
      auto canonical = base::canonical_json(request.args.empty() ? "null" : std::string_view(request.args));
      if (!canonical) return canonical.error();
      args = *std::move(canonical);
    } else {
      args = request.args;
    }
  }
  const std::int64_t period = request.unique->period.count();
  const std::int64_t at = to_micros(now);
  const std::string start = period == 0 ? "" : std::to_string(at - at % period);
  using namespace std::string_view_literals;
  const auto digest = base::sha256({"unique-v1\0"sv, request.name, "\0"sv, start, "\0"sv, args});
  return "unique-" + base::to_hex(digest);
}

std::string error_json(std::string_view name, std::string_view message, const std::optional<std::string>& details) {
  std::string out;
  base::JsonWriter json(out);
  const std::string clipped = core::clip_error_name(name);
  json.begin_object().field("name", clipped.empty() ? std::string("Error") : clipped);
  json.field("message", core::clip_error_message(message));
  json.key("details");
  const bool fits = details && details->size() <= core::kMaxErrorBytes && base::validate_json(*details).ok();
  json.raw(fits ? std::string_view(*details) : std::string_view("null"));
  json.end_object();
  return out;
}

Result<void> validate_lane_config(const core::LaneConfig& config) {
  if (config.retention) SEMEL_CHECK(core::validate_retention(*config.retention));
  if (config.max_attempts) SEMEL_CHECK(core::validate_max_attempts(*config.max_attempts));
  if (config.concurrency && *config.concurrency < 1)
    return invalid("concurrency must be at least 1; pause the queue to stop it");
  if (config.concurrency_per_key && *config.concurrency_per_key < 1)
    return invalid("concurrency_per_key must be at least 1");
  if (config.rate_limit &&
      (config.rate_limit->count < 1 || config.rate_limit->count > 1'000'000'000 || config.rate_limit->per.count() < 1))
    return invalid("rate_limit must be a count of 1 .. 1,000,000,000 per a positive time, such as \"100/sec\"");
  auto retry = core::decode_overrides(config.retry);
  if (!retry) return retry.error();
  return core::validate_overrides(*retry);
}

}  // namespace semel::engine
