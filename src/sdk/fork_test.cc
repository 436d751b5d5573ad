// F8: fork() without exec. The child's copy of an engine answers errors and never hangs, the parent's goes on.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <memory>
#include <string>

#include "semel/semel.h"
#include "testing/forked.h"

namespace semel {
namespace {

using namespace std::chrono_literals;

const auto kDouble = task("double", [](const std::int64_t& n) { return n * 2; });

// ThreadSanitizer ends a forked child that starts a thread.
#if defined(__has_feature)
constexpr bool kChildMayStartThreads = !__has_feature(thread_sanitizer);
#else
constexpr bool kChildMayStartThreads = true;
#endif

// Everything a child may try with what it inherited; the first answer that is wrong.
std::string use_in_child(std::unique_ptr<Engine> engine, std::unique_ptr<Worker> worker, Handle<std::int64_t> handle,
                         const std::string& url) {
  const auto refused = [](const auto& result) {
    return !result.ok() && result.error().code == ErrorCode::Unsupported &&
           result.error().message.find("fork") != std::string::npos;
  };
  if (!refused(engine->enqueue(kDouble, 1))) return "enqueue";
  if (!refused(engine->get_task("a"))) return "get_task";
  if (!refused(engine->list({}))) return "list";
  if (!refused(engine->explain("a"))) return "explain";
  if (!refused(engine->start_worker(WorkerOptions().add(kDouble)))) return "start_worker";
  if (!refused(handle.result())) return "result";
  bool told = false;
  engine->enqueue_async(kDouble, 2, {}, [&](const Result<Handle<std::int64_t>>& done) { told = refused(done); });
  if (!told) return "enqueue_async";
  if (engine->metrics().commits != 0 || worker->metrics().claimed != 0) return "metrics";
  if (kChildMayStartThreads) {
    if (const auto own = Engine::open(url); own.ok() || own.error().code != ErrorCode::Unsupported) return "open";
    if (auto memory = Engine::open("memory:"); !memory.ok() || !memory->enqueue(kDouble, 1).ok()) return "own engine";
  }
  worker->stop(1ms);
  engine->shutdown(1ms);
  worker.reset();
  engine.reset();
  return "refused";
}

TEST(Fork, TheChildIsRefusedAndTheParentGoesOn) {
  std::string folder = (std::filesystem::temp_directory_path() / "semel-fork.XXXXXX").string();
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const std::string url = "sqlite:" + folder + "/app.db";
  auto engine = std::make_unique<Engine>(Engine::open(url).value());
  auto worker = std::make_unique<Worker>(engine->start_worker(WorkerOptions().add(kDouble)).value());
  const auto handle = engine->enqueue(kDouble, 21, EnqueueOptions().task_id("a")).value();
  EXPECT_EQ(handle.result().value(), 42);
  testing::Forked child([&] { return use_in_child(std::move(engine), std::move(worker), handle, url); });
  EXPECT_EQ(child.run(), "refused");
  EXPECT_EQ(engine->enqueue(kDouble, 4).value().result().value(), 8);
  worker.reset();
  engine.reset();
  EXPECT_TRUE(Engine::open(url).ok());
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace semel
