#include "base/json_scan.h"

#include <cstdint>
#include <cstring>

#include "base/utf8.h"

namespace semel::base::json_scan {
namespace {

constexpr std::uint64_t kOnes = 0x0101010101010101ull;
constexpr std::uint64_t kHighs = 0x8080808080808080ull;

// Non-zero iff one of eight bytes ends the string, starts an escape, is a control character or is not ASCII.
std::uint64_t special_bytes(std::uint64_t word) {
  const auto zero_byte = [](std::uint64_t x) { return (x - kOnes) & ~x & kHighs; };
  const std::uint64_t control = (word - kOnes * 0x20) & ~word & kHighs;
  return control | zero_byte(word ^ (kOnes * '"')) | zero_byte(word ^ (kOnes * '\\')) | (word & kHighs);
}

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_high_surrogate(unsigned code) { return code >= 0xd800 && code < 0xdc00; }
bool is_low_surrogate(unsigned code) { return code >= 0xdc00 && code < 0xe000; }

void append_utf8(std::string& out, unsigned code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xc0 | code >> 6);
    out += static_cast<char>(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    out += static_cast<char>(0xe0 | code >> 12);
    out += static_cast<char>(0x80 | (code >> 6 & 0x3f));
    out += static_cast<char>(0x80 | (code & 0x3f));
  } else {
    out += static_cast<char>(0xf0 | code >> 18);
    out += static_cast<char>(0x80 | (code >> 12 & 0x3f));
    out += static_cast<char>(0x80 | (code >> 6 & 0x3f));
    out += static_cast<char>(0x80 | (code & 0x3f));
  }
}

unsigned read_hex4(const char* at) {
  unsigned code = 0;
  for (int i = 0; i < 4; ++i) code = code << 4 | static_cast<unsigned>(hex_value(at[i]));
  return code;
}

char unescape_short(char c) {
  switch (c) {
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    default:
      return c;  // " \ /
  }
}

}  // namespace

bool Cursor::scan_string(StringToken& out) {
  if (!take('"')) return fail("expected a string");
  const char* const start = at_;
  out.escaped = false;
  for (;;) {
    while (end_ - at_ >= 8) {
      std::uint64_t word;
      std::memcpy(&word, at_, 8);
      const std::uint64_t special = special_bytes(word);
      if (special != 0) {
        at_ += __builtin_ctzll(special) >> 3;
        break;
      }
      at_ += 8;
    }
    if (at_ == end_) return fail("unterminated string", static_cast<std::size_t>(start - 1 - begin_));
    const auto c = static_cast<unsigned char>(*at_);
    if (c == '"') {
      out.body = {start, static_cast<std::size_t>(at_ - start)};
      ++at_;
      return true;
    }
    if (c == '\\') {
      out.escaped = true;
      if (!scan_escape()) return false;
    } else if (c < 0x20) {
      return fail("unescaped control character in a string");
    } else {
      const std::size_t length = utf8_char_length({at_, static_cast<std::size_t>(end_ - at_)}, 0);
      if (length == 0) return fail("invalid UTF-8");
      at_ += length;
    }
  }
}

bool Cursor::scan_escape() {
  const std::size_t where = offset();
  ++at_;
  if (at_ == end_) return fail("unterminated string", where);
  const char c = *at_++;
  if (c != 'u') return std::strchr("\"\\/bfnrt", c) != nullptr && c != '\0' ? true : fail("unknown escape", where);
  unsigned code = 0;
  if (!scan_hex4(code)) return fail("\\u needs four hex digits", where);
  if (is_low_surrogate(code)) return fail("lone surrogate", where);
  if (!is_high_surrogate(code)) return true;
  unsigned low = 0;
  if (!take('\\') || !take('u') || !scan_hex4(low) || !is_low_surrogate(low)) return fail("lone surrogate", where);
  return true;
}

bool Cursor::scan_hex4(unsigned& out) {
  if (end_ - at_ < 4) return false;
  for (int i = 0; i < 4; ++i) {
    if (hex_value(at_[i]) < 0) return false;
  }
  out = read_hex4(at_);
  at_ += 4;
  return true;
}

std::string_view Cursor::scan_digits() {
  const char* const start = at_;
  while (at_ != end_ && is_digit(*at_)) ++at_;
  return {start, static_cast<std::size_t>(at_ - start)};
}

bool Cursor::scan_number(NumberToken& out) {
  const std::size_t start = offset();
  out = {};
  out.negative = take('-');
  out.integer = scan_digits();
  if (out.integer.empty()) return fail("expected a value", start);
  if (out.integer.size() > 1 && out.integer[0] == '0') return fail("number with a leading zero", start);
  if (take('.')) {
    out.fraction = scan_digits();
    if (out.fraction.empty()) return fail("number without digits after the point", start);
  }
  if (take('e') || take('E')) {
    out.negative_exponent = take('-');
    if (!out.negative_exponent) take('+');
    out.exponent = scan_digits();
    if (out.exponent.empty()) return fail("number without digits in its exponent", start);
  }
  out.raw = since(start);
  return true;
}

bool Cursor::scan_word(std::string_view word) {
  if (static_cast<std::size_t>(end_ - at_) < word.size() || std::string_view(at_, word.size()) != word) {
    return fail("expected a value");
  }
  at_ += word.size();
  return true;
}

void append_unescaped(std::string& out, std::string_view body) {
  std::size_t i = 0;
  while (i < body.size()) {
    const std::size_t escape = std::min(body.find('\\', i), body.size());
    out.append(body, i, escape - i);
    i = escape;
    if (i == body.size()) break;
    const char c = body[i + 1];
    i += 2;
    if (c != 'u') {
      out += unescape_short(c);
      continue;
    }
    unsigned code = read_hex4(body.data() + i);
    i += 4;
    if (is_high_surrogate(code)) {
      code = 0x10000 + ((code - 0xd800) << 10) + (read_hex4(body.data() + i + 2) - 0xdc00);
      i += 6;
    }
    append_utf8(out, code);
  }
}

}  // namespace semel::base::json_scan
