// The command line as data: each verb is a row of a table, one file turns the table into a parser.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "semel/result.h"

namespace semel::cli {

class Session;

struct Flag {
  std::string name;   // "task-id"
  std::string value;  // what the help calls its value; empty: a switch
  std::string help;
  bool many = false;  // may be given again and again
};

struct Positional {
  std::string name;
  std::string help;
  bool required = true;
};

// What the user gave to one verb. Values are text; the verb checks them, so that a bad one is an error of the table.
class Args {
 public:
  std::optional<std::string> get(const std::string& name) const;
  bool has(const std::string& name) const { return values_.contains(name); }
  std::vector<std::string> all(const std::string& name) const;  // of a flag that may be given many times
  std::string text(const std::string& name, std::string otherwise = {}) const;
  // InvalidArgument naming the flag when the text is not one.
  Result<std::optional<std::int64_t>> integer(const std::string& name) const;
  Result<std::optional<bool>> boolean(const std::string& name) const;

  void set(const std::string& name, std::string value) { values_[name] = std::move(value); }
  void set_all(const std::string& name, std::vector<std::string> values) { lists_[name] = std::move(values); }

 private:
  std::map<std::string, std::string> values_;
  std::map<std::string, std::vector<std::string>> lists_;
};

struct Verb {
  std::string path;  // "task enqueue"
  std::string help;
  std::vector<Positional> positionals;
  std::vector<Flag> flags;
  std::string examples;
  std::function<Result<int>(Session&, const Args&)> run;  // the exit code
  bool hidden = false;
};

// Flags every verb takes.
struct GlobalFlags {
  std::optional<std::string> store;
  std::optional<std::string> tenant;
  std::optional<std::string> output;
  std::optional<std::string> config;
};

struct Parsed {
  const Verb* verb = nullptr;  // null: nothing to run, `exit_code` says it all (help, bad usage)
  GlobalFlags global;
  Args args;
  int exit_code = 0;
};

// Prints help on standard output and complaints on standard error. Bad usage: exit code 2.
Parsed parse_command_line(int argc, const char* const* argv, std::span<const Verb> verbs);

}  // namespace semel::cli
