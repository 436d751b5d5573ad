// Logging goes to a sink the program provides. The library has no global logger and by default says nothing.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace semel::base {

enum class LogLevel : std::uint8_t { debug, info, warn, error };

std::string_view to_string(LogLevel level);

struct LogField {
  LogField(std::string_view name, std::string_view text) : key(name), value(text) {}
  LogField(std::string_view name, const char* text) : key(name), value(text) {}
  LogField(std::string_view name, std::string text) : key(name), value(std::move(text)) {}
  LogField(std::string_view name, std::integral auto number) : key(name), value(std::to_string(number)) {}

  std::string_view key;
  std::string value;
};

class LogSink {
 public:
  virtual ~LogSink() = default;

  // Ask before building expensive fields.
  virtual bool enabled(LogLevel level) const = 0;

  // Called from any thread. Must not throw and must not call back into the engine.
  virtual void write(LogLevel level, std::string_view message, std::initializer_list<LogField> fields) = 0;
};

// `message key=value key="two words"`: one line whatever the fields contain; newlines, control characters and ANSI
// escapes are made visible, each value is cut at 1 KiB.
std::string format_log_line(std::string_view message, std::initializer_list<LogField> fields);

// Says nothing.
LogSink& null_log();

// `warn message key=value` on standard error, one write per line.
std::unique_ptr<LogSink> make_stderr_log(LogLevel minimum);

}  // namespace semel::base
