// A duplicate is answered, never executed again.
#include <semel/semel.h>

#include <iostream>

struct Order {
  std::string id;
  std::int64_t cents = 0;
};
SEMEL_FIELDS(Order, id, cents)

int main() {
  int charged = 0;
  const auto charge =
      semel::task("charge", [&charged](const Order& order) { return charged += static_cast<int>(order.cents); });
  auto engine = semel::Engine::open("sqlite:app.db").value();
  auto worker = engine.start_worker(semel::WorkerOptions().add(charge).concurrency(1)).value();
  const auto options = semel::EnqueueOptions().task_id("pay-1");

  const auto first = engine.enqueue(charge, Order{"o-1", 100}, options).value();
  std::cout << "first: created " << first.created() << ", result " << first.result().value() << "\n";

  // The same request again, from here or from any other process: the recorded outcome.
  const auto again = engine.enqueue(charge, Order{"o-1", 100}, options).value();
  std::cout << "again: created " << again.created() << ", result " << again.result().value() << "\n";
  std::cout << "same execution: " << (first.execution_id() == again.execution_id()) << "\n";

  // A caller that must know it is the first one.
  const auto rejected = engine.enqueue(charge, Order{"o-1", 100},
                                       semel::EnqueueOptions(options).on_duplicate(semel::OnDuplicate::reject));
  std::cout << "reject: " << semel::error_info(rejected.error().code).name << "\n";

  // The same id with other arguments is a mistake, not a duplicate.
  const auto other = engine.enqueue(charge, Order{"o-1", 999}, options);
  std::cout << "other arguments: " << semel::error_info(other.error().code).name << "\n";

  // At most one per arguments and day, without thinking of an id.
  const auto daily = semel::EnqueueOptions().unique_by_args(std::chrono::hours(24));
  const auto today = engine.enqueue(charge, Order{"o-2", 5}, daily).value();
  const auto today_again = engine.enqueue(charge, Order{"o-2", 5}, daily).value();
  std::cout << "unique: " << today.created() << " " << today_again.created() << ", result "
            << today_again.result().value() << "\n";
  engine.shutdown();
  std::cout << "charged in all: " << charged << "\n";
}

// Output:
// first: created 1, result 100
// again: created 0, result 100
// same execution: 1
// reject: TaskAlreadyCompleted
// other arguments: FingerprintMismatch
// unique: 1 0, result 105
// charged in all: 105
