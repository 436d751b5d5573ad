#include "cli/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

#include "base/clock.h"

extern char** environ;

namespace semel::cli {
namespace {

sigset_t stop_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  return set;
}

timespec spec_of(Duration duration) {
  return {duration.count() / 1'000'000, static_cast<long>(duration.count() % 1'000'000) * 1000};
}

}  // namespace

Result<Child> Child::start(const std::vector<std::string>& arguments) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return make_error(ErrorCode::Internal, std::string("pipe: ") + std::strerror(errno));
  std::vector<char*> argv;
  std::string name = "semel";
  argv.push_back(name.data());
  std::vector<std::string> copy = arguments;
  for (auto& argument : copy) argv.push_back(argument.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  pid_t pid = -1;
  const int fault = ::posix_spawn(&pid, "/proc/self/exe", &actions, &attributes, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  ::close(ends[1]);
  if (fault != 0) {
    ::close(ends[0]);
    return make_error(ErrorCode::Internal, std::string("the program could not start itself: ") + std::strerror(fault));
  }
  return Child(pid, ends[0]);
}

Child::Child(Child&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), out_(std::exchange(other.out_, -1)), buffer_(std::move(other.buffer_)) {}

Child& Child::operator=(Child&& other) noexcept {
  if (this != &other) {
    end();
    pid_ = std::exchange(other.pid_, -1);
    out_ = std::exchange(other.out_, -1);
    buffer_ = std::move(other.buffer_);
  }
  return *this;
}

Child::~Child() { end(); }

void Child::end() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    wait();
  }
  if (out_ >= 0) ::close(out_);
  out_ = -1;
}

void Child::signal(int number) const {
  if (pid_ > 0) ::kill(pid_, number);
}

std::optional<std::string> Child::read_line(Duration at_most) {
  const std::int64_t end = steady_now() + at_most.count();
  for (;;) {
    if (const std::size_t stop = buffer_.find('\n'); stop != std::string::npos) {
      std::string line = buffer_.substr(0, stop);
      buffer_.erase(0, stop + 1);
      return line;
    }
    const std::int64_t left = end - steady_now();
    if (left <= 0 || out_ < 0) return std::nullopt;
    pollfd watched{out_, POLLIN, 0};
    if (::poll(&watched, 1, static_cast<int>(left / 1000) + 1) <= 0) continue;
    char chunk[4096];
    const ssize_t got = ::read(out_, chunk, sizeof chunk);
    if (got <= 0) return std::nullopt;
    buffer_.append(chunk, static_cast<std::size_t>(got));
  }
}

int Child::wait() {
  if (pid_ <= 0) return 0;
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

void pause_for(Duration duration) {
  const timespec time = spec_of(duration);
  ::ppoll(nullptr, 0, &time, nullptr);
}

std::int64_t steady_now() { return base::steady_micros(); }

void hold_stop_signals() {
  const sigset_t set = stop_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

bool stop_signal(Duration at_most) {
  const sigset_t set = stop_signals();
  const timespec time = spec_of(at_most);
  return ::sigtimedwait(&set, nullptr, &time) > 0;
}

void die_with_parent() {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() == 1) ::raise(SIGKILL);  // it ended before we asked
}

std::int64_t resident_bytes(pid_t pid) {
  std::ifstream file(pid == 0 ? "/proc/self/status" : "/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("VmRSS:")) return std::strtoll(line.c_str() + 6, nullptr, 10) * 1024;
  }
  return 0;
}

}  // namespace semel::cli
