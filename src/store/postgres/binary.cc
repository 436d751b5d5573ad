#include "store/postgres/binary.h"

#include <libpq-fe.h>

#include <cstdlib>
#include <stdexcept>

namespace semel::store::postgres {

void Params::patch(std::string& out, std::size_t at, std::int64_t value) {
  for (std::size_t i = 0; i < 4; ++i) out[at + i] = static_cast<char>(value >> (8 * (3 - i)));
}

void Params::begin_array(std::string& out, std::uint32_t element_type, std::size_t count) {
  put_integer(out, count == 0 ? 0 : 1, 4);  // dimensions
  put_integer(out, 1, 4);                   // may hold nulls
  put_integer(out, element_type, 4);
  if (count == 0) return;
  out.reserve(20 + count * 20);
  put_integer(out, static_cast<std::int64_t>(count), 4);
  put_integer(out, 1, 4);  // first index
}

void Params::put_null(std::string& out) { put_integer(out, -1, 4); }

void Params::put_bytes(std::string& out, std::string_view bytes) {
  put_integer(out, static_cast<std::int64_t>(bytes.size()), 4);
  out.append(bytes);
}

Params& Params::flag(bool value) {
  next().push_back(value ? 1 : 0);
  return *this;
}

Params& Params::null() {
  next();
  null_.back() = 1;
  return *this;
}

void Rows::Free::operator()(pg_result* result) const { PQclear(result); }

Rows::Rows(pg_result* result) : result_(result), count_(PQntuples(result)) {}

std::string Rows::name(int column) const { return PQfname(result_.get(), column); }

std::int64_t Rows::affected() const { return std::strtoll(PQcmdTuples(result_.get()), nullptr, 10); }

bool Rows::is_null(int row, int column) const { return PQgetisnull(result_.get(), row, column) != 0; }

std::string_view Rows::bytes(int row, int column) const {
  return {PQgetvalue(result_.get(), row, column), static_cast<std::size_t>(PQgetlength(result_.get(), row, column))};
}

std::int64_t read_integer(std::string_view bytes) {
  std::int64_t value = !bytes.empty() && (bytes[0] & 0x80) != 0 ? -1 : 0;
  for (const char c : bytes)
    value = static_cast<std::int64_t>(static_cast<std::uint64_t>(value) << 8) | static_cast<std::uint8_t>(c);
  return value;
}

std::int64_t Rows::integer(int row, int column) const { return read_integer(bytes(row, column)); }

void Rows::copy_id(int row, int column, std::uint8_t* out) const {
  const std::string_view value = bytes(row, column);
  if (value.size() != 16) throw std::runtime_error("column " + std::to_string(column) + " is not a uuid");
  for (std::size_t i = 0; i < 16; ++i) out[i] = static_cast<std::uint8_t>(value[i]);
}

std::vector<std::string_view> Rows::array(int row, int column) const {
  std::string_view in = bytes(row, column);
  const auto take = [&in](std::size_t n) {
    if (in.size() < n) throw std::runtime_error("array value is cut short");
    const std::string_view out = in.substr(0, n);
    in.remove_prefix(n);
    return out;
  };
  std::vector<std::string_view> out;
  const std::int64_t dimensions = read_integer(take(4));
  take(8);
  if (dimensions == 0) return out;
  const std::int64_t count = read_integer(take(4));
  take(4);
  for (std::int64_t i = 0; i < count; ++i) out.push_back(take(static_cast<std::size_t>(read_integer(take(4)))));
  return out;
}

}  // namespace semel::store::postgres
