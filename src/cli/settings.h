// What a command works with: defaults < semel.toml < SEMEL_* environment < flags.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/rows.h"
#include "semel/result.h"
#include "semel/time.h"

namespace semel::cli {

struct GlobalFlags;

enum class Output : std::uint8_t { table, json };

struct QueueDefaults {
  std::string queue;
  core::LaneConfig config;
};

struct WorkerSettings {
  std::optional<std::string> name;
  std::optional<std::int64_t> slots;
  std::optional<Duration> lease;
  std::vector<std::string> queues;
};

struct Settings {
  std::string store = "sqlite:semel.db";
  std::string tenant = "default";
  Output output = Output::table;
  bool unsafe = false;                // accept a PostgreSQL with fsync=off
  std::vector<QueueDefaults> queues;  // for every tenant, until somebody sets the queue itself
  WorkerSettings worker;
  std::string config_file;  // empty: none was read
};

// Reads a file. Every fault is an InvalidConfig that begins with FILE:LINE.
Result<Settings> read_config(const std::string& path);
// The same for text; `path` only names it in errors. `world_readable`: a password in it is then refused.
Result<Settings> parse_config(std::string_view text, const std::string& path, bool world_readable);

using Environment = std::function<std::optional<std::string>(const char* name)>;
Result<Settings> resolve_settings(const GlobalFlags& flags, const Environment& environment);

// A setting of a queue by its name, as text: `retention`, `30d`. Names are those of the contract; `none` unsets.
Result<void> set_queue_field(core::LaneConfig& config, std::string_view name, std::string_view text);
// "retention, rate_limit, ..."
std::string queue_field_names();

// The URL with its password blotted out, for people and logs.
std::string without_password(const std::string& url);
bool has_password(const std::string& url);

}  // namespace semel::cli
