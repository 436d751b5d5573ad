#include "base/log.h"

#include <unistd.h>

#include <algorithm>

#include "base/text.h"

namespace semel::base {
namespace {

constexpr std::size_t kMaxValueBytes = 1024;

bool is_plain(std::string_view value) {
  return !value.empty() && value.size() <= kMaxValueBytes && std::all_of(value.begin(), value.end(), [](char c) {
    return c > ' ' && c < 0x7f && c != '"' && c != '\\' && c != '=';
  });
}

void append_value(std::string& out, std::string_view value) {
  if (is_plain(value)) out += value;
  else out += printable(value, kMaxValueBytes);
}

// The message is ours, but may carry someone's text: escaped like a value, printed without quotes.
std::string escaped_message(std::string_view message) {
  std::string quoted = printable(message, kMaxValueBytes);
  const std::size_t end = quoted.rfind('"');
  return quoted.substr(1, end - 1) + quoted.substr(end + 1);
}

class NullLog final : public LogSink {
 public:
  bool enabled(LogLevel) const override { return false; }
  void write(LogLevel, std::string_view, std::initializer_list<LogField>) override {}
};

class StderrLog final : public LogSink {
 public:
  explicit StderrLog(LogLevel minimum) : minimum_(minimum) {}

  bool enabled(LogLevel level) const override { return level >= minimum_; }

  void write(LogLevel level, std::string_view message, std::initializer_list<LogField> fields) override {
    if (!enabled(level)) return;
    const std::string line = std::string(to_string(level)) + ' ' + format_log_line(message, fields) + '\n';
    // One write per line keeps lines of several threads and processes apart. Nobody can be told when it fails.
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
  }

 private:
  LogLevel minimum_;
};

}  // namespace

std::string_view to_string(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return "debug";
    case LogLevel::info:
      return "info";
    case LogLevel::warn:
      return "warn";
    case LogLevel::error:
      return "error";
  }
  return "error";
}

std::string format_log_line(std::string_view message, std::initializer_list<LogField> fields) {
  std::string out = escaped_message(message);
  for (const LogField& field : fields) {
    out += ' ';
    out += field.key;
    out += '=';
    append_value(out, field.value);
  }
  return out;
}

LogSink& null_log() {
  static auto& sink = *new NullLog;
  return sink;
}

std::unique_ptr<LogSink> make_stderr_log(LogLevel minimum) { return std::make_unique<StderrLog>(minimum); }

}  // namespace semel::base
