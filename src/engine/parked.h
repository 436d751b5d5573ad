// Callers that wait for something in the store to change: results, and polls for work. Hints make them look sooner; the
// poll interval is the truth. Thread-safe; `due` is called by the step that does the looking.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <mutex>
#include <unordered_map>
#include <utility>
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

  // Taken before a caller looks for the first time: what is noted from then on is not missed, and nobody looks twice
  // for nothing. Given to park_for_end, or given back.
  struct Ticket {
    std::uint64_t seen = 0;
  };
  Ticket enter();
  void leave(Ticket ticket);

  void park_for_end(ExecutionId execution, Instant deadline, Look look, Drop drop);  // looked at by the next step
  void park_for_end(Ticket ticket, ExecutionId execution, Instant now, Instant deadline, Look look, Drop drop);
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
  void remember(const std::vector<ExecutionId>& ended);                      // mutex_ held
  bool noted_since(const ExecutionId& execution, std::uint64_t seen) const;  // mutex_ held

  mutable std::mutex mutex_;
  std::list<Waiter> waiters_;
  std::size_t looking_ = 0;
  std::size_t entering_ = 0;
  std::uint64_t notes_ = 0;
  std::uint64_t work_noted_ = 0;  // the note that last told of work
  // The last executions that ended, and the note that told so.
  std::unordered_map<ExecutionId, std::uint64_t> ended_;
  std::deque<std::pair<std::uint64_t, ExecutionId>> ended_order_;
  std::uint64_t forgotten_ = 0;  // notes up to this one may be missing
  bool closed_ = false;
  Error closed_why_;
};

}  // namespace semel::engine
