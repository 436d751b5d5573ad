// Ends the waits of all connections of one store.
#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

namespace semel::store::postgres {

class StopSignal {
 public:
  StopSignal() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  ~StopSignal() {
    if (fd_ >= 0) ::close(fd_);
  }
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  // Any thread. Never taken back.
  void raise() {
    raised_.store(true);
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(fd_, &one, sizeof one);
  }
  bool raised() const { return raised_.load(); }
  int fd() const { return fd_; }  // readable once it is raised

 private:
  const int fd_;
  std::atomic<bool> raised_{false};
};

}  // namespace semel::store::postgres
