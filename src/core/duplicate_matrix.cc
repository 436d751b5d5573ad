#include "core/duplicate_matrix.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string_view>

namespace semel::core {
namespace {

// A wildcard set of enumerators.
class Any {
 public:
  constexpr Any() : bits_(~0u) {}
  template <class... Enum>
  constexpr Any(Enum... values) : bits_(((1u << static_cast<unsigned>(values)) | ...)) {}
  constexpr bool has(unsigned index) const { return (bits_ >> index & 1u) != 0; }

 private:
  unsigned bits_;
};

enum class Found : std::uint8_t {  // numbered like Status, then absent
  queued,
  claimed,
  running,
  suspended,
  succeeded,
  failed,
  cancelled,
  timed_out,
  dead_lettered,
  absent,
};

// How the request compares with the one that made the execution found.
enum class Request : std::uint8_t { same, other_args, other_args_ignored, other_name };

struct Rule {
  Any kind;
  Any found;
  Any reuse;
  Any on_duplicate;
  Any request;
  DuplicateAnswer answer;
  const char* why;
};

using enum Found;
using enum Request;
using enum Reuse;
constexpr Any kAny;
constexpr auto kTask = Kind::task;
constexpr auto kWorkflow = Kind::workflow;
constexpr auto kReturn = OnDuplicate::return_existing;
constexpr auto kReject = OnDuplicate::reject;
constexpr auto kReplace = OnDuplicate::replace;
constexpr Any kLive{queued, claimed, running, suspended};
constexpr Any kUnsuccessful{failed, cancelled, timed_out};
constexpr Any kBlocking{succeeded, failed, cancelled, timed_out, dead_lettered};

constexpr DuplicateAnswer created() { return {}; }
constexpr DuplicateAnswer successor() { return {.links_previous = true}; }
constexpr DuplicateAnswer replacement() { return {.links_previous = true, .terminates_live = true}; }
constexpr DuplicateAnswer existing() { return {.outcome = DuplicateOutcome::existing}; }
constexpr DuplicateAnswer error(ErrorCode code) { return {.outcome = DuplicateOutcome::error, .error = code}; }

// Read from the top; the first line that fits answers.
// clang-format off
constexpr std::array kRules = {
  // kind      found          reuse                  on_duplicate         request       answer
  Rule{kTask,  kAny,          kAny,                  kReplace,            kAny,         error(ErrorCode::InvalidArgument), "replace is for workflows only"},
  Rule{kAny,   absent,        kAny,                  kAny,                kAny,         created(),     "the id is new, was discarded or was removed by retention"},

  // Is the found execution out of the way? Then nothing about it is compared.
  Rule{kAny,   kLive,         {failed_only, always}, kReplace,            kAny,         replacement(), "replace terminates the live run and starts the new one in one transaction"},
  Rule{kAny,   kUnsuccessful, {failed_only, always}, kAny,                kAny,         successor(),   "an id whose execution failed, was cancelled or timed out may run again"},
  Rule{kAny,   succeeded,     always,                kAny,                kAny,         successor(),   "reuse = always runs again after success"},

  // It is the answer, so the request must be the same one. A mismatch is told before anything else.
  Rule{kAny,   kAny,          kAny,                  kAny,                other_name,   error(ErrorCode::FingerprintMismatch), "same id, other name: match_args never ignores the name"},
  Rule{kAny,   kAny,          kAny,                  kAny,                other_args,   error(ErrorCode::FingerprintMismatch), "same id, other args"},

  Rule{kAny,   kAny,          kAny,                  {kReturn, kReplace}, kAny,         existing(),    "a duplicate is answered with the execution found and its result"},
  Rule{kTask,     kLive,         kAny,               kReject,             kAny,         error(ErrorCode::TaskAlreadyExists),        "on_duplicate = reject, and it is still live"},
  Rule{kWorkflow, kLive,         kAny,               kReject,             kAny,         error(ErrorCode::WorkflowAlreadyStarted),   "on_duplicate = reject, and it is still live"},
  Rule{kTask,     dead_lettered, kAny,               kReject,             kAny,         error(ErrorCode::TaskDeadLettered),         "on_duplicate = reject, and it waits for an operator"},
  Rule{kWorkflow, dead_lettered, kAny,               kReject,             kAny,         error(ErrorCode::WorkflowDeadLettered),     "on_duplicate = reject, and it waits for an operator"},
  Rule{kTask,     kBlocking,     kAny,               kReject,             kAny,         error(ErrorCode::TaskAlreadyCompleted),     "on_duplicate = reject, and it has ended"},
  Rule{kWorkflow, kBlocking,     kAny,               kReject,             kAny,         error(ErrorCode::WorkflowAlreadyCompleted), "on_duplicate = reject, and it has ended"},
};
// clang-format on

Found found_of(const DuplicateCell& cell) { return cell.found ? static_cast<Found>(*cell.found) : absent; }

Request request_of(const DuplicateCell& cell) {
  if (!cell.same_name) return other_name;
  if (cell.same_args) return same;
  return cell.match_args ? other_args : other_args_ignored;
}

bool fits(const Rule& rule, const DuplicateCell& cell) {
  const auto index = [](auto value) { return static_cast<unsigned>(value); };
  return rule.kind.has(index(cell.kind)) && rule.found.has(index(found_of(cell))) &&
         rule.reuse.has(index(cell.reuse)) && rule.on_duplicate.has(index(cell.on_duplicate)) &&
         rule.request.has(index(request_of(cell)));
}

std::vector<std::optional<Status>> states_of(Kind kind) {
  std::vector<std::optional<Status>> out{std::nullopt};
  const Status impossible = kind == Kind::task ? Status::suspended : Status::claimed;
  for (int i = 0; i < kStatusCount; ++i) {
    if (static_cast<Status>(i) != impossible) out.emplace_back(static_cast<Status>(i));
  }
  return out;
}

std::string state_name(const std::optional<Status>& found) {
  return found ? std::string(to_string(*found)) : "(absent)";
}

std::string describe(const DuplicateAnswer& answer) {
  if (answer.outcome == DuplicateOutcome::existing) return "`existing`";
  if (answer.outcome == DuplicateOutcome::error) return "error `" + std::string(error_info(*answer.error).name) + "`";
  if (answer.terminates_live) return "`created`, live run terminated";
  return answer.links_previous ? "`created`, linked" : "`created`";
}

void append_section(std::string& out, Kind kind, const std::vector<DuplicateCell>& cells) {
  out += "\n## " + std::string(to_string(kind)) + "s, same name and same args\n\n";
  out += "| found | reuse | `return` | `reject` | `replace` |\n|---|---|---|---|---|\n";
  for (const DuplicateCell& cell : cells) {
    if (cell.kind != kind || !cell.match_args || !cell.same_args || !cell.same_name) continue;
    if (cell.on_duplicate == kReturn) {
      out += "| " + state_name(cell.found) + " | `" + std::string(to_string(cell.reuse)) + "` |";
    }
    out += " " + describe(cell.answer) + " |";
    if (cell.on_duplicate == kReplace) out += "\n";
  }
}

}  // namespace

std::vector<DuplicateCell> expand_duplicate_matrix() {
  std::vector<DuplicateCell> out;
  for (const Kind kind : {kTask, kWorkflow}) {
    for (const auto& found : states_of(kind)) {
      for (const Reuse reuse : {failed_only, never, always}) {
        for (unsigned flags = 0; flags < 8; ++flags) {
          for (const OnDuplicate on_duplicate : {kReturn, kReject, kReplace}) {
            DuplicateCell cell{kind, found,  reuse, on_duplicate, (flags & 1) == 0, (flags & 2) == 0, (flags & 4) == 0,
                               {},   nullptr};
            const auto rule = std::find_if(kRules.begin(), kRules.end(), [&](const Rule& r) { return fits(r, cell); });
            cell.answer = rule->answer;
            cell.rule = rule->why;
            out.push_back(cell);
          }
        }
      }
    }
  }
  return out;
}

std::string duplicate_matrix_markdown() {
  const auto cells = expand_duplicate_matrix();
  std::string out =
      "# What a duplicate is answered\n\n"
      "Generated from `src/core/duplicate_matrix.cc`; every cell runs as a test on every backend.\n\n"
      "`found` is the status of the newest execution of the id; `(absent)`: never used, discarded, or removed by "
      "retention. `existing` carries the handle and, when there is one, the stored result. A created execution that is "
      "*linked* names the one found in `previous_execution_id`.\n\n"
      "Where the answer below is not `created` or `InvalidArgument`, the request must be the same as the one that made "
      "the execution found, otherwise the answer is `FingerprintMismatch`, whatever `on_duplicate` says: another name "
      "always, other args unless `match_args = false`.\n";
  append_section(out, kTask, cells);
  append_section(out, kWorkflow, cells);
  return out;
}

}  // namespace semel::core
