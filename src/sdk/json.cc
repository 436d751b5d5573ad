#include "semel/json.h"

#include <bit>
#include <charconv>
#include <cmath>

#include "base/json.h"
#include "base/json_value.h"
#include "base/text.h"
#include "base/utf8.h"

namespace semel::json {

// ---- Writer --------------------------------------------------------------------------------------------------------

void Writer::separate() {
  if (need_comma_) text_.push_back(',');
  need_comma_ = true;
}

void Writer::open(char bracket) {
  separate();
  text_.push_back(bracket);
  need_comma_ = false;
}

void Writer::close(char bracket) {
  text_.push_back(bracket);
  need_comma_ = true;
}

void Writer::key(std::string_view name) {
  string(name);
  last_key_.assign(name);
  text_.push_back(':');
  need_comma_ = false;
}

void Writer::token(std::string_view text) {
  separate();
  text_.append(text);
}

void Writer::integer(std::int64_t value) {
  char buffer[24];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  token({buffer, static_cast<std::size_t>(end - buffer)});
}

void Writer::unsigned_integer(std::uint64_t value) {
  char buffer[24];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  token({buffer, static_cast<std::size_t>(end - buffer)});
}

void Writer::number(double value) {
  if (!std::isfinite(value)) return fail("is not finite; JSON has no such number");
  char buffer[40];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  token({buffer, static_cast<std::size_t>(end - buffer)});
}

void Writer::string(std::string_view text) {
  if (!base::is_valid_utf8(text)) fail("is not UTF-8");
  separate();
  base::append_quoted_json(text_, text);
}

void Writer::raw(std::string_view json) {
  if (const auto valid = base::validate_json(json); !valid) fail(valid.error().message);
  token(json);
}

void Writer::fail(std::string_view what) {
  if (!failure_.empty()) return;
  failure_ = last_key_.empty() ? "the value " : "member '" + last_key_ + "' ";
  failure_ += what;
}

Result<std::string> Writer::finish() && {
  if (!failure_.empty()) return make_error(ErrorCode::InvalidArgument, std::move(failure_));
  return std::move(text_);
}

// ---- Reader --------------------------------------------------------------------------------------------------------

namespace {

// A Reader keeps the two words of a base::JsonValue without naming its header.
struct Words {
  const void* document;
  std::uint32_t node;
  std::uint32_t padding;
};
static_assert(sizeof(Words) == sizeof(base::JsonValue) && std::is_trivially_copyable_v<base::JsonValue>);

base::JsonValue to_value(const void* document, std::uint32_t node) {
  return std::bit_cast<base::JsonValue>(Words{document, node, 0});
}

std::string_view word(Kind kind) { return base::to_string(static_cast<base::JsonKind>(kind)); }

}  // namespace

struct Document::Impl {
  base::JsonDocument document;
  std::string failure;
};

Document::Document(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Document::Document(Document&&) noexcept = default;
Document::~Document() = default;

Result<Document> Document::parse(std::string_view text) {
  auto document = base::JsonDocument::parse(std::string(text), base::kMaxPayloadDepth);
  if (!document) return make_error(ErrorCode::DecodeFailed, document.error().message);
  return Document(std::make_unique<Impl>(Impl{std::move(*document), {}}));
}

Reader Document::root() {
  const auto words = std::bit_cast<Words>(impl_->document.root());
  Reader out;
  out.document_ = words.document;
  out.node_ = words.node;
  out.failure_ = &impl_->failure;
  return out;
}

Result<void> Document::finish() const {
  if (impl_->failure.empty()) return {};
  return make_error(ErrorCode::DecodeFailed, impl_->failure);
}

Kind Reader::kind() const { return static_cast<Kind>(to_value(document_, node_).kind()); }

bool Reader::expect(Kind wanted) {
  if (kind() == wanted) return true;
  return fail("expected " + std::string(word(wanted)) + ", found " + std::string(word(kind())));
}

bool Reader::boolean(bool& out) {
  if (!expect(Kind::boolean)) return false;
  out = *to_value(document_, node_).as_bool();
  return true;
}

bool Reader::integer(std::int64_t& out, std::int64_t low, std::int64_t high) {
  if (!expect(Kind::number)) return false;
  const auto value = to_value(document_, node_).as_int64();
  if (!value || *value < low || *value > high) {
    return fail(base::printable(to_value(document_, node_).raw()) + " is not an integer from " + std::to_string(low) +
                " to " + std::to_string(high));
  }
  out = *value;
  return true;
}

bool Reader::unsigned_integer(std::uint64_t& out, std::uint64_t high) {
  if (!expect(Kind::number)) return false;
  const auto value = to_value(document_, node_);
  const std::string_view text = value.raw();
  const auto small = value.as_int64();
  std::uint64_t wide = 0;
  bool fits = false;
  if (small) {
    fits = *small >= 0;
    wide = static_cast<std::uint64_t>(*small);
  } else {
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), wide);
    fits = parsed.ec == std::errc{} && parsed.ptr == text.data() + text.size();
  }
  if (!fits || wide > high) {
    return fail(base::printable(text) + " is not an integer from 0 to " + std::to_string(high));
  }
  out = wide;
  return true;
}

bool Reader::number(double& out) {
  if (!expect(Kind::number)) return false;
  const auto value = to_value(document_, node_).as_double();
  if (!value) return fail(base::printable(to_value(document_, node_).raw()) + " does not fit a double");
  out = *value;
  return true;
}

bool Reader::string(std::string& out) {
  if (!expect(Kind::string)) return false;
  out = *to_value(document_, node_).as_string();
  return true;
}

std::string Reader::raw() const { return std::string(to_value(document_, node_).raw()); }
std::size_t Reader::size() const { return to_value(document_, node_).size(); }
std::string Reader::name_at(std::size_t index) const { return to_value(document_, node_).name_at(index); }

Reader Reader::at(std::size_t index) const {
  Reader out;
  out.document_ = document_;
  out.node_ = std::bit_cast<Words>(to_value(document_, node_).at(index)).node;
  out.parent_ = this;
  out.index_ = index;
  if (kind() == Kind::object) out.name_ = name_at(index);
  out.failure_ = failure_;
  return out;
}

std::optional<Reader> Reader::find(std::string_view name) const {
  const auto value = to_value(document_, node_).find(name);
  if (!value) return std::nullopt;
  Reader out;
  out.document_ = document_;
  out.node_ = std::bit_cast<Words>(*value).node;
  out.parent_ = this;
  out.name_.assign(name);
  out.failure_ = failure_;
  return out;
}

bool Reader::only(std::initializer_list<std::string_view> names) {
  for (std::size_t i = 0; i < size(); ++i) {
    const std::string name = name_at(i);
    bool known = false;
    for (const std::string_view listed : names) known = known || listed == name;
    if (!known) return fail("unknown member " + base::printable(name));
  }
  return true;
}

bool Reader::fail(std::string_view what) {
  if (!failure_->empty()) return false;
  std::string path;
  for (const Reader* reader = this; reader->parent_ != nullptr; reader = reader->parent_) {
    const bool member = reader->parent_->kind() == Kind::object;
    std::string step = member ? reader->name_ : "[" + std::to_string(reader->index_) + "]";
    if (member && reader->parent_->parent_ != nullptr) step.insert(0, 1, '.');
    path.insert(0, step);
  }
  *failure_ = (path.empty() ? std::string("the value") : path) + ": " + std::string(what);
  return false;
}

}  // namespace semel::json
