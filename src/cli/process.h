// Child processes, signals and the memory of this process.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "semel/result.h"
#include "semel/time.h"

namespace semel::cli {

// A child that runs this very program with other arguments. Killed when the object goes away before it ended.
class Child {
 public:
  static Result<Child> start(const std::vector<std::string>& arguments);
  Child(Child&& other) noexcept;
  Child& operator=(Child&& other) noexcept;
  Child(const Child&) = delete;
  ~Child();

  pid_t pid() const { return pid_; }
  void signal(int number) const;
  // The next line of its standard output; none at its end or after `at_most`.
  std::optional<std::string> read_line(Duration at_most);
  // Waits for the end: the exit code, or 128 + signal.
  int wait();

 private:
  Child(pid_t pid, int out) : pid_(pid), out_(out) {}
  void end();
  pid_t pid_ = -1;
  int out_ = -1;
  std::string buffer_;
};

// Looks until `done` says so, about every `pause`; false after `at_most`.
template <class Done>
bool wait_until(Done&& done, Duration at_most, Duration pause = Duration{1000});

void pause_for(Duration duration);
std::int64_t steady_now();  // microseconds, comparable between processes of this machine

// Blocks SIGINT and SIGTERM for this thread and those it starts later; `stop_signal` then takes them one at a time.
void hold_stop_signals();
// True when one arrived within `at_most`.
bool stop_signal(Duration at_most);

// From now on this process is killed when the one that started it ends. For helpers that must not be left behind.
void die_with_parent();

std::int64_t resident_bytes(pid_t pid = 0);

template <class Done>
bool wait_until(Done&& done, Duration at_most, Duration pause) {
  const std::int64_t end = steady_now() + at_most.count();
  while (!done()) {
    if (steady_now() >= end) return false;
    pause_for(pause);
  }
  return true;
}

}  // namespace semel::cli
