// Many tasks in one call, and one task that runs when all of them have ended.
#include <semel/semel.h>

#include <atomic>
#include <iostream>

int main() {
  std::atomic<int> thumbnails{0};
  const auto resize = semel::task("resize", [&](const std::string& image) {
    ++thumbnails;
    return image + ".thumb";
  });
  const auto publish = semel::task("publish", [&](const std::string& album) {
    return "album '" + album + "' with " + std::to_string(thumbnails) + " thumbnails";
  });
  auto engine = semel::Engine::open("sqlite:app.db").value();

  const std::vector<std::string> images = {"a.jpg", "b.jpg", "c.jpg"};
  // The completion task is enqueued in the transaction that ends the last member.
  const auto group = engine.create_group(3, publish, "holiday").value();
  const auto handles = engine
                           .enqueue_batch(resize, images,
                                          [&](const std::string& image) {
                                            return semel::EnqueueOptions().task_id("resize-" + image).group(group.id);
                                          })
                           .value();

  auto worker = engine.start_worker(semel::WorkerOptions().add(resize).add(publish)).value();
  for (const auto& handle : handles) std::cout << handle.value().result().value() << "\n";

  std::cout << group.completion.result().value() << "\n";

  // Each answer stands for itself: a batch is not a transaction.
  std::vector<semel::Item> items;
  items.emplace_back(resize, "d.jpg");
  items.emplace_back(resize, "e.jpg", semel::EnqueueOptions().priority(-1));
  const auto mixed = engine.enqueue_batch(std::move(items)).value();
  std::cout << mixed[0].value().created() << ", " << mixed[1].error().message << "\n";
  engine.shutdown();
}

// Output:
// a.jpg.thumb
// b.jpg.thumb
// c.jpg.thumb
// album 'holiday' with 3 thumbnails
// 1, priority must be 0 .. 32767, got -1
