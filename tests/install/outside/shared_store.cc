// Runs one task on the PostgreSQL store that the argument names.
#include <semel/postgres.h>
#include <semel/semel.h>

#include <iostream>

int twice(int number) { return number * 2; }

int main(int count, char** arguments) {
  if (count != 2) return 2;
  const auto backend = semel::postgres::backend(semel::postgres::BackendOptions().migrate(true));
  auto engine = semel::Engine::open(arguments[1], semel::Options().backend(backend)).value();
  const auto twice_task = semel::task("twice", twice);
  auto worker = engine.start_worker(semel::WorkerOptions().add(twice_task).queues({"outside"})).value();
  const auto handle = engine.enqueue(twice_task, 21, semel::EnqueueOptions().queue("outside")).value();
  std::cout << "result " << handle.result().value() << "\n";
  engine.shutdown();
}
