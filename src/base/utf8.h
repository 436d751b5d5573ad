// UTF-8 as RFC 3629 defines it: no overlong forms, no surrogates, nothing above U+10FFFF.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace semel::base {

bool is_valid_utf8(std::string_view text);

// Length in bytes of the valid character that starts at `text[at]`, 0 when there is none. Precondition: at <
// text.size().
std::size_t utf8_char_length(std::string_view text, std::size_t at);

// Valid UTF-8 of at most `max_bytes`: each invalid byte becomes U+FFFD, the cut is at a character boundary. Reads no
// more of the input than it needs, so a gigabyte of error text costs `max_bytes`.
std::string sanitize_utf8(std::string_view text, std::size_t max_bytes);

}  // namespace semel::base
