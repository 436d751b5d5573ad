#include "base/wire.h"

namespace semel::base {

void WireWriter::varint(std::uint64_t value) {
  while (value >= 0x80) {
    out_.push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  out_.push_back(static_cast<char>(value));
}

WireWriter& WireWriter::number(std::uint32_t tag, std::int64_t value) {
  if (value == 0) return *this;
  varint(std::uint64_t{tag} << 1);
  varint(static_cast<std::uint64_t>(value) << 1 ^ static_cast<std::uint64_t>(value >> 63));
  return *this;
}

WireWriter& WireWriter::bytes(std::uint32_t tag, std::string_view value) {
  if (value.empty()) return *this;
  varint(std::uint64_t{tag} << 1 | 1);
  varint(value.size());
  out_.append(value);
  return *this;
}

std::optional<std::uint64_t> WireReader::varint() {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && !in_.empty(); shift += 7) {
    const auto byte = static_cast<std::uint8_t>(in_.front());
    in_.remove_prefix(1);
    value |= std::uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return value;
  }
  sound_ = false;
  return std::nullopt;
}

bool WireReader::next() {
  if (in_.empty() || !sound_) return false;
  const auto key = varint();
  const auto value = key ? varint() : std::nullopt;
  if (!value || *key >> 1 > UINT32_MAX) return sound_ = false;
  tag_ = static_cast<std::uint32_t>(*key >> 1);
  if ((*key & 1) == 0) {
    number_ = static_cast<std::int64_t>(*value >> 1 ^ (~(*value & 1) + 1));
    bytes_ = {};
    return true;
  }
  if (*value > in_.size()) return sound_ = false;
  bytes_ = in_.substr(0, *value);
  number_ = 0;
  in_.remove_prefix(*value);
  return true;
}

}  // namespace semel::base
