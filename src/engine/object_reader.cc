#include "engine/object_reader.h"

#include <algorithm>
#include <limits>

#include "base/base64.h"
#include "base/duration.h"
#include "base/text.h"

namespace semel::engine {

ObjectReader::ObjectReader(base::JsonValue value, std::string where) : value_(value), where_(std::move(where)) {
  if (value.kind() != base::JsonKind::object)
    refuse("must be an object, not " + std::string(base::to_string(value.kind())));
}

void ObjectReader::refuse(const std::string& what) {
  if (!fault_) fault_ = make_error(ErrorCode::InvalidArgument, where_ + ": " + what);
}

bool ObjectReader::has(const std::string& name) const { return value_.find(name) || value_.find(name + "_base64"); }

std::optional<base::JsonValue> ObjectReader::take(const std::string& name) {
  known_.push_back(name);
  return value_.find(name);
}

std::int32_t ObjectReader::number(const std::string& name) {
  const auto member = take(name);
  if (!member) return 0;
  const auto given = member->as_int64();
  using Limits = std::numeric_limits<std::int32_t>;
  if (given && *given >= Limits::min() && *given <= Limits::max()) return static_cast<std::int32_t>(*given);
  refuse(name + " must be a whole number of 32 bits");
  return 0;
}

bool ObjectReader::flag(const std::string& name) {
  const auto member = take(name);
  if (!member) return false;
  if (const auto given = member->as_bool()) return *given;
  refuse(name + " must be true or false");
  return false;
}

Instant ObjectReader::instant(const std::string& name) {
  const auto member = take(name);
  if (!member) return Instant{};
  if (const auto micros = member->as_int64()) return from_micros(*micros);
  const auto text = member->as_string();
  const auto parsed = text ? base::parse_instant(*text) : Result<Instant>(Error{});
  if (parsed) return *parsed;
  refuse(name + " must be an instant such as \"2026-03-01T09:00:00Z\"");
  return Instant{};
}

std::optional<std::string> ObjectReader::encoded(const std::string& name) {
  const std::string field = name + "_base64";
  const auto member = take(field);
  if (!member) return std::nullopt;
  if (value_.find(name)) refuse(name + " and " + field + " exclude each other");
  const auto text = member->as_string();
  auto bytes = text ? base::from_base64(*text) : std::nullopt;
  if (!bytes) refuse(field + " must be base64");
  return bytes;
}

std::string ObjectReader::text(const std::string& name) {
  if (auto bytes = encoded(name)) return *std::move(bytes);
  const auto member = take(name);
  if (!member) return {};
  auto given = member->as_string();
  if (!given) refuse(name + " must be a string");
  return std::move(given).value_or("");
}

std::string ObjectReader::payload(const std::string& name) {
  if (auto bytes = encoded(name)) return *std::move(bytes);
  const auto member = take(name);
  return member ? std::string(member->raw()) : std::string();
}

std::optional<ExecutionId> ObjectReader::execution(const std::string& name) {
  const auto member = take(name);
  if (!member) return std::nullopt;
  const auto text = member->as_string();
  const auto id = text ? ExecutionId::parse(*text) : std::nullopt;
  if (!id) refuse(name + " must be a UUID");
  return id;
}

std::optional<base::JsonValue> ObjectReader::list(const std::string& name) {
  const auto member = take(name);
  if (!member || member->kind() != base::JsonKind::array) refuse(name + " must be an array");
  return member;
}

Result<void> ObjectReader::finish() {
  for (std::size_t i = 0; i < value_.size() && value_.kind() == base::JsonKind::object; ++i) {
    const std::string name = value_.name_at(i);
    if (std::find(known_.begin(), known_.end(), name) == known_.end()) refuse("unknown field " + base::printable(name));
  }
  return fault_ ? Result<void>(*fault_) : Result<void>();
}

}  // namespace semel::engine
