// The other process of a crash test. Usage: crash_peer MODE STORE ..., see main.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "store/sqlite/migrate.h"
#include "store/sqlite/sqlite_store.h"
#include "tests/crash/child_protocol.h"
#include "tests/crash/open_store.h"
#include "tests/crash/together.h"

namespace semel::crash {
namespace {

constexpr Duration kLease = std::chrono::seconds(1);

using Act = void (*)(engine::Runtime&, const std::string&, int, int, const Told&);

// One of 8 processes: opens, waits for the others, does the same as they do.
int together(Act act, const std::string& store, std::size_t max_batch, const std::string& prefix, int threads,
             int rounds) {
  const auto runtime = open_runtime(store, max_batch);
  say("R");
  if (!wait_for_go()) return 1;
  act(*runtime, prefix, threads, rounds, say);
  say("done");
  return wait_for_go() ? 0 : 1;
}

void say_late_writes(engine::Runtime& runtime, ExecutionId id, std::int32_t version) {
  std::string told = "late";
  for (const auto& name : late_writes(runtime, id, version)) told += " " + name;
  say(told);
}

// Claims one task and writes only when told to, however late that is.
int hold(const std::string& store) {
  const auto runtime = open_runtime(store, 1000);
  const auto task = claim_one(*runtime, "zombie", kLease);
  say("claimed " + task.execution.id.to_string());
  if (!wait_for_go()) return 1;
  say_late_writes(*runtime, task.execution.id, task.execution.version);
  return wait_for_go() ? 0 : 1;
}

// The same where one process owns the store: another worker of this process finishes the task after the stop.
int hold_beside(const std::string& store) {
  const auto runtime = open_runtime(store, 1000);
  const auto task = claim_one(*runtime, "zombie", kLease);
  say("claimed " + task.execution.id.to_string());
  if (!wait_for_go()) return 1;
  const auto again = claim_one(*runtime, "second", std::chrono::seconds(30));
  (void)runtime
      ->wait<core::EndAnswer>([&](auto done) {
        runtime->engine().complete({again.execution.id, again.execution.version, "\"second\""}, std::move(done));
      })
      .value();
  say("finished " + again.execution.id.to_string());
  if (!wait_for_go()) return 1;
  say_late_writes(*runtime, task.execution.id, task.execution.version);
  return wait_for_go() ? 0 : 1;
}

// A worker that some tasks take down with them.
int poisoned(const std::string& store) {
  const auto runtime = open_runtime(store, 1000);
  auto handlers = std::make_shared<engine::HandlerTable>();
  handlers->add("poison", [](engine::Run&) {
    std::raise(SIGKILL);
    return engine::HandlerOutcome::success();
  });
  handlers->add("plain", [](engine::Run&) { return engine::HandlerOutcome::success("\"fine\""); });
  engine::WorkerOptions options;
  options.slots = 1;
  options.lease = kLease;
  const auto pool = runtime->start_worker(handlers, options).value();
  say("R");
  (void)wait_for_go();
  return 0;
}

// Brings a file one step further than this binary knows.
int migrate(const std::string& store) {
  const std::string path = store.substr(7);
  const auto known = store::sqlite::schema_steps();
  std::vector<store::sqlite::SchemaStep> steps(known.begin(), known.end());
  steps.push_back({known.back().number + 1, "later", "CREATE TABLE later (id INTEGER PRIMARY KEY)"});
  store::sqlite::Connection db(path, store::sqlite::Access::create, "");
  db.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
  store::sqlite::migrate(db, path, steps).value();
  say("migrated");
  return 0;
}

int restore(const std::string& store, const std::string& backup) {
  (void)store::sqlite::sqlite_restore(backup, store.substr(7)).value();
  return 0;
}

int run(const std::vector<std::string>& words) {
  const std::string& mode = words.at(0);
  const std::string& store = words.at(1);
  if (mode == "hold") return hold(store);
  if (mode == "hold-beside") return hold_beside(store);
  if (mode == "poisoned") return poisoned(store);
  if (mode == "migrate") return migrate(store);
  if (mode == "restore") return restore(store, words.at(2));
  const Act act = mode == "enqueue" ? enqueue_together : deliver_together;
  return together(act, store, std::stoul(words.at(2)), words.at(3), std::stoi(words.at(4)), std::stoi(words.at(5)));
}

}  // namespace
}  // namespace semel::crash

int main(int argc, char** argv) {
  try {
    return semel::crash::run({argv + 1, argv + argc});
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "crash_peer: %s\n", problem.what());
    return 1;
  }
}
