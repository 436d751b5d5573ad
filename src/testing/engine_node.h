// One engine without threads, stepped by a test: writer, use cases and clockwork over one store.
#pragma once

#include <functional>
#include <optional>
#include <utility>

#include "base/random.h"
#include "engine/clockwork.h"
#include "engine/engine.h"
#include "testing/manual_clock.h"

namespace semel::testing {

class EngineNode {
 public:
  EngineNode(store::Store& store, ManualClock& clock, ManualMonotonic& monotonic, std::uint64_t seed = 1,
             engine::WriterOptions writer_options = {}, engine::ClockworkOptions clockwork_options = {})
      : random(seed),
        ids(random),
        env{store, clock, monotonic, random, base::null_log(), ids},
        writer(env, writer_options),
        engine(env, writer),
        clockwork(engine, clockwork_options) {
    engine::WriterHooks hooks;
    hooks.published = [this](const store::Wakes& wakes) {
      engine.note_wakes(wakes);
      clockwork.note_wakes(wakes);
      if (published) published(wakes);
    };
    hooks.ride = [this](const engine::FreshLanes& lanes) { return ride ? ride(lanes) : std::vector<engine::Rider>{}; };
    writer.set_hooks(std::move(hooks));
    engine.lane_changed = [this](core::LaneId lane) { clockwork.promote(lane); };
  }

  Instant now() { return env.store.clock().now(); }

  // Steps the writer until it has nothing to do now.
  void settle(int most = 10'000) {
    for (int i = 0; i < most; ++i) {
      bool idle = true;
      for (std::size_t line = 0; line < writer.lines(); ++line) idle = writer.step(now(), line) > now() && idle;
      if (idle) return;
    }
  }

  // Runs an asynchronous call to its answer.
  template <class T, class Call>
  Result<T> get(Call&& call) {
    std::optional<Result<T>> result;
    call(engine::Callback<T>([&result](Result<T> answer) { result.emplace(std::move(answer)); }));
    for (int i = 0; i < 10'000 && !result; ++i)
      for (std::size_t line = 0; line < writer.lines(); ++line) writer.step(now(), line);
    if (!result) return make_error(ErrorCode::Internal, "the call was not answered");
    return std::move(*result);
  }

  Result<engine::EnqueueOutcome> enqueue(engine::EnqueueRequest request) {
    return get<engine::EnqueueOutcome>([&](auto done) { engine.enqueue(std::move(request), std::move(done)); });
  }

  base::SeededRandom random;
  base::IdSource ids;
  engine::Env env;
  engine::Writer writer;
  engine::Engine engine;
  engine::Clockwork clockwork;
  std::function<void(const store::Wakes&)> published;
  std::function<std::vector<engine::Rider>(const engine::FreshLanes& lanes)> ride;
};

}  // namespace semel::testing
