// Small helpers for text that several layers print.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace semel::base {

std::string to_hex(std::span<const std::uint8_t> bytes);

// Text from outside, safe inside an error message or a log line: quoted, control characters and ANSI escapes made
// visible, cut after `max_bytes` with its full size named.
std::string printable(std::string_view text, std::size_t max_bytes = 64);

}  // namespace semel::base
