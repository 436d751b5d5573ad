// Named crash points: each window between two durable effects has a name, and a test visits it by that name.
//
//   SEMEL_FP("writer.before_commit");
//
// Compiled out unless the build defines SEMEL_CRASH_POINTS. Compiled in, a point costs one relaxed load while nothing
// is armed. `SEMEL_FAILPOINT="name:count"` in the environment kills the process with SIGKILL at the count-th visit.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace semel::base {

// Called at every visit of every point while set; for simulators and for counting. The name outlives the process.
using FailpointHook = std::function<void(std::string_view name)>;

// Replaces the hook (empty: none). Not to be changed while other threads visit points.
void set_failpoint_hook(FailpointHook hook);

// Arms `name:count` as the environment variable would; empty text disarms. False when the text cannot be read.
bool arm_failpoint(std::string_view text);

// Counts visits from now on; off by default.
void count_failpoints(bool on);
std::vector<std::pair<std::string, std::uint64_t>> failpoint_visits();

// What SEMEL_FP calls.
void visit_failpoint(const char* name);
bool failpoints_active();

}  // namespace semel::base

#if defined(SEMEL_CRASH_POINTS) || defined(SEMEL_FAILPOINTS)
#define SEMEL_FP(name)                                                            \
  do {                                                                            \
    if (::semel::base::failpoints_active()) ::semel::base::visit_failpoint(name); \
  } while (false)
#else
#define SEMEL_FP(name) \
  do {                 \
  } while (false)
#endif
