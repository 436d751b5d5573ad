// JSON text: checking, canonical form, quoting. Reading documents is in json_value.h, printing in json_writer.h.
//
// Strict RFC 8259: UTF-8 only, no byte order mark, no lone surrogates, no duplicate member names, no bytes after the
// value. Numbers stay text: nothing here goes through a double, so 9007199254740993, 1e400 and \u0000 are data like any
// other. Every error is an InvalidArgument that says what is wrong and at which byte.
#pragma once

#include <string>
#include <string_view>

#include "semel/result.h"

namespace semel::base {

inline constexpr int kMaxDocumentDepth = 32;  // requests and configuration
inline constexpr int kMaxPayloadDepth = 128;  // args, results, values: the user's own data

Result<void> validate_json(std::string_view text, int max_depth = kMaxPayloadDepth);

// Canonical form v1. Two texts have the same canonical form iff they are the same JSON value:
//  - no white space; members sorted by the UTF-8 bytes of their unescaped names
//  - strings unescaped, then only `"`, `\` and U+0000..U+001F escaped (\b \t \n \f \r where they exist, else \u00xx)
//  - numbers as exact decimals: digits without leading or trailing zeros, then `e` and the exponent unless it is 0;
//    1, 1.0 and 1e0 are `1`; 100 is `1e2`; 0.15 is `15e-2`; -0 is `0`
// The form is itself valid JSON and canonical. Exponents beyond 18 digits are refused.
Result<std::string> canonical_json(std::string_view text, int max_depth = kMaxPayloadDepth);

// A JSON string literal. Bytes that are not UTF-8 become U+FFFD, so the output is always valid JSON.
std::string quote_json(std::string_view text);
void append_quoted_json(std::string& out, std::string_view text);

}  // namespace semel::base
