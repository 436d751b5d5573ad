// Callers that wait for something in the store to change: results, and polls for work. Hints make them look sooner; the
// poll interval is the truth. Thread-safe; `due` is called by the step that does the looking.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <vector>

#include "core/row_cache.h"
#include "store/port.h"

namespace semel::engine {

class Parked {
 public:
  // One look. True: it answered its caller and is done. `now` is store time.
  using Look = std::function<bool(Instant now)>;
  // The caller's end when the engine stops.
  using Drop = std::function<void(const Error& why)>;

  static constexpr Duration kPollInterval{250'000};

  void park_for_end(ExecutionId execution, Instant deadline, Look look, Drop drop);
  void park_for_work(Instant deadline, Look look, Drop drop);

  // True: something is due at once.
  bool note(const store::Wakes& wakes);
  Instant step(Instant now);
  void drop_all(const Error& why);
  std::size_t size() const;

 private:
  struct Waiter {
    ExecutionId execution;  // nil: waits for work
    Instant deadline{};
    Instant look_at{};
    Look look;
    Drop drop;
  };
  void park(Waiter waiter);

  mutable std::mutex mutex_;
  std::list<Waiter> waiters_;
  std::size_t looking_ = 0;
  std::uint64_t notes_ = 0;
  bool closed_ = false;
  Error closed_why_;
};

}  // namespace semel::engine
