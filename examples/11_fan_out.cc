// Fan-out: a workflow that asks for 1,000 steps at once and waits for all of them. Any worker runs them, each is
// retried by itself, and the workflow goes on with their results in the order in which it asked.
#include "11_fan_out.h"

#include <iostream>

int main() {
  auto engine = semel::Engine::open("sqlite:app.db").value();
  auto worker =
      engine.start_worker(semel::WorkerOptions().add(thumbnails::album_workflow).add(thumbnails::resize).concurrency(4))
          .value();
  const auto handle = engine.start(thumbnails::album_workflow, "holidays", 1000).value();
  std::cout << "sum of 1000 steps: " << handle.get() << "\n";
  std::cout << "attempts that succeeded: " << worker.metrics().succeeded << "\n";
  return handle.get() == 2997 ? 0 : 1;
}

// Output:
// sum of 1000 steps: 2997
// attempts that succeeded: 1000
