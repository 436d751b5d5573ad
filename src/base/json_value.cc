#include "base/json_value.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <vector>

#include "base/json_scan.h"

namespace semel::base {
namespace {

using json_scan::Cursor;
using json_scan::NumberToken;
using json_scan::StringToken;

struct Node {
  JsonKind kind = JsonKind::null;
  std::uint32_t begin = 0, end = 0;            // source bytes of the value
  std::uint32_t name_begin = 0, name_end = 0;  // of its name with quotes, for members
  std::uint32_t next = 0;                      // node after this value and everything inside it
  std::uint32_t children = 0;
};

JsonKind kind_at(char c) {
  switch (c) {
    case '{':
      return JsonKind::object;
    case '[':
      return JsonKind::array;
    case '"':
      return JsonKind::string;
    case 't':
    case 'f':
      return JsonKind::boolean;
    case 'n':
      return JsonKind::null;
    default:
      return JsonKind::number;
  }
}

std::string unescape(std::string_view quoted) {
  std::string out;
  json_scan::append_unescaped(out, quoted.substr(1, quoted.size() - 2));
  return out;
}

// The text has been checked: scanning cannot fail.
class Builder {
 public:
  Builder(std::string_view text, std::vector<Node>& nodes) : cursor_(text), nodes_(nodes) {}

  void build() {
    cursor_.skip_space();
    value(Node{});
  }

 private:
  std::uint32_t offset() const { return static_cast<std::uint32_t>(cursor_.offset()); }

  void value(Node node) {
    node.kind = kind_at(cursor_.peek());
    node.begin = offset();
    const std::size_t index = nodes_.size();
    nodes_.push_back(node);
    if (node.kind == JsonKind::object || node.kind == JsonKind::array) nodes_[index].children = children(node.kind);
    else scalar(node.kind);
    nodes_[index].end = offset();
    nodes_[index].next = static_cast<std::uint32_t>(nodes_.size());
  }

  void scalar(JsonKind kind) {
    StringToken string;
    NumberToken number;
    if (kind == JsonKind::string) cursor_.scan_string(string);
    else if (kind == JsonKind::number) cursor_.scan_number(number);
    else cursor_.scan_word(cursor_.peek() == 't' ? "true" : cursor_.peek() == 'f' ? "false" : "null");
  }

  std::uint32_t children(JsonKind kind) {
    const char close = kind == JsonKind::object ? '}' : ']';
    std::uint32_t count = 0;
    cursor_.take(kind == JsonKind::object ? '{' : '[');
    for (cursor_.skip_space(); !cursor_.take(close); cursor_.skip_space()) {
      if (cursor_.take(',')) cursor_.skip_space();
      Node child;
      if (kind == JsonKind::object) {
        StringToken name;
        child.name_begin = offset();
        cursor_.scan_string(name);
        child.name_end = offset();
        cursor_.skip_space();
        cursor_.take(':');
        cursor_.skip_space();
      }
      value(child);
      ++count;
    }
    return count;
  }

  Cursor cursor_;
  std::vector<Node>& nodes_;
};

}  // namespace

struct JsonValue::Impl {
  std::string text;
  std::vector<Node> nodes;
};

std::string_view to_string(JsonKind kind) {
  switch (kind) {
    case JsonKind::null:
      return "null";
    case JsonKind::boolean:
      return "boolean";
    case JsonKind::number:
      return "number";
    case JsonKind::string:
      return "string";
    case JsonKind::array:
      return "array";
    case JsonKind::object:
      return "object";
  }
  return "?";
}

JsonKind JsonValue::kind() const { return impl_->nodes[node_].kind; }

std::string_view JsonValue::raw() const {
  const Node& node = impl_->nodes[node_];
  return std::string_view(impl_->text).substr(node.begin, node.end - node.begin);
}

std::optional<bool> JsonValue::as_bool() const {
  if (kind() != JsonKind::boolean) return std::nullopt;
  return raw() == "true";
}

std::optional<std::int64_t> JsonValue::as_int64() const {
  if (kind() != JsonKind::number) return std::nullopt;
  const auto canonical = canonical_json(raw());
  if (!canonical) return std::nullopt;
  const std::string_view digits = *canonical;
  const char* const end = digits.data() + digits.size();
  std::int64_t out = 0;
  const auto [stop, fault] = std::from_chars(digits.data(), end, out);
  if (fault != std::errc()) return std::nullopt;
  int exponent = 0;
  if (stop != end && std::from_chars(stop + 1, end, exponent).ec != std::errc()) return std::nullopt;
  if (exponent < 0 || exponent > 18) return std::nullopt;
  for (; exponent > 0; --exponent) {
    if (__builtin_mul_overflow(out, std::int64_t{10}, &out)) return std::nullopt;
  }
  return out;
}

std::optional<double> JsonValue::as_double() const {
  if (kind() != JsonKind::number) return std::nullopt;
  const std::string_view digits = raw();
  double out = 0;
  const auto fault = std::from_chars(digits.data(), digits.data() + digits.size(), out).ec;
  if (fault != std::errc() || !std::isfinite(out)) return std::nullopt;
  return out;
}

std::optional<std::string> JsonValue::as_string() const {
  if (kind() != JsonKind::string) return std::nullopt;
  return unescape(raw());
}

std::size_t JsonValue::size() const { return impl_->nodes[node_].children; }

JsonValue JsonValue::at(std::size_t index) const {
  std::uint32_t child = node_ + 1;
  for (; index > 0; --index) child = impl_->nodes[child].next;
  return {impl_, child};
}

std::string JsonValue::name_at(std::size_t index) const {
  const Node& child = impl_->nodes[at(index).node_];
  return unescape(std::string_view(impl_->text).substr(child.name_begin, child.name_end - child.name_begin));
}

std::optional<JsonValue> JsonValue::find(std::string_view name) const {
  if (kind() != JsonKind::object) return std::nullopt;
  std::uint32_t child = node_ + 1;
  for (std::size_t left = size(); left > 0; --left) {
    const Node& node = impl_->nodes[child];
    const std::string_view quoted =
        std::string_view(impl_->text).substr(node.name_begin, node.name_end - node.name_begin);
    const std::string_view body = quoted.substr(1, quoted.size() - 2);
    if (body == name || (body.find('\\') != body.npos && unescape(quoted) == name)) return JsonValue(impl_, child);
    child = node.next;
  }
  return std::nullopt;
}

Result<JsonDocument> JsonDocument::parse(std::string text, int max_depth) {
  if (text.size() > std::numeric_limits<std::uint32_t>::max()) {
    return make_error(ErrorCode::PayloadTooLarge, "JSON document over 4 GiB");
  }
  if (auto checked = validate_json(text, max_depth); !checked) return std::move(checked).error();
  auto impl = std::make_unique<JsonValue::Impl>();
  impl->text = std::move(text);
  Builder(impl->text, impl->nodes).build();
  return JsonDocument(std::move(impl));
}

JsonDocument::JsonDocument(std::unique_ptr<JsonValue::Impl> impl) : impl_(std::move(impl)) {}
JsonDocument::JsonDocument(JsonDocument&&) noexcept = default;
JsonDocument& JsonDocument::operator=(JsonDocument&&) noexcept = default;
JsonDocument::~JsonDocument() = default;

JsonValue JsonDocument::root() const { return {impl_.get(), 0}; }

}  // namespace semel::base
