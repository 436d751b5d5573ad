// 128-bit ids. Distinct types that never convert into each other; ordered and compared bytewise.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace semel {

template <class Tag>
struct Uuid {
  std::array<std::uint8_t, 16> bytes{};

  auto operator<=>(const Uuid&) const = default;
  bool is_nil() const { return *this == Uuid{}; }

  // Lower-case, with hyphens: 018f3c1e-....
  std::string to_string() const {
    static constexpr char kHex[] = "0123456789abcdef";
    std::string out;
    out.reserve(36);
    for (int i = 0; i < 16; ++i) {
      if (i == 4 || i == 6 || i == 8 || i == 10) out.push_back('-');
      out.push_back(kHex[bytes[i] >> 4]);
      out.push_back(kHex[bytes[i] & 15]);
    }
    return out;
  }

  // Accepts exactly the form that to_string prints (either case of hex digits).
  static std::optional<Uuid> parse(std::string_view text) {
    if (text.size() != 36) return std::nullopt;
    Uuid out;
    int nibble = 0;
    for (std::size_t i = 0; i < 36; ++i) {
      const char c = text[i];
      if (i == 8 || i == 13 || i == 18 || i == 23) {
        if (c != '-') return std::nullopt;
        continue;
      }
      int v;
      if (c >= '0' && c <= '9') v = c - '0';
      else if (c >= 'a' && c <= 'f') v = c - 'a' + 10;
      else if (c >= 'A' && c <= 'F') v = c - 'A' + 10;
      else return std::nullopt;
      auto& byte = out.bytes[nibble / 2];
      byte = static_cast<std::uint8_t>(nibble % 2 == 0 ? v << 4 : byte | v);
      ++nibble;
    }
    return out;
  }
};

// One run of a task or workflow; a UUIDv7, so ids sort by creation time.
using ExecutionId = Uuid<struct ExecutionIdTag>;
// One claim call of one worker session; records what the claim handed out.
using ClaimId = Uuid<struct ClaimIdTag>;
// The life of one worker process on a store. A restart is a new session and inherits nothing.
using SessionId = Uuid<struct SessionIdTag>;
// A set of tasks with one completion task.
using GroupId = Uuid<struct GroupIdTag>;
// One transaction of the writer; marks the store so that an unknown commit can be looked up.
using BatchId = Uuid<struct BatchIdTag>;
// Something a run has not learned yet.
using MailId = Uuid<struct MailIdTag>;

}  // namespace semel

template <class Tag>
struct std::hash<semel::Uuid<Tag>> {
  std::size_t operator()(const semel::Uuid<Tag>& id) const noexcept {
    std::uint64_t a, b;
    std::memcpy(&a, id.bytes.data(), 8);
    std::memcpy(&b, id.bytes.data() + 8, 8);
    return static_cast<std::size_t>((a ^ (b * 0x9e3779b97f4a7c15ull)) * 0xff51afd7ed558ccdull);
  }
};
