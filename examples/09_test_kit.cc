// Testing durable tasks: time and failure under the control of the test, no sleeping.
#include <semel/semel.h>
#include <semel/testing.h>

#include <iostream>

using namespace std::chrono_literals;

int main() {
  int reminders = 0;
  const auto remind = semel::task("remind", [&](const std::string& who) {
    ++reminders;
    return "reminded " + who;
  });

  semel::testing::TestEngine kit;
  auto worker = kit->start_worker(semel::WorkerOptions().add(remind)).value();
  const auto handle =
      kit->enqueue(remind, "ada", semel::EnqueueOptions().task_id("r-1").delay(std::chrono::hours(24 * 30))).value();

  std::cout << "now: " << kit.run_until_idle() << " attempts\n";
  kit.fail_next("remind");   // the first attempt fails before the function is called
  kit.crash_next("remind");  // the second one runs, but its worker dies before the outcome is recorded
  std::cout << "30 days later: " << kit.advance(std::chrono::hours(24 * 30)) << " attempt\n";
  kit.advance(5s);
  std::cout << to_string(handle.status().value()) << " after the crash\n";
  kit.advance(5min);
  std::cout << handle.result().value() << " on attempt " << handle.execution().value().attempt << "\n";

  // Steps run at least once; the outcome is recorded once.
  std::cout << "function calls: " << reminders << ", executions: " << kit.executions().size() << "\n";
  std::cout << "duplicate created: "
            << kit->enqueue(remind, "ada", semel::EnqueueOptions().task_id("r-1")).value().created() << "\n";
}

// Output:
// now: 0 attempts
// 30 days later: 1 attempt
// claimed after the crash
// reminded ada on attempt 3
// function calls: 2, executions: 1
// duplicate created: 0
