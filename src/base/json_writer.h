// Printing JSON straight into a string: commas and quoting are taken care of, nesting is the caller's.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "semel/id.h"
#include "semel/time.h"

namespace semel::base {

// JsonWriter w(out);
// w.begin_object().field("status", "queued").field("attempt", 1).key("args").raw(bytes).end_object();
class JsonWriter {
 public:
  explicit JsonWriter(std::string& out) : out_(out) {}

  JsonWriter& begin_object() { return open('{'); }
  JsonWriter& end_object() { return close('}'); }
  JsonWriter& begin_array() { return open('['); }
  JsonWriter& end_array() { return close(']'); }

  JsonWriter& key(std::string_view name);

  JsonWriter& null() { return raw("null"); }
  JsonWriter& raw(std::string_view json);  // a complete JSON value, copied as it is
  JsonWriter& value(std::string_view text);
  JsonWriter& value(const char* text) { return value(std::string_view(text)); }
  JsonWriter& value(const std::string& text) { return value(std::string_view(text)); }
  JsonWriter& value(std::same_as<bool> auto flag) { return raw(flag ? "true" : "false"); }
  JsonWriter& value(std::signed_integral auto number) { return integer(number); }
  JsonWriter& value(std::unsigned_integral auto number)
    requires(!std::same_as<decltype(number), bool>)
  {
    return unsigned_integer(number);
  }
  JsonWriter& value(double number);  // non-finite prints as null
  JsonWriter& value(Instant at);     // RFC 3339
  template <class Tag>
  JsonWriter& value(const Uuid<Tag>& id) {
    return value(std::string_view(id.to_string()));
  }
  // null when empty
  template <class T>
  JsonWriter& value(const std::optional<T>& maybe) {
    return maybe ? value(*maybe) : null();
  }

  template <class T>
  JsonWriter& field(std::string_view name, const T& v) {
    return key(name).value(v);
  }
  JsonWriter& raw_field(std::string_view name, std::string_view json) { return key(name).raw(json); }
  JsonWriter& null_field(std::string_view name) { return key(name).null(); }

 private:
  JsonWriter& open(char bracket);
  JsonWriter& close(char bracket);
  JsonWriter& integer(std::int64_t number);
  JsonWriter& unsigned_integer(std::uint64_t number);
  void separate();

  std::string& out_;
  bool need_comma_ = false;
};

}  // namespace semel::base
