// The life of a task from the command line.
#include <gtest/gtest.h>

#include "tests/e2e/program.h"

namespace semel::e2e {
namespace {

const std::string kCharge = R"({"order":1})";

TEST(CliTask, SecondEnqueueOfAnIdAnswersTheFirstExecution) {
  const Place place;
  const Ran first =
      place.json({"task", "enqueue", "charge", "--args", kCharge, "--task-id", "pay-1", "--queue", "payments"});
  ASSERT_EQ(first.exit_code, 0) << first.out << first.err;
  EXPECT_EQ(first.text("task_id"), "pay-1");
  EXPECT_EQ(first.text("status"), "queued");
  EXPECT_EQ(first.flag("created"), true);
  const Ran second = place.json({"task", "enqueue", "charge", "--args", R"({ "order" : 1.0 })", "--task-id", "pay-1"});
  ASSERT_EQ(second.exit_code, 0) << second.out;
  EXPECT_EQ(second.flag("created"), false);
  EXPECT_EQ(second.text("execution_id"), first.text("execution_id"));
  EXPECT_EQ(place.json({"task", "list"}).json().root().find("executions")->size(), 1u);
}

TEST(CliTask, RejectAndOtherArgsAreErrorsWithTheExistingExecution) {
  const Place place;
  const std::string id =
      place.json({"task", "enqueue", "charge", "--args", kCharge, "--task-id", "pay-1"}).text("execution_id");
  const Ran rejected =
      place.json({"task", "enqueue", "charge", "--args", kCharge, "--task-id", "pay-1", "--on-duplicate", "reject"});
  EXPECT_EQ(rejected.exit_code, 1);
  EXPECT_EQ(rejected.text("error"), "TaskAlreadyExists");
  EXPECT_EQ(rejected.text("existing_execution_id"), id);
  EXPECT_EQ(rejected.text("status"), "queued");
  const Ran other = place.json({"task", "enqueue", "charge", "--args", R"({"order":2})", "--task-id", "pay-1"});
  EXPECT_EQ(other.exit_code, 1);
  EXPECT_EQ(other.text("error"), "FingerprintMismatch");
  EXPECT_EQ(place.json({"task", "enqueue", "charge", "--args", "7", "--task-id", "pay-1", "--match-args", "false"})
                .text("execution_id"),
            id);
}

TEST(CliTask, GetFindsByExecutionIdAndByTaskId) {
  const Place place;
  const std::string id =
      place.json({"task", "enqueue", "charge", "--args", kCharge, "--task-id", "pay-1"}).text("execution_id");
  const Ran by_id = place.json({"task", "get", id});
  const Ran by_task = place.json({"task", "get", "--task-id", "pay-1"});
  ASSERT_EQ(by_id.exit_code, 0) << by_id.out;
  EXPECT_EQ(by_id.out, by_task.out);
  EXPECT_EQ(by_id.text("name"), "charge");
  EXPECT_NE(by_id.out.find(R"("args":{"order":1})"), std::string::npos);
  const Ran people = place.semel({"task", "get", "--task-id", "pay-1", "--store", place.store});
  EXPECT_NE(people.out.find("status"), std::string::npos);
  EXPECT_EQ(place.json({"task", "get", "--task-id", "nobody"}).text("error"), "ExecutionNotFound");
  EXPECT_EQ(place.semel({"task", "get", "--store", place.store}).exit_code, 2);
}

TEST(CliTask, WithoutIdEveryEnqueueIsNewAndPrintsItsExecutionIdAsTaskId) {
  const Place place;
  const Ran first = place.json({"task", "enqueue", "mail"});
  const Ran second = place.json({"task", "enqueue", "mail"});
  EXPECT_EQ(first.text("task_id"), first.text("execution_id"));
  EXPECT_NE(first.text("execution_id"), second.text("execution_id"));
  EXPECT_EQ(place.json({"task", "get", "--task-id", first.text("task_id")}).text("execution_id"),
            first.text("execution_id"));
}

TEST(CliTask, BatchAnswersItemByItem) {
  const Place place;
  place.write("batch.jsonl", R"({"name":"mail","task_id":"m-1","args":{"to":1}}
{"name":"mail","task_id":"m-1","args":{"to":1}}
{"name":"mail","task_id":"m-1","args":{"to":2}}
)");
  const Ran ran = place.json({"task", "enqueue-batch", "batch.jsonl"});
  EXPECT_EQ(ran.exit_code, 1) << "one item was refused";
  const auto document = ran.json();
  const auto results = *document.root().find("results");
  ASSERT_EQ(results.size(), 3u);
  EXPECT_EQ(results.at(0).find("created")->as_bool(), true);
  EXPECT_EQ(results.at(1).find("created")->as_bool(), false);
  EXPECT_EQ(results.at(2).find("error")->as_string(), "FingerprintMismatch");
}

TEST(CliTask, BatchWithAnUnknownFieldNamesLineAndFieldAndChangesNothing) {
  const Place place;
  place.write("batch.jsonl", "{\"name\":\"a\"}\n{\"name\":\"b\",\"colour\":1}\n");
  const Ran ran = place.json({"task", "enqueue-batch", "batch.jsonl"});
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_EQ(ran.text("error"), "InvalidArgument");
  EXPECT_NE(ran.text("message").find("line 2"), std::string::npos);
  EXPECT_NE(ran.text("message").find("colour"), std::string::npos);
  EXPECT_EQ(place.json({"task", "list"}).text("error"), "StoreNotFound") << "not even a file was made";
}

TEST(CliTask, ScriptClaimsHeartbeatsAndCompletes) {
  const Place place;
  const std::string id = place.json({"task", "enqueue", "charge", "--task-id", "pay-1"}).text("execution_id");
  const Ran claimed = place.json({"task", "claim", "--worker", "script-1"});
  ASSERT_EQ(claimed.exit_code, 0) << claimed.out;
  const auto claim = claimed.json();
  const auto tasks = *claim.root().find("tasks");
  ASSERT_EQ(tasks.size(), 1u);
  EXPECT_EQ(tasks.at(0).find("execution_id")->as_string(), id);
  const std::string version = std::to_string(*tasks.at(0).find("version")->as_int64());
  EXPECT_EQ(place.json({"task", "claim"}).json().root().find("tasks")->size(), 0u);
  EXPECT_EQ(place.json({"task", "heartbeat", id, "--version", version, "--progress", R"({"done":40})"})
                .flag("cancel_requested"),
            false);
  EXPECT_NE(place.json({"task", "get", id}).out.find(R"("progress":{"done":40})"), std::string::npos);
  const Ran done = place.json({"task", "complete", id, "--version", version, "--result", R"({"receipt":"r-9"})"});
  EXPECT_EQ(done.text("status"), "succeeded");
  EXPECT_EQ(done.flag("existing"), false);
  // D4: the answer was lost, the completion is repeated.
  EXPECT_EQ(
      place.json({"task", "complete", id, "--version", version, "--result", R"({"receipt":"r-9"})"}).flag("existing"),
      true);
  const Ran other = place.json({"task", "complete", id, "--version", version, "--result", "2"});
  EXPECT_EQ(other.exit_code, 1);
  EXPECT_EQ(other.text("error"), "FingerprintMismatch");
  const Ran duplicate = place.json({"task", "enqueue", "charge", "--task-id", "pay-1"});
  EXPECT_EQ(duplicate.text("status"), "succeeded");
  EXPECT_NE(duplicate.out.find(R"("result":{"receipt":"r-9"})"), std::string::npos);
}

TEST(CliTask, FailureIsRetriedLaterAndNonRetryableEnds) {
  const Place place;
  const std::string id = place.json({"task", "enqueue", "charge"}).text("execution_id");
  ASSERT_EQ(place.json({"task", "claim"}).exit_code, 0);
  const Ran failed =
      place.json({"task", "fail", id, "--version", "2", "--error-name", "Timeout", "--next-delay", "1h"});
  EXPECT_EQ(failed.text("status"), "queued") << failed.out;
  const Ran why = place.json({"explain", "task", id});
  EXPECT_EQ(why.text("reason"), "backoff") << why.out;
  const std::string other = place.json({"task", "enqueue", "charge"}).text("execution_id");
  ASSERT_EQ(place.json({"task", "claim"}).exit_code, 0);
  EXPECT_EQ(place.json({"task", "fail", other, "--version", "2", "--retryable", "false"}).text("status"), "failed");
}

TEST(CliTask, ReleaseGivesTheAttemptBack) {
  const Place place;
  const std::string id = place.json({"task", "enqueue", "charge"}).text("execution_id");
  ASSERT_EQ(place.json({"task", "claim"}).exit_code, 0);
  EXPECT_EQ(place.json({"task", "release", id, "--version", "2"}).text("status"), "queued");
  EXPECT_EQ(place.json({"task", "get", id}).number("attempt"), 0);
}

// D2
TEST(CliTask, DeliveriesAnswerTheirOutcome) {
  const Place place;
  place.json({"task", "enqueue", "charge", "--task-id", "job-1"});
  const Ran won = place.json({"task", "deliver", "job-1", "--worker", "a"});
  EXPECT_EQ(won.text("outcome"), "claimed") << won.out;
  EXPECT_EQ(place.json({"task", "deliver", "job-1", "--worker", "b"}).text("outcome"), "already-claimed");
  const std::string id = place.json({"task", "get", "--task-id", "job-1"}).text("execution_id");
  ASSERT_EQ(place.json({"task", "complete", id, "--version", "2", "--result", "1"}).exit_code, 0);
  const std::string before = place.json({"task", "get", id}).out;
  EXPECT_EQ(place.json({"task", "deliver", "job-1", "--worker", "b"}).text("outcome"), "no-op-terminal");
  EXPECT_EQ(place.json({"task", "get", id}).out, before);
  const Ran unknown = place.json({"task", "deliver", "nobody"});
  EXPECT_EQ(unknown.exit_code, 1);
  EXPECT_EQ(unknown.text("error"), "JobNotFound");
}

TEST(CliTask, StaleVersionIsLeaseLostAndChangesNothing) {
  const Place place;
  const std::string id = place.json({"task", "enqueue", "charge", "--task-id", "pay-1"}).text("execution_id");
  ASSERT_EQ(place.json({"task", "claim"}).exit_code, 0);
  const std::string before = place.json({"task", "get", id}).out;
  for (const auto& verb : {"complete", "fail", "release", "heartbeat"}) {
    const Ran stale = place.json({"task", verb, id, "--version", "7"});
    EXPECT_EQ(stale.exit_code, 1);
    EXPECT_EQ(stale.text("error"), "LeaseLost") << verb << stale.out;
  }
  EXPECT_EQ(place.json({"task", "get", id}).out, before);
}

TEST(CliOperators, CancelEndsWhatWaitsAndIsIdempotent) {
  const Place place;
  const std::string id = place.json({"task", "enqueue", "charge", "--task-id", "pay-1"}).text("execution_id");
  EXPECT_EQ(place.json({"task", "cancel", "--task-id", "pay-1"}).text("status"), "cancelled");
  const std::string before = place.json({"task", "get", id}).out;
  const Ran again = place.json({"task", "cancel", id});
  EXPECT_EQ(again.exit_code, 0);
  EXPECT_EQ(again.text("status"), "cancelled");
  EXPECT_EQ(place.json({"task", "get", id}).out, before);
}

TEST(CliOperators, BulkDryRunNamesTheSameAndChangesNothing) {
  const Place place;
  for (int i = 0; i < 3; ++i) place.json({"task", "enqueue", "mail", "--queue", "q"});
  place.json({"task", "enqueue", "mail", "--queue", "other"});
  const Ran dry = place.json({"task", "cancel", "--all", "--queue", "q", "--status", "queued", "--dry-run"});
  ASSERT_EQ(dry.exit_code, 0) << dry.out;
  EXPECT_EQ(dry.number("count"), 3);
  EXPECT_EQ(dry.flag("dry_run"), true);
  EXPECT_EQ(place.json({"task", "list", "--status", "queued"}).json().root().find("executions")->size(), 4u);
  EXPECT_EQ(place.json({"task", "cancel", "--all", "--queue", "q"}).number("count"), 3);
  EXPECT_EQ(place.json({"task", "list", "--status", "pending"}).json().root().find("executions")->size(), 1u);
  EXPECT_EQ(place.semel({"task", "cancel", "--store", place.store}).exit_code, 2);
}

// D9
TEST(CliOperators, DeadLetterBlocksItsIdUntilRedriveOrDiscard) {
  const Place place;
  ASSERT_EQ(place.json({"queue", "set", "payments", "--dead-letter", "true", "--max-attempts", "1"}).exit_code, 0);
  const auto die = [&](const std::string& id) {
    place.json({"task", "claim", "--queues", "payments"});
    return place.json({"task", "fail", id, "--version", "2"}).text("status");
  };
  const std::string id =
      place.json({"task", "enqueue", "charge", "--task-id", "pay-1", "--queue", "payments"}).text("execution_id");
  EXPECT_EQ(die(id), "dead_lettered");
  EXPECT_EQ(place.json({"task", "enqueue", "charge", "--task-id", "pay-1"}).text("execution_id"), id);
  EXPECT_EQ(place.json({"task", "enqueue", "charge", "--task-id", "pay-1", "--on-duplicate", "reject"}).text("error"),
            "TaskDeadLettered");
  const Ran redriven = place.json({"task", "redrive", id});
  EXPECT_EQ(redriven.flag("created"), true) << redriven.out;
  EXPECT_EQ(redriven.text("previous_execution_id"), id);
  EXPECT_EQ(place.json({"task", "redrive", id}).text("execution_id"), redriven.text("execution_id"));
  EXPECT_EQ(die(redriven.text("execution_id")), "dead_lettered");
  EXPECT_EQ(place.json({"task", "discard", "--task-id", "pay-1"}).flag("discarded"), true);
  EXPECT_EQ(place.json({"task", "enqueue", "charge", "--task-id", "pay-1", "--queue", "payments"}).flag("created"),
            true);
}

TEST(CliExplain, TellsWhichDuplicatesWereSuppressed) {
  const Place place;
  for (int i = 0; i < 4; ++i) place.json({"task", "enqueue", "charge", "--task-id", "pay-1"});
  const Ran ran = place.json({"explain", "task", "pay-1"});
  ASSERT_EQ(ran.exit_code, 0) << ran.out;
  EXPECT_EQ(ran.text("reason"), "ready");
  EXPECT_NE(ran.out.find(R"("existing_live":3)"), std::string::npos) << ran.out;
  const Ran people = place.semel({"explain", "pay-1", "--store", place.store});
  EXPECT_NE(people.out.find("Suppressed for id pay-1: 3"), std::string::npos) << people.out;
}

}  // namespace
}  // namespace semel::e2e
