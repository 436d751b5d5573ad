// Reading a JSON document. Values remember the bytes they came from, so a payload inside a request is passed on
// verbatim.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "semel/result.h"

namespace semel::base {

enum class JsonKind : std::uint8_t { null, boolean, number, string, array, object };

std::string_view to_string(JsonKind kind);

class JsonDocument;

// A view into a JsonDocument, valid as long as the document (moving the document keeps it valid).
class JsonValue {
 public:
  JsonKind kind() const;
  bool is_null() const { return kind() == JsonKind::null; }

  // The source bytes of this value, byte for byte.
  std::string_view raw() const;

  // Empty when the value is of another kind or does not fit.
  std::optional<bool> as_bool() const;
  std::optional<std::int64_t> as_int64() const;  // exact: 1.0 and 1e3 are integers, 1.5 and 2^63 are not
  std::optional<double> as_double() const;       // finite: 1e309 is refused
  std::optional<std::string> as_string() const;  // unescaped

  // Elements of an array or members of an object, in source order; 0 for everything else.
  std::size_t size() const;
  JsonValue at(std::size_t index) const;                       // precondition: index < size()
  std::string name_at(std::size_t index) const;                // precondition: object, index < size()
  std::optional<JsonValue> find(std::string_view name) const;  // member of an object

 private:
  friend class JsonDocument;
  struct Impl;
  JsonValue(const Impl* impl, std::uint32_t node) : impl_(impl), node_(node) {}
  const Impl* impl_;
  std::uint32_t node_;
};

class JsonDocument {
 public:
  // Strict, as json.h describes. Owns a copy of the text.
  static Result<JsonDocument> parse(std::string text, int max_depth = kMaxDocumentDepth);

  JsonDocument(JsonDocument&&) noexcept;
  JsonDocument& operator=(JsonDocument&&) noexcept;
  ~JsonDocument();

  JsonValue root() const;

 private:
  explicit JsonDocument(std::unique_ptr<JsonValue::Impl> impl);
  std::unique_ptr<JsonValue::Impl> impl_;
};

}  // namespace semel::base
