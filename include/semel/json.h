// Your structs as JSON, without a JSON library in sight.
//
//   struct Order { std::string id; std::int64_t cents = 0; std::optional<std::string> note; };
//   SEMEL_FIELDS(Order, id, cents, note)      // at namespace scope, right after the struct
//
//   semel::json::encode(order)                // {"id":"o-1","cents":4200}
//   semel::json::decode<Order>(text)          // Result<Order>; errors name the member: "items[2].price: ..."
//
// Mapped out of the box: bool, integers (64-bit exact), float and double, std::string (UTF-8), std::optional,
// std::vector, std::map<std::string, T>, Raw, and whatever has SEMEL_FIELDS or SEMEL_ENUM. For anything else write two
// functions in the namespace of your type:
//   void semel_write(semel::json::Writer&, const T&);      bool semel_read(semel::json::Reader&, T&);
//
// Reading is strict: a missing member, a member that is not in the list, a number that does not fit, a wrong kind are
// errors. An optional member may be absent or null; an empty optional is not written, so adding one to a struct leaves
// the text, and with it the fingerprint, of older values as it was. SEMEL_FIELDS_OPEN ignores members it does not know.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "semel/result.h"

namespace semel::json {

// Builds JSON text. Commas and quoting are taken care of; begin and end must match. The first failure sticks.
class Writer {
 public:
  void begin_object() { open('{'); }
  void end_object() { close('}'); }
  void begin_array() { open('['); }
  void end_array() { close(']'); }
  void key(std::string_view name);

  void null() { token("null"); }
  void boolean(bool value) { token(value ? "true" : "false"); }
  void integer(std::int64_t value);
  void unsigned_integer(std::uint64_t value);
  void number(double value);           // not finite: a failure
  void string(std::string_view text);  // not UTF-8: a failure
  void raw(std::string_view json);     // a complete JSON value, kept byte for byte; not JSON: a failure

  void fail(std::string_view what);
  // The text so far, or what went wrong.
  Result<std::string> finish() &&;

 private:
  void open(char bracket);
  void close(char bracket);
  void token(std::string_view text);
  void separate();

  std::string text_;
  std::string last_key_;
  std::string failure_;
  bool need_comma_ = false;
};

enum class Kind : std::uint8_t { null, boolean, number, string, array, object };

// One value of a parsed text, and the path that led to it. Lives as long as the decode call that handed it out.
class Reader {
 public:
  Kind kind() const;
  bool is_null() const { return kind() == Kind::null; }

  // Each answers false, and records the failure, when the value is of another kind or does not fit.
  bool boolean(bool& out);
  bool integer(std::int64_t& out, std::int64_t low, std::int64_t high);
  bool unsigned_integer(std::uint64_t& out, std::uint64_t high);
  bool number(double& out);
  bool string(std::string& out);
  std::string raw() const;  // its bytes as they came

  bool expect(Kind kind);
  std::size_t size() const;                      // elements or members
  std::string name_at(std::size_t index) const;  // of a member
  Reader at(std::size_t index) const;            // element or member
  std::optional<Reader> find(std::string_view name) const;
  // False, recorded, when the object has a member that is not listed.
  bool only(std::initializer_list<std::string_view> names);

  // Records "<path>: <what>" unless something was recorded before. Returns false.
  bool fail(std::string_view what);

 private:
  friend class Document;
  const void* document_ = nullptr;
  std::uint32_t node_ = 0;
  const Reader* parent_ = nullptr;
  std::string name_;  // as a member; empty: the element index_
  std::size_t index_ = 0;
  std::string* failure_ = nullptr;
};

// A parsed text. RFC 8259, duplicate members and bytes after the value refused, at most 128 levels deep.
class Document {
 public:
  static Result<Document> parse(std::string_view text);
  Document(Document&&) noexcept;
  ~Document();

  Reader root();
  // What a Reader of this document recorded, or nothing.
  Result<void> finish() const;

 private:
  struct Impl;
  explicit Document(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// A JSON value that is passed on byte for byte: for programs that have their own JSON library.
struct Raw {
  std::string text = "null";
  bool operator==(const Raw&) const = default;
};

template <class T>
concept Mapped = requires(Writer& writer, Reader& reader, const T& in, T& out) {
  semel_write(writer, in);
  { semel_read(reader, out) } -> std::convertible_to<bool>;
};

namespace detail {
template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;
template <class T>
inline constexpr bool is_vector = false;
template <class T, class A>
inline constexpr bool is_vector<std::vector<T, A>> = true;
template <class T>
inline constexpr bool is_map = false;
template <class T, class C, class A>
inline constexpr bool is_map<std::map<std::string, T, C, A>> = true;
template <class T>
inline constexpr bool is_character =
    std::is_same_v<T, char> || std::is_same_v<T, wchar_t> || std::is_same_v<T, char8_t> ||
    std::is_same_v<T, char16_t> || std::is_same_v<T, char32_t>;
template <class T>
inline constexpr bool always_false = false;
}  // namespace detail

template <class T>
void write(Writer& writer, const T& value) {
  if constexpr (Mapped<T>) {
    semel_write(writer, value);
  } else if constexpr (std::is_same_v<T, bool>) {
    writer.boolean(value);
  } else if constexpr (std::signed_integral<T> && !detail::is_character<T>) {
    writer.integer(value);
  } else if constexpr (std::unsigned_integral<T> && !detail::is_character<T>) {
    writer.unsigned_integer(value);
  } else if constexpr (std::is_same_v<T, double> || std::is_same_v<T, float>) {
    writer.number(value);
  } else if constexpr (std::is_same_v<T, std::string>) {
    writer.string(value);
  } else if constexpr (std::is_same_v<T, Raw>) {
    writer.raw(value.text);
  } else if constexpr (detail::is_optional<T>) {
    value ? write(writer, *value) : writer.null();
  } else if constexpr (detail::is_vector<T>) {
    writer.begin_array();
    for (const typename T::value_type& item : value) write(writer, item);
    writer.end_array();
  } else if constexpr (detail::is_map<T>) {
    writer.begin_object();
    for (const auto& [name, item] : value) {
      writer.key(name);
      write(writer, item);
    }
    writer.end_object();
  } else {
    static_assert(detail::always_false<T>, "no JSON mapping: add SEMEL_FIELDS(Type, members...) after the struct");
  }
}

template <class T>
bool read(Reader& reader, T& out) {
  if constexpr (Mapped<T>) {
    return semel_read(reader, out);
  } else if constexpr (std::is_same_v<T, bool>) {
    return reader.boolean(out);
  } else if constexpr (std::signed_integral<T> && !detail::is_character<T>) {
    std::int64_t wide = 0;
    if (!reader.integer(wide, std::numeric_limits<T>::min(), std::numeric_limits<T>::max())) return false;
    out = static_cast<T>(wide);
    return true;
  } else if constexpr (std::unsigned_integral<T> && !detail::is_character<T>) {
    std::uint64_t wide = 0;
    if (!reader.unsigned_integer(wide, std::numeric_limits<T>::max())) return false;
    out = static_cast<T>(wide);
    return true;
  } else if constexpr (std::is_same_v<T, double> || std::is_same_v<T, float>) {
    double wide = 0;
    if (!reader.number(wide)) return false;
    out = static_cast<T>(wide);
    return true;
  } else if constexpr (std::is_same_v<T, std::string>) {
    return reader.string(out);
  } else if constexpr (std::is_same_v<T, Raw>) {
    out.text = reader.raw();
    return true;
  } else if constexpr (detail::is_optional<T>) {
    out.reset();
    return reader.is_null() || read(reader, out.emplace());
  } else if constexpr (detail::is_vector<T>) {
    if (!reader.expect(Kind::array)) return false;
    out.clear();
    out.reserve(reader.size());
    for (std::size_t i = 0; i < reader.size(); ++i) {
      Reader item_reader = reader.at(i);
      typename T::value_type item{};
      if (!read(item_reader, item)) return false;
      out.push_back(std::move(item));
    }
    return true;
  } else if constexpr (detail::is_map<T>) {
    if (!reader.expect(Kind::object)) return false;
    out.clear();
    for (std::size_t i = 0; i < reader.size(); ++i) {
      Reader item_reader = reader.at(i);
      if (!read(item_reader, out[reader.name_at(i)])) return false;
    }
    return true;
  } else {
    static_assert(detail::always_false<T>, "no JSON mapping: add SEMEL_FIELDS(Type, members...) after the struct");
  }
}

template <class T>
void write_member(Writer& writer, std::string_view name, const T& value) {
  if constexpr (detail::is_optional<T>) {
    if (!value) return;
  }
  writer.key(name);
  write(writer, value);
}

template <class T>
bool read_member(Reader& object, std::string_view name, T& out) {
  std::optional<Reader> member = object.find(name);
  if (member) return read(*member, out);
  if constexpr (detail::is_optional<T>) {
    out.reset();
    return true;
  } else {
    return object.fail("member '" + std::string(name) + "' is missing");
  }
}

// InvalidArgument when a value has no JSON form (not finite, not UTF-8).
template <class T>
Result<std::string> encode(const T& value) {
  Writer writer;
  write(writer, value);
  return std::move(writer).finish();
}

// DecodeFailed with the path of the member.
template <class T>
Result<T> decode(std::string_view text) {
  Result<Document> document = Document::parse(text);
  if (!document) return std::move(document).error();
  Reader root = document->root();
  T out{};
  if (read(root, out)) return out;
  return document->finish().error();
}

}  // namespace semel::json

// ---- macros --------------------------------------------------------------------------------------------------------

#define SEMEL_FIELDS(Type, ...) \
  SEMEL_FIELDS_IMPL(Type, semel_reader.only({SEMEL_EACH(SEMEL_NAME, __VA_ARGS__)}), __VA_ARGS__)
#define SEMEL_FIELDS_OPEN(Type, ...) SEMEL_FIELDS_IMPL(Type, true, __VA_ARGS__)

// SEMEL_ENUM(Colour, red, green): the enumerators as strings.
#define SEMEL_ENUM(Type, ...)                                                             \
  inline void semel_write(::semel::json::Writer& semel_writer, const Type& semel_value) { \
    using SemelEnum = Type;                                                               \
    switch (semel_value) { SEMEL_EACH(SEMEL_ENUM_WRITE, __VA_ARGS__) }                    \
    semel_writer.fail("is not an enumerator of " #Type);                                  \
  }                                                                                       \
  inline bool semel_read(::semel::json::Reader& semel_reader, Type& semel_value) {        \
    using SemelEnum = Type;                                                               \
    ::std::string semel_word;                                                             \
    if (!semel_reader.string(semel_word)) return false;                                   \
    SEMEL_EACH(SEMEL_ENUM_READ, __VA_ARGS__)                                              \
    return semel_reader.fail("'" + semel_word + "' is not one of: " #__VA_ARGS__);        \
  }

#define SEMEL_FIELDS_IMPL(Type, no_others, ...)                                                               \
  inline void semel_write(::semel::json::Writer& semel_writer, [[maybe_unused]] const Type& semel_value) {    \
    semel_writer.begin_object();                                                                              \
    SEMEL_EACH(SEMEL_WRITE, __VA_ARGS__)                                                                      \
    semel_writer.end_object();                                                                                \
  }                                                                                                           \
  inline bool semel_read(::semel::json::Reader& semel_reader, [[maybe_unused]] Type& semel_value) {           \
    return semel_reader.expect(::semel::json::Kind::object) SEMEL_EACH(SEMEL_READ, __VA_ARGS__) && no_others; \
  }

#define SEMEL_NAME(member) #member,
#define SEMEL_WRITE(member) ::semel::json::write_member(semel_writer, #member, semel_value.member);
#define SEMEL_READ(member) &&::semel::json::read_member(semel_reader, #member, semel_value.member)
#define SEMEL_ENUM_WRITE(word) \
  case SemelEnum::word:        \
    return semel_writer.string(#word);
#define SEMEL_ENUM_READ(word) \
  if (semel_word == #word) return semel_value = SemelEnum::word, true;

// Applies a macro to each argument, up to 250 of them.
#define SEMEL_EACH(macro, ...) __VA_OPT__(SEMEL_EXPAND(SEMEL_EACH_STEP(macro, __VA_ARGS__)))
#define SEMEL_EACH_STEP(macro, first, ...) macro(first) __VA_OPT__(SEMEL_EACH_AGAIN SEMEL_PARENS(macro, __VA_ARGS__))
#define SEMEL_EACH_AGAIN() SEMEL_EACH_STEP
#define SEMEL_PARENS ()
#define SEMEL_EXPAND(...) SEMEL_EXPAND3(SEMEL_EXPAND3(SEMEL_EXPAND3(SEMEL_EXPAND3(__VA_ARGS__))))
#define SEMEL_EXPAND3(...) SEMEL_EXPAND2(SEMEL_EXPAND2(SEMEL_EXPAND2(SEMEL_EXPAND2(__VA_ARGS__))))
#define SEMEL_EXPAND2(...) SEMEL_EXPAND1(SEMEL_EXPAND1(SEMEL_EXPAND1(SEMEL_EXPAND1(__VA_ARGS__))))
#define SEMEL_EXPAND1(...) SEMEL_EXPAND0(SEMEL_EXPAND0(SEMEL_EXPAND0(SEMEL_EXPAND0(__VA_ARGS__))))
#define SEMEL_EXPAND0(...) __VA_ARGS__
