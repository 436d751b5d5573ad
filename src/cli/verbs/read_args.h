// From the text of flags to the values of requests. Every error names the field.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/args.h"
#include "cli/session.h"
#include "store/port.h"

namespace semel::cli {

Result<std::optional<Duration>> duration_flag(const Args& args, const std::string& name);
Result<std::optional<Instant>> instant_flag(const Args& args, const std::string& name);
// JSON as text, or @FILE (@- for standard input) without the white space around it.
Result<std::optional<std::string>> json_flag(const Args& args, const std::string& name);
Result<ExecutionId> execution_id_of(const std::string& text, const std::string& field = "execution_id");
// "a,b,c"
std::vector<std::string> split_list(const std::string& text);
Result<std::vector<Status>> statuses_flag(const Args& args);

// The execution a verb is about: its EXECUTION_ID, or the newest of --task-id.
Result<store::ExecutionView> addressed(Session& session, engine::Runtime& runtime, const Args& args);
bool is_addressed(const Args& args);

// --queue --name --status --kind --created-before of lists and bulk verbs.
Result<store::ExecutionFilter> filter_of(Session& session, engine::Runtime& runtime, const Args& args);
std::vector<Flag> filter_flags();

// Text from FILE, `-` for standard input.
Result<std::string> read_input(const std::string& path);

}  // namespace semel::cli

// Gives an error on to the caller: SEMEL_TRY(runtime, session.reader());
#define SEMEL_TRY(name, expression)                 \
  auto name##_result = (expression);                \
  if (!name##_result) return name##_result.error(); \
  auto& name = *name##_result
