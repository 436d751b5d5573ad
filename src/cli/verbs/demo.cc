// demo: the story with real processes. Many enqueue one id, a worker is killed in the middle, another one finishes,
// there is one outcome, and the ledger tells the rest.
#include <signal.h>

#include <fstream>
#include <iostream>

#include "base/json_value.h"
#include "base/random.h"
#include "base/text.h"
#include "cli/bench/worker.h"
#include "cli/process.h"
#include "cli/verbs/explain.h"
#include "cli/verbs/read_args.h"
#include "cli/verbs/verbs.h"

namespace semel::cli {
namespace {

void say(const std::string& text) { std::cout << text << std::endl; }

struct Story {
  std::string store;
  std::string tenant;
  std::string id;
  std::string queue;
  std::string effects;
  std::string args = R"({"for":"400ms","order":1,"amount":"25.00"})";
};

// Enqueues `times` times and prints how many it created: `created N existing M`.
Result<int> demo_enqueuer(Session& session, const Args& args) {
  die_with_parent();
  SEMEL_TRY(times, args.integer("times"));
  SEMEL_TRY(runtime, session.writer());
  int created = 0;
  int existing = 0;
  for (std::int64_t i = 0; i < times.value_or(1); ++i) {
    engine::EnqueueRequest request;
    request.tenant = session.tenant();
    request.queue = args.text("queue");
    request.name = "sleep";
    request.args = args.text("args");
    request.task_id = args.text("task-id");
    SEMEL_TRY(outcome, session.ask<engine::EnqueueOutcome>(
                           [&](auto done) { runtime->engine().enqueue(std::move(request), std::move(done)); }));
    (outcome.created ? created : existing) += 1;
  }
  std::cout << "created " << created << " existing " << existing << std::endl;
  return kDone;
}

Result<void> enqueue_many(const Story& story) {
  constexpr int kProcesses = 4;
  constexpr int kTimes = 25;
  std::vector<Child> children;
  for (int i = 0; i < kProcesses; ++i) {
    auto child =
        Child::start({"demo-enqueuer", "--store", story.store, "--tenant", story.tenant, "--queue", story.queue,
                      "--task-id", story.id, "--args", story.args, "--times", std::to_string(kTimes)});
    if (!child) return child.error();
    children.push_back(*std::move(child));
  }
  int created = 0;
  int existing = 0;
  for (auto& child : children) {
    const auto line = child.read_line(Duration{20'000'000});
    int made = 0;
    int met = 0;
    if (!line || std::sscanf(line->c_str(), "created %d existing %d", &made, &met) != 2) {
      return make_error(ErrorCode::Internal, "an enqueuing process did not answer");
    }
    created += made;
    existing += met;
    child.wait();
  }
  say("1. " + std::to_string(kProcesses) + " processes enqueued task_id " + story.id + " " +
      std::to_string(kProcesses * kTimes) + " times:");
  say("   " + std::to_string(created) + " answer created, " + std::to_string(existing) + " answers existing.");
  return {};
}

Result<Child> start_worker(const Story& story, const char* name) {
  return Child::start({"worker", "--store", story.store, "--tenant", story.tenant, "--queues", story.queue, "--name",
                       name, "--slots", "2", "--lease", "1s", "--effects", story.effects, "--quiet", "--with-parent"});
}

int effects_of(const Story& story) {
  std::ifstream file(story.effects);
  int lines = 0;
  for (std::string line; std::getline(file, line);) ++lines;
  return lines;
}

Result<void> kill_one(const Story& story) {
  auto child = start_worker(story, "worker-one");
  if (!child) return child.error();
  const pid_t pid = child->pid();
  if (!wait_until([&] { return effects_of(story) >= 1; }, Duration{10'000'000}, Duration{5'000})) {
    return make_error(ErrorCode::Internal, "the first worker did not start the task");
  }
  child->signal(SIGKILL);
  child->wait();
  say("2. worker-one (pid " + std::to_string(pid) +
      ") began the task and was killed with SIGKILL before it could answer.");
  return {};
}

Result<void> finish_with_another(const Story& story) {
  auto child = start_worker(story, "worker-two");
  if (!child) return child.error();
  say("3. worker-two started. The lease of the dead worker ends after 1 s, then the task is claimed again.");
  if (!wait_until([&] { return effects_of(story) >= 2; }, Duration{20'000'000}, Duration{10'000})) {
    return make_error(ErrorCode::Internal, "the second worker did not start the task");
  }
  child->signal(SIGTERM);  // a graceful stop waits for the handler and its outcome
  child->wait();
  return {};
}

Result<void> tell_the_end(Session& session, const Story& story) {
  auto runtime = session.writer();
  if (!runtime) return runtime.error();
  engine::EnqueueRequest again;
  again.tenant = story.tenant;
  again.queue = story.queue;
  again.name = "sleep";
  again.args = story.args;
  again.task_id = story.id;
  engine::EnqueueRequest other = again;
  other.args = R"({"for":"400ms","order":1,"amount":"9999.00"})";
  const auto ask = [&](engine::EnqueueRequest request) {
    return session.ask<engine::EnqueueOutcome>(
        [&](auto done) { (*runtime)->engine().enqueue(std::move(request), std::move(done)); });
  };
  auto late = ask(again);
  if (!late) return late.error();
  say("4. A late duplicate is answered with the recorded outcome: " + std::string(to_string(late->status)) +
      ", result " + late->result.value_or("null"));
  auto refused = ask(other);
  if (!refused)
    say("5. The same id with another amount is refused: " + std::string(error_info(refused.error().code).name) + ".");
  session.close();  // what was counted behind the answers is in the ledger now
  auto reader = session.reader();
  if (!reader) return reader.error();
  auto explanation = (*reader)->engine().explain(story.tenant, story.id);
  if (!explanation) return explanation.error();
  say("\n$ semel explain task " + story.id + "\n" + explanation_text(*explanation));
  const auto& e = explanation->execution->execution;
  say("The handler ran " + std::to_string(effects_of(story)) +
      " times (steps run at least once); the outcome was recorded " +
      (e.status == Status::succeeded ? "once" : "never") + ", in one execution; every duplicate was answered.");
  if (e.status != Status::succeeded) return make_error(ErrorCode::Internal, "the task did not succeed");
  return {};
}

Result<int> demo(Session& session, const Args&) {
  const bench::ScratchFolder scratch;
  base::SystemRandom random;
  Story story;
  const bool own_store = session.settings().store == Settings{}.store;
  story.store = own_store ? "sqlite:" + scratch.file("demo.db") : session.settings().store;
  story.tenant = session.tenant();
  story.id = own_store ? "pay-1" : "pay-" + std::to_string(random.below(1'000'000'000));
  story.queue = own_store ? "payments" : "demo-" + story.id;
  story.effects = scratch.file("effects");
  Settings settings = session.settings();
  settings.store = story.store;
  Session own(settings);
  {
    OpenOptions open;
    open.migrate = true;
    engine::RuntimeOptions options;
    options.clockwork_runs = false;
    auto runtime = own.open(open, options);
    if (!runtime) return runtime.error();
    own.close();
  }
  say("Semel on " + std::string(own_store ? "a temporary SQLite file" : without_password(story.store)) + ".\n");
  if (auto told = enqueue_many(story); !told) return told.error();
  if (auto told = kill_one(story); !told) return told.error();
  if (auto told = finish_with_another(story); !told) return told.error();
  if (auto told = tell_the_end(own, story); !told) return told.error();
  return kDone;
}

}  // namespace

void add_demo_verbs(std::vector<Verb>& out) {
  out.push_back({"demo",
                 "the story in a few seconds: duplicates, a killed worker, one outcome, the ledger",
                 {},
                 {},
                 "  semel demo\n  semel demo --store postgres://postgres@/demo\n",
                 demo});
  out.push_back({"demo-enqueuer",
                 "one of the enqueuing processes of the demo",
                 {},
                 {{"queue", "NAME", ""}, {"task-id", "ID", ""}, {"args", "JSON", ""}, {"times", "N", ""}},
                 "",
                 demo_enqueuer,
                 true});
}

}  // namespace semel::cli
