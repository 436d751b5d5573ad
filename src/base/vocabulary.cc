// Printed words of include/semel/status.h and the error table of include/semel/error.h.
#include <array>
#include <utility>

#include "base/json.h"
#include "semel/error.h"
#include "semel/status.h"

namespace semel {
namespace {

template <class Enum, std::size_t N>
using Words = std::array<std::pair<Enum, std::string_view>, N>;

constexpr Words<Kind, 2> kKinds{{{Kind::task, "task"}, {Kind::workflow, "workflow"}}};

constexpr Words<Status, kStatusCount> kStatuses{{
    {Status::queued, "queued"},
    {Status::claimed, "claimed"},
    {Status::running, "running"},
    {Status::suspended, "suspended"},
    {Status::succeeded, "succeeded"},
    {Status::failed, "failed"},
    {Status::cancelled, "cancelled"},
    {Status::timed_out, "timed_out"},
    {Status::dead_lettered, "dead_lettered"},
}};

constexpr Words<Reuse, 3> kReuses{
    {{Reuse::failed_only, "failed_only"}, {Reuse::never, "never"}, {Reuse::always, "always"}}};

constexpr Words<OnDuplicate, 3> kOnDuplicates{
    {{OnDuplicate::return_existing, "return"}, {OnDuplicate::reject, "reject"}, {OnDuplicate::replace, "replace"}}};

template <class Enum, std::size_t N>
std::string_view word_of(const Words<Enum, N>& words, Enum value) {
  for (const auto& [known, word] : words) {
    if (known == value) return word;
  }
  return "?";
}

template <class Enum, std::size_t N>
std::optional<Enum> value_of(const Words<Enum, N>& words, std::string_view word) {
  for (const auto& [value, known] : words) {
    if (known == word) return value;
  }
  return std::nullopt;
}

constexpr std::array kErrors = {
#define SEMEL_ERROR_INFO(name, http, grpc, advice) ErrorInfo{#name, http, grpc, RetryAdvice::advice},
    SEMEL_ERRORS(SEMEL_ERROR_INFO)
#undef SEMEL_ERROR_INFO
};

}  // namespace

std::string_view to_string(Kind value) { return word_of(kKinds, value); }
std::string_view to_string(Status value) { return word_of(kStatuses, value); }
std::string_view to_string(Reuse value) { return word_of(kReuses, value); }
std::string_view to_string(OnDuplicate value) { return word_of(kOnDuplicates, value); }

std::optional<Kind> kind_from_string(std::string_view word) { return value_of(kKinds, word); }

std::optional<Status> status_from_string(std::string_view word) {
  if (word == "pending") return Status::queued;
  if (word == "completed") return Status::succeeded;
  return value_of(kStatuses, word);
}

std::optional<Reuse> reuse_from_string(std::string_view word) { return value_of(kReuses, word); }
std::optional<OnDuplicate> on_duplicate_from_string(std::string_view word) { return value_of(kOnDuplicates, word); }

const ErrorInfo& error_info(ErrorCode code) {
  const auto index = static_cast<std::size_t>(code);
  return kErrors[index < kErrors.size() ? index : static_cast<std::size_t>(ErrorCode::Internal)];
}

std::string Error::to_json() const {
  std::string out = R"({"error":")";
  out += error_info(code).name;
  out += R"(","message":)";
  base::append_quoted_json(out, message);
  for (const ErrorDetail& detail : details) {
    out += ',';
    base::append_quoted_json(out, detail.name);
    out += ':';
    out += detail.json;
  }
  out += '}';
  return out;
}

}  // namespace semel
