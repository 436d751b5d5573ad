// Code around every task function of a worker: logging, tracing, translation of errors.
#include <semel/semel.h>

#include <iostream>
#include <mutex>

int main() {
  const auto divide = semel::task("divide", [](const std::vector<int>& numbers) {
    if (numbers.at(1) == 0) throw std::domain_error("division by zero");
    return numbers.at(0) / numbers.at(1);
  });

  std::mutex mutex;
  const semel::Middleware trace = [&](semel::TaskContext& context, const semel::Next& next) {
    const semel::TaskOutcome outcome = next();
    const std::lock_guard lock(mutex);
    std::cout << context.name() << " attempt " << context.attempt() << ": "
              << (outcome.ok() ? outcome.result.bytes : outcome.failure.message) << "\n";
    return outcome;
  };
  // Arithmetic does not get better by repeating it.
  const semel::Middleware no_retry = [](semel::TaskContext&, const semel::Next& next) {
    semel::TaskOutcome outcome = next();
    if (outcome.failure.message == "division by zero") {
      outcome.failure.name = "DivisionByZero";
      outcome.retryable = false;
    }
    return outcome;
  };

  auto engine = semel::Engine::open("sqlite:app.db").value();
  // The first one added is the outermost.
  auto worker = engine.start_worker(semel::WorkerOptions().add(divide).use(trace).use(no_retry).concurrency(1)).value();
  std::cout << engine.enqueue(divide, {6, 3}).value().result().value() << "\n";
  try {
    engine.enqueue(divide, {1, 0}).value().get();
  } catch (const semel::TaskFailed& failed) {
    std::cout << failed.error_name() << "\n";
  }
  engine.shutdown();
}

// Output:
// divide attempt 1: 2
// 2
// divide attempt 1: division by zero
// DivisionByZero
