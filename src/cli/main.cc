#include <malloc.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string>

#include "cli/session.h"
#include "cli/verbs/verbs.h"

namespace {

std::optional<std::string> environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr || *value == '\0' ? std::nullopt : std::optional<std::string>(value);
}

// What one batch frees the next one needs again: given back to the system in between, its pages are zeroed anew each
// time.
void keep_freed_memory() {
  constexpr int kKept = 16 << 20;
  mallopt(M_TRIM_THRESHOLD, kKept);
  mallopt(M_MMAP_THRESHOLD, kKept / 2);
}

using namespace semel::cli;

int run(int argc, char** argv) {
  const std::vector<Verb> verbs = all_verbs();
  const Parsed parsed = parse_command_line(argc, argv, verbs);
  if (parsed.verb == nullptr) return parsed.exit_code;
  const auto wanted = parsed.global.output ? parsed.global.output : environment("SEMEL_OUTPUT");
  const Output output = wanted == "json" ? Output::json : Output::table;
  auto settings = resolve_settings(parsed.global, environment);
  if (!settings) return Session::fail(settings.error(), output);
  Session session(*std::move(settings));
  auto code = parsed.verb->run(session, parsed.args);
  if (!code) return Session::fail(code.error(), output);
  return *code;
}

// An answer that nobody could read was not given, whatever was done.
bool all_is_written() {
  errno = 0;
  std::cout.flush();
  if (std::cout) return true;
  std::cerr << "the output could not be written" << (errno == 0 ? "" : std::string(": ") + std::strerror(errno))
            << "; what was asked for may have been done\n";
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  keep_freed_memory();
  const int code = run(argc, argv);
  return all_is_written() || code != 0 ? code : kRefused;
}
