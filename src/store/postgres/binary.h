// Parameters and rows in PostgreSQL's binary format. Columns of many rows travel as arrays: one statement per batch.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/fingerprint.h"
#include "semel/id.h"
#include "semel/time.h"

struct pg_result;

namespace semel::store::postgres {

// Numbers of built-in types; they never change.
namespace pg_type {
inline constexpr std::uint32_t boolean = 16, bytea = 17, int8 = 20, int2 = 21, int4 = 23, text = 25, uuid = 2950;
}

// Appends a big-endian integer of 1, 2, 4 or 8 bytes.
inline void put_integer(std::string& out, std::int64_t value, int width) {
  char bytes[8];
  for (int i = 0; i < width; ++i) bytes[i] = static_cast<char>(value >> (8 * (width - 1 - i)));
  out.append(bytes, static_cast<std::size_t>(width));
}

// What an integer column stores for a value.
template <class T>
  requires(std::is_integral_v<T> || std::is_enum_v<T>)
std::int64_t number_of(T value) {
  return static_cast<std::int64_t>(value);
}
inline std::int64_t number_of(Instant value) { return to_micros(value); }
inline std::int64_t number_of(Duration value) { return value.count(); }

inline std::string_view bytes_of(std::string_view value) { return value; }
inline std::string_view bytes_of(const core::Fingerprint& value) {
  return {reinterpret_cast<const char*>(value.bytes.data()), value.bytes.size()};
}
template <class Tag>
std::string_view bytes_of(const Uuid<Tag>& value) {
  return {reinterpret_cast<const char*>(value.bytes.data()), value.bytes.size()};
}

template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;

// One composite value of an array, field by field in the order of its type. An absent optional is NULL.
class Record {
 public:
  explicit Record(std::string& out) : out_(out) {}

  template <class T>
  Record& i16(const T& value) {
    return field(pg_type::int2, value, [this](const auto& v) { integer(number_of(v), 2); });
  }
  template <class T>
  Record& i32(const T& value) {
    return field(pg_type::int4, value, [this](const auto& v) { integer(number_of(v), 4); });
  }
  template <class T>
  Record& i64(const T& value) {
    return field(pg_type::int8, value, [this](const auto& v) { integer(number_of(v), 8); });
  }
  Record& flag(bool value) {
    return field(pg_type::boolean, value, [this](bool v) { integer(v ? 1 : 0, 1); });
  }
  template <class T>
  Record& uuid(const T& value) {
    return field(pg_type::uuid, value, [this](const auto& v) { bytes(bytes_of(v)); });
  }
  template <class T>
  Record& text(const T& value) {
    return field(pg_type::text, value, [this](const auto& v) { bytes(bytes_of(v)); });
  }
  template <class T>
  Record& bytea(const T& value) {
    return field(pg_type::bytea, value, [this](const auto& v) { bytes(bytes_of(v)); });
  }
  std::int32_t fields() const { return fields_; }

 private:
  template <class T, class Put>
  Record& field(std::uint32_t type, const T& value, Put put) {
    ++fields_;
    put_integer(out_, type, 4);
    if constexpr (is_optional<T>) {
      if (value) put(*value);
      else put_integer(out_, -1, 4);
    } else {
      put(value);
    }
    return *this;
  }
  void integer(std::int64_t value, int width) {
    put_integer(out_, width, 4);
    put_integer(out_, value, width);
  }
  void bytes(std::string_view value) {
    put_integer(out_, static_cast<std::int64_t>(value.size()), 4);
    out_.append(value);
  }

  std::string& out_;
  std::int32_t fields_ = 0;
};

// The parameters of one statement, in order. An absent optional is NULL.
class Params {
 public:
  template <class T>
  Params& i16(const T& value) {
    return integer(2, value);
  }
  template <class T>
  Params& i32(const T& value) {
    return integer(4, value);
  }
  template <class T>
  Params& i64(const T& value) {
    return integer(8, value);
  }
  Params& flag(bool value);
  // uuid, text and bytea alike: the bytes are the value.
  template <class T>
  Params& bytes(const T& value) {
    if constexpr (is_optional<T>) {
      if (!value) return null();
      next().assign(bytes_of(*value));
    } else {
      next().assign(bytes_of(value));
    }
    return *this;
  }
  // As a Record calls them, for what writes its fields to either.
  template <class T>
  Params& uuid(const T& value) {
    return bytes(value);
  }
  template <class T>
  Params& text(const T& value) {
    return bytes(value);
  }
  template <class T>
  Params& bytea(const T& value) {
    return bytes(value);
  }
  Params& null();

  // Arrays: one element per row; `get` picks the field (a value, or an optional for NULL).
  template <class Rows, class Get>
  Params& i16s(const Rows& rows, Get get) {
    return integers(pg_type::int2, 2, rows, get);
  }
  template <class Rows, class Get>
  Params& i32s(const Rows& rows, Get get) {
    return integers(pg_type::int4, 4, rows, get);
  }
  template <class Rows, class Get>
  Params& i64s(const Rows& rows, Get get) {
    return integers(pg_type::int8, 8, rows, get);
  }
  template <class Rows, class Get>
  Params& flags(const Rows& rows, Get get) {
    return integers(pg_type::boolean, 1, rows, get);
  }
  template <class Rows, class Get>
  Params& uuids(const Rows& rows, Get get) {
    return strings(pg_type::uuid, rows, get);
  }
  template <class Rows, class Get>
  Params& texts(const Rows& rows, Get get) {
    return strings(pg_type::text, rows, get);
  }
  template <class Rows, class Get>
  Params& byteas(const Rows& rows, Get get) {
    return strings(pg_type::bytea, rows, get);
  }
  // One array of composite values: `each(record, row)` writes the fields of a row. One array of records costs the
  // server far less to unnest than an array per column (docs/adr/0008-lines-guesses-records.md).
  template <class Rows, class Each>
  Params& records(std::uint32_t type, const Rows& rows, Each each) {
    std::string& out = next();
    begin_array(out, type, rows.size());
    for (const auto& row : rows) {
      const std::size_t at = out.size();
      out.append(8, '\0');
      Record record(out);
      each(record, row);
      patch(out, at, static_cast<std::int64_t>(out.size() - at - 4));
      patch(out, at + 4, record.fields());
    }
    return *this;
  }
  template <class Rows>
  Params& uuids(const Rows& ids) {
    return uuids(ids, [](const auto& id) -> const auto& { return id; });
  }

  std::size_t size() const { return values_.size(); }
  bool is_null(std::size_t i) const { return null_[i] != 0; }
  const std::string& value(std::size_t i) const { return values_[i]; }

 private:
  std::string& next() {
    null_.push_back(0);
    return values_.emplace_back();
  }
  static void begin_array(std::string& out, std::uint32_t element_type, std::size_t count);
  static void put_null(std::string& out);
  static void patch(std::string& out, std::size_t at, std::int64_t value);  // four bytes
  static void put_bytes(std::string& out, std::string_view bytes);

  template <class T>
  Params& integer(int width, const T& value) {
    if constexpr (is_optional<T>) {
      if (!value) return null();
      put_integer(next(), number_of(*value), width);
    } else {
      put_integer(next(), number_of(value), width);
    }
    return *this;
  }
  template <class Rows, class Get, class Put>
  Params& array(std::uint32_t type, const Rows& rows, Get get, Put put) {
    std::string& out = next();
    begin_array(out, type, rows.size());
    for (const auto& row : rows) {
      decltype(auto) value = get(row);
      if constexpr (is_optional<std::remove_cvref_t<decltype(value)>>) {
        if (value) put(out, *value);
        else put_null(out);
      } else {
        put(out, value);
      }
    }
    return *this;
  }
  template <class Rows, class Get>
  Params& integers(std::uint32_t type, int width, const Rows& rows, Get get) {
    return array(type, rows, get, [width](std::string& out, const auto& value) {
      put_integer(out, width, 4);
      put_integer(out, number_of(value), width);
    });
  }
  template <class Rows, class Get>
  Params& strings(std::uint32_t type, const Rows& rows, Get get) {
    return array(type, rows, get, [](std::string& out, const auto& value) { put_bytes(out, bytes_of(value)); });
  }

  std::vector<std::string> values_;
  std::vector<char> null_;
};

// The rows a statement returned. Column numbers start at 0; types are the caller's knowledge.
class Rows {
 public:
  Rows() = default;
  explicit Rows(pg_result* result);

  int count() const { return count_; }
  std::string name(int column) const;
  std::int64_t affected() const;  // of INSERT, UPDATE, DELETE
  bool is_null(int row, int column) const;
  std::string_view bytes(int row, int column) const;
  std::string text(int row, int column) const { return std::string(bytes(row, column)); }
  std::int16_t i16(int row, int column) const { return static_cast<std::int16_t>(integer(row, column)); }
  std::int32_t i32(int row, int column) const { return static_cast<std::int32_t>(integer(row, column)); }
  std::int64_t i64(int row, int column) const { return integer(row, column); }
  bool flag(int row, int column) const { return integer(row, column) != 0; }
  Instant instant(int row, int column) const { return from_micros(i64(row, column)); }
  Duration duration(int row, int column) const { return Duration{i64(row, column)}; }
  template <class Id>
  Id id(int row, int column) const {
    Id out;
    copy_id(row, column, out.bytes.data());
    return out;
  }
  // A nullable column through one of the readers above: `maybe(r, c, &Rows::instant)`.
  template <class T>
  std::optional<T> maybe(int row, int column, T (Rows::*read)(int, int) const) const {
    if (is_null(row, column)) return std::nullopt;
    return (this->*read)(row, column);
  }
  // An array column without nulls, as its elements' bytes.
  std::vector<std::string_view> array(int row, int column) const;

 private:
  std::int64_t integer(int row, int column) const;
  void copy_id(int row, int column, std::uint8_t* out) const;

  struct Free {
    void operator()(pg_result* result) const;
  };
  std::unique_ptr<pg_result, Free> result_;
  int count_ = 0;
};

// Big-endian integer of 1, 2, 4 or 8 bytes, sign extended.
std::int64_t read_integer(std::string_view bytes);

}  // namespace semel::store::postgres
