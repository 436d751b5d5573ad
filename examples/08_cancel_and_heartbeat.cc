// Long tasks say how far they are, go on where the last attempt stopped, and stop when somebody cancels them.
#include <semel/semel.h>

#include <future>
#include <iostream>

using namespace std::chrono_literals;

struct Progress {
  int done = 0;
};
SEMEL_FIELDS(Progress, done)

int main() {
  const auto copy = semel::task("copy", [](semel::TaskContext& context, const int& pages) {
    int done = context.last_heartbeat<Progress>().value_or(Progress{}).done;
    const int resumed_at = done;
    while (done < pages) {
      context.heartbeat(Progress{++done});
      if (context.attempt() == 1 && done == 3) throw semel::RetryAfter(1ms, "the scanner jammed");
    }
    return "copied " + std::to_string(pages) + ", resumed at " + std::to_string(resumed_at);
  });

  std::promise<void> started;
  const auto watch = semel::task("watch", [&](semel::TaskContext& context) {
    std::promise<void> stopped;
    context.on_stop([&] { stopped.set_value(); });
    started.set_value();
    stopped.get_future().wait();
    context.throw_if_stopped();  // ends the task cancelled
  });

  auto engine = semel::Engine::open("sqlite:app.db").value();
  auto worker = engine.start_worker(semel::WorkerOptions().add(copy).add(watch)).value();

  std::cout << engine.enqueue(copy, 5).value().result().value() << "\n";

  const auto watching = engine.enqueue(watch).value();
  started.get_future().wait();
  std::cout << "over at once: " << is_terminal(watching.cancel().value()) << "\n";  // asked; the handler decides when
  try {
    watching.get();
  } catch (const semel::Cancelled&) {
    std::cout << "it was cancelled\n";
  }

  const auto later = engine.enqueue(watch, semel::EnqueueOptions().delay(1h)).value();
  std::cout << "over at once: " << is_terminal(later.cancel().value()) << "\n";  // nobody runs it
  engine.shutdown();
}

// Output:
// copied 5, resumed at 3
// over at once: 0
// it was cancelled
// over at once: 1
