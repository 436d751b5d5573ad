// An order: payment, inventory, shipping, and a saga that undoes what was done when the rest cannot be done.
//
// The workflow of 10_order.cc. The world it acts on is a struct, so that a test can look at it.
#pragma once

#include <semel/semel.h>

#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>

namespace shop {

struct Order {
  std::string id;
  std::string item;
  int cents = 0;
};
SEMEL_FIELDS(Order, id, item, cents)

struct Receipt {
  bool shipped = false;
  std::string text;
};
SEMEL_FIELDS(Receipt, shipped, text)

// Systems outside: each of them answers a request it has seen before by its key.
struct World {
  std::map<std::string, int> stock;
  int balance = 0;
  int parcels = 0;
  std::set<std::string> seen;
  std::function<bool(const std::string& key)> memory;  // instead of `seen`, where the process may die
  bool first(const std::string& key) { return memory ? memory(key) : seen.insert(key).second; }
};
inline World world;
inline std::mutex world_mutex;  // steps of several orders run at once

// ---- steps: tasks, run by any worker --------------------------------------------------------------------------------

inline const auto reserve = semel::task("reserve", [](semel::TaskContext& context, const std::string& item) {
  const std::lock_guard lock(world_mutex);
  if (!world.first("reserve " + context.idempotency_key())) return item;
  if (world.stock[item] == 0) throw semel::NonRetryable("OutOfStock", "no '" + item + "' left");
  --world.stock[item];
  return item;
});

inline const auto put_back = semel::task("put_back", [](semel::TaskContext& context, const std::string& item) {
  const std::lock_guard lock(world_mutex);
  if (world.first("put_back " + context.idempotency_key())) ++world.stock[item];
});

inline const auto ship = semel::task("ship", [](semel::TaskContext& context, const Order& order) {
  const std::lock_guard lock(world_mutex);
  const std::string key = "ship " + context.idempotency_key();
  if (order.item == "piano") throw semel::NonRetryable("TooHeavy", "nobody carries a " + order.item);
  if (world.first(key)) ++world.parcels;
  return "parcel of " + order.id;
});

// ---- payment: called right here, with the key of its call ----------------------------------------------------------

inline int charge(int cents, std::string key) {
  const std::lock_guard lock(world_mutex);
  if (world.first("charge " + key)) world.balance += cents;
  return cents;
}
inline void refund(int cents, std::string key) {
  const std::lock_guard lock(world_mutex);
  if (world.first("refund " + key)) world.balance -= cents;
}

// ---- the workflow ---------------------------------------------------------------------------------------------------

inline semel::Workflow<Receipt> process(semel::WorkflowContext& ctx, Order order) {
  semel::Saga saga(ctx);
  std::string why;
  try {
    auto reserved = ctx.execute(reserve, order.item);
    co_await reserved;
    saga.add([order](semel::WorkflowContext& ctx) { return ctx.execute(put_back, order.item); });

    auto charged = ctx.run("charge", charge, order.cents, ctx.idempotency_key());
    const int cents = co_await charged;
    saga.add([cents](semel::WorkflowContext& ctx) { return ctx.run("refund", refund, cents, ctx.idempotency_key()); });

    auto shipped = ctx.execute(ship, order);
    co_return Receipt{true, co_await shipped};
  } catch (const semel::TaskFailed& failed) {
    why = failed.error_name();
  }
  auto undone = saga.compensate();
  co_await undone;
  co_return Receipt{false, why};
}
inline const auto process_workflow = semel::workflow("process_order", process);

inline semel::WorkerOptions worker() {
  return semel::WorkerOptions().add(process_workflow).add(reserve).add(put_back).add(ship);
}

}  // namespace shop
