// Where log lines go. The library has no logger of its own and says nothing unless it is given a sink.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

namespace semel {

enum class LogLevel : std::uint8_t { debug, info, warn, error };

struct LogField {
  std::string_view key;
  std::string_view value;
};

// Called from any thread, also from several at once. Must not throw and must not call back into the engine. Texts may
// come from outside: a sink that prints lines has to escape them.
using LogSink = std::function<void(LogLevel level, std::string_view message, std::span<const LogField> fields)>;

}  // namespace semel
