// Enqueues one task twice under one id, runs it, and prints the one outcome.
#include <semel/semel.h>

#include <filesystem>
#include <iostream>
#include <string>

struct Order {
  int id = 0;
  long long cents = 0;
};
SEMEL_FIELDS(Order, id, cents)

std::string charge(const Order& order) { return "receipt-" + std::to_string(order.id); }

int main() {
  std::filesystem::remove("embedded.db");
  auto engine = semel::Engine::open("sqlite:embedded.db").value();
  const auto charge_task = semel::task("charge", charge);

  const auto once = semel::EnqueueOptions().task_id("pay-1");
  const auto first = engine.enqueue(charge_task, Order{1, 4200}, once).value();
  const auto second = engine.enqueue(charge_task, Order{1, 4200}, once).value();
  std::cout << "created " << first.created() << ", then " << second.created() << "\n";
  std::cout << "same execution " << (first.execution_id() == second.execution_id()) << "\n";

  auto worker = engine.start_worker(semel::WorkerOptions().add(charge_task)).value();
  std::cout << "result " << second.result().value() << "\n";
  worker.stop();
  engine.shutdown();
}
