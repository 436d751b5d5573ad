#include "base/json_writer.h"

#include <charconv>
#include <cmath>

#include "base/duration.h"
#include "base/json.h"

namespace semel::base {

void JsonWriter::separate() {
  if (need_comma_) out_ += ',';
  need_comma_ = true;
}

JsonWriter& JsonWriter::open(char bracket) {
  separate();
  out_ += bracket;
  need_comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::close(char bracket) {
  out_ += bracket;
  need_comma_ = true;
  return *this;
}

JsonWriter& JsonWriter::key(std::string_view name) {
  separate();
  append_quoted_json(out_, name);
  out_ += ':';
  need_comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::raw(std::string_view json) {
  separate();
  out_ += json;
  return *this;
}

JsonWriter& JsonWriter::value(std::string_view text) {
  separate();
  append_quoted_json(out_, text);
  return *this;
}

JsonWriter& JsonWriter::integer(std::int64_t number) {
  char buffer[24];
  return raw({buffer, std::to_chars(buffer, buffer + sizeof buffer, number).ptr});
}

JsonWriter& JsonWriter::unsigned_integer(std::uint64_t number) {
  char buffer[24];
  return raw({buffer, std::to_chars(buffer, buffer + sizeof buffer, number).ptr});
}

JsonWriter& JsonWriter::value(double number) {
  if (!std::isfinite(number)) return null();
  char buffer[32];
  return raw({buffer, std::to_chars(buffer, buffer + sizeof buffer, number).ptr});
}

JsonWriter& JsonWriter::value(Instant at) { return value(std::string_view(format_instant(at))); }

}  // namespace semel::base
