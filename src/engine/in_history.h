// The history of the store in which a thread read the numbers that it works with.
//
// Numbers of lanes and tenants count only in the history in which they were read (store::Store::history). Who looks up
// a name and submits an operation with its number holds one of these from before the look-up: the operation carries it,
// and the store refuses it once there is another. Callbacks run in the history of their operation, so what they submit
// with the same numbers carries it too.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

namespace semel::engine {

class InHistory {
 public:
  explicit InHistory(std::uint64_t number) : number_(number), outer_(std::exchange(innermost_, this)) {}
  ~InHistory() { innermost_ = outer_; }
  InHistory(const InHistory&) = delete;
  InHistory& operator=(const InHistory&) = delete;

  // Of the innermost one of this thread.
  static std::optional<std::uint64_t> current() {
    return innermost_ == nullptr ? std::nullopt : std::optional(innermost_->number_);
  }

 private:
  static inline thread_local const InHistory* innermost_ = nullptr;
  const std::uint64_t number_;
  const InHistory* const outer_;
};

}  // namespace semel::engine
