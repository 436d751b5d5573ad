// Moves a clock by thirty days and sees the task of that day run.
#include <semel/testing.h>

#include <chrono>
#include <iostream>

int add_one(int number) { return number + 1; }

int main() {
  semel::testing::TestEngine kit;
  const auto add_one_task = semel::task("add-one", add_one);
  auto worker = kit->start_worker(semel::WorkerOptions().add(add_one_task)).value();
  const auto handle = kit->enqueue(add_one_task, 41, semel::EnqueueOptions().delay(std::chrono::days(30))).value();
  std::cout << "calls " << kit.calls("add-one") << "\n";
  kit.advance(std::chrono::days(30));
  std::cout << "calls " << kit.calls("add-one") << ", result " << handle.result().value() << "\n";
}
