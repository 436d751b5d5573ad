#include "cli/verbs/read_args.h"

#include <fstream>
#include <iostream>
#include <limits>
#include <sstream>

#include "base/duration.h"
#include "base/text.h"
#include "base/uuid.h"

namespace semel::cli {
namespace {

std::string field_of(const std::string& flag) {
  std::string out = flag;
  for (char& c : out) {
    if (c == '-') c = '_';
  }
  return out;
}

Error about(const std::string& flag, const Error& error) {
  return make_error(error.code, field_of(flag) + ": " + error.message);
}

}  // namespace

Result<std::optional<Duration>> duration_flag(const Args& args, const std::string& name) {
  const auto text = args.get(name);
  if (!text) return std::optional<Duration>{};
  auto parsed = base::parse_duration(*text);
  if (!parsed) return about(name, parsed.error());
  return std::optional(*parsed);
}

Result<std::optional<Instant>> instant_flag(const Args& args, const std::string& name) {
  const auto text = args.get(name);
  if (!text) return std::optional<Instant>{};
  auto parsed = base::parse_instant(*text);
  if (!parsed) return about(name, parsed.error());
  return std::optional(*parsed);
}

Result<std::optional<std::string>> json_flag(const Args& args, const std::string& name) {
  auto text = args.get(name);
  if (!text || !text->starts_with("@")) return text;
  auto file = read_input(text->substr(1));
  if (!file) return about(name, file.error());
  constexpr const char* kSpace = " \t\r\n";
  const std::size_t begin = file->find_first_not_of(kSpace);
  if (begin == std::string::npos)
    return make_error(ErrorCode::InvalidArgument, field_of(name) + ": " + base::printable(*text) + " is empty");
  return std::optional(file->substr(begin, file->find_last_not_of(kSpace) + 1 - begin));
}

Result<ExecutionId> execution_id_of(const std::string& text, const std::string& field) {
  auto id = ExecutionId::parse(text);
  if (id) return *id;
  return make_error(ErrorCode::InvalidArgument,
                    field + " must be a UUID, not " + base::printable(text) + "; an id of your own goes in --task-id");
}

std::vector<std::string> split_list(const std::string& text) {
  std::vector<std::string> out;
  std::stringstream in(text);
  for (std::string part; std::getline(in, part, ',');) {
    if (!part.empty()) out.push_back(part);
  }
  return out;
}

Result<std::vector<Status>> statuses_flag(const Args& args) {
  std::vector<Status> out;
  for (const auto& word : split_list(args.text("status"))) {
    const auto status = status_from_string(word);
    if (!status) {
      return make_error(ErrorCode::InvalidArgument,
                        "status: " + base::printable(word) +
                            " is none of queued, claimed, running, suspended, succeeded, failed, cancelled, timed_out, "
                            "dead_lettered");
    }
    out.push_back(*status);
  }
  return out;
}

bool is_addressed(const Args& args) { return args.has("EXECUTION_ID") || args.has("task-id"); }

Result<store::ExecutionView> addressed(Session& session, engine::Runtime& runtime, const Args& args) {
  if (const auto task_id = args.get("task-id")) return runtime.engine().get_task(session.tenant(), *task_id);
  SEMEL_TRY(id, execution_id_of(args.text("EXECUTION_ID")));
  return runtime.engine().get(session.tenant(), id);
}

std::vector<Flag> filter_flags() {
  return {{"queue", "NAME", "only this queue"},
          {"name", "NAME", "only this name"},
          {"status", "WORDS", "only these statuses, e.g. failed,timed_out"},
          {"created-before", "INSTANT", "only older ones, e.g. 2026-03-01T09:00:00Z"}};
}

Result<store::ExecutionFilter> filter_of(Session& session, engine::Runtime& runtime, const Args& args) {
  store::ExecutionFilter filter;
  SEMEL_TRY(tenant, runtime.engine().tenant(session.tenant()));
  filter.tenant = tenant;
  filter.queue = args.get("queue");
  filter.name = args.get("name");
  filter.identity = args.get("task-id");
  SEMEL_TRY(statuses, statuses_flag(args));
  filter.statuses = statuses;
  SEMEL_TRY(created_before, instant_flag(args, "created-before"));
  filter.created_before = created_before;
  if (const auto word = args.get("kind")) {
    filter.kind = kind_from_string(*word);
    if (!filter.kind)
      return make_error(ErrorCode::InvalidArgument, "kind must be task or workflow, not " + base::printable(*word));
  }
  return filter;
}

Result<std::string> read_input(const std::string& path) {
  std::stringstream text;
  if (path == "-") {
    text << std::cin.rdbuf();
    return text.str();
  }
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return make_error(ErrorCode::InvalidArgument, "the file " + base::printable(path, 200) + " cannot be read");
  if (file.peek() != std::ifstream::traits_type::eof()) text << file.rdbuf();
  return text.str();
}

}  // namespace semel::cli
