#include "base/json.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <forward_list>
#include <vector>

#include "base/json_scan.h"
#include "base/text.h"
#include "base/utf8.h"

namespace semel::base {
namespace {

using json_scan::Cursor;
using json_scan::NumberToken;
using json_scan::StringToken;

// One character that may not stand in a JSON string as it is.
void append_escape(std::string& out, unsigned char c) {
  static constexpr char kHex[] = "0123456789abcdef";
  out += '\\';
  switch (c) {
    case '"':
    case '\\':
      out += static_cast<char>(c);
      return;
    case '\b':
      out += 'b';
      return;
    case '\t':
      out += 't';
      return;
    case '\n':
      out += 'n';
      return;
    case '\f':
      out += 'f';
      return;
    case '\r':
      out += 'r';
      return;
    default:
      out += "u00";
      out += kHex[c >> 4];
      out += kHex[c & 15];
  }
}

// Precondition: valid UTF-8.
void append_quoted_valid(std::string& out, std::string_view text) {
  out += '"';
  std::size_t copied = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c >= 0x20 && c != '"' && c != '\\') continue;
    out.append(text, copied, i - copied);
    append_escape(out, c);
    copied = i + 1;
  }
  out.append(text, copied);
  out += '"';
}

// Walks one text, checking everything; with kEmit it also builds the canonical form.
template <bool kEmit>
class Walker {
 public:
  Walker(std::string_view text, int max_depth) : cursor_(text), max_depth_(max_depth) {
    if constexpr (kEmit) out_.reserve(text.size() + 16);
    members_.reserve(16);
  }

  bool walk() {
    cursor_.skip_space();
    if (cursor_.at_end()) return cursor_.fail("empty text");
    if (!value(1)) return false;
    cursor_.skip_space();
    return cursor_.at_end() || cursor_.fail("bytes after the value");
  }

  std::string take_canonical() { return std::move(out_); }

  Error error() const {
    std::string message = std::string("invalid JSON: ") + cursor_.fault();
    if (!duplicate_.empty()) message += " " + printable(duplicate_);
    message += " at byte " + std::to_string(cursor_.fault_at());
    return Error{ErrorCode::InvalidArgument, std::move(message), {{"offset", std::to_string(cursor_.fault_at())}}};
  }

 private:
  struct Member {
    std::string_view name;   // unescaped
    std::size_t source_at;   // where the name stands in the text
    std::size_t begin, end;  // its `"name":value` in out_
  };

  bool value(int depth) {
    switch (cursor_.peek()) {
      case '{':
        return object(depth);
      case '[':
        return array(depth);
      case '"':
        return string();
      case 't':
        return word("true");
      case 'f':
        return word("false");
      case 'n':
        return word("null");
      default:
        return number();
    }
  }

  bool word(std::string_view text) {
    if (!cursor_.scan_word(text)) return false;
    emit(text);
    return true;
  }

  bool string() {
    StringToken token;
    if (!cursor_.scan_string(token)) return false;
    if constexpr (kEmit) {
      if (token.escaped) {
        scratch_.clear();
        json_scan::append_unescaped(scratch_, token.body);
        append_quoted_valid(out_, scratch_);
      } else {
        out_ += '"';
        out_ += token.body;
        out_ += '"';
      }
    }
    return true;
  }

  bool number() {
    NumberToken token;
    const std::size_t start = cursor_.offset();
    if (!cursor_.scan_number(token)) return false;
    if constexpr (kEmit) return append_decimal(token) || cursor_.fail("exponent out of range", start);
    return true;
  }

  bool array(int depth) {
    if (depth > max_depth_) return cursor_.fail("nested too deeply");
    cursor_.take('[');
    emit('[');
    cursor_.skip_space();
    if (!cursor_.take(']')) {
      for (;;) {
        cursor_.skip_space();
        if (!value(depth + 1)) return false;
        cursor_.skip_space();
        if (cursor_.take(']')) break;
        if (!cursor_.take(',')) return cursor_.fail("expected , or ]");
        emit(',');
      }
    }
    emit(']');
    return true;
  }

  bool object(int depth) {
    if (depth > max_depth_) return cursor_.fail("nested too deeply");
    cursor_.take('{');
    emit('{');
    const std::size_t first = members_.size();
    cursor_.skip_space();
    if (!cursor_.take('}')) {
      for (;;) {
        cursor_.skip_space();
        if (!member(depth)) return false;
        cursor_.skip_space();
        if (cursor_.take('}')) break;
        if (!cursor_.take(',')) return cursor_.fail("expected , or }");
        emit(',');
      }
    }
    if (!order_members(first)) return false;
    members_.resize(first);
    emit('}');
    return true;
  }

  bool member(int depth) {
    Member entry{};
    entry.source_at = cursor_.offset();
    entry.begin = out_.size();
    StringToken token;
    if (!cursor_.scan_string(token)) return false;
    if (token.escaped) {
      json_scan::append_unescaped(escaped_names_.emplace_front(), token.body);
      entry.name = escaped_names_.front();
      if constexpr (kEmit) append_quoted_valid(out_, entry.name);
    } else {
      entry.name = token.body;
      emit('"');
      emit(token.body);
      emit('"');
    }
    cursor_.skip_space();
    if (!cursor_.take(':')) return cursor_.fail("expected :");
    emit(':');
    cursor_.skip_space();
    if (!value(depth + 1)) return false;
    entry.end = out_.size();
    members_.push_back(entry);
    return true;
  }

  // Sorts the members of the object that just ended and finds equal names.
  bool order_members(std::size_t first) {
    const auto begin = members_.begin() + static_cast<std::ptrdiff_t>(first);
    const auto by_name = [](const Member& a, const Member& b) {
      const int order = a.name.compare(b.name);
      return order != 0 ? order < 0 : a.source_at < b.source_at;
    };
    const auto not_rising = [](const Member& a, const Member& b) { return !(a.name < b.name); };
    if (std::adjacent_find(begin, members_.end(), not_rising) == members_.end()) return true;

    const std::size_t out_begin = begin->begin;
    std::sort(begin, members_.end(), by_name);
    const auto twin = std::adjacent_find(begin, members_.end(), not_rising);
    if (twin != members_.end()) {
      duplicate_ = twin->name;
      return cursor_.fail("duplicate member", (twin + 1)->source_at);
    }
    if constexpr (kEmit) {
      scratch_.clear();
      for (auto it = begin; it != members_.end(); ++it) {
        if (it != begin) scratch_ += ',';
        scratch_.append(out_, it->begin, it->end - it->begin);
      }
      out_.replace(out_begin, std::string::npos, scratch_);
    }
    return true;
  }

  // Digits without zeros at either end, and the power of ten that makes up for them.
  bool append_decimal(const NumberToken& token) {
    if (token.fraction.empty() && token.exponent.empty() && token.integer.back() != '0') {
      out_ += token.raw;
      return true;
    }
    scratch_.assign(token.integer).append(token.fraction);
    const std::size_t from = scratch_.find_first_not_of('0');
    if (from == std::string::npos) {
      out_ += '0';
      return true;
    }
    const std::size_t last = scratch_.find_last_not_of('0');
    std::int64_t exponent = 0;
    if (!read_exponent(token, exponent)) return false;
    exponent +=
        static_cast<std::int64_t>(scratch_.size() - 1 - last) - static_cast<std::int64_t>(token.fraction.size());
    if (token.negative) out_ += '-';
    out_.append(scratch_, from, last - from + 1);
    if (exponent != 0) {
      char buffer[24];
      out_ += 'e';
      out_.append(buffer, std::to_chars(buffer, buffer + sizeof buffer, exponent).ptr);
    }
    return true;
  }

  static bool read_exponent(const NumberToken& token, std::int64_t& out) {
    std::string_view digits = token.exponent;
    digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size()));
    if (digits.size() > 18) return false;
    for (const char c : digits) out = out * 10 + (c - '0');
    if (token.negative_exponent) out = -out;
    return true;
  }

  void emit([[maybe_unused]] char c) {
    if constexpr (kEmit) out_ += c;
  }
  void emit([[maybe_unused]] std::string_view text) {
    if constexpr (kEmit) out_ += text;
  }

  Cursor cursor_;
  int max_depth_;
  std::string out_;
  std::string scratch_;
  std::vector<Member> members_;
  std::forward_list<std::string> escaped_names_;
  std::string duplicate_;
};

}  // namespace

Result<void> validate_json(std::string_view text, int max_depth) {
  Walker<false> walker(text, max_depth);
  if (!walker.walk()) return walker.error();
  return {};
}

Result<std::string> canonical_json(std::string_view text, int max_depth) {
  Walker<true> walker(text, max_depth);
  if (!walker.walk()) return walker.error();
  return walker.take_canonical();
}

void append_quoted_json(std::string& out, std::string_view text) {
  if (is_valid_utf8(text)) append_quoted_valid(out, text);
  else append_quoted_valid(out, sanitize_utf8(text, text.size() * 3));
}

std::string quote_json(std::string_view text) {
  std::string out;
  append_quoted_json(out, text);
  return out;
}

}  // namespace semel::base
