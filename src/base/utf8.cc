#include "base/utf8.h"

#include <cstdint>
#include <cstring>

namespace semel::base {
namespace {

bool is_continuation(unsigned char c) { return (c & 0xc0) == 0x80; }

}  // namespace

std::size_t utf8_char_length(std::string_view text, std::size_t at) {
  const auto* s = reinterpret_cast<const unsigned char*>(text.data()) + at;
  const std::size_t left = text.size() - at;
  const unsigned char c = s[0];
  if (c < 0x80) return 1;
  if (c < 0xc2) return 0;  // continuation byte or overlong
  if (c < 0xe0) return left >= 2 && is_continuation(s[1]) ? 2 : 0;
  if (c < 0xf0) {
    if (left < 3 || !is_continuation(s[1]) || !is_continuation(s[2])) return 0;
    if (c == 0xe0 && s[1] < 0xa0) return 0;   // overlong
    if (c == 0xed && s[1] >= 0xa0) return 0;  // surrogate
    return 3;
  }
  if (c > 0xf4 || left < 4 || !is_continuation(s[1]) || !is_continuation(s[2]) || !is_continuation(s[3])) return 0;
  if (c == 0xf0 && s[1] < 0x90) return 0;   // overlong
  if (c == 0xf4 && s[1] >= 0x90) return 0;  // above U+10FFFF
  return 4;
}

bool is_valid_utf8(std::string_view text) {
  std::size_t i = 0;
  while (i < text.size()) {
    if (text.size() - i >= 8) {
      std::uint64_t word;
      std::memcpy(&word, text.data() + i, 8);
      if ((word & 0x8080808080808080ull) == 0) {
        i += 8;
        continue;
      }
    }
    const std::size_t length = utf8_char_length(text, i);
    if (length == 0) return false;
    i += length;
  }
  return true;
}

std::string sanitize_utf8(std::string_view text, std::size_t max_bytes) {
  constexpr std::string_view kReplacement = "\xef\xbf\xbd";
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = utf8_char_length(text, i);
    const std::string_view piece = length == 0 ? kReplacement : text.substr(i, length);
    if (out.size() + piece.size() > max_bytes) break;
    out += piece;
    i += length == 0 ? 1 : length;
  }
  return out;
}

}  // namespace semel::base
