#include "sdk/convert.h"

#include <utility>

#include "base/json_value.h"

namespace semel::sdk {
namespace {

core::Encoding stored(Encoding encoding) { return static_cast<core::Encoding>(encoding); }

std::string text_of(const base::JsonValue& object, std::string_view name) {
  const auto member = object.find(name);
  if (!member) return {};
  return member->as_string().value_or(std::string());
}

}  // namespace

Payload Sealer::seal(Payload plain) const {
  if (codec_ == nullptr) return plain;
  return Payload{Encoding::opaque, codec_->encode(plain.bytes)};
}

Result<Payload> Sealer::open(Payload stored) const {
  if (codec_ == nullptr || stored.encoding == Encoding::json) return stored;
  auto plain = codec_->decode(stored.bytes);
  if (!plain) return std::move(plain).error();
  return Payload{stored.encoding, *std::move(plain)};
}

std::string Sealer::seal_result(const Payload& plain, core::Encoding of_args) const {
  if (codec_ == nullptr || of_args == core::Encoding::json) return plain.bytes;
  return codec_->encode(plain.bytes);
}

core::RetryOverrides to_overrides(const RetryPolicy& policy) {
  core::RetryOverrides out;
  out.initial_interval = policy.initial_interval();
  out.factor = policy.factor();
  out.max_interval = policy.max_interval();
  out.max_attempts = policy.max_attempts();
  out.jitter = policy.jitter();
  out.non_retryable = policy.non_retryable();
  return out;
}

core::LaneConfig to_config(const QueueOptions& options) {
  core::LaneConfig out;
  out.retention = options.retention();
  if (options.rate_limit()) out.rate_limit = core::RateLimit{options.rate_limit()->count, options.rate_limit()->per};
  out.concurrency = options.concurrency();
  out.concurrency_per_key = options.concurrency_per_key();
  out.dead_letter = options.dead_letter().value_or(false);
  out.max_attempts = options.max_attempts();
  if (options.retry()) out.retry = core::encode_overrides(to_overrides(*options.retry()));
  out.paused = options.paused().value_or(false);
  return out;
}

Result<engine::EnqueueRequest> to_request(const Item& item, const std::string& tenant, const Sealer& sealer) {
  if (!item.argument()) return item.argument().error();
  const EnqueueOptions& options = item.options();
  Payload args = sealer.seal(*item.argument());
  engine::EnqueueRequest out;
  out.tenant = options.tenant().value_or(tenant);
  out.queue = options.queue().value_or("default");
  out.name = item.name();
  out.encoding = stored(args.encoding);
  out.args = std::move(args.bytes);
  out.task_id = options.task_id();
  out.priority = options.priority().value_or(100);
  out.scheduled_at = options.scheduled_at();
  out.delay = options.delay();
  out.timeout = options.timeout();
  out.attempt_timeout = options.attempt_timeout();
  out.max_attempts = options.max_attempts();
  if (options.retry()) out.retry = to_overrides(*options.retry());
  out.concurrency_key = options.concurrency_key();
  out.on_duplicate = options.on_duplicate().value_or(OnDuplicate::return_existing);
  out.reuse = options.reuse().value_or(Reuse::failed_only);
  out.match_args = options.match_args().value_or(true) && sealer.same_in_same_out();
  out.idempotency_key = options.idempotency_key();
  if (const auto ttl = options.idempotency_key_ttl()) {
    out.idempotency_key_ttl_seconds = std::chrono::floor<std::chrono::seconds>(*ttl).count();
  }
  if (options.unique()) out.unique = engine::UniqueBy{options.unique()->args, options.unique()->period};
  out.group = options.group();
  return out;
}

Failure to_failure(const std::string& error_json) {
  Failure out;
  const auto document = base::JsonDocument::parse(error_json, base::kMaxPayloadDepth);
  if (!document) {
    out.name = "Error";
    out.message = error_json;
    return out;
  }
  out.name = text_of(document->root(), "name");
  out.message = text_of(document->root(), "message");
  const auto details = document->root().find("details");
  if (details && !details->is_null()) out.details = std::string(details->raw());
  return out;
}

Result<Execution> to_execution(const store::ExecutionView& view, const Sealer& sealer) {
  const core::Execution& row = view.execution;
  const auto encoding = static_cast<Encoding>(view.payload.encoding);
  Execution out;
  out.execution_id = row.id;
  out.task_id = row.identity.value_or(row.id.to_string());
  out.tenant = view.tenant;
  out.queue = view.queue;
  out.name = row.name;
  out.kind = row.kind;
  out.status = row.status;
  out.priority = row.priority;
  out.attempt = row.attempt;
  out.max_attempts = row.max_attempts;
  out.version = row.version;
  if (!view.payload.args.empty()) {
    auto args = sealer.open(Payload{encoding, view.payload.args});
    if (!args) return std::move(args).error();
    out.args = *std::move(args);
  }
  if (row.result) {
    auto result = sealer.open(Payload{encoding, *row.result});
    if (!result) return std::move(result).error();
    out.result = *std::move(result);
  }
  if (row.error) out.error = to_failure(*row.error);
  out.progress = row.progress;
  out.worker = row.worker;
  out.created_at = row.created_at;
  out.scheduled_at = row.scheduled_at;
  out.started_at = row.started_at;
  out.completed_at = row.completed_at;
  out.timeout_at = row.timeout_at;
  out.cancel_requested_at = row.cancel_requested_at;
  out.lease_expires_at = row.lease_expires_at;
  out.concurrency_key = row.concurrency_key;
  out.idempotency_key = row.idempotency_key;
  out.previous_execution_id = row.previous;
  out.next_execution_id = row.next;
  out.group = row.group;
  return out;
}

}  // namespace semel::sdk
