#include "cli/verbs/enqueue_args.h"

#include "base/text.h"
#include "base/utf8.h"
#include "cli/verbs/read_args.h"
#include "engine/request_json.h"

namespace semel::cli {
namespace {

template <class Word>
Result<void> read_word(const Args& args, const std::string& flag, std::string_view known,
                       std::optional<Word> (*parse)(std::string_view), Word& out) {
  const auto text = args.get(flag);
  if (!text) return {};
  const auto word = parse(*text);
  if (!word) return make_error(ErrorCode::InvalidArgument, std::string(known) + ", not " + base::printable(*text));
  out = *word;
  return {};
}

Result<void> read_times(const Args& args, engine::EnqueueRequest& request) {
  SEMEL_TRY(scheduled_at, instant_flag(args, "scheduled-at"));
  SEMEL_TRY(delay, duration_flag(args, "delay"));
  SEMEL_TRY(timeout, duration_flag(args, "timeout"));
  SEMEL_TRY(attempt_timeout, duration_flag(args, "attempt-timeout"));
  SEMEL_TRY(unique_period, duration_flag(args, "unique-period"));
  request.scheduled_at = scheduled_at;
  request.delay = delay;
  request.timeout = timeout;
  request.attempt_timeout = attempt_timeout;
  if (unique_period) request.unique = engine::UniqueBy{true, *unique_period};
  return {};
}

Result<void> read_retry(const Args& args, engine::EnqueueRequest& request) {
  const auto text = args.get("retry");
  if (!text) return {};
  if (!base::is_valid_utf8(*text)) return make_error(ErrorCode::InvalidArgument, "retry is not valid UTF-8");
  auto parsed = engine::enqueue_request_from_json("{\"retry\":" + *text + "}");
  if (!parsed) return make_error(parsed.error().code, "retry: " + parsed.error().message);
  request.retry = parsed->retry;
  return {};
}

}  // namespace

Flag retry_flag() {
  return {"retry", "JSON", "{\"initial_interval\":\"1s\",\"factor\":2,\"max_interval\":\"60s\",\"jitter\":0.1}"};
}

Result<engine::EnqueueRequest> enqueue_request_of(Session& session, const Args& args) {
  engine::EnqueueRequest request;
  request.tenant = session.tenant();
  request.name = args.text("NAME");
  request.queue = args.text("queue", "default");
  request.task_id = args.get("task-id");
  request.concurrency_key = args.get("concurrency-key");
  request.idempotency_key = args.get("idempotency-key");
  SEMEL_TRY(payload, json_flag(args, "args"));
  request.args = payload.value_or("null");
  SEMEL_TRY(priority, args.integer("priority"));
  SEMEL_TRY(max_attempts, args.integer("max-attempts"));
  SEMEL_TRY(ttl, args.integer("idempotency-key-ttl-seconds"));
  SEMEL_TRY(match_args, args.boolean("match-args"));
  if (priority) request.priority = *priority;
  request.max_attempts = max_attempts;
  request.idempotency_key_ttl_seconds = ttl;
  request.match_args = match_args.value_or(true);
  if (auto read = read_word<OnDuplicate>(args, "on-duplicate", "on_duplicate must be return, reject or replace",
                                         on_duplicate_from_string, request.on_duplicate);
      !read) {
    return read.error();
  }
  if (auto read = read_word<Reuse>(args, "reuse", "reuse must be failed_only, never or always", reuse_from_string,
                                   request.reuse);
      !read) {
    return read.error();
  }
  if (auto read = read_times(args, request); !read) return read.error();
  if (auto read = read_retry(args, request); !read) return read.error();
  return request;
}

}  // namespace semel::cli
