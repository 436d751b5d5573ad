#include "engine/threads_start.h"

#include <string>
#include <system_error>
#include <utility>

#include "base/failpoint.h"

namespace semel::engine {

std::optional<std::thread> start_thread(std::function<void()> main) {
  try {
    SEMEL_FP("thread.start");
    return std::thread(std::move(main));
  } catch (const std::system_error&) {
    return std::nullopt;
  }
}

Error no_thread_for(std::string_view whose) {
  return make_error(ErrorCode::Overloaded,
                    "the system has no thread for " + std::string(whose) +
                        ": raise the limit of threads (ulimit -u, pids.max of the container, kernel.threads-max), or "
                        "open fewer engines and workers; nothing was started");
}

}  // namespace semel::engine
