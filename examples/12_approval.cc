// Human approval: a workflow waits for a signal, for days if need be, and gives up when nobody answers. The days pass
// in a test kit, which is how you would test yours.
#include "12_approval.h"

#include <semel/testing.h>

#include <iostream>

using namespace std::chrono_literals;

int main() {
  semel::testing::TestEngine kit;
  auto worker = kit->start_worker(expenses::worker()).value();
  const auto flight = kit->start(expenses::approve_workflow, "flight", {"ada", 340}).value();
  const auto yacht = kit->start(expenses::approve_workflow, "yacht", {"bob", 900000}).value();

  kit.advance(48h);
  std::cout << "after two days: " << flight.state<std::string>().value().value() << "\n";

  // The second click has the same dedupe id: it is answered, and changes nothing.
  const expenses::Decision yes{true, "eve"};
  std::cout << "first click is news: " << flight.signal("decision", yes, "click-1").value() << "\n";
  std::cout << "second click is news: " << flight.signal("decision", yes, "click-1").value() << "\n";
  std::cout << "flight: " << flight.get() << "\n";

  kit.advance(48h);
  std::cout << "yacht: " << yacht.get() << "\n";
  std::cout << "too late: " << static_cast<bool>(yacht.signal("decision", yes)) << "\n";
  std::cout << "paid: " << kit.calls("pay") << "\n";
  return kit.calls("pay") == 1 && kit.verify().empty() ? 0 : 1;
}

// Output:
// after two days: waits for an approval
// first click is news: 1
// second click is news: 0
// flight: approved by eve
// yacht: nobody answered
// too late: 0
// paid: 1
