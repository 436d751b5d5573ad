// A long-running subscription: billed every month; every half year its run continues as a new one with a short history.
// Two years pass in the test kit.
#include "13_subscription.h"

#include <semel/testing.h>

#include <iostream>

int main() {
  semel::testing::TestEngine kit;
  auto worker = kit->start_worker(semel::WorkerOptions().add(billing::subscribe_workflow)).value();
  kit->start(billing::subscribe_workflow, "customer-7", {"ada", 24, 990, 0}).value();

  kit.advance(std::chrono::days(190));
  std::cout << "after half a year: " << billing::ledger.cents << " cents, ";
  std::cout << kit.executions().size() << " runs\n";

  // Runs that are long over were removed by retention; the workflow_id leads to the newest one.
  kit.advance(std::chrono::days(531));
  std::cout << "at the end: " << kit->find(billing::subscribe_workflow, "customer-7").value().get() << " cents\n";
  std::cout << "sound: " << kit.verify().empty() << "\n";
  return billing::ledger.cents == 24 * 990 && kit.verify().empty() ? 0 : 1;
}

// Output:
// after half a year: 6930 cents, 2 runs
// at the end: 23760 cents
// sound: 1
