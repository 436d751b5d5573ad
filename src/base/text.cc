#include "base/text.h"

#include "base/utf8.h"

namespace semel::base {
namespace {

constexpr char kHex[] = "0123456789abcdef";

// C1 controls are two bytes in UTF-8: 0xC2 0x80 .. 0xC2 0x9F. Terminals obey them.
bool is_control(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  if (character.size() == 1) return first < 0x20 || first == 0x7f;
  return character.size() == 2 && first == 0xc2 && static_cast<unsigned char>(character[1]) < 0xa0;
}

void append_escaped(std::string& out, std::string_view character) {
  if (character == "\n") {
    out += "\\n";
    return;
  }
  for (const char c : character) {
    const auto byte = static_cast<unsigned char>(c);
    out += "\\x";
    out += kHex[byte >> 4];
    out += kHex[byte & 15];
  }
}

}  // namespace

std::string to_hex(std::span<const std::uint8_t> bytes) {
  std::string out;
  out.reserve(bytes.size() * 2);
  for (const std::uint8_t byte : bytes) {
    out += kHex[byte >> 4];
    out += kHex[byte & 15];
  }
  return out;
}

std::string printable(std::string_view text, std::size_t max_bytes) {
  std::string out = "\"";
  std::size_t i = 0;
  while (i < text.size()) {
    const std::size_t length = utf8_char_length(text, i);
    const std::string_view piece = text.substr(i, length == 0 ? 1 : length);
    if (i + piece.size() > max_bytes) break;
    if (length == 0 || is_control(piece)) append_escaped(out, piece);
    else {
      if (piece == "\"" || piece == "\\") out += '\\';
      out += piece;
    }
    i += piece.size();
  }
  out += '"';
  if (i < text.size()) out += "... (" + std::to_string(text.size()) + " bytes)";
  return out;
}

}  // namespace semel::base
