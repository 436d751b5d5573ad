// What callers were told of their writes, compared with what SQL finds.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "semel/result.h"

namespace semel::crash {

// Every write of a drill leaves a fact of its own in the database, a line like `args tok-3-17`. Thread-safe.
class CutRecord {
 public:
  // `fails_over`: sessions and leases are void on the server that takes over.
  explicit CutRecord(bool fails_over = false) : fails_over_(fails_over) {}

  // The write was answered: with success, with an error that says that nothing happened, or that it is unknown.
  // `undoes`: the fact was there before, and the write takes it away.
  void answered(const std::string& fact, const Error* error, bool undoes = false);
  // Something that must not be, whatever the database holds.
  void violation(const std::string& text);

  // Compares with how often each fact is found.
  void compare(const std::map<std::string, long>& found);

  long acknowledged() const { return acknowledged_; }
  long refused() const { return refused_; }
  long unknown() const { return unknown_; }
  const std::vector<std::string>& violations() const { return violations_; }

 private:
  struct Expected {
    long least = 0;
    long most = 0;
  };
  const bool fails_over_;
  mutable std::mutex mutex_;
  std::map<std::string, Expected> expected_;
  long acknowledged_ = 0, refused_ = 0, unknown_ = 0;
  std::vector<std::string> violations_;
};

// The facts of a PostgreSQL store, read by SQL on a direct connection.
std::map<std::string, long> facts_of(const std::string& store_url);

}  // namespace semel::crash
