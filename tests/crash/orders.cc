#include "tests/crash/orders.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "core/history.h"
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
    all_[i]->kill_and_drain([this](const std::string& line) { note(line); });
    start(i);
  }
  void read(long micros) {
    for (auto& process : all_) process->read_lines(micros, [this](const std::string& line) { note(line); });
  }
  bool finish() {
    for (auto& process : all_) process->expect_line("done", 120);
    return refused_.empty();
  }
  const std::string& refused() const { return refused_; }
  std::size_t size() const { return all_.size(); }

 private:
  void start(std::size_t i) { all_[i] = std::make_unique<Process>("crash_orders", arguments_); }
  void note(const std::string& line) {
    if (line.starts_with("refused") || line.starts_with("failed")) refused_ += line + "\n";
  }
  const std::vector<std::string> arguments_;
  std::vector<std::unique_ptr<Process>> all_;
  std::string refused_;
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
  std::mt19937 random(static_cast<unsigned>(std::random_device{}()));
  Workers workers(store, effects, processes, orders);
  for (long i = 0; i < kills; ++i) {
    const std::int64_t until = base::steady_micros() + 1'000 + static_cast<std::int64_t>(random() % 400'000);
    while (base::steady_micros() < until) workers.read(2'000);
    workers.kill(random() % workers.size());
  }
  workers.finish();
  std::printf("%ld kills, %d orders\n", kills, orders);
  return workers.refused() + check_histories(store, orders) + check_effects(effects, orders);
}

}  // namespace semel::crash
