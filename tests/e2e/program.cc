#include "tests/e2e/program.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace semel::e2e {
namespace {

int code_of(int status) { return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status); }

std::string slurp(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  if (file.peek() != std::ifstream::traits_type::eof()) text << file.rdbuf();
  return text.str();
}

// Runs in the child between fork and exec.
[[noreturn]] void become(const std::string& folder, const std::vector<std::string>& arguments,
                         const Environment& environment) {
  if (::chdir(folder.c_str()) != 0) ::_exit(126);
  for (const char* name : {"SEMEL_STORE", "SEMEL_TENANT", "SEMEL_OUTPUT", "SEMEL_CONFIG"}) ::unsetenv(name);
  for (const auto& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> argv;
  std::vector<std::string> copy = arguments;
  for (auto& argument : copy) argv.push_back(argument.data());
  argv.push_back(nullptr);
  ::execv(argv[0], argv.data());
  ::_exit(127);
}

Ran run(const std::string& folder, const std::vector<std::string>& arguments, const Environment& environment,
        const std::string& input) {
  const std::string out = folder + "/.stdout";
  const std::string err = folder + "/.stderr";
  const std::string in = folder + "/.stdin";
  std::ofstream(in, std::ios::binary) << input;
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::dup2(::open(in.c_str(), O_RDONLY), STDIN_FILENO);
    ::dup2(::open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDOUT_FILENO);
    ::dup2(::open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDERR_FILENO);
    become(folder, arguments, environment);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  return {code_of(status), slurp(out), slurp(err)};
}

}  // namespace

std::string semel_path() { return std::string(SEMEL_BIN_DIR) + "/semel"; }

base::JsonDocument Ran::json() const {
  auto parsed = base::JsonDocument::parse(out, base::kMaxPayloadDepth);
  if (!parsed) throw std::runtime_error("not JSON: " + out + err);
  return *std::move(parsed);
}

std::string Ran::text(std::string_view field) const {
  const auto document = json();
  const auto value = document.root().find(field);
  return value ? value->as_string().value_or("") : "";
}

std::int64_t Ran::number(std::string_view field) const {
  const auto document = json();
  const auto value = document.root().find(field);
  return value ? value->as_int64().value_or(-1) : -1;
}

std::optional<bool> Ran::flag(std::string_view field) const {
  const auto document = json();
  const auto value = document.root().find(field);
  return value ? value->as_bool() : std::nullopt;
}

Place::Place() {
  const char* base = std::getenv("TMPDIR");
  path_ = std::string(base == nullptr ? "/tmp" : base) + "/semel-e2e.XXXXXX";
  if (::mkdtemp(path_.data()) == nullptr) throw std::runtime_error("no temporary folder");
}

Place::~Place() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void Place::write(const std::string& name, const std::string& text, int mode) const {
  std::ofstream(file(name), std::ios::binary) << text;
  ::chmod(file(name).c_str(), static_cast<mode_t>(mode));
}

std::string Place::read(const std::string& name) const { return slurp(file(name)); }

Ran Place::semel(const std::vector<std::string>& arguments, const Environment& environment,
                 const std::string& input) const {
  std::vector<std::string> all = {semel_path()};
  all.insert(all.end(), arguments.begin(), arguments.end());
  return run(path_, all, environment, input);
}

Ran Place::json(const std::vector<std::string>& arguments) const {
  std::vector<std::string> all = arguments;
  all.insert(all.end(), {"--store", store, "-o", "json"});
  return semel(all);
}

Ran Place::shell(const std::string& line, const Environment& environment) const {
  Environment all = environment;
  const char* path = std::getenv("PATH");
  all["PATH"] = std::string(SEMEL_BIN_DIR) + ":" + (path == nullptr ? "/usr/bin:/bin" : path);
  return run(path_, {"/bin/sh", "-c", line}, all, "");
}

Running::Running(const Place& place, const std::vector<std::string>& arguments) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe");
  std::vector<std::string> all = {semel_path()};
  all.insert(all.end(), arguments.begin(), arguments.end());
  pid_ = ::fork();
  if (pid_ == 0) {
    ::dup2(ends[1], STDOUT_FILENO);
    become(place.file("."), all, {});
  }
  ::close(ends[1]);
  out_ = ends[0];
}

Running::~Running() {
  if (pid_ > 0) {
    signal(SIGKILL);
    wait();
  }
  ::close(out_);
}

std::optional<std::string> Running::read_line() {
  for (int waited = 0; waited < 300;) {
    if (const std::size_t end = buffer_.find('\n'); end != std::string::npos) {
      std::string line = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      return line;
    }
    pollfd watched{out_, POLLIN, 0};
    if (::poll(&watched, 1, 100) <= 0) {
      ++waited;
      continue;
    }
    char chunk[4096];
    const ssize_t got = ::read(out_, chunk, sizeof chunk);
    if (got <= 0) return std::nullopt;
    buffer_.append(chunk, static_cast<std::size_t>(got));
  }
  return std::nullopt;
}

void Running::signal(int number) const { ::kill(pid_, number); }

int Running::wait() {
  int status = 0;
  if (pid_ > 0) ::waitpid(pid_, &status, 0);
  pid_ = -1;
  return code_of(status);
}

}  // namespace semel::e2e
