// The order example as a process that may die at any moment. Usage: crash_orders STORE EFFECTS COUNT
//
// Starts the orders 0 .. COUNT-1, each by its id, works until all of them are over, and says so. The world outside is a
// folder: a request that was served is a file named by its key. It takes its time, so that kills meet orders.
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "examples/10_order.h"
#include "semel/postgres.h"
#include "tests/crash/child_protocol.h"

namespace semel::crash {
namespace {

using namespace std::chrono_literals;

// Atomic across processes and durable enough: the file is there or it is not.
bool first_by_file(const std::string& folder, const std::string& key) {
  ::poll(nullptr, 0, 20);
  const int file = ::open((folder + "/" + key).c_str(), O_CREAT | O_EXCL | O_WRONLY, 0600);
  if (file >= 0) ::close(file);
  return file >= 0;
}

shop::Order order(int i) { return {"order-" + std::to_string(i), "lamp", 100 + i}; }

int work(const std::string& store, const std::string& effects, int count) {
  shop::world.memory = [effects](const std::string& key) { return first_by_file(effects, key); };
  shop::world.stock["lamp"] = 1'000'000;
  auto engine = Engine::open(store, Options().backend(postgres::backend()));
  if (!engine) return say("refused " + engine.error().message), 1;
  // What dies with its process has used up an attempt, and here everything dies all the time.
  if (auto set = engine->set_queue("default", QueueOptions().max_attempts(1000)); !set)
    return say("refused " + set.error().message), 1;
  auto worker = engine->start_worker(shop::worker().lease(1s).name("orders-" + std::to_string(::getpid())));
  if (!worker) return say("refused " + worker.error().message), 1;
  say("ready");
  std::vector<WorkflowHandle<shop::Receipt>> runs;
  for (int i = 0; i < count; ++i) {
    auto run = engine->start(shop::process_workflow, order(i).id, order(i));
    if (!run) return say("refused " + run.error().message), 1;
    if (run->created()) (void)run->wait(1ms);  // so that kills meet starts, too
    runs.push_back(*std::move(run));
  }
  for (auto& run : runs) {
    const auto receipt = run.result();
    if (!receipt || !receipt->shipped) return say("failed " + run.workflow_id()), 1;
  }
  say("done");
  return 0;
}

}  // namespace
}  // namespace semel::crash

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  return semel::crash::work(argv[1], argv[2], std::atoi(argv[3]));
}
