// D23: many idle workers neither ask at the same moment nor ask often.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>

#include "engine/worker.h"
#include "store/memory/memory_store.h"
#include "testing/engine_node.h"

namespace semel::engine {
namespace {

class NoExecutor final : public Executor {
 public:
  void start(std::vector<RunRef>) override {}
  std::vector<RunRef> take_unstarted() override { return {}; }
};

TEST(IdleWorkers, PollAtInstantsOfTheirOwnAndNoMoreOftenThanHalfTheirInterval) {
  testing::ManualClock clock;
  testing::ManualMonotonic monotonic;
  store::memory::MemoryStore store{clock};
  testing::EngineNode node{store, clock, monotonic};
  HandlerTable handlers;
  handlers.seal();
  NoExecutor executor;
  const WorkerOptions options;
  std::vector<std::unique_ptr<Worker>> workers;
  for (int i = 0; i < 1000; ++i) workers.push_back(std::make_unique<Worker>(node.engine, handlers, executor, options));
  std::multiset<Instant> next;
  for (auto& worker : workers) next.insert(worker->poll(clock.now()));
  EXPECT_GE(*next.begin() - clock.now(), options.poll_interval / 2);
  EXPECT_LT(*next.rbegin() - clock.now(), options.poll_interval * 2);
  // No hundredth of the interval sees more than a few of them.
  std::size_t most = 0;
  for (const Instant at : next)
    most = std::max<std::size_t>(most, static_cast<std::size_t>(std::distance(
                                           next.lower_bound(at), next.lower_bound(at + options.poll_interval / 100))));
  EXPECT_LT(most, 50u);
}

}  // namespace
}  // namespace semel::engine
