// Drives the real binary: start it, read what it printed, look at its exit code.
#pragma once

#include <sys/types.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json_value.h"

namespace semel::e2e {

struct Ran {
  int exit_code = -1;  // 128 + signal when it was killed
  std::string out;
  std::string err;

  // The one JSON document on standard output.
  base::JsonDocument json() const;
  std::string text(std::string_view field) const;     // of the root object; "" when absent or null
  std::int64_t number(std::string_view field) const;  // -1 when absent
  std::optional<bool> flag(std::string_view field) const;
};

using Environment = std::map<std::string, std::string>;

// A folder of its own, in which every command runs.
class Place {
 public:
  Place();
  ~Place();
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  std::string file(const std::string& name) const { return path_ + "/" + name; }
  void write(const std::string& name, const std::string& text, int mode = 0644) const;
  std::string read(const std::string& name) const;

  // `semel ARGUMENTS` to its end.
  Ran semel(const std::vector<std::string>& arguments, const Environment& environment = {},
            const std::string& input = {}) const;
  // The same with `--store STORE -o json`.
  Ran json(const std::vector<std::string>& arguments) const;
  // A line of shell in this folder, `semel` is the binary.
  Ran shell(const std::string& line, const Environment& environment = {}) const;

  std::string store = "sqlite:app.db";

 private:
  std::string path_;
};

// A command that goes on while the test does other things. Killed at the end.
class Running {
 public:
  Running(const Place& place, const std::vector<std::string>& arguments);
  ~Running();
  std::optional<std::string> read_line();  // waits up to 30 s
  void signal(int number) const;
  int wait();
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
  int out_ = -1;
  std::string buffer_;
};

std::string semel_path();

}  // namespace semel::e2e
