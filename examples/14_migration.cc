// Changing a workflow while runs of it are under way: `patched` lets old runs go the old way. Code that no longer fits
// a run's history is refused before it does anything, and the run goes on when the code fits again.
#include "14_migration.h"

#include <semel/testing.h>

#include <iostream>

using namespace std::chrono_literals;

int main() {
  semel::testing::TestEngine kit;
  auto old_worker = kit->start_worker(migration::tasks().add(migration::v1)).value();
  const auto old_run = kit->start(migration::v1, "old", "lamp").value();
  kit.advance(24h);
  old_worker.stop();

  // Deployed by mistake: the run is parked, nothing is lost.
  auto careless = kit->start_worker(migration::tasks().add(migration::careless)).value();
  kit.advance(std::chrono::days(7));
  std::cout << "careless: parked " << (careless.metrics().runs_parked > 0) << ", " << kit.calls("insure")
            << " insured, " << kit.calls("send") << " sent\n";
  careless.stop();

  auto worker = kit->start_worker(migration::tasks().add(migration::v2)).value();
  const auto new_run = kit->start(migration::v2, "new", "vase").value();
  kit.advance(std::chrono::days(8));
  std::cout << "old run: " << old_run.get() << "\n";
  std::cout << "new run: " << new_run.get() << "\n";
  return kit.calls("insure") == 1 && kit.calls("send") == 2 && kit.verify().empty() ? 0 : 1;
}

// Output:
// careless: parked 1, 0 insured, 0 sent
// old run: sent lamp
// new run: insured vase, sent vase
