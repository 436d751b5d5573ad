#include <malloc.h>

#include <cstdlib>

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

}  // namespace

int main(int argc, char** argv) {
  using namespace semel::cli;
  keep_freed_memory();
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
