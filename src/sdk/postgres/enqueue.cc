// Transactional enqueue on the caller's connection: one call of the SQL function semel.enqueue.
#include <libpq-fe.h>

#include <array>
#include <charconv>
#include <cstring>
#include <memory>
#include <utility>

#include "base/duration.h"
#include "base/json_writer.h"
#include "engine/prepare.h"
#include "sdk/convert.h"
#include "semel/postgres.h"

namespace semel::postgres {
namespace {

void write_retry(base::JsonWriter& writer, const core::RetryOverrides& retry) {
  writer.key("retry").begin_object();
  if (retry.initial_interval) writer.field("initial_interval", base::format_duration(*retry.initial_interval));
  if (retry.factor) writer.field("factor", *retry.factor);
  if (retry.max_interval) writer.field("max_interval", base::format_duration(*retry.max_interval));
  if (retry.max_attempts) writer.field("max_attempts", *retry.max_attempts);
  if (retry.jitter) writer.field("jitter", *retry.jitter);
  if (retry.non_retryable) {
    writer.key("non_retryable").begin_array();
    for (const auto& name : *retry.non_retryable) writer.value(name);
    writer.end_array();
  }
  writer.end_object();
}

// Fields of POST /tasks beside those that the SQL function takes as arguments.
std::string options_json(const engine::EnqueueRequest& request) {
  std::string out;
  base::JsonWriter writer(out);
  writer.begin_object();
  writer.field("priority", request.priority);
  if (request.scheduled_at) writer.field("scheduled_at", *request.scheduled_at);
  if (request.delay) writer.field("delay", base::format_duration(*request.delay));
  if (request.timeout) writer.field("timeout", base::format_duration(*request.timeout));
  if (request.attempt_timeout) writer.field("attempt_timeout", base::format_duration(*request.attempt_timeout));
  if (request.max_attempts) writer.field("max_attempts", *request.max_attempts);
  if (!request.retry.empty()) write_retry(writer, request.retry);
  if (request.concurrency_key) writer.field("concurrency_key", *request.concurrency_key);
  writer.field("on_duplicate", to_string(request.on_duplicate));
  writer.field("reuse", to_string(request.reuse));
  writer.field("match_args", request.match_args);
  if (request.idempotency_key) writer.field("idempotency_key", *request.idempotency_key);
  if (request.idempotency_key_ttl_seconds) {
    writer.field("idempotency_key_ttl_seconds", *request.idempotency_key_ttl_seconds);
  }
  if (request.unique) {
    writer.key("unique").begin_object().field("by_args", request.unique->args);
    writer.field("period", base::format_duration(request.unique->period)).end_object();
  }
  writer.end_object();
  return out;
}

// Everything that can be refused without the store is refused before the transaction is touched.
Result<engine::EnqueueRequest> checked(const Item& item) {
  auto request = sdk::to_request(item, "default", sdk::Sealer(nullptr));
  if (!request) return request;
  if (request->encoding != core::Encoding::json) {
    return make_error(ErrorCode::Unsupported, "args: Bytes cannot be enqueued in a PostgreSQL transaction; use JSON");
  }
  if (request->group) {
    return make_error(ErrorCode::Unsupported, "group: members are enqueued with Engine::enqueue, not in a transaction");
  }
  engine::EnqueueRequest copy = *request;
  auto prepared = engine::prepare_enqueue(copy, core::kDefaultTenant, ExecutionId{}, Instant{});
  if (!prepared) return std::move(prepared).error();
  return request;
}

Error sql_error(PGconn* connection, const PGresult* result) {
  const char* state = result != nullptr ? PQresultErrorField(result, PG_DIAG_SQLSTATE) : nullptr;
  const std::string text = result != nullptr ? PQresultErrorMessage(result) : PQerrorMessage(connection);
  // Without a place in its sources it is not the server's word but a pooler's.
  const bool of_server = state != nullptr && PQresultErrorField(result, PG_DIAG_SOURCE_FILE) != nullptr;
  if (!of_server || std::strncmp(state, "08", 2) == 0 || std::strncmp(state, "57P", 3) == 0)
    return make_error(ErrorCode::StoreUnavailable, "the connection failed: " + text);
  const bool no_schema = std::strcmp(state, "3F000") == 0 || std::strcmp(state, "42883") == 0;
  if (no_schema) {
    return make_error(ErrorCode::SchemaTooOld, "this database has no semel.enqueue: run `semel migrate` on it first");
  }
  return make_error(ErrorCode::InvalidArgument, "semel.enqueue was refused: " + text);
}

}  // namespace

Result<std::int64_t> enqueue_raw(PGconn* connection, const Item& item) {
  if (connection == nullptr || PQstatus(connection) != CONNECTION_OK) {
    return make_error(ErrorCode::StoreUnavailable, "connection: not connected");
  }
  auto request = checked(item);
  if (!request) return std::move(request).error();
  const std::string options = options_json(*request);
  const std::array<const char*, 6> values = {
      request->name.c_str(),   request->args.c_str(),
      request->queue.c_str(),  request->task_id ? request->task_id->c_str() : nullptr,
      request->tenant.c_str(), options.c_str()};
  const std::unique_ptr<PGresult, decltype(&PQclear)> result(
      PQexecParams(connection, "select semel.enqueue($1::text, $2::json, $3::text, $4::text, $5::text, $6::json)",
                   static_cast<int>(values.size()), nullptr, values.data(), nullptr, nullptr, 0),
      PQclear);
  if (PQresultStatus(result.get()) != PGRES_TUPLES_OK) return sql_error(connection, result.get());
  const char* text = PQgetvalue(result.get(), 0, 0);
  std::int64_t inbox = 0;
  std::from_chars(text, text + std::strlen(text), inbox);
  return inbox;
}

}  // namespace semel::postgres
