#include "cli/args.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <iostream>
#include <list>
#include <memory>

#include "base/text.h"

namespace semel::cli {
namespace {

constexpr int kBadUsage = 2;

constexpr const char* kAbout =
    "Semel: durable tasks. Steps run at least once; outcomes are recorded exactly once; a duplicate is answered, never "
    "executed again.";
constexpr const char* kEpilogue = R"(
Examples:
  semel task enqueue charge --args '{"order":1}' --task-id pay-1 --queue payments
  semel task get --task-id pay-1 -o json
  semel workflow start checkout --id order-7 --args '{"order":7}'
  semel workflow history order-7
  semel explain task pay-1
  semel demo

Settings are taken from defaults < semel.toml < SEMEL_STORE, SEMEL_TENANT, SEMEL_OUTPUT < flags.
Exit codes: 0 done, 1 refused (the error says why), 2 bad usage, 3 the store is damaged.
)";

struct Bound {
  const Verb* verb;
  CLI::App* app;
  std::map<std::string, std::string> values{};
  std::map<std::string, std::vector<std::string>> lists{};
  std::map<std::string, bool> switches{};
};

CLI::App* child(CLI::App& parent, const std::string& name, const std::string& help) {
  for (CLI::App* known : parent.get_subcommands([](const CLI::App*) { return true; })) {
    if (known->get_name() == name) return known;
  }
  CLI::App* made = parent.add_subcommand(name, help);
  made->fallthrough();
  return made;
}

void bind(CLI::App& root, Bound& bound) {
  const Verb& verb = *bound.verb;
  const std::size_t space = verb.path.find(' ');
  CLI::App* parent = &root;
  if (space != std::string::npos) {
    const std::string noun = verb.path.substr(0, space);
    parent = child(root, noun, "verbs about a " + noun);
    parent->require_subcommand(1);
  }
  CLI::App* app = child(*parent, space == std::string::npos ? verb.path : verb.path.substr(space + 1), verb.help);
  if (verb.hidden) app->group("");
  if (!verb.examples.empty()) app->footer("\nExamples:\n" + verb.examples);
  for (const auto& positional : verb.positionals) {
    auto* option = app->add_option(positional.name, bound.values[positional.name], positional.help);
    if (positional.required) option->required();
  }
  for (const auto& flag : verb.flags) {
    if (flag.value.empty()) {
      app->add_flag("--" + flag.name, bound.switches[flag.name], flag.help);
    } else if (flag.many) {
      app->add_option("--" + flag.name, bound.lists[flag.name], flag.help)
          ->type_name(flag.value)
          ->allow_extra_args(false);
    } else {
      app->add_option("--" + flag.name, bound.values[flag.name], flag.help)->type_name(flag.value);
    }
  }
  bound.app = app;
}

void collect(const Bound& bound, Args& args) {
  for (const auto& [name, value] : bound.values) {
    const CLI::Option* option = bound.app->get_option_no_throw("--" + name);
    if (option == nullptr) option = bound.app->get_option_no_throw(name);
    if (option != nullptr && option->count() > 0) args.set(name, value);
  }
  for (const auto& [name, values] : bound.lists) args.set_all(name, values);
  for (const auto& [name, on] : bound.switches) {
    if (on) args.set(name, "true");
  }
}

CLI::Option* add_global(CLI::App& app, const char* flag, std::optional<std::string>& out, const char* type,
                        const char* help) {
  return app.add_option_function<std::string>(
                flag, [&out](const std::string& value) { out = value; }, help)
      ->type_name(type);
}

}  // namespace

std::optional<std::string> Args::get(const std::string& name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? std::nullopt : std::optional(found->second);
}

std::vector<std::string> Args::all(const std::string& name) const {
  const auto found = lists_.find(name);
  return found == lists_.end() ? std::vector<std::string>{} : found->second;
}

std::string Args::text(const std::string& name, std::string otherwise) const {
  return get(name).value_or(std::move(otherwise));
}

Result<std::optional<std::int64_t>> Args::integer(const std::string& name) const {
  const auto given = get(name);
  if (!given) return std::optional<std::int64_t>{};
  std::int64_t value = 0;
  const char* end = given->data() + given->size();
  const auto [at, fault] = std::from_chars(given->data(), end, value);
  if (fault != std::errc{} || at != end) {
    return make_error(ErrorCode::InvalidArgument,
                      "--" + name + " must be a whole number, not " + base::printable(*given));
  }
  return std::optional(value);
}

Result<std::optional<bool>> Args::boolean(const std::string& name) const {
  const auto given = get(name);
  if (!given) return std::optional<bool>{};
  if (*given == "true") return std::optional(true);
  if (*given == "false") return std::optional(false);
  return make_error(ErrorCode::InvalidArgument, "--" + name + " must be true or false, not " + base::printable(*given));
}

Parsed parse_command_line(int argc, const char* const* argv, std::span<const Verb> verbs) {
  Parsed out;
  CLI::App root(kAbout, "semel");
  root.footer(kEpilogue);
  root.require_subcommand(1);
  add_global(root, "--store", out.global.store, "URL", "sqlite:FILE or postgres://... (SEMEL_STORE; sqlite:semel.db)");
  add_global(root, "--tenant", out.global.tenant, "NAME", "the tenant (SEMEL_TENANT; default)");
  add_global(root, "-o,--output", out.global.output, "table|json", "table for people, json for programs")
      ->check(CLI::IsMember({"table", "json"}));
  add_global(root, "--config", out.global.config, "FILE", "settings (SEMEL_CONFIG; semel.toml if it is there)");
  std::list<Bound> bounds;
  for (const Verb& verb : verbs) {
    bounds.push_back({&verb, nullptr});
    bind(root, bounds.back());
  }
  try {
    root.parse(argc, argv);
  } catch (const CLI::Success& asked) {
    root.exit(asked, std::cout, std::cerr);
    return out;
  } catch (const CLI::ParseError& wrong) {
    root.exit(wrong, std::cout, std::cerr);
    out.exit_code = kBadUsage;
    return out;
  }
  for (const Bound& bound : bounds) {
    if (!bound.app->parsed()) continue;
    out.verb = bound.verb;
    collect(bound, out.args);
  }
  return out;
}

}  // namespace semel::cli
