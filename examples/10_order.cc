// Order processing: payment, inventory and shipping, with a saga that undoes what was done when shipping fails.
#include "10_order.h"

#include <iostream>

int main() {
  using shop::world;
  world.stock = {{"lamp", 1}, {"piano", 1}};

  auto engine = semel::Engine::open("sqlite:app.db").value();
  auto worker = engine.start_worker(shop::worker()).value();

  // The workflow_id names the order: started twice, it is processed once.
  const shop::Order lamp{"order-1", "lamp", 4200};
  const auto first = engine.start(shop::process_workflow, lamp.id, lamp).value();
  const auto again = engine.start(shop::process_workflow, lamp.id, lamp).value();
  std::cout << "order-1: " << first.get().text << ", same run: " << (first.run_id() == again.run_id()) << "\n";

  // Nothing is left of an order that cannot be shipped: the money went back, and so did the piano.
  const auto piano = engine.start(shop::process_workflow, "order-2", {"order-2", "piano", 900000}).value().get();
  std::cout << "order-2: shipped " << piano.shipped << ", " << piano.text << "\n";

  const auto late = engine.start(shop::process_workflow, "order-3", {"order-3", "lamp", 4200}).value().get();
  std::cout << "order-3: shipped " << late.shipped << ", " << late.text << "\n";

  std::cout << "balance " << world.balance << ", parcels " << world.parcels << ", pianos " << world.stock["piano"]
            << "\n";
  return world.balance == 4200 && world.parcels == 1 && world.stock["piano"] == 1 ? 0 : 1;
}

// Output:
// order-1: parcel of order-1, same run: 1
// order-2: shipped 0, TooHeavy
// order-3: shipped 0, OutOfStock
// balance 4200, parcels 1, pianos 1
