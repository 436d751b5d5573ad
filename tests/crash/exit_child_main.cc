// A program that keeps its engine in a singleton and returns from main while its worker runs. Usage: exit_child FORM
// STORE
//
// Whatever the form, the engine ends after main has returned, when statics that were made later are destroyed already.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "semel/postgres.h"
#include "semel/semel.h"
#include "semel/workflow.h"
#include "tests/crash/child_protocol.h"

namespace semel::crash {
namespace {

using namespace std::chrono_literals;

// The first of all statics of this program: the last to be destroyed.
std::optional<Engine> kept;
std::unique_ptr<Engine> owned;
std::string store;
std::atomic<Engine*> engine{nullptr};
std::atomic<int> handled{0};

// Each execution enqueues the next one under an id of its own, so that the worker always has something to do.
int link(const int& number) {
  ++handled;
  const std::string next = std::to_string(number + 1);
  (void)engine.load()->enqueue(TaskRef<int, int>("link"), number + 1,
                               EnqueueOptions().task_id("link-" + next).idempotency_key("key-" + next));
  return number;
}

Workflow<int> ticks(WorkflowContext& ctx, int rounds) {
  for (int i = 0; i < rounds; ++i) {
    auto noted = ctx.run("note", [] { return ++handled; });
    co_await noted;
    auto nap = ctx.sleep(1ms);
    co_await nap;
  }
  co_return rounds;
}

Engine open() {
  return Engine::open(store, Options().backend(postgres::backend(postgres::BackendOptions().migrate(true)))).value();
}

Engine& local_static() {
  static Engine one = open();
  return one;
}
Engine& leaked() {
  static Engine& one = *new Engine(open());
  return one;
}
Engine& close_by_atexit(bool before) {
  const auto close = [] { owned.reset(); };
  if (before) (void)std::atexit(close);
  owned = std::make_unique<Engine>(open());
  if (!before) (void)std::atexit(close);
  return *owned;
}

Engine& make(const std::string& form) {
  if (form == "optional") return kept.emplace(open());
  if (form == "unique_ptr") return *(owned = std::make_unique<Engine>(open()));
  if (form == "local_static") return local_static();
  if (form == "leaked") return leaked();
  return close_by_atexit(form == "atexit_before");
}

int work(const std::string& form) {
  Engine& made = make(form);
  engine = &made;
  const auto link_task = task("link", link);
  const auto ticks_workflow = workflow("ticks", ticks);
  auto worker = made.start_worker(WorkerOptions().add(link_task).add(ticks_workflow));
  if (!worker) return say("refused " + worker.error().message), 1;
  for (int i = 0; i < 4; ++i)
    if (auto first =
            made.enqueue(link_task, i * 1'000'000, EnqueueOptions().task_id("link-" + std::to_string(i * 1'000'000)));
        !first)
      return say("refused " + first.error().message), 1;
  if (auto run = made.start(ticks_workflow, "ticks-" + form, 1000); !run)
    return say("refused " + run.error().message), 1;
  while (handled.load() < 50) std::this_thread::yield();
  say("handled");
  return 0;
}

}  // namespace
}  // namespace semel::crash

int main(int count, char** arguments) {
  if (count != 3) return 2;
  semel::crash::store = arguments[2];
  return semel::crash::work(arguments[1]);
}
