// A child process without exec, for tests of what fork() shares and of what two processes do to one file. Linux only.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>

namespace semel::testing {

// Forks at once, but the child does its work only when it is told to: made before a store is opened, it is a stranger
// to it. The child is ended by SIGALRM after a minute, and by SIGKILL with this object.
class Forked {
 public:
  explicit Forked(const std::function<std::string()>& work) {
    if (pipe(go_) != 0 || pipe(told_) != 0) _exit(3);
    pid_ = fork();
    if (pid_ != 0) return;
    alarm(60);
    char byte = 0;
    close(go_[1]);
    if (read(go_[0], &byte, 1) != 1) _exit(2);
    const std::string text = work() + '\0';
    if (write(told_[1], text.data(), text.size()) != static_cast<ssize_t>(text.size())) _exit(2);
    _exit(0);
  }
  ~Forked() {
    kill();
    for (const int end : {go_[0], go_[1], told_[0], told_[1]}) close(end);
  }
  Forked(const Forked&) = delete;
  Forked& operator=(const Forked&) = delete;

  void start() {
    const char byte = 1;
    if (write(go_[1], &byte, 1) != 1) std::abort();
  }
  // What `work` returned; empty when the child died.
  std::string result() {
    close(std::exchange(told_[1], -1));
    std::string out;
    char byte = 0;
    while (read(told_[0], &byte, 1) == 1 && byte != '\0') out += byte;
    return out;
  }
  std::string run() {
    start();
    return result();
  }
  void kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    waitpid(std::exchange(pid_, -1), nullptr, 0);
  }
  pid_t pid() const { return pid_; }

 private:
  int go_[2] = {-1, -1};
  int told_[2] = {-1, -1};
  pid_t pid_ = -1;
};

}  // namespace semel::testing
