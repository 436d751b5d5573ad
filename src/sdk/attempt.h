// One attempt as user code sees it: the context, the middleware around the function, and what its exceptions mean.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/handler.h"
#include "sdk/convert.h"
#include "semel/context.h"
#include "semel/task.h"

namespace semel::sdk {

// What handlers need from the engine around them.
struct HandlerEnv {
  Sealer sealer;
  LogSink log;                                      // may be empty
  std::function<void(std::function<void()>)> post;  // runs a user's callback off the engine's threads
  // May be empty. A function asked for its idempotency key.
  std::function<void(const engine::Run&)> key_read = nullptr;
};

// A user's on_stop call, which must not run once the handler is over.
struct StopCall {
  std::mutex mutex;
  std::function<void()> call;
};

struct Attempt {
  const HandlerEnv& env;
  engine::Run& run;
  Execution execution;
  std::mutex mutex;
  std::optional<Duration> next_delay;  // guarded by mutex
  std::vector<std::shared_ptr<StopCall>> stop_calls;
};

// The engine's handler for a task function: decodes nothing, catches everything.
engine::Handler make_handler(std::shared_ptr<const HandlerEnv> env, RawHandler handler,
                             std::shared_ptr<const std::vector<Middleware>> middleware);

// True on a thread that runs a handler right now: it may go on using the engine while that is drained.
bool inside_handler();

}  // namespace semel::sdk
