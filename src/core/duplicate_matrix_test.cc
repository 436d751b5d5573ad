#include "core/duplicate_matrix.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <tuple>

#include "core/lifecycle.h"

namespace semel::core {
namespace {

// The plain cell: same name, same args, args compared.
DuplicateAnswer plain(Kind kind, std::optional<Status> found, Reuse reuse, OnDuplicate on_duplicate) {
  for (const DuplicateCell& cell : expand_duplicate_matrix()) {
    if (cell.kind == kind && cell.found == found && cell.reuse == reuse && cell.on_duplicate == on_duplicate &&
        cell.match_args && cell.same_args && cell.same_name) {
      return cell.answer;
    }
  }
  ADD_FAILURE() << "no such cell";
  return {};
}

std::string word(const DuplicateAnswer& answer) {
  switch (answer.outcome) {
    case DuplicateOutcome::created:
      return answer.terminates_live ? "replaced" : answer.links_previous ? "again" : "created";
    case DuplicateOutcome::existing:
      return "existing";
    case DuplicateOutcome::error:
      return std::string(error_info(*answer.error).name);
  }
  return "?";
}

TEST(DuplicateMatrix, HasEveryCombinationOnce) {
  std::set<std::tuple<Kind, std::optional<Status>, Reuse, OnDuplicate, bool, bool, bool>> seen;
  for (const DuplicateCell& c : expand_duplicate_matrix()) {
    EXPECT_TRUE(seen.emplace(c.kind, c.found, c.reuse, c.on_duplicate, c.match_args, c.same_args, c.same_name).second);
    EXPECT_TRUE(!c.found || has_status(c.kind, *c.found));
    EXPECT_NE(c.rule, nullptr);
  }
  EXPECT_EQ(seen.size(), 2u * 9 * 3 * 3 * 2 * 2 * 2);
}

TEST(DuplicateMatrix, EveryRuleIsUsed) {
  std::map<std::string, int> uses;
  for (const DuplicateCell& c : expand_duplicate_matrix()) ++uses[c.rule + word(c.answer)];
  EXPECT_EQ(uses.size(), 14u);
}

// The table of the contract, typed a second time by column.
TEST(DuplicateMatrix, TasksFollowTheContractTable) {
  struct Line {
    std::optional<Status> found;
    const char* failed_only[2];  // return, reject
    const char* never[2];
    const char* always[2];
  };
  const Line lines[] = {
      {std::nullopt, {"created", "created"}, {"created", "created"}, {"created", "created"}},
      {Status::queued,
       {"existing", "TaskAlreadyExists"},
       {"existing", "TaskAlreadyExists"},
       {"existing", "TaskAlreadyExists"}},
      {Status::claimed,
       {"existing", "TaskAlreadyExists"},
       {"existing", "TaskAlreadyExists"},
       {"existing", "TaskAlreadyExists"}},
      {Status::running,
       {"existing", "TaskAlreadyExists"},
       {"existing", "TaskAlreadyExists"},
       {"existing", "TaskAlreadyExists"}},
      {Status::succeeded,
       {"existing", "TaskAlreadyCompleted"},
       {"existing", "TaskAlreadyCompleted"},
       {"again", "again"}},
      {Status::failed, {"again", "again"}, {"existing", "TaskAlreadyCompleted"}, {"again", "again"}},
      {Status::cancelled, {"again", "again"}, {"existing", "TaskAlreadyCompleted"}, {"again", "again"}},
      {Status::timed_out, {"again", "again"}, {"existing", "TaskAlreadyCompleted"}, {"again", "again"}},
      {Status::dead_lettered,
       {"existing", "TaskDeadLettered"},
       {"existing", "TaskDeadLettered"},
       {"existing", "TaskDeadLettered"}},
  };
  const OnDuplicate modes[] = {OnDuplicate::return_existing, OnDuplicate::reject};
  for (const Line& line : lines) {
    for (int i = 0; i < 2; ++i) {
      const std::string where = line.found ? std::string(to_string(*line.found)) : "absent";
      EXPECT_EQ(word(plain(Kind::task, line.found, Reuse::failed_only, modes[i])), line.failed_only[i]) << where;
      EXPECT_EQ(word(plain(Kind::task, line.found, Reuse::never, modes[i])), line.never[i]) << where;
      EXPECT_EQ(word(plain(Kind::task, line.found, Reuse::always, modes[i])), line.always[i]) << where;
    }
    EXPECT_EQ(word(plain(Kind::task, line.found, Reuse::failed_only, OnDuplicate::replace)), "InvalidArgument");
  }
}

TEST(DuplicateMatrix, WorkflowsHaveTheirOwnErrorNames) {
  const auto reject = [](Status found) {
    return word(plain(Kind::workflow, found, Reuse::failed_only, OnDuplicate::reject));
  };
  EXPECT_EQ(reject(Status::running), "WorkflowAlreadyStarted");
  EXPECT_EQ(reject(Status::suspended), "WorkflowAlreadyStarted");
  EXPECT_EQ(reject(Status::succeeded), "WorkflowAlreadyCompleted");
  EXPECT_EQ(reject(Status::dead_lettered), "WorkflowDeadLettered");
  EXPECT_EQ(reject(Status::failed), "again");
}

TEST(DuplicateMatrix, ReplaceTerminatesOnlyALiveRunThatMayBeReused) {
  const auto replace = [](Status found, Reuse reuse) {
    return word(plain(Kind::workflow, found, reuse, OnDuplicate::replace));
  };
  EXPECT_EQ(replace(Status::running, Reuse::failed_only), "replaced");
  EXPECT_EQ(replace(Status::queued, Reuse::always), "replaced");
  EXPECT_EQ(replace(Status::running, Reuse::never), "existing");
  EXPECT_EQ(replace(Status::succeeded, Reuse::failed_only), "existing");
  EXPECT_EQ(replace(Status::succeeded, Reuse::always), "again");
  EXPECT_EQ(replace(Status::dead_lettered, Reuse::always), "existing");
}

// D6: a mismatch is told before the in-flight answer, and only when the execution found would be the answer.
TEST(DuplicateMatrix, FingerprintIsComparedOnlyWhenTheFoundExecutionIsTheAnswer) {
  std::map<std::tuple<Kind, std::optional<Status>, Reuse, OnDuplicate>, DuplicateAnswer> plain_answers;
  for (const DuplicateCell& c : expand_duplicate_matrix()) {
    if (c.match_args && c.same_args && c.same_name) {
      plain_answers[{c.kind, c.found, c.reuse, c.on_duplicate}] = c.answer;
    }
  }
  for (const DuplicateCell& c : expand_duplicate_matrix()) {
    const DuplicateAnswer& expected = plain_answers[{c.kind, c.found, c.reuse, c.on_duplicate}];
    const bool differs = !c.same_name || (c.match_args && !c.same_args);
    const bool compared = expected.outcome != DuplicateOutcome::created && expected.error != ErrorCode::InvalidArgument;
    if (differs && compared) EXPECT_EQ(c.answer.error, ErrorCode::FingerprintMismatch) << c.rule;
    else EXPECT_EQ(c.answer, expected) << c.rule;
  }
}

// SEMEL_WRITE_DOCS=1 writes the file instead of comparing it.
TEST(DuplicateMatrix, DocumentIsGeneratedFromIt) {
  const std::string path = std::string(SEMEL_SOURCE_DIR) + "/docs/duplicates.md";
  if (std::getenv("SEMEL_WRITE_DOCS") != nullptr) std::ofstream(path) << duplicate_matrix_markdown();
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  EXPECT_EQ(text.str(), duplicate_matrix_markdown()) << "run this test once with SEMEL_WRITE_DOCS=1";
}

}  // namespace
}  // namespace semel::core
