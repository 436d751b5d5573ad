// The stored form of retry settings, declared in core/retry.h.
#include <charconv>

#include "base/text.h"
#include "core/retry.h"

namespace semel::core {
namespace {

constexpr char kHex[] = "0123456789ABCDEF";

void append_field(std::string& out, std::string_view key, std::string_view value) {
  if (!out.empty()) out += ' ';
  out += key;
  out += '=';
  out += value;
}

template <class Number>
void append_number(std::string& out, std::string_view key, Number value) {
  char buffer[32];
  append_field(out, key, {buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr});
}

std::string escape_name(std::string_view name) {
  std::string out;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte > ' ' && byte != '%' && byte != 0x7f) {
      out += c;
    } else {
      out += '%';
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    }
  }
  return out;
}

std::optional<std::string> unescape_name(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    unsigned char byte = 0;
    if (i + 2 >= text.size()) return std::nullopt;
    if (std::from_chars(text.data() + i + 1, text.data() + i + 3, byte, 16).ptr != text.data() + i + 3) {
      return std::nullopt;
    }
    out += static_cast<char>(byte);
    i += 2;
  }
  return out;
}

template <class Number>
bool read_number(std::string_view text, std::optional<Number>& out) {
  Number value{};
  const char* const end = text.data() + text.size();
  const auto [stop, fault] = std::from_chars(text.data(), end, value);
  if (fault != std::errc() || stop != end) return false;
  out = value;
  return true;
}

bool read_duration(std::string_view text, std::optional<Duration>& out) {
  std::optional<std::int64_t> micros;
  if (!read_number(text, micros)) return false;
  out = Duration{*micros};
  return true;
}

bool read_field(std::string_view key, std::string_view value, RetryOverrides& out) {
  if (key == "initial") return read_duration(value, out.initial_interval);
  if (key == "factor") return read_number(value, out.factor);
  if (key == "max") return read_duration(value, out.max_interval);
  if (key == "attempts") return read_number(value, out.max_attempts);
  if (key == "jitter") return read_number(value, out.jitter);
  if (key != "never") return false;
  if (!out.non_retryable) out.non_retryable.emplace();
  if (value.empty()) return true;  // an explicitly empty list
  auto name = unescape_name(value);
  if (!name) return false;
  out.non_retryable->push_back(std::move(*name));
  return true;
}

}  // namespace

std::string encode_overrides(const RetryOverrides& o) {
  std::string out;
  if (o.initial_interval) append_number(out, "initial", o.initial_interval->count());
  if (o.factor) append_number(out, "factor", *o.factor);
  if (o.max_interval) append_number(out, "max", o.max_interval->count());
  if (o.max_attempts) append_number(out, "attempts", *o.max_attempts);
  if (o.jitter) append_number(out, "jitter", *o.jitter);
  if (o.non_retryable && o.non_retryable->empty()) append_field(out, "never", "");
  if (o.non_retryable) {
    for (const std::string& name : *o.non_retryable) append_field(out, "never", escape_name(name));
  }
  return out;
}

Result<RetryOverrides> decode_overrides(std::string_view text) {
  RetryOverrides out;
  std::string_view left = text;
  while (!left.empty()) {
    const std::size_t space = std::min(left.find(' '), left.size());
    const std::string_view field = left.substr(0, space);
    const std::size_t equals = std::min(field.find('='), field.size());
    const std::string_view value = field.substr(std::min(equals + 1, field.size()));
    if (equals == field.size() || !read_field(field.substr(0, equals), value, out)) {
      return make_error(ErrorCode::StoreCorrupt, "stored retry settings cannot be read: " + base::printable(text));
    }
    left.remove_prefix(std::min(space + 1, left.size()));
  }
  return out;
}

std::string encode_policy(const RetryPolicy& policy) {
  return encode_overrides({policy.initial_interval, policy.factor, policy.max_interval, policy.max_attempts,
                           policy.jitter, policy.non_retryable});
}

Result<RetryPolicy> decode_policy(std::string_view text) {
  auto overrides = decode_overrides(text);
  if (!overrides) return std::move(overrides).error();
  return resolve_policy(*overrides, {});
}

}  // namespace semel::core
