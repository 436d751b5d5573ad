// Failed attempts are repeated with backoff; when they are used up, a queue may keep the task for an operator.
#include <semel/semel.h>

#include <iostream>
#include <stdexcept>

using namespace std::chrono_literals;

int main() {
  bool bank_is_open = false;
  const auto transfer = semel::task("transfer", [&](semel::TaskContext& context, const std::string& account) {
    if (account == "unknown") throw semel::NonRetryable("NoSuchAccount", "there is no account '" + account + "'");
    if (!bank_is_open)
      throw std::runtime_error("the bank is closed (attempt " + std::to_string(context.attempt()) + ")");
    return "sent to " + account;
  });
  auto engine = semel::Engine::open("sqlite:app.db").value();
  engine
      .set_queue("bank", semel::QueueOptions().dead_letter(true).retry(
                             semel::RetryPolicy().initial_interval(1ms).max_interval(5ms).max_attempts(3)))
      .value();
  auto worker = engine.start_worker(semel::WorkerOptions().add(transfer)).value();

  // An error that no repetition can cure ends the task at once.
  const auto hopeless = engine.enqueue(transfer, "unknown", semel::EnqueueOptions().queue("bank")).value();
  try {
    hopeless.get();
  } catch (const semel::TaskFailed& failed) {
    std::cout << failed.error_name() << ": " << hopeless.execution().value().attempt << " attempt\n";
  }

  const auto options = semel::EnqueueOptions().queue("bank").task_id("transfer-1");
  const auto handle = engine.enqueue(transfer, "alice", options).value();
  std::cout << semel::error_info(handle.result().error().code).name << "\n";
  const auto row = handle.execution().value();
  std::cout << to_string(row.status) << ": " << row.error->message << "\n";

  // The id stays blocked until somebody decides: redrive makes a new execution of it.
  bank_is_open = true;
  const auto redriven = engine.redrive(row.execution_id).value();
  const auto successor = engine.find(transfer, "transfer-1").value();
  std::cout << "redriven: " << redriven.created() << ", " << successor.result().value() << "\n";
  std::cout << "asked again: " << engine.redrive(row.execution_id).value().created() << "\n";
  engine.shutdown();
}

// Output:
// NoSuchAccount: 1 attempt
// TaskDeadLettered
// dead_lettered: the bank is closed (attempt 3)
// redriven: 1, sent to alice
// asked again: 0
