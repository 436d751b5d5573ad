// One run of a task as it stands in the store: a copy, not a live view.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "semel/id.h"
#include "semel/payload.h"
#include "semel/status.h"
#include "semel/time.h"

namespace semel {

// How an attempt failed.
struct Failure {
  std::string name;
  std::string message;
  std::optional<std::string> details;  // a JSON value
};

struct Execution {
  ExecutionId execution_id;
  std::string task_id;  // the execution_id's text when the caller gave none
  std::string tenant;
  std::string queue;
  std::string name;
  Kind kind = Kind::task;
  Status status = Status::queued;
  int priority = 100;
  int attempt = 0;  // counted when a claim is won
  int max_attempts = 0;
  std::int32_t version = 0;  // the fencing token

  Payload args;  // empty in lists
  std::optional<Payload> result;
  std::optional<Failure> error;         // of the last failed attempt
  std::optional<std::string> progress;  // JSON: what the last heartbeat said
  std::optional<std::string> worker;    // that ran it last

  Instant created_at{};
  Instant scheduled_at{};  // not claimable before
  std::optional<Instant> started_at;
  std::optional<Instant> completed_at;
  std::optional<Instant> timeout_at;
  std::optional<Instant> cancel_requested_at;
  std::optional<Instant> lease_expires_at;

  std::optional<std::string> concurrency_key;
  std::optional<std::string> idempotency_key;
  std::optional<ExecutionId> previous_execution_id;  // of the same id, before reuse or redrive
  std::optional<ExecutionId> next_execution_id;
  std::optional<GroupId> group;
};

// What to list, newest first. Unset: everything of the tenant.
struct ExecutionQuery {
  std::vector<Status> statuses;
  std::optional<std::string> queue;
  std::optional<std::string> name;
  std::optional<std::string> task_id;  // all executions of that id
  std::optional<ExecutionId> before;   // go on after this one
  int limit = 50;
};

// What one delivery of a job met.
enum class DeliveryOutcome : std::uint8_t {
  claimed,          // it won the claim; the handler ran and its outcome is recorded
  already_claimed,  // another worker holds a live lease
  no_op_terminal,   // the job is over; its row is as it was
};
std::string_view to_string(DeliveryOutcome outcome);  // claimed, already-claimed, no-op-terminal

struct Delivery {
  DeliveryOutcome outcome{};
  Execution execution;  // after the attempt, when claimed
};

}  // namespace semel
