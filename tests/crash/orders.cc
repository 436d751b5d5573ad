#include "tests/crash/orders.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "core/history.h"
#include "testing/seeded_random.h"
#include "tests/crash/open_store.h"
#include "tests/crash/process.h"

namespace semel::crash {
namespace {

using core::EventKind;

class Workers {
 public:
  Workers(std::string store, std::string effects, int processes, int orders)
      : arguments_{std::move(store), std::move(effects), std::to_string(orders)}, all_(processes) {
    for (std::size_t i = 0; i < all_.size(); ++i) start(i);
  }
  // The process starts again when it was killed, and also when it was done already: the orders are the same.
  void kill(std::size_t i) {
    Worker& one = all_[i];
    one.process->kill_and_drain([&](const std::string& line) { note(one, line); });
    if (!one.done) ++in_the_middle_;
    start(i);
  }
  void read(long micros) {
    for (Worker& one : all_)
      if (one.open) one.open = one.process->read_lines(micros, [&](const std::string& line) { note(one, line); });
  }
  void finish() {
    const auto over = [this] {
      read(1'000);
      return std::ranges::none_of(all_, &Worker::open);
    };
    if (!wait_until(over, 120)) problems_ += "not all workers came to an end\n";
    for (const Worker& one : all_)
      if (!one.done) problems_ += "a worker ended before it was done\n";
  }
  const std::string& problems() const { return problems_; }
  long in_the_middle() const { return in_the_middle_; }
  std::size_t size() const { return all_.size(); }

 private:
  struct Worker {
    std::unique_ptr<Process> process;
    bool open = true;
    bool done = false;
  };
  void start(std::size_t i) { all_[i] = {std::make_unique<Process>("crash_orders", arguments_)}; }
  void note(Worker& one, const std::string& line) {
    one.done = one.done || line == "done";
    if (line.starts_with("refused") || line.starts_with("failed")) problems_ += line + "\n";
  }
  const std::vector<std::string> arguments_;
  std::vector<Worker> all_;
  std::string problems_;
  long in_the_middle_ = 0;
};

// How often each order's charge is in its history.
std::string check_histories(const std::string& store_url, int orders) {
  auto store = open_store(store_url, false).value();
  std::string wrong;
  for (int i = 0; i < orders; ++i) {
    const std::string id = "order-" + std::to_string(i);
    const auto run = store->execution_find(core::kDefaultTenant, core::Space::workflow, id).value();
    if (!run || run->execution.status != Status::succeeded) {
      wrong += id + " is not over\n";
      continue;
    }
    int charges = 0;
    const auto rows = store->history_get(run->execution.id, 0, INT64_MAX).value();
    for (const auto& row : rows) {
      const auto events = core::decode_events(row.events).value();
      charges += static_cast<int>(std::ranges::count_if(events, [](const auto& event) {
        return event.kind == EventKind::local_completed && event.name == "charge";
      }));
    }
    if (charges != 1) wrong += id + " has " + std::to_string(charges) + " charges in its history\n";
  }
  const auto broken = store->verify().value();
  for (const auto& text : broken) wrong += text + "\n";
  return wrong;
}

std::string check_effects(const std::string& folder, int orders) {
  std::map<std::string, int> kinds;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    const std::string name = file.path().filename().string();
    ++kinds[name.substr(0, name.find(' '))];
  }
  std::string wrong;
  for (const char* kind : {"reserve", "charge", "ship"})
    if (kinds[kind] != orders) wrong += std::string(kind) + ": " + std::to_string(kinds[kind]) + " times\n";
  if (kinds.contains("refund") || kinds.contains("put_back")) wrong += "something was undone\n";
  return wrong;
}

}  // namespace

std::string kill_orders(const std::string& store, const std::string& effects, int processes, int orders, long kills) {
  std::filesystem::create_directory(effects);
  base::SeededRandom random(testing::test_seed(1));
  Workers workers(store, effects, processes, orders);
  for (long i = 0; i < kills; ++i) {
    const std::int64_t until = base::steady_micros() + 1'000 + static_cast<std::int64_t>(random.below(400'000));
    wait_until([&] { return workers.read(1'000), base::steady_micros() >= until; });
    workers.kill(random.below(workers.size()));
  }
  workers.finish();
  std::printf("%ld kills, %ld of them with orders open, %d orders\n", kills, workers.in_the_middle(), orders);
  return workers.problems() + check_histories(store, orders) + check_effects(effects, orders);
}

}  // namespace semel::crash
