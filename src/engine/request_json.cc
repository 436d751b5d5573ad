#include "engine/request_json.h"

#include <functional>
#include <map>

#include "base/duration.h"
#include "base/json_value.h"
#include "base/text.h"

namespace semel::engine {
namespace {

using base::JsonValue;
using Field = std::function<Result<void>(const JsonValue&)>;
using Fields = std::map<std::string, Field, std::less<>>;

Error wrong(std::string_view field, std::string_view expected) {
  return make_error(ErrorCode::InvalidArgument, std::string(field) + " must be " + std::string(expected));
}

Field text(const char* name, std::function<void(std::string)> set) {
  return [=](const JsonValue& value) -> Result<void> {
    auto given = value.as_string();
    if (!given) return wrong(name, "a string");
    set(*std::move(given));
    return {};
  };
}

Field number(const char* name, std::function<void(std::int64_t)> set) {
  return [=](const JsonValue& value) -> Result<void> {
    const auto given = value.as_int64();
    if (!given) return wrong(name, "a whole number");
    set(*given);
    return {};
  };
}

Field real(const char* name, std::function<void(double)> set) {
  return [=](const JsonValue& value) -> Result<void> {
    const auto given = value.as_double();
    if (!given) return wrong(name, "a number");
    set(*given);
    return {};
  };
}

Field flag(const char* name, std::function<void(bool)> set) {
  return [=](const JsonValue& value) -> Result<void> {
    const auto given = value.as_bool();
    if (!given) return wrong(name, "true or false");
    set(*given);
    return {};
  };
}

Field duration(const char* name, std::function<void(Duration)> set) {
  return [=](const JsonValue& value) -> Result<void> {
    const auto given = value.as_string();
    if (!given) return wrong(name, "a duration such as \"30s\"");
    auto parsed = base::parse_duration(*given);
    if (!parsed) return make_error(ErrorCode::InvalidArgument, std::string(name) + ": " + parsed.error().message);
    set(*parsed);
    return {};
  };
}

Field instant(const char* name, std::function<void(Instant)> set) {
  return [=](const JsonValue& value) -> Result<void> {
    const auto given = value.as_string();
    if (!given) return wrong(name, "an instant such as \"2026-03-01T09:00:00Z\"");
    auto parsed = base::parse_instant(*given);
    if (!parsed) return make_error(ErrorCode::InvalidArgument, std::string(name) + ": " + parsed.error().message);
    set(*parsed);
    return {};
  };
}

template <class Word>
Field word(const char* name, const char* expected, std::optional<Word> (*parse)(std::string_view),
           std::function<void(Word)> set) {
  return [=](const JsonValue& value) -> Result<void> {
    const auto given = value.as_string();
    const auto parsed = given ? parse(*given) : std::nullopt;
    if (!parsed) return wrong(name, expected);
    set(*parsed);
    return {};
  };
}

Result<void> read_fields(const JsonValue& object, const Fields& fields, std::string_view where) {
  for (std::size_t i = 0; i < object.size(); ++i) {
    const std::string name = object.name_at(i);
    const auto field = fields.find(name);
    if (field == fields.end())
      return make_error(ErrorCode::InvalidArgument, "unknown field " + base::printable(name) + std::string(where));
    const JsonValue value = object.at(i);
    if (value.is_null() && name != "args") continue;
    if (auto read = field->second(value); !read) return read;
  }
  return {};
}

Field retry_object(core::RetryOverrides& retry) {
  return [&retry](const JsonValue& value) -> Result<void> {
    if (value.kind() != base::JsonKind::object) return wrong("retry", "an object");
    const Fields fields = {
        {"initial_interval", duration("retry.initial_interval", [&](Duration d) { retry.initial_interval = d; })},
        {"factor", real("retry.factor", [&](double d) { retry.factor = d; })},
        {"max_interval", duration("retry.max_interval", [&](Duration d) { retry.max_interval = d; })},
        {"max_attempts",
         number("retry.max_attempts",
                [&](std::int64_t n) { retry.max_attempts = n < 0 || n > 1'000'001 ? -1 : static_cast<int>(n); })},
        {"jitter", real("retry.jitter", [&](double d) { retry.jitter = d; })},
        {"non_retryable",
         [&](const JsonValue& names) -> Result<void> {
           if (names.kind() != base::JsonKind::array) return wrong("retry.non_retryable", "an array of error names");
           retry.non_retryable.emplace();
           for (std::size_t i = 0; i < names.size(); ++i) {
             auto name = names.at(i).as_string();
             if (!name) return wrong("retry.non_retryable", "an array of error names");
             retry.non_retryable->push_back(*std::move(name));
           }
           return {};
         }},
    };
    return read_fields(value, fields, " in retry");
  };
}

Field unique_object(std::optional<UniqueBy>& unique) {
  return [&unique](const JsonValue& value) -> Result<void> {
    if (value.kind() != base::JsonKind::object) return wrong("unique", "an object");
    unique.emplace();
    const Fields fields = {
        {"by_args", flag("unique.by_args", [&](bool b) { unique->args = b; })},
        {"period", duration("unique.period", [&](Duration d) { unique->period = d; })},
    };
    return read_fields(value, fields, " in unique");
  };
}

}  // namespace

Result<EnqueueRequest> enqueue_request_from_json(std::string json) {
  auto document = base::JsonDocument::parse(std::move(json), base::kMaxPayloadDepth);
  if (!document) return document.error();
  const JsonValue root = document->root();
  if (root.kind() != base::JsonKind::object) return wrong("the request", "a JSON object");
  EnqueueRequest out;
  const Fields fields = {
      {"name", text("name", [&](std::string v) { out.name = std::move(v); })},
      {"queue", text("queue", [&](std::string v) { out.queue = std::move(v); })},
      {"args",
       [&](const JsonValue& value) -> Result<void> {
         out.args = value.raw();
         return {};
       }},
      {"task_id", text("task_id", [&](std::string v) { out.task_id = std::move(v); })},
      {"priority", number("priority", [&](std::int64_t n) { out.priority = n; })},
      {"scheduled_at", instant("scheduled_at", [&](Instant at) { out.scheduled_at = at; })},
      {"delay", duration("delay", [&](Duration d) { out.delay = d; })},
      {"timeout", duration("timeout", [&](Duration d) { out.timeout = d; })},
      {"attempt_timeout", duration("attempt_timeout", [&](Duration d) { out.attempt_timeout = d; })},
      {"max_attempts", number("max_attempts", [&](std::int64_t n) { out.max_attempts = n; })},
      {"retry", retry_object(out.retry)},
      {"concurrency_key", text("concurrency_key", [&](std::string v) { out.concurrency_key = std::move(v); })},
      {"on_duplicate", word<OnDuplicate>("on_duplicate", "return, reject or replace", on_duplicate_from_string,
                                         [&](OnDuplicate w) { out.on_duplicate = w; })},
      {"reuse",
       word<Reuse>("reuse", "failed_only, never or always", reuse_from_string, [&](Reuse w) { out.reuse = w; })},
      {"match_args", flag("match_args", [&](bool b) { out.match_args = b; })},
      {"idempotency_key", text("idempotency_key", [&](std::string v) { out.idempotency_key = std::move(v); })},
      {"idempotency_key_ttl_seconds",
       number("idempotency_key_ttl_seconds", [&](std::int64_t n) { out.idempotency_key_ttl_seconds = n; })},
      {"unique", unique_object(out.unique)},
  };
  if (auto read = read_fields(root, fields, "; see POST /tasks"); !read) return read.error();
  return out;
}

}  // namespace semel::engine
