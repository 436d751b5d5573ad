// The worker side of drain, latency and duplicates: in this process or in one of its own.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "cli/handlers.h"
#include "engine/handler.h"

namespace semel::cli::bench {

struct HandlerProbe {
  std::atomic<std::int64_t> first_start{0};  // steady microseconds; 0: none yet
  std::atomic<std::int64_t> started{0};
  std::function<void(std::int64_t at)> on_start;  // from handler threads
  std::shared_ptr<Effects> effects;               // 8 bytes per run: "%7d\n" of the payload's i
};

std::shared_ptr<engine::HandlerTable> noop_handlers(std::shared_ptr<HandlerProbe> probe);

// How often each index of 0 .. count-1 is in the file.
struct EffectCount {
  std::int64_t lines = 0;
  std::int64_t missing = 0;
  std::int64_t repeated = 0;  // runs beyond the first
};
EffectCount count_effects(const std::string& path, std::int64_t count);
std::int64_t effect_lines(const std::string& path);

// A folder of its own that goes away with the object.
class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace semel::cli::bench
