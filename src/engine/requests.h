// Requests and outcomes of the use cases, in the words of the contract. Names, not numbers: tenants and queues are
// resolved by the engine.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/operations.h"
#include "core/retry.h"
#include "semel/result.h"
#include "store/port.h"

namespace semel::engine {

// Called exactly once, on an engine thread (or before the call returns, when nothing had to be written).
template <class T>
using Callback = std::function<void(Result<T>)>;

// One run per name, period and (by_args) arguments: the task_id is derived, so all rules of an id hold.
struct UniqueBy {
  bool args = true;
  Duration period{0};  // 0: no period, unique for ever (until retention)
};

struct EnqueueRequest {
  std::string tenant = "default";
  std::string queue = "default";
  Kind kind = Kind::task;
  std::string name;
  core::Encoding encoding = core::Encoding::json;
  std::string args;                    // bytes, kept verbatim; empty JSON is null
  std::optional<std::string> task_id;  // workflow_id when kind is workflow
  std::int64_t priority = 100;
  std::optional<Instant> scheduled_at;
  std::optional<Duration> delay;
  std::optional<Duration> timeout;
  std::optional<Duration> attempt_timeout;
  std::optional<std::int64_t> max_attempts;
  core::RetryOverrides retry;
  std::optional<std::string> concurrency_key;
  OnDuplicate on_duplicate = OnDuplicate::return_existing;
  Reuse reuse = Reuse::failed_only;
  bool match_args = true;
  std::optional<std::string> idempotency_key;
  std::optional<std::int64_t> idempotency_key_ttl_seconds;
  std::optional<UniqueBy> unique;
  std::optional<GroupId> group;
  // Workflows only, JSON objects; empty: none. Of attributes every value is a scalar.
  std::string memo;
  std::string attributes;
};

struct EnqueueOutcome {
  ExecutionId execution_id;
  std::string task_id;  // the execution id's text when none was given
  Status status = Status::queued;
  bool created = false;
  std::optional<std::string> result;
  std::optional<Instant> completed_at;
  bool result_expired = false;
};

// A claim by a worker that is not embedded. Without `session` a session is opened for what this call hands out.
struct ClaimRequest {
  std::string tenant = "default";
  std::vector<std::string> queues;  // empty: all of the tenant
  std::string worker;
  std::int32_t max = 1;
  Duration lease{30'000'000};
  Duration wait{0};  // how long to wait for work when there is none
  std::optional<SessionId> session;
};

struct DeliverRequest {
  std::string tenant = "default";
  std::string job_id;
  std::optional<ExecutionId> execution;  // when the message carries one
  std::string worker;
  Duration lease{30'000'000};
  std::optional<SessionId> session;
};

struct DeliverOutcome {
  core::DeliveryOutcome outcome{};
  store::ExecutionView execution;
};
std::string_view to_string(core::DeliveryOutcome outcome);  // claimed, already-claimed, no-op-terminal

struct HeartbeatRequest {
  ExecutionId execution;
  std::int32_t version = 0;
  Duration lease{30'000'000};
  std::optional<std::string> progress;
};

struct CompleteRequest {
  ExecutionId execution;
  std::int32_t version = 0;
  std::optional<std::string> result;
  core::Encoding encoding = core::Encoding::json;  // opaque results are not checked
};

struct FailRequest {
  ExecutionId execution;
  std::int32_t version = 0;
  std::string error_name = "Error";
  std::string error_message;
  std::optional<std::string> error_details;  // JSON
  bool retryable = true;
  std::optional<Duration> next_delay;
  bool cancelled = false;  // stopped because cancel was requested
};

struct ReleaseRequest {
  ExecutionId execution;
  std::int32_t version = 0;
  Duration delay{0};
  bool no_handler = false;
};

// ---- runs -----------------------------------------------------------------------------------------------------------

// To the newest run of `workflow_id`, or to `execution` when given.
struct SignalRequest {
  std::string tenant = "default";
  std::string workflow_id;
  std::optional<ExecutionId> execution;
  std::string name;
  std::optional<std::string> dedupe_id;  // none: every one counts
  std::string data;                      // kept verbatim; empty JSON is null
  core::Encoding encoding = core::Encoding::json;
  bool update = false;  // an update: `dedupe_id` is its id
};

// How the code answered an update.
struct UpdateOutcome {
  ExecutionId run;
  bool rejected = false;
  std::string data;  // the result, or the error as JSON
};

struct RunView {
  store::ExecutionView execution;
  core::Run run;
  std::int64_t unread_count = 0;  // mail that no decision has consumed
};

// One page of runs. A full page, or one that looked at as many rows as it may, says where to go on.
struct RunPage {
  std::vector<store::ExecutionView> runs;
  std::optional<ExecutionId> next;
};

struct HistoryEvent {
  std::int32_t seq = 0;
  Instant at{};  // when it was recorded
  core::Event event;
  bool operator==(const HistoryEvent&) const = default;
};

// ---- operators ------------------------------------------------------------------------------------------------------

enum class Verb : std::uint8_t { cancel, redrive, discard };
std::string_view to_string(Verb verb);

// One page of a bulk verb. Ask again with `next` until it is empty.
struct BulkRequest {
  Verb verb = Verb::cancel;
  store::ExecutionFilter filter;  // `limit` is the page, at most 1,000; statuses empty: those the verb applies to
  bool dry_run = false;
};
struct BulkItem {
  ExecutionId execution;
  std::optional<Error> error;
  std::optional<ExecutionId> successor;  // redrive
  bool changed = true;                   // false: it was done before
};
struct BulkPage {
  std::vector<BulkItem> items;  // those it applied to, or would apply to
  std::optional<ExecutionId> next;
};

struct QueueView {
  std::string tenant;
  store::LaneStats stats;
};

struct GroupRequest {
  std::int32_t total = 0;
  EnqueueRequest completion;  // enqueued when the last member ended; the group is its identity, it has no id or key
};
struct GroupOutcome {
  GroupId id;
  ExecutionId completion;  // exists once the last member ended
};

}  // namespace semel::engine
