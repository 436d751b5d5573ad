#include "cli/settings.h"

#include <unistd.h>

#include "base/text.h"
#include "cli/args.h"
#include "core/validate.h"

namespace semel::cli {
namespace {

// Where the password of a URL lies: `user:PASSWORD@` or `password=PASSWORD`. Empty: none.
struct Span {
  std::size_t begin = 0;
  std::size_t size = 0;
};

Span password_of(const std::string& url) {
  const std::size_t scheme = url.find("://");
  if (scheme != std::string::npos) {
    const std::size_t host = scheme + 3;
    const std::size_t end = std::min(url.find_first_of("/?#", host), url.size());
    const std::size_t at = url.rfind('@', end == 0 ? 0 : end - 1);
    if (at != std::string::npos && at > host) {
      const std::size_t colon = url.find(':', host);
      if (colon < at) return {colon + 1, at - colon - 1};
    }
  }
  const std::size_t field = url.find("password=");
  if (field == std::string::npos) return {};
  const std::size_t begin = field + 9;
  return {begin, std::min(url.find_first_of("& ", begin), url.size()) - begin};
}

Result<Output> output_of(const std::string& text) {
  if (text == "table") return Output::table;
  if (text == "json") return Output::json;
  return make_error(ErrorCode::InvalidArgument, "output must be table or json, not " + base::printable(text));
}

}  // namespace

bool has_password(const std::string& url) { return password_of(url).size > 0; }

std::string without_password(const std::string& url) {
  const Span password = password_of(url);
  if (password.size == 0) return url;
  std::string out = url;
  return out.replace(password.begin, password.size, "***");
}

Result<Settings> resolve_settings(const GlobalFlags& flags, const Environment& environment) {
  Settings out;
  auto file = flags.config ? flags.config : environment("SEMEL_CONFIG");
  if (!file && ::access("semel.toml", F_OK) == 0) file = "semel.toml";
  if (file) {
    auto read = read_config(*file);
    if (!read) return read.error();
    out = *std::move(read);
  }
  const auto choose = [&](const std::optional<std::string>& flag, const char* variable) {
    return flag ? flag : environment(variable);
  };
  if (auto store = choose(flags.store, "SEMEL_STORE")) out.store = *store;
  if (auto tenant = choose(flags.tenant, "SEMEL_TENANT")) out.tenant = *tenant;
  if (auto output = choose(flags.output, "SEMEL_OUTPUT")) {
    auto parsed = output_of(*output);
    if (!parsed) return parsed.error();
    out.output = *parsed;
  }
  if (auto valid = core::validate_tenant(out.tenant); !valid) return valid.error();
  return out;
}

}  // namespace semel::cli
