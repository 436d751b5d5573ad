// A message broker says "job 7 is there", perhaps twice, perhaps late. Each delivery is answered; one of them runs the
// job.
#include <semel/semel.h>

#include <iostream>

int main() {
  const auto render = semel::task("render", [](const std::string& scene) { return scene + ".png"; });
  auto engine = semel::Engine::open("sqlite:app.db").value();  // no worker: the broker brings the work
  engine.enqueue(render, "castle", semel::EnqueueOptions().task_id("job-7")).value();

  // Claims the job, runs the function here, and returns when the outcome is durable.
  const auto first = engine.deliver("job-7", "consumer-1", render).value();
  std::cout << to_string(first.outcome) << ": " << to_string(first.execution.status) << " "
            << first.execution.result->bytes << "\n";

  // The broker redelivers. Nothing runs, nothing changes: acknowledge it.
  const auto second = engine.deliver("job-7", "consumer-2", render).value();
  std::cout << to_string(second.outcome) << ": version " << second.execution.version << "\n";

  const auto unknown = engine.deliver("job-8", "consumer-1", render);
  std::cout << semel::error_info(unknown.error().code).name << "\n";

  engine.enqueue(render, "moat", semel::EnqueueOptions().task_id("job-9").delay(std::chrono::hours(1))).value();
  const auto early = engine.deliver("job-9", "consumer-1", render);
  std::cout << semel::error_info(early.error().code).name << "\n";
  engine.shutdown();
}

// Output:
// claimed: succeeded "castle.png"
// no-op-terminal: version 3
// JobNotFound
// NotReady
