// Tokens of JSON text, shared by the checker, the canonical form and the document reader. Not for other layers.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace semel::base::json_scan {

struct StringToken {
  std::string_view body;  // between the quotes, as written
  bool escaped = false;   // body contains at least one backslash
};

struct NumberToken {
  std::string_view raw;
  std::string_view integer;   // digits before the point
  std::string_view fraction;  // digits after it
  std::string_view exponent;  // digits of the exponent
  bool negative = false;
  bool negative_exponent = false;
};

// A position in the text. Scanning functions return false at the first fault and leave its place and kind behind.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : begin_(text.data()), at_(begin_), end_(begin_ + text.size()) {}

  std::size_t offset() const { return static_cast<std::size_t>(at_ - begin_); }
  bool at_end() const { return at_ == end_; }
  char peek() const { return at_ == end_ ? '\0' : *at_; }
  std::string_view since(std::size_t start) const { return {begin_ + start, offset() - start}; }

  void skip_space() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\t' || *at_ == '\r')) ++at_;
  }
  bool take(char c) {
    if (at_ == end_ || *at_ != c) return false;
    ++at_;
    return true;
  }

  bool scan_string(StringToken& out);
  bool scan_number(NumberToken& out);
  bool scan_word(std::string_view word);

  bool fail(const char* what, std::size_t where) {
    fault_ = what;
    fault_at_ = where;
    return false;
  }
  bool fail(const char* what) { return fail(what, offset()); }
  const char* fault() const { return fault_; }
  std::size_t fault_at() const { return fault_at_; }

 private:
  bool scan_escape();
  bool scan_hex4(unsigned& out);
  std::string_view scan_digits();

  const char* begin_;
  const char* at_;
  const char* end_;
  const char* fault_ = nullptr;
  std::size_t fault_at_ = 0;
};

// Precondition: `body` came from a successful scan_string.
void append_unescaped(std::string& out, std::string_view body);

}  // namespace semel::base::json_scan
