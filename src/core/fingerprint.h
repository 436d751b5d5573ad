// What makes two requests with one id the same request.
//
// SHA-256 over these bytes (NUL separates, a name never contains one):
//   json payload    "v1" NUL "json" NUL name NUL canonical_json(args)      no args = "null"
//   other encoding  "v1" NUL "raw"  NUL name NUL encoding NUL bytes        compared byte for byte
// The canonical form is that of base/json.h: 1, 1.0 and 1e0 are equal, order of members and white space do not matter.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "semel/result.h"

namespace semel::core {

struct Fingerprint {
  std::array<std::uint8_t, 32> bytes{};

  bool operator==(const Fingerprint&) const = default;
  std::string to_string() const;  // v1:<64 hex digits>
};

// Of a JSON payload; empty `args_json` means no args. Also the payload's validation: text that is not JSON, or has
// duplicate members, is an InvalidArgument.
Result<Fingerprint> fingerprint_of(std::string_view name, std::string_view args_json);

// Of a payload in any other encoding.
Result<Fingerprint> fingerprint_of_raw(std::string_view name, std::string_view encoding, std::string_view bytes);

}  // namespace semel::core
