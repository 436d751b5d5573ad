#include "base/clock.h"

#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <string>

namespace semel::base {
namespace {

Duration read_clock(clockid_t id) {
  timespec ts{};
  clock_gettime(id, &ts);
  return std::chrono::seconds(ts.tv_sec) + Duration{ts.tv_nsec / 1000};
}

// Unlike CLOCK_MONOTONIC it goes on while the machine is suspended.
Duration boot_now() { return read_clock(CLOCK_BOOTTIME); }

}  // namespace

SystemClock::SystemClock(Duration ahead) : anchor_wall_(wall_now() + ahead), anchor_boot_(boot_now()) {}

Instant SystemClock::now() { return anchor_wall_ + (boot_now() - anchor_boot_); }

Duration SystemMonotonic::now() { return Duration{steady_micros()}; }

Instant wall_now() { return Instant{read_clock(CLOCK_REALTIME)}; }

// Read without the C library, whose clocks a preloaded one may shift together with the wall clock. A time namespace
// counts from an origin of its own.
BootTime boot_time() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  struct stat space{};
  if (stat("/proc/self/ns/time", &space) == 0) id += std::to_string(space.st_ino);
  timespec passed{};
  syscall(SYS_clock_gettime, CLOCK_BOOTTIME, &passed);
  return {static_cast<std::int64_t>(std::hash<std::string>{}(id) >> 1),
          std::chrono::seconds(passed.tv_sec) + Duration{passed.tv_nsec / 1000}};
}

std::int64_t steady_micros() { return read_clock(CLOCK_MONOTONIC).count(); }

}  // namespace semel::base
