// semel.toml. The only file that knows the TOML library.
#include <sys/stat.h>

#include <toml++/toml.h>
#include <fstream>
#include <sstream>

#include "base/duration.h"
#include "base/text.h"
#include "cli/settings.h"
#include "core/validate.h"

namespace semel::cli {
namespace {

// What is being read, for naming the line of a fault.
struct Place {
  const std::string& path;

  Error error(const toml::source_region& where, std::string_view what) const {
    return make_error(ErrorCode::InvalidConfig,
                      path + ":" + std::to_string(where.begin.line) + ": " + std::string(what));
  }
  Error wrong_type(const toml::node& node, std::string_view key, std::string_view expected) const {
    std::ostringstream kind;
    kind << node.type();
    return error(node.source(), std::string(key) + " must be " + std::string(expected) + ", not of type " + kind.str());
  }
};

// The text a value stands for in set_queue_field; none: a type that no setting has.
std::optional<std::string> scalar_text(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* number = node.as_integer()) return std::to_string(number->get());
  if (const auto* flag = node.as_boolean()) return flag->get() ? "true" : "false";
  if (const auto* real = node.as_floating_point()) {
    std::ostringstream out;
    out << real->get();
    return out.str();
  }
  if (const auto* list = node.as_array()) {
    std::string out;
    for (const auto& element : *list) {
      const auto* text = element.as_string();
      if (text == nullptr) return std::nullopt;
      out += (out.empty() ? "" : ",") + text->get();
    }
    return out;
  }
  return std::nullopt;
}

// Durations and rates are strings, counts are integers, switches are booleans: `concurrency = "5"` is a mistake.
bool type_fits(std::string_view key, const toml::node& node) {
  if (key == "retention" || key == "rate_limit" || key.ends_with("_interval")) return node.is_string();
  if (key == "dead_letter" || key == "paused") return node.is_boolean();
  if (key == "retry_factor" || key == "retry_jitter") return node.is_number();
  if (key == "retry_non_retryable") return node.is_array();
  return node.is_integer();
}

std::string_view expected_type(std::string_view key) {
  if (key == "retention" || key.ends_with("_interval")) return "a duration in quotes, such as \"30d\"";
  if (key == "rate_limit") return "a rate in quotes, such as \"100/sec\"";
  if (key == "dead_letter" || key == "paused") return "true or false";
  if (key == "retry_factor" || key == "retry_jitter") return "a number";
  if (key == "retry_non_retryable") return "an array of error names";
  return "a whole number";
}

Result<void> read_queue_field(const Place& place, core::LaneConfig& config, std::string key, const toml::node& node) {
  const auto text = scalar_text(node);
  core::LaneConfig probe;
  const auto known = set_queue_field(probe, key, text.value_or(""));
  const bool unknown = !known && known.error().message.starts_with("unknown queue setting");
  if (unknown) return place.error(node.source(), known.error().message);
  if (!text || !type_fits(key, node)) return place.wrong_type(node, key, expected_type(key));
  if (auto set = set_queue_field(config, key, *text); !set) return place.error(node.source(), set.error().message);
  return {};
}

Result<void> read_queue(const Place& place, const toml::table& table, core::LaneConfig& config) {
  for (const auto& [key, node] : table) {
    const std::string name(key.str());
    if (const toml::table* retry = node.as_table(); retry != nullptr && name == "retry") {
      for (const auto& [part, value] : *retry) {
        if (part == "max_attempts") {
          if (auto read = read_queue_field(place, config, "max_attempts", value); !read) return read;
          continue;
        }
        if (auto read = read_queue_field(place, config, "retry_" + std::string(part.str()), value); !read) return read;
      }
      continue;
    }
    if (auto read = read_queue_field(place, config, name, node); !read) return read;
  }
  return {};
}

Result<void> read_queues(const Place& place, const toml::node& node, Settings& settings) {
  const toml::table* queues = node.as_table();
  if (queues == nullptr) return place.wrong_type(node, "queues", "a table: [queues.NAME]");
  for (const auto& [key, value] : *queues) {
    const std::string name(key.str());
    const toml::table* table = value.as_table();
    if (table == nullptr) return place.wrong_type(value, "queues." + name, "a table: [queues." + name + "]");
    if (auto valid = core::validate_queue(name); !valid) return place.error(value.source(), valid.error().message);
    QueueDefaults defaults{name, {}};
    if (auto read = read_queue(place, *table, defaults.config); !read) return read;
    settings.queues.push_back(std::move(defaults));
  }
  return {};
}

Result<void> read_worker(const Place& place, const toml::node& node, WorkerSettings& worker) {
  const toml::table* table = node.as_table();
  if (table == nullptr) return place.wrong_type(node, "worker", "a table: [worker]");
  for (const auto& [key, value] : *table) {
    const std::string name(key.str());
    if (name == "name") {
      if (!value.is_string()) return place.wrong_type(value, "worker.name", "a string");
      worker.name = value.as_string()->get();
      if (auto valid = core::validate_id("worker.name", *worker.name); !valid) {
        return place.error(value.source(), valid.error().message);
      }
    } else if (name == "slots") {
      if (!value.is_integer()) return place.wrong_type(value, "worker.slots", "a whole number");
      worker.slots = value.as_integer()->get();
      if (*worker.slots < 1 || *worker.slots > 10'000) {
        return place.error(value.source(), "worker.slots must be 1 .. 10000, not " + std::to_string(*worker.slots));
      }
    } else if (name == "lease") {
      if (!value.is_string()) return place.wrong_type(value, "worker.lease", "a duration in quotes, such as \"30s\"");
      auto lease = base::parse_duration(value.as_string()->get());
      if (!lease) return place.error(value.source(), "worker.lease: " + lease.error().message);
      if (auto valid = core::validate_lease(*lease); !valid) return place.error(value.source(), valid.error().message);
      worker.lease = *lease;
    } else if (name == "queues") {
      const auto* list = value.as_array();
      if (list == nullptr) return place.wrong_type(value, "worker.queues", "an array of queue names");
      for (const auto& element : *list) {
        if (!element.is_string()) return place.wrong_type(element, "worker.queues", "an array of queue names");
        worker.queues.push_back(element.as_string()->get());
      }
    } else {
      return place.error(key.source(),
                         "unknown key worker." + base::printable(name) + "; known are name, slots, lease, queues");
    }
  }
  return {};
}

Result<void> read_text(const Place& place, const toml::node& node, std::string_view key, std::string& out) {
  if (!node.is_string()) return place.wrong_type(node, key, "a string");
  out = node.as_string()->get();
  return {};
}

Result<void> read_key(const Place& place, const toml::key& key, const toml::node& node, bool world_readable,
                      Settings& out) {
  const std::string_view name = key.str();
  if (name == "queues") return read_queues(place, node, out);
  if (name == "worker") return read_worker(place, node, out.worker);
  if (name == "store") {
    if (auto read = read_text(place, node, name, out.store); !read) return read;
    if (world_readable && has_password(out.store)) {
      return place.error(node.source(), "store holds a password and everybody may read this file; run chmod 600 " +
                                            place.path + ", or give the URL in SEMEL_STORE");
    }
    return {};
  }
  if (name == "tenant") {
    if (auto read = read_text(place, node, name, out.tenant); !read) return read;
    if (auto valid = core::validate_tenant(out.tenant); !valid)
      return place.error(node.source(), valid.error().message);
    return {};
  }
  if (name == "unsafe") {
    if (!node.is_boolean()) return place.wrong_type(node, name, "true or false");
    out.unsafe = node.as_boolean()->get();
    return {};
  }
  return place.error(key.source(), "unknown key " + base::printable(name) +
                                       "; known are store, tenant, unsafe, [worker], [queues.NAME]");
}

}  // namespace

Result<Settings> parse_config(std::string_view text, const std::string& path, bool world_readable) {
  const Place place{path};
  toml::table table;
  try {
    table = toml::parse(text, path);
  } catch (const toml::parse_error& fault) {
    return place.error(fault.source(), fault.description());
  }
  Settings out;
  out.config_file = path;
  for (const auto& [key, node] : table) {
    if (auto read = read_key(place, key, node, world_readable, out); !read) return read.error();
  }
  return out;
}

Result<Settings> read_config(const std::string& path) {
  struct stat about{};
  if (::stat(path.c_str(), &about) != 0) {
    return make_error(ErrorCode::InvalidConfig, path + ": the file cannot be read; give another one with --config");
  }
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  if (!file || !(text << file.rdbuf())) {
    const bool empty = static_cast<bool>(file) && about.st_size == 0;
    if (!empty)
      return make_error(ErrorCode::InvalidConfig, path + ": the file cannot be read; give another one with --config");
  }
  return parse_config(text.str(), path, (about.st_mode & S_IROTH) != 0);
}

}  // namespace semel::cli
