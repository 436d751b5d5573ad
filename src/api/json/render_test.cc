#include "api/json/render.h"

#include <gtest/gtest.h>

#include "base/json_value.h"

namespace semel::api {
namespace {

store::ExecutionView sample() {
  store::ExecutionView view;
  view.tenant = "default";
  view.queue = "payments";
  view.execution.id = *ExecutionId::parse("018f3c1e-0000-7000-8000-000000000001");
  view.execution.name = "charge";
  view.execution.created_at = from_micros(1'772'355'600'250'000);
  view.execution.scheduled_at = view.execution.created_at;
  view.payload.args = R"({ "order" : 9007199254740993 })";
  return view;
}

TEST(ExecutionJson, PrintsEveryFieldOfTheContractInOrder) {
  const std::string text = execution_json(sample());
  auto document = base::JsonDocument::parse(text);
  ASSERT_TRUE(document) << text;
  constexpr std::string_view kFields[] = {"execution_id",
                                          "tenant",
                                          "kind",
                                          "name",
                                          "queue",
                                          "task_id",
                                          "workflow_id",
                                          "status",
                                          "suspend_reason",
                                          "close_reason",
                                          "priority",
                                          "args",
                                          "result",
                                          "error",
                                          "attempt",
                                          "max_attempts",
                                          "version",
                                          "worker",
                                          "lease_expires_at",
                                          "scheduled_at",
                                          "created_at",
                                          "started_at",
                                          "completed_at",
                                          "timeout_at",
                                          "cancel_requested_at",
                                          "parent_workflow_id",
                                          "parent_run_id",
                                          "previous_execution_id",
                                          "next_execution_id",
                                          "idempotency_key",
                                          "fingerprint"};
  std::size_t i = 0;
  for (const auto field : kFields) EXPECT_EQ(document->root().name_at(i++), field);
  EXPECT_TRUE(document->root().find("worker")->is_null());
}

TEST(ExecutionJson, PayloadsAreCopiedByteForByte) {
  EXPECT_NE(execution_json(sample()).find(R"("args":{ "order" : 9007199254740993 })"), std::string::npos);
}

TEST(ExecutionJson, TaskWithoutIdPrintsItsExecutionId) {
  EXPECT_NE(execution_json(sample()).find(R"("task_id":"018f3c1e-0000-7000-8000-000000000001")"), std::string::npos);
}

TEST(ExecutionJson, BytesThatAreNotJsonAreNamedOpaque) {
  auto view = sample();
  view.execution.result = std::string("\xff\x00\x01", 3);
  EXPECT_NE(execution_json(view).find(R"("result":{"encoding":"opaque","base64":"/wAB"})"), std::string::npos);
}

TEST(EnqueueJson, AnswersTheFourFieldsAndTheResultWhenKnown) {
  engine::EnqueueOutcome outcome;
  outcome.execution_id = sample().execution.id;
  outcome.task_id = "pay-1";
  outcome.created = true;
  EXPECT_EQ(
      enqueue_json(outcome),
      R"({"execution_id":"018f3c1e-0000-7000-8000-000000000001","task_id":"pay-1","status":"queued","created":true})");
  outcome.created = false;
  outcome.status = Status::succeeded;
  outcome.result = "7";
  EXPECT_NE(enqueue_json(outcome).find(R"("result":7)"), std::string::npos);
}

}  // namespace
}  // namespace semel::api
