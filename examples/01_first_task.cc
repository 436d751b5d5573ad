// Open a store, register a typed function, enqueue with an id, wait for the result, drain.
#include <semel/semel.h>

#include <iostream>

struct Order {
  std::string id;
  std::int64_t cents = 0;
};
SEMEL_FIELDS(Order, id, cents)

struct Receipt {
  std::string order;
  std::int64_t charged = 0;
};
SEMEL_FIELDS(Receipt, order, charged)

// May run more than once for one task: give the other side the key, so that it can answer duplicates too.
Receipt charge_card(semel::TaskContext& context, const Order& order) {
  const std::string key = context.idempotency_key();
  return Receipt{order.id, key.empty() ? 0 : order.cents};
}

int main() {
  auto engine = semel::Engine::open("sqlite:app.db").value();
  const auto charge = semel::task("charge", charge_card);
  auto worker = engine.start_worker(semel::WorkerOptions().add(charge).queues({"payments"}).concurrency(8)).value();

  // Durable once enqueue returned.
  const auto handle =
      engine.enqueue(charge, Order{"o-1", 4200}, semel::EnqueueOptions().task_id("pay-1").queue("payments")).value();
  const Receipt receipt = handle.result().value();
  std::cout << "charged " << receipt.charged << " for " << receipt.order << "\n";

  engine.shutdown(std::chrono::seconds(30));
}

// Output:
// charged 4200 for o-1
