// Callers that wait for something in the store to change: results, and polls for work. Hints make them look sooner; the
// poll interval is the truth. All that are due in one step are read from the store in one go. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>

#include "core/row_cache.h"
#include "store/port.h"

namespace semel::engine {

// The executions that one step's waiters wait for, as that step read them.
class SeenExecutions {
 public:
  explicit SeenExecutions(store::Store& store) : store_(store) {}
  void read(core::TenantId tenant, std::span<const ExecutionId> ids);
  // One that was not read with the others is read now.
  Result<std::optional<store::ExecutionView>> get(core::TenantId tenant, ExecutionId id) const;

 private:
  store::Store& store_;
  std::unordered_map<ExecutionId, store::ExecutionView> views_;
};

class WaitingRoom {
 public:
  // One look. Nothing: it answered its caller and is done. Else the execution whose end it waits for now; nil: work.
  // `now` is store time.
  using Look = std::function<std::optional<ExecutionId>(Instant now, const SeenExecutions& seen)>;
  // The caller's end when the engine stops.
  using Drop = std::function<void(const Error& why)>;

  static constexpr Duration kPollInterval{250'000};

  explicit WaitingRoom(store::Store& store) : store_(store) {}

  // Looked at by the next step for the first time.
  void wait_for_end(core::TenantId tenant, ExecutionId execution, Instant deadline, Look look, Drop drop);
  void wait_for_work(Instant deadline, Look look, Drop drop);

  // True: something is due at once.
  bool note(const store::Wakes& wakes);
  Instant step(Instant now);
  void drop_all(const Error& why);
  std::size_t size() const;

 private:
  struct Waiter {
    core::TenantId tenant{};
    ExecutionId execution;  // nil: waits for work
    Instant deadline{};
    Instant look_at{};
    Look look;
    Drop drop;
  };
  void enter(Waiter waiter);
  SeenExecutions read_all(const std::list<Waiter>& due);

  void drop_past();

  store::Store& store_;
  mutable std::mutex mutex_;
  std::uint64_t history_ = 0;  // of the store, in which those who wait read their numbers
  std::list<Waiter> waiters_;
  // While a step looks: what was noted since it began.
  std::size_t looking_ = 0;
  bool work_noted_ = false;
  std::unordered_set<ExecutionId> ended_;
  std::optional<Error> closed_;
};

}  // namespace semel::engine
