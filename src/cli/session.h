// One run of the command: its settings, the store it opened, and the two ways of printing.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/log.h"
#include "cli/args.h"
#include "cli/settings.h"
#include "cli/wiring.h"
#include "engine/threads.h"

namespace semel::cli {

inline constexpr int kDone = 0;
inline constexpr int kRefused = 1;
inline constexpr int kBadUsage = 2;
inline constexpr int kDamaged = 3;

class Session {
 public:
  explicit Session(Settings settings) : settings_(std::move(settings)) {}
  ~Session();

  const Settings& settings() const { return settings_; }
  const std::string& tenant() const { return settings_.tenant; }
  bool json() const { return settings_.output == Output::json; }

  // Reading verbs: on SQLite beside the process that writes.
  Result<engine::Runtime*> reader();
  // Writing verbs: on SQLite the file is owned from now on. The work of other processes' clocks (timers, expired
  // leases) is done only with `clockwork`.
  Result<engine::Runtime*> writer(bool clockwork = false);
  // As `writer`, with options of its own.
  Result<engine::Runtime*> open(const OpenOptions& store, engine::RuntimeOptions options);
  void close();
  // What goes wrong inside is told on standard error; long-running verbs also tell what may become wrong.
  void log_warnings() { log_level_ = base::LogLevel::warn; }

  // Waits for an asynchronous call of the engine.
  template <class T, class Call>
  Result<T> ask(Call&& call) {
    return runtime_->wait<T>(std::forward<Call>(call));
  }

  // `body` is what REST would answer; `table` is made only when people look.
  void print(std::string_view body, const std::function<std::string()>& table) const;
  // How a mistake in the command line is told; answers the exit code.
  int bad_usage(std::string_view what) const;
  // Errors go where the answer would go: JSON to standard output, words to standard error.
  static int fail(const Error& error, Output output);

 private:
  Settings settings_;
  base::LogLevel log_level_ = base::LogLevel::error;
  std::shared_ptr<base::LogSink> log_;
  std::unique_ptr<engine::Runtime> runtime_;
};

// Settings of semel.toml reach the queues of this tenant that nobody has set.
Result<void> apply_queue_defaults(Session& session, engine::Runtime& runtime);

}  // namespace semel::cli
