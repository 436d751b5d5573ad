// Base64 (RFC 4648, with padding) for bytes that must travel inside JSON.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace semel::base {

std::string to_base64(std::string_view bytes);

// Strict: nothing but what to_base64 prints is read, so equal texts mean equal bytes and the other way round.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace semel::base
