// Randomness comes in through the door: ids, jitter and samples take a Random.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace semel::base {

class Random {
 public:
  virtual ~Random() = default;
  // 64 uniformly distributed bits. Thread-safe in every implementation.
  virtual std::uint64_t next() = 0;

  // Uniform in [0, bound); 0 when bound is 0.
  std::uint64_t below(std::uint64_t bound);
};

// The kernel's generator, read in blocks. A forked child never repeats what its parent drew.
class SystemRandom final : public Random {
 public:
  SystemRandom();
  std::uint64_t next() override;

 private:
  void refill();

  std::mutex mutex_;
  std::array<std::uint64_t, 64> block_{};
  std::size_t used_ = 64;
  std::uint64_t fork_generation_ = 0;
};

// splitmix64: the same seed gives the same sequence on every machine.
class SeededRandom final : public Random {
 public:
  explicit SeededRandom(std::uint64_t seed) : seed_(seed), state_(seed) {}
  std::uint64_t next() override;
  std::uint64_t seed() const { return seed_; }

 private:
  std::uint64_t seed_;
  std::atomic<std::uint64_t> state_;
};

}  // namespace semel::base
