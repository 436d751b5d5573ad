// Tagged fields in a byte string, for rows that many versions must read: a reader skips tags it does not know.
//
// One field: varint (tag * 2 + is_bytes), then a varint value, or a varint length and the bytes. Signed numbers are
// zigzag. A field that has its default value is not written.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace semel::base {

class WireWriter {
 public:
  explicit WireWriter(std::string& out) : out_(out) {}
  WireWriter& number(std::uint32_t tag, std::int64_t value);
  WireWriter& bytes(std::uint32_t tag, std::string_view value);
  void varint(std::uint64_t value);

 private:
  std::string& out_;
};

// Reads one field after another. `next` is false at the end and after bytes that are no field; `sound` tells which.
class WireReader {
 public:
  explicit WireReader(std::string_view in) : in_(in) {}
  bool next();
  std::uint32_t tag() const { return tag_; }
  std::int64_t number() const { return number_; }
  std::string_view bytes() const { return bytes_; }
  bool sound() const { return sound_; }
  std::optional<std::uint64_t> varint();
  std::size_t left() const { return in_.size(); }

 private:
  std::string_view in_;
  std::uint32_t tag_ = 0;
  std::int64_t number_ = 0;
  std::string_view bytes_;
  bool sound_ = true;
};

}  // namespace semel::base
