#include "base/failpoint.h"

#include <atomic>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <map>
#include <mutex>

namespace semel::base {
namespace {

struct Failpoints {
  std::mutex mutex;
  FailpointHook hook;
  std::string armed;
  std::uint64_t visits_left = 0;
  bool counting = false;
  std::map<std::string, std::uint64_t, std::less<>> visits;
};

Failpoints& failpoints() {
  static auto& instance = *new Failpoints;
  return instance;
}

std::atomic<bool>& active() {
  static std::atomic<bool> flag = [] {
    const char* text = std::getenv("SEMEL_FAILPOINT");
    return text != nullptr && *text != '\0';
  }();
  return flag;
}

void update_active(const Failpoints& points) {
  active().store(!points.armed.empty() || points.counting || points.hook != nullptr, std::memory_order_relaxed);
}

bool arm_locked(Failpoints& points, std::string_view text) {
  const auto colon = text.rfind(':');
  std::uint64_t count = 1;
  if (colon != std::string_view::npos) {
    const auto digits = text.substr(colon + 1);
    const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), count);
    if (problem != std::errc{} || end != digits.data() + digits.size() || count == 0) return false;
    text = text.substr(0, colon);
  }
  points.armed = text;
  points.visits_left = count;
  return true;
}

void arm_from_environment(Failpoints& points) {
  static std::once_flag once;
  std::call_once(once, [&points] {
    if (const char* text = std::getenv("SEMEL_FAILPOINT"); text != nullptr && points.armed.empty())
      arm_locked(points, text);
  });
}

}  // namespace

void set_failpoint_hook(FailpointHook hook) {
  auto& points = failpoints();
  std::lock_guard lock(points.mutex);
  points.hook = std::move(hook);
  update_active(points);
}

bool arm_failpoint(std::string_view text) {
  auto& points = failpoints();
  std::lock_guard lock(points.mutex);
  points.armed.clear();
  const bool understood = text.empty() || arm_locked(points, text);
  update_active(points);
  return understood;
}

void count_failpoints(bool on) {
  auto& points = failpoints();
  std::lock_guard lock(points.mutex);
  points.counting = on;
  points.visits.clear();
  update_active(points);
}

std::vector<std::pair<std::string, std::uint64_t>> failpoint_visits() {
  auto& points = failpoints();
  std::lock_guard lock(points.mutex);
  return {points.visits.begin(), points.visits.end()};
}

bool failpoints_active() { return active().load(std::memory_order_relaxed); }

void visit_failpoint(const char* name) {
  auto& points = failpoints();
  FailpointHook hook;
  {
    std::lock_guard lock(points.mutex);
    arm_from_environment(points);
    if (points.counting) ++points.visits[name];
    if (points.armed == name && --points.visits_left == 0) std::raise(SIGKILL);
    hook = points.hook;
  }
  if (hook) hook(name);
}

}  // namespace semel::base
