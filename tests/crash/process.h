// A child process of a crash test with its pipes.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

namespace semel::crash {

using OnLine = std::function<void(const std::string&)>;

class Process {
 public:
  // Starts PROGRAM of this build with the arguments; `environment` adds NAME=VALUE entries. The child's fd 3 is our
  // pipe. SEMEL_TEST_VARIANT picks PROGRAM.VARIANT where it exists: a build with a planted bug.
  Process(const std::string& program, const std::vector<std::string>& arguments,
          const std::vector<std::string>& environment = {});
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const { return pid_; }
  void signal(int number) const;
  // SIGSTOP; returns when it stands still.
  void stop() const;
  void resume() const;
  // The child's wait_for_go returns.
  void go() const;
  // Reads lines that are there within `micros`, or until the child closed its end. False: it is closed.
  bool read_lines(long micros, const OnLine& on_line);
  // Reads until a line that begins with `prefix`, and returns it; throws when the child ends or `seconds` pass.
  std::string expect_line(const std::string& prefix, int seconds = 60);
  // SIGKILL, reap, and hand over what was still in the pipe. Answers as wait: how it ended, by us or before.
  int kill_and_drain(const OnLine& on_line);
  // Waits for the end; exit status as of waitpid.
  int wait();

 private:
  void split(const OnLine& on_line);
  pid_t pid_ = -1;
  int fd_ = -1;
  int go_fd_ = -1;
  bool reaped_ = false;
  std::string rest_;
  std::vector<std::string> lines_;  // read by expect_line, not yet asked for
};

// Waits until `ready` says so, looking every few milliseconds; false after `seconds`.
bool wait_until(const std::function<bool()>& ready, int seconds = 60);

}  // namespace semel::crash
