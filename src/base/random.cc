#include "base/random.h"

#include <pthread.h>
#include <sys/random.h>

#include <cerrno>
#include <cstdlib>

namespace semel::base {
namespace {

std::atomic<std::uint64_t> fork_count{0};

void count_forks() {
  static const int registered = pthread_atfork(nullptr, nullptr, [] { fork_count.fetch_add(1); });
  (void)registered;
}

void fill_from_kernel(void* to, std::size_t size) {
  auto* at = static_cast<unsigned char*>(to);
  while (size > 0) {
    const ssize_t got = getrandom(at, size, 0);
    if (got < 0) {
      if (errno == EINTR) continue;
      std::abort();  // a kernel without getrandom: ids could repeat, so nothing may go on
    }
    at += got;
    size -= static_cast<std::size_t>(got);
  }
}

}  // namespace

std::uint64_t Random::below(std::uint64_t bound) {
  if (bound == 0) return 0;
  return static_cast<std::uint64_t>((static_cast<unsigned __int128>(next()) * bound) >> 64);
}

SystemRandom::SystemRandom() { count_forks(); }

std::uint64_t SystemRandom::next() {
  const std::lock_guard lock(mutex_);
  if (used_ == block_.size() || fork_generation_ != fork_count.load(std::memory_order_relaxed)) refill();
  return block_[used_++];
}

void SystemRandom::refill() {
  fork_generation_ = fork_count.load(std::memory_order_relaxed);
  fill_from_kernel(block_.data(), sizeof block_);
  used_ = 0;
}

std::uint64_t SeededRandom::next() {
  constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15ull;
  std::uint64_t z = state_.fetch_add(kStep, std::memory_order_relaxed) + kStep;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

}  // namespace semel::base
