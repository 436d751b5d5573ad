// Workflows from the command line: started, signalled, read, ended. What their code records is written by this test.
#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/random.h"
#include "base/uuid.h"
#include "cli/wiring.h"
#include "engine/history_json.h"
#include "tests/e2e/program.h"

namespace semel::e2e {
namespace {

using core::EventKind;

const std::string kOrder = R"({"order":7})";

std::vector<std::string> start_of(const std::string& id, std::initializer_list<std::string> more = {}) {
  std::vector<std::string> out = {"workflow", "start", "checkout", "--id", id, "--args", kOrder};
  out.insert(out.end(), more);
  return out;
}

core::Event event(EventKind kind, std::int32_t command, std::string name = {}, std::string data = {}) {
  core::Event out;
  out.kind = kind;
  out.command = command;
  out.name = std::move(name);
  out.data = std::move(data);
  return out;
}

// Opens the store of a place and owns one run of it, as a worker would.
class Owner {
 public:
  Owner(const Place& place, const std::string& run) : run_(*ExecutionId::parse(run)) {
    store_ = cli::open_store("sqlite:" + place.file("app.db"), {}).value();
    const auto session = fresh<SessionId>();
    apply(core::SessionOpen{session, "worker-1", std::chrono::hours(1)});
    core::TaskClaim claim;
    claim.id = fresh<ClaimId>();
    claim.session = session;
    claim.worker = "worker-1";
    claim.lease = std::chrono::hours(1);
    claim.pool = core::Pool::runs;
    claim.lanes = {{store_->execution_get(core::kDefaultTenant, run_).value()->execution.lane, 1, false}};
    const auto claimed = std::get<core::ClaimAnswer>(apply(claim)).tasks;
    EXPECT_EQ(claimed.size(), 1u);
    version_ = claimed.at(0).execution.version;
  }

  void record(std::vector<core::Event> events, bool waits) {
    core::RunAdvance advance{run_, version_, store_->run_get(run_).value()->events, {}, waits};
    for (auto& one : events) advance.entries.push_back({{}, std::move(one), {}});
    apply(advance);
  }

 private:
  template <class Id>
  Id fresh() {
    return ids_.next<Id>(store_->clock().now());
  }
  core::Answer apply(core::Operation operation) {
    store::Batch batch;
    batch.id = fresh<BatchId>();
    batch.now = store_->clock().now();
    batch.operations = {&operation};
    const store::Applied applied = store_->apply(batch);
    EXPECT_EQ(applied.kind, store::Applied::Kind::committed) << applied.error.message;
    if (const auto* error = std::get_if<Error>(&batch.answers.at(0))) ADD_FAILURE() << error->message;
    return batch.answers.at(0);
  }

  base::SeededRandom random_{7};
  base::IdSource ids_{random_};
  std::unique_ptr<store::Store> store_;
  ExecutionId run_;
  std::int32_t version_ = 0;
};

TEST(CliWorkflow, SecondStartOfAnIdAnswersTheFirstRun) {
  const Place place;
  const Ran first = place.json(start_of("order-7"));
  ASSERT_EQ(first.exit_code, 0) << first.out << first.err;
  EXPECT_EQ(first.text("workflow_id"), "order-7");
  EXPECT_EQ(first.text("status"), "queued");
  EXPECT_EQ(first.flag("created"), true);
  const Ran second = place.json(start_of("order-7"));
  EXPECT_EQ(second.flag("created"), false);
  EXPECT_EQ(second.text("execution_id"), first.text("execution_id"));
  const Ran rejected = place.json(start_of("order-7", {"--on-duplicate", "reject"}));
  EXPECT_EQ(rejected.exit_code, 1);
  EXPECT_EQ(rejected.text("error"), "WorkflowAlreadyStarted");
  EXPECT_EQ(place.json({"workflow", "start", "checkout", "--id", "order-7"}).text("error"), "FingerprintMismatch");
}

TEST(CliWorkflow, ReplaceEndsTheLiveRunAndStartsAnother) {
  const Place place;
  const std::string old = place.json(start_of("order-7")).text("execution_id");
  const Ran replaced = place.json(start_of("order-7", {"--on-duplicate", "replace"}));
  EXPECT_EQ(replaced.flag("created"), true) << replaced.out;
  const Ran before = place.json({"workflow", "get", old});
  EXPECT_EQ(before.text("status"), "cancelled");
  EXPECT_EQ(before.text("close_reason"), "terminated");
  EXPECT_EQ(place.json({"workflow", "get", "order-7"}).text("previous_execution_id"), old);
}

TEST(CliWorkflow, GetShowsWhatOnlyRunsHave) {
  const Place place;
  place.write("memo.json", "  {\"note\": \"vip\"}\n");
  const std::string id = place
                             .json(start_of("order-7", {"--memo", "@memo.json", "--attr", "tier=gold", "--attr",
                                                        "amount=12", "--attr", "zip=0123"}))
                             .text("execution_id");
  ASSERT_EQ(place.json({"workflow", "signal", "order-7", "approve"}).exit_code, 0);
  const Ran got = place.json({"workflow", "get", "order-7"});
  ASSERT_EQ(got.exit_code, 0) << got.out;
  EXPECT_EQ(got.out, place.json({"workflow", "get", id}).out);
  EXPECT_EQ(got.number("event_count"), 1);
  EXPECT_EQ(got.number("unread_count"), 1);
  EXPECT_NE(
      got.out.find(R"("state":null,"memo":{"note": "vip"},"attributes":{"tier":"gold","amount":12,"zip":"0123"})"),
      std::string::npos)
      << got.out;
  const Ran people = place.semel({"workflow", "get", "order-7", "--store", place.store});
  EXPECT_NE(people.out.find("attributes   {\"tier\":\"gold\""), std::string::npos) << people.out;
  EXPECT_NE(people.out.find("unread       1\n"), std::string::npos) << people.out;
}

TEST(CliWorkflow, ListKnowsRunsOnly) {
  const Place place;
  place.json({"task", "enqueue", "charge"});
  place.json(start_of("order-7"));
  place.json(start_of("order-8", {"--queue", "vip", "--attr", "tier=gold", "--attr", "amount=12"}));
  place.json({"workflow", "terminate", "order-8"});
  const auto count = [&](std::vector<std::string> flags) {
    std::vector<std::string> arguments = {"workflow", "list"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    return place.json(arguments).json().root().find("executions")->size();
  };
  EXPECT_EQ(count({}), 2u);
  EXPECT_EQ(count({"--status", "queued"}), 1u);
  EXPECT_EQ(count({"--queue", "vip"}), 1u);
  EXPECT_EQ(count({"--name", "nobody"}), 0u);
  EXPECT_EQ(count({"--attr", "tier=gold", "--attr", "amount=12.0"}), 1u);
  EXPECT_EQ(count({"--attr", "tier=gold", "--status", "queued"}), 0u);
  EXPECT_EQ(count({"--attr", "tier=lead"}), 0u);
  EXPECT_EQ(count({"--workflow-id", "order-7"}), 1u);
  EXPECT_EQ(count({"--limit", "1"}), 1u);
  const Ran people = place.semel({"workflow", "list", "--store", place.store});
  EXPECT_NE(people.out.find("cancelled (terminated)"), std::string::npos) << people.out;
}

TEST(CliWorkflow, SignalIsTakenOnceUnderItsDedupeId) {
  const Place place;
  const std::string id = place.json(start_of("order-7")).text("execution_id");
  const std::vector<std::string> approve = {"workflow", "signal", "order-7",     "approve",
                                            "--data",   "1",      "--dedupe-id", "d"};
  const Ran first = place.json(approve);
  EXPECT_EQ(first.text("execution_id"), id) << first.out;
  EXPECT_EQ(first.flag("created"), true);
  EXPECT_EQ(place.json(approve).flag("created"), false);
  EXPECT_EQ(place.json({"workflow", "signal", id, "approve"}).flag("created"), true) << "by its run_id";
  EXPECT_EQ(place.json({"workflow", "get", "order-7"}).number("unread_count"), 2);
}

TEST(CliWorkflow, CancelAndTerminateEndAQueuedRun) {
  const Place place;
  place.json(start_of("order-7"));
  EXPECT_EQ(place.json({"workflow", "cancel", "order-7"}).text("status"), "cancelled");
  place.json(start_of("order-8"));
  EXPECT_EQ(place.json({"workflow", "terminate", "order-8"}).text("status"), "cancelled");
  const Ran again = place.semel({"workflow", "terminate", "order-8", "--store", place.store});
  EXPECT_NE(again.out.find("was cancelled before; nothing changed"), std::string::npos) << again.out;
  const Ran history = place.semel({"workflow", "history", "order-8", "--store", place.store});
  EXPECT_NE(history.out.find("run  terminated"), std::string::npos) << history.out;
}

TEST(CliWorkflow, CancelOfAWaitingRunIsMailForItsCode) {
  const Place place;
  const std::string id = place.json(start_of("order-7")).text("execution_id");
  Owner(place, id).record({event(EventKind::local_completed, 1, "price", "42")}, true);
  const Ran asked = place.json({"workflow", "cancel", "order-7"});
  EXPECT_EQ(asked.flag("cancel_requested"), true) << asked.out;
  EXPECT_EQ(place.json({"workflow", "get", "order-7"}).number("unread_count"), 1);
}

TEST(CliWorkflow, HistoryIsATimelineForPeople) {
  const Place place;
  const std::string id = place.json(start_of("order-7")).text("execution_id");
  core::Event timer = event(EventKind::timer_started, 2);
  timer.at = from_micros(4'000'000'000'000'000);
  Owner(place, id).record({event(EventKind::local_completed, 1, "price", R"({"total": 42})"), timer,
                           event(EventKind::state_set, 0, "", R"("priced")")},
                          true);
  const Ran people = place.semel({"workflow", "history", "order-7", "--store", place.store});
  ASSERT_EQ(people.exit_code, 0) << people.err;
  EXPECT_TRUE(people.out.starts_with("checkout  order-7  run " + id + "  suspended  4 events over ")) << people.out;
  EXPECT_NE(people.out.find("1  +0.000s  ▶  run"), std::string::npos) << people.out;
  EXPECT_NE(people.out.find("✓  #1 local price  completed"), std::string::npos) << people.out;
  EXPECT_NE(people.out.find("{\"total\": 42}\n"), std::string::npos) << people.out;
  EXPECT_NE(people.out.find("waits for  #2 timer due +"), std::string::npos) << people.out;
  EXPECT_EQ(people.out.find(" \n"), std::string::npos) << people.out;
  EXPECT_EQ(people.out.find('\x1b'), std::string::npos) << "no colour in a pipe";
  const Ran full = place.semel({"workflow", "history", id, "--full", "--store", place.store});
  EXPECT_NE(full.out.find("\n               {\"total\": 42}\n"), std::string::npos) << full.out;
  EXPECT_EQ(place.json({"workflow", "get", "order-7"}).text("state"), "priced");
}

TEST(CliWorkflow, HistoryAsJsonIsReadBackEqual) {
  const Place place;
  const std::string id = place.json(start_of("order-7")).text("execution_id");
  Owner(place, id).record({event(EventKind::local_completed, 1, "price", "{ \"total\": 1e2 }"),
                           event(EventKind::local_failed, 2, "raw", "\xff")},
                          true);
  const Ran exported = place.json({"workflow", "history", "order-7"});
  ASSERT_EQ(exported.exit_code, 0) << exported.out;
  const auto history = engine::history_from_json(exported.out);
  ASSERT_TRUE(history.ok()) << history.error().message << exported.out;
  EXPECT_EQ(history->workflow_id, "order-7");
  EXPECT_EQ(history->run_id.to_string(), id);
  EXPECT_EQ(history->args, kOrder);
  ASSERT_EQ(history->events.size(), 3u);
  EXPECT_EQ(history->events[1].event.data, "{ \"total\": 1e2 }");
  EXPECT_EQ(history->events[2].event.data, "\xff");
  EXPECT_EQ(engine::history_json(*history) + "\n", exported.out);
}

TEST(CliWorkflow, ExplainTellsWhatARunWaitsFor) {
  const Place place;
  const auto people = [&](const std::vector<std::string>& words) {
    std::vector<std::string> arguments = {"explain"};
    arguments.insert(arguments.end(), words.begin(), words.end());
    arguments.insert(arguments.end(), {"--store", place.store});
    return place.semel(arguments).out;
  };
  const std::string id = place.json(start_of("order-7")).text("execution_id");
  place.json(start_of("order-7"));
  EXPECT_EQ(place.json({"explain", "order-7"}).text("reason"), "ready");
  EXPECT_EQ(people({"order-7"}).find("attempt"), std::string::npos) << people({"order-7"});
  EXPECT_NE(people({"workflow", "order-7"}).find("Suppressed for id order-7: 1\n"), std::string::npos);

  core::Event timer = event(EventKind::timer_started, 1);
  timer.at = from_micros(4'000'000'000'000'000);
  Owner(place, id).record({timer}, true);
  const Ran waits = place.json({"explain", "execution", id});
  EXPECT_EQ(waits.text("reason"), "outcomes") << waits.out;
  EXPECT_NE(waits.out.find(R"("waits_for":[{"kind":"timer","command":1,)"), std::string::npos) << waits.out;
  const std::string text = people({"order-7"});
  EXPECT_NE(text.find("is suspended: waits for 1 timer due 2096-10-02T07:06:40Z, or a signal; owned by session "),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("Waits for:\n  #1 timer  due 2096-10-02T07:06:40Z\n"), std::string::npos) << text;

  EXPECT_EQ(place.json({"workflow", "terminate", "order-7"}).exit_code, 0);
  EXPECT_NE(people({"order-7"}).find("is cancelled: terminated"), std::string::npos) << people({"order-7"});
}

TEST(CliWorkflow, ExplainOfAnIdThatIsTwoThingsAsksWhichOne) {
  const Place place;
  const std::string run = place.json(start_of("order-7")).text("execution_id");
  const std::string task = place.json({"task", "enqueue", "charge", "--task-id", "order-7"}).text("execution_id");
  const Ran unclear = place.json({"explain", "order-7"});
  EXPECT_EQ(unclear.exit_code, 1);
  EXPECT_EQ(unclear.text("error"), "InvalidArgument");
  EXPECT_EQ(unclear.text("task_execution_id"), task) << unclear.out;
  EXPECT_EQ(unclear.text("workflow_execution_id"), run) << unclear.out;
  EXPECT_EQ(
      place.json({"explain", "workflow", "order-7"}).json().root().find("execution")->find("execution_id")->as_string(),
      run);
  EXPECT_EQ(
      place.json({"explain", "task", "order-7"}).json().root().find("execution")->find("execution_id")->as_string(),
      task);
}

TEST(CliWorkflow, AFailedRunIsFollowedByAnotherOneWhileAttemptsAreLeft) {
  const Place place;
  const Ran started = place.json({"workflow", "start", "approval", "--id", "order-7", "--args", R"({"within":"soon"})",
                                  "--max-attempts", "2", "--retry", R"({"initial_interval":"1ms","jitter":0})"});
  ASSERT_EQ(started.exit_code, 0) << started.out;
  ASSERT_EQ(place.semel({"worker", "--run-for", "2s", "--quiet", "--store", place.store}).exit_code, 0);
  const Ran last = place.json({"workflow", "get", "order-7"});
  EXPECT_EQ(last.text("status"), "failed") << last.out;
  EXPECT_EQ(last.number("attempt"), 2);
  EXPECT_EQ(last.text("previous_execution_id"), started.text("execution_id"));
  const Ran first = place.json({"explain", started.text("execution_id")});
  EXPECT_NE(first.text("summary").find("is failed: retried as " + last.text("execution_id") + " (attempt 1 of 2)"),
            std::string::npos)
      << first.out;
}

// ---- bad input ------------------------------------------------------------------------------------------------------

class BadWorkflowInput : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(place.json(start_of("live")).exit_code, 0);
    ASSERT_EQ(place.json(start_of("over")).exit_code, 0);
    ASSERT_EQ(place.json({"workflow", "terminate", "over"}).exit_code, 0);
    task = place.json({"task", "enqueue", "charge"}).text("execution_id");
    before = everything();
  }
  void TearDown() override { EXPECT_EQ(everything(), before) << "what was refused changed something"; }
  std::string everything() {
    return place.json({"task", "list"}).out + place.json({"workflow", "get", "live"}).out +
           place.json({"workflow", "history", "over"}).out;
  }
  void refuse(const std::vector<std::string>& arguments, const std::string& error, const std::string& names) {
    const Ran ran = place.json(arguments);
    EXPECT_EQ(ran.exit_code, 1) << names << ran.out << ran.err;
    EXPECT_EQ(ran.text("error"), error) << ran.out;
    EXPECT_NE(ran.text("message").find(names), std::string::npos) << ran.out;
  }
  Place place;
  std::string task;
  std::string before;
};

TEST_F(BadWorkflowInput, RunsThatDoNotExist) {
  const std::string nobody = "018f3c1e-0000-7000-8000-000000000000";
  for (const std::string verb : {"get", "history", "cancel", "terminate"}) {
    refuse({"workflow", verb, "nobody"}, "ExecutionNotFound", R"(workflow_id "nobody" is not known)");
    refuse({"workflow", verb, nobody}, "ExecutionNotFound", nobody);
    refuse({"workflow", verb, task}, "ExecutionNotFound", "is a task, not a run");
    refuse({"workflow", verb, "live", "--tenant", "nobody"}, "TenantNotFound", "nobody");
  }
  refuse({"workflow", "signal", "nobody", "approve"}, "ExecutionNotFound", "nobody");
  refuse({"workflow", "signal", nobody, "approve"}, "ExecutionNotFound", nobody);
  refuse({"workflow", "signal", task, "approve"}, "ExecutionNotFound", "is a task, not a run");
}

TEST_F(BadWorkflowInput, AFinishedRunTakesNoSignal) {
  refuse({"workflow", "signal", "over", "approve"}, "WorkflowAlreadyCompleted", "already cancelled");
}

TEST_F(BadWorkflowInput, Signals) {
  refuse({"workflow", "signal", "live", "approve", "--data", "{"}, "InvalidArgument", "data");
  refuse({"workflow", "signal", "live", "approve", "--data", ""}, "InvalidArgument", "data");
  refuse({"workflow", "signal", "live", "approve", "--data", "@absent.json"}, "InvalidArgument", "absent.json");
  refuse({"workflow", "signal", "live", "approve", "--dedupe-id", ""}, "InvalidArgument", "dedupe_id");
  refuse({"workflow", "signal", "live", ""}, "InvalidArgument", "signal name");
  refuse({"workflow", "signal", "", "approve"}, "InvalidArgument", "workflow_id");
  place.write("big.json", "\"" + std::string(512 * 1024, 'x') + "\"");
  refuse({"workflow", "signal", "live", "approve", "--data", "@big.json"}, "PayloadTooLarge", "data");
}

TEST_F(BadWorkflowInput, Starts) {
  const auto start = [&](std::initializer_list<std::string> more) { return start_of("new", more); };
  refuse({"workflow", "start", "checkout", "--id", ""}, "InvalidArgument", "workflow_id");
  refuse({"workflow", "start", "", "--id", "new"}, "InvalidArgument", "name");
  refuse({"workflow", "start", "checkout", "--id", "new", "--args", "{"}, "InvalidArgument", "byte");
  refuse({"workflow", "start", "checkout", "--id", "new", "--args", "@absent.json"}, "InvalidArgument", "absent.json");
  place.write("empty.json", "\n");
  refuse({"workflow", "start", "checkout", "--id", "new", "--args", "@empty.json"}, "InvalidArgument", "args");
  refuse(start({"--memo", "[1]"}), "InvalidArgument", "memo must be a JSON object");
  refuse(start({"--memo", "{"}), "InvalidArgument", "memo");
  refuse(start({"--attr", "tier"}), "InvalidArgument", "KEY=VALUE");
  refuse(start({"--attr", "=gold"}), "InvalidArgument", "KEY=VALUE");
  refuse(start({"--attr", "tier={}"}), "InvalidArgument", R"("tier" must be a string)");
  refuse(start({"--attr", "tier=1", "--attr", "tier=2"}), "InvalidArgument", "attributes");
  refuse(start({"--on-duplicate", "maybe"}), "InvalidArgument", "on_duplicate");
  refuse(start({"--reuse", "sometimes"}), "InvalidArgument", "reuse");
  refuse(start({"--timeout", "0"}), "InvalidArgument", "timeout");
  refuse(start({"--max-attempts", "0"}), "InvalidArgument", "max_attempts");
  refuse(start({"--max-attempts", "few"}), "InvalidArgument", "max-attempts");
  refuse(start({"--retry", "{"}), "InvalidArgument", "retry");
  refuse(start({"--retry", R"({"pause":"1s"})"}), "InvalidArgument", "pause");
  refuse({"workflow", "list", "--status", "asleep"}, "InvalidArgument", "status");
  refuse({"workflow", "list", "--limit", "0"}, "InvalidArgument", "limit");
}

TEST_F(BadWorkflowInput, UsageIsExitCodeTwo) {
  const auto usage = [&](std::vector<std::string> arguments) {
    arguments.push_back("--store");
    arguments.push_back(place.store);
    return place.semel(arguments);
  };
  const Ran unnamed = usage({"workflow", "start", "checkout"});
  EXPECT_EQ(unnamed.exit_code, 2);
  EXPECT_NE(unnamed.err.find("--id ID is required"), std::string::npos) << unnamed.err;
  EXPECT_EQ(usage({"workflow"}).exit_code, 2);
  EXPECT_EQ(usage({"workflow", "start"}).exit_code, 2);
  EXPECT_EQ(usage({"workflow", "get"}).exit_code, 2);
  EXPECT_EQ(usage({"workflow", "signal", "live"}).exit_code, 2);
  EXPECT_EQ(usage({"workflow", "fly", "live"}).exit_code, 2);
  EXPECT_EQ(usage({"workflow", "history", "live", "--colour", "red"}).exit_code, 2);
  for (const std::string verb : {"start", "get", "list", "history", "signal", "cancel", "terminate"}) {
    EXPECT_NE(usage({"workflow", verb, "--help"}).out.find("Examples:"), std::string::npos) << verb;
  }
}

}  // namespace
}  // namespace semel::e2e
