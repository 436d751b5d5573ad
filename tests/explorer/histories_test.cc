// Histories that were recorded once must fit the code of the examples for ever: tests/histories holds them.
//
// SEMEL_RECORD_HISTORIES=1 writes the files that are missing. A file is never rewritten: what a program of today does
// with a history of yesterday is the point.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>

#include "examples/10_order.h"
#include "examples/11_fan_out.h"
#include "examples/12_approval.h"
#include "examples/13_subscription.h"
#include "examples/14_migration.h"
#include "semel/testing.h"

namespace semel::testing {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

const fs::path kFolder = fs::path(SEMEL_SOURCE_DIR) / "tests" / "histories";

std::string read(const fs::path& file) {
  std::ifstream in(file);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

using Recorder = std::function<std::string()>;
using Replayer = std::function<Result<void>(const std::string& json)>;
struct Recorded {
  Recorder record;
  Replayer replay;
};

template <class R, class A>
Replayer with(const WorkflowType<R, A>& workflow) {
  return [workflow](const std::string& json) { return testing::replay(workflow, json); };
}

template <class R, class A>
std::string run(const WorkflowType<R, A>& workflow, const A& argument, WorkerOptions worker,
                const std::function<void(TestEngine&, WorkflowHandle<R>&)>& script = {}) {
  TestEngine kit(TestOptions().cleanup(false));
  kit->start_worker(worker.add(workflow)).value();
  auto handle = kit->start(workflow, "recorded", argument).value();
  kit.run_until_idle();
  if (script) script(kit, handle);
  kit.advance(std::chrono::days(400));
  return kit->export_history(handle.run_id()).value();
}

WorkerOptions shop_tasks() {
  shop::world = {{{"lamp", 1}, {"piano", 1}}};
  return WorkerOptions().add(shop::reserve).add(shop::put_back).add(shop::ship);
}

std::map<std::string, Recorded> corpus() {
  std::map<std::string, Recorded> out;
  out["order_shipped"] = {
      [] { return run(shop::process_workflow, shop::Order{"order-1", "lamp", 4200}, shop_tasks()); },
      with(shop::process_workflow)};
  out["order_undone"] = {
      [] { return run(shop::process_workflow, shop::Order{"order-2", "piano", 900000}, shop_tasks()); },
      with(shop::process_workflow)};
  out["fan_out"] = {[] { return run(thumbnails::album_workflow, 20, WorkerOptions().add(thumbnails::resize)); },
                    with(thumbnails::album_workflow)};
  out["approval_given"] = {[] {
                             const auto tasks = WorkerOptions().add(expenses::ask_boss).add(expenses::pay);
                             return run<std::string, expenses::Expense>(
                                 expenses::approve_workflow, {"ada", 340}, tasks,
                                 [](TestEngine& kit, WorkflowHandle<std::string>& handle) {
                                   kit.advance(48h);
                                   handle.signal("decision", expenses::Decision{true, "eve"}, "click-1").value();
                                 });
                           },
                           with(expenses::approve_workflow)};
  out["approval_late"] = {[] {
                            const auto tasks = WorkerOptions().add(expenses::ask_boss).add(expenses::pay);
                            return run(expenses::approve_workflow, expenses::Expense{"bob", 900000}, tasks);
                          },
                          with(expenses::approve_workflow)};
  out["subscription_continued"] = {
      [] { return run(billing::subscribe_workflow, billing::Subscription{"ada", 15, 990, 0}, WorkerOptions()); },
      with(billing::subscribe_workflow)};
  out["deliver_before_the_patch"] = {[] { return run(migration::v1, std::string("lamp"), migration::tasks()); },
                                     with(migration::v2)};
  out["deliver_after_the_patch"] = {[] { return run(migration::v2, std::string("vase"), migration::tasks()); },
                                    with(migration::v2)};
  return out;
}

TEST(Histories, OfYesterdayFitTheCodeOfToday) {
  int replayed = 0;
  for (const auto& [name, recorded] : corpus()) {
    SCOPED_TRACE(name);
    const fs::path file = kFolder / (name + ".json");
    if (!fs::exists(file) && std::getenv("SEMEL_RECORD_HISTORIES") != nullptr) std::ofstream(file) << recorded.record();
    ASSERT_TRUE(fs::exists(file)) << "record it with SEMEL_RECORD_HISTORIES=1";
    const auto fits = recorded.replay(read(file));
    EXPECT_TRUE(fits) << fits.error().message;
    ++replayed;
  }
  int files = 0;
  for ([[maybe_unused]] const auto& file : fs::directory_iterator(kFolder)) ++files;
  EXPECT_EQ(files, replayed) << "a history that no workflow claims";
}

TEST(Histories, ThatDoNotFitAreRefusedWithTheEvent) {
  const auto fits = testing::replay(migration::careless, read(kFolder / "deliver_before_the_patch.json"));
  ASSERT_FALSE(fits);
  EXPECT_EQ(fits.error().code, ErrorCode::NondeterminismError);
}

}  // namespace
}  // namespace semel::testing
