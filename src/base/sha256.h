// SHA-256 over libcrypto.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace semel::base {

using Sha256Digest = std::array<std::uint8_t, 32>;

Sha256Digest sha256(std::string_view bytes);

// Of the parts one after another, without joining them first.
Sha256Digest sha256(std::initializer_list<std::string_view> parts);

}  // namespace semel::base
