#include "tests/crash/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <stdexcept>

#include "base/clock.h"
#include "tests/crash/child_protocol.h"

namespace semel::crash {
namespace {

struct Pipe {
  Pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe");
    // Away from the numbers that the child uses.
    read = ::fcntl(ends[0], F_DUPFD_CLOEXEC, 10);
    write = ::fcntl(ends[1], F_DUPFD_CLOEXEC, 10);
    ::close(ends[0]);
    ::close(ends[1]);
  }
  int read = -1;
  int write = -1;
};

}  // namespace

Process::Process(const std::string& program, const std::vector<std::string>& arguments,
                 const std::vector<std::string>& environment) {
  const Pipe up, down;
  ::fcntl(up.read, F_SETPIPE_SZ, 1 << 20);
  const std::string path = std::string(SEMEL_BIN_DIR) + "/" + program;
  std::vector<char*> argv{const_cast<char*>(path.c_str())};
  for (const auto& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  pid_ = ::fork();
  if (pid_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::dup2(up.write, kPipeFd);
    ::dup2(down.read, kGoFd);
    for (const auto& entry : environment) ::putenv(const_cast<char*>(entry.c_str()));
    ::execv(path.c_str(), argv.data());
    ::_exit(127);
  }
  ::close(up.write);
  ::close(down.read);
  fd_ = up.read;
  go_fd_ = down.write;
}

Process::~Process() {
  if (!reaped_) {
    ::kill(pid_, SIGKILL);
    wait();
  }
  ::close(fd_);
  ::close(go_fd_);
}

void Process::signal(int number) const { ::kill(pid_, number); }

void Process::stop() const {
  ::kill(pid_, SIGSTOP);
  int status = 0;
  while (::waitpid(pid_, &status, WUNTRACED) < 0 && errno == EINTR) {
  }
  if (!WIFSTOPPED(status)) throw std::runtime_error("the child ended instead of stopping");
}

void Process::resume() const { ::kill(pid_, SIGCONT); }

void Process::go() const {
  if (::write(go_fd_, "g", 1) != 1) throw std::runtime_error("the child does not listen");
}

void Process::split(const OnLine& on_line) {
  std::size_t from = 0;
  for (std::size_t at; (at = rest_.find('\n', from)) != std::string::npos; from = at + 1)
    on_line(rest_.substr(from, at - from));
  rest_.erase(0, from);
}

bool Process::read_lines(long micros, const OnLine& on_line) {
  pollfd waiting{fd_, POLLIN, 0};
  const timespec limit{micros / 1'000'000, (micros % 1'000'000) * 1000};
  if (::ppoll(&waiting, 1, &limit, nullptr) <= 0) return true;
  char buffer[1 << 16];
  const ssize_t count = ::read(fd_, buffer, sizeof buffer);
  if (count <= 0) return count < 0 && errno == EINTR;
  rest_.append(buffer, static_cast<std::size_t>(count));
  split(on_line);
  return true;
}

std::string Process::expect_line(const std::string& prefix, int seconds) {
  const auto deadline = base::steady_micros() + seconds * 1'000'000L;
  for (bool open = true;;) {
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      if (!lines_[i].starts_with(prefix)) continue;
      std::string found = std::move(lines_[i]);
      lines_.erase(lines_.begin(), lines_.begin() + static_cast<std::ptrdiff_t>(i) + 1);
      return found;
    }
    if (!open) throw std::runtime_error("the child ended before it said '" + prefix + "'");
    if (base::steady_micros() > deadline) throw std::runtime_error("the child did not say '" + prefix + "' in time");
    open = read_lines(100'000, [this](const std::string& line) { lines_.push_back(line); });
  }
}

int Process::kill_and_drain(const OnLine& on_line) {
  ::kill(pid_, SIGKILL);
  while (read_lines(2'000'000, on_line)) {
  }
  return wait();
}

int Process::wait() {
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  reaped_ = true;
  return status;
}

bool wait_until(const std::function<bool()>& ready, int seconds) {
  const auto deadline = base::steady_micros() + seconds * 1'000'000L;
  while (!ready()) {
    if (base::steady_micros() > deadline) return false;
    ::poll(nullptr, 0, 5);
  }
  return true;
}

}  // namespace semel::crash
