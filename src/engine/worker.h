// A worker pool without threads: session, claims, heartbeats, completions. The executor runs the handlers.
//
// The session is one row; renewing it extends every lease it holds. Claims ask for no more than the free slots plus
// about a millisecond of expected work, tenants in turn. A slot is free again only when the outcome of its task is
// durable, so after a crash no more tasks run twice than slots were in flight. Thread-safe; `step` never blocks and
// reads nothing.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/engine.h"
#include "engine/handler.h"
#include "engine/lane_picker.h"

namespace semel::engine {

struct WorkerOptions {
  std::string name = "worker";
  std::vector<std::string> tenants;  // empty: all
  std::vector<std::string> queues;   // empty: all
  int slots = 8;                     // handlers at once
  int max_unconfirmed = 256;         // handlers that ended, outcome not durable yet
  int max_prefetch = 1000;           // claimed before a slot is free; adapts to how long handlers take
  Duration lease{30'000'000};
  Duration poll_interval{250'000};  // jittered; how late a lost wake-up is noticed
  Duration no_handler_delay{5'000'000};
};

struct WorkerStats {
  std::uint64_t claimed = 0;
  std::uint64_t succeeded = 0;
  std::uint64_t failed = 0;
  std::uint64_t cancelled = 0;
  std::uint64_t released = 0;
  std::uint64_t lease_lost = 0;
  std::uint64_t no_handler = 0;
  std::size_t waiting = 0;  // claimed, not started
  std::size_t running = 0;
  std::size_t unconfirmed = 0;  // ended, not durable
};

// Runs handlers somewhere else. Calls Worker::finish once per run it was given and did not give back.
class Executor {
 public:
  virtual ~Executor() = default;
  virtual void start(std::vector<RunRef> runs) = 0;
  // Takes back what has not started.
  virtual std::vector<RunRef> take_unstarted() = 0;
};

class Worker {
 public:
  Worker(Engine& engine, const HandlerTable& handlers, Executor& executor, WorkerOptions options);
  ~Worker();

  // Opens the session and claims what it may. Returns when it wants to be called again.
  Instant step(Instant now);
  // Session renewal, running marks, cancel tokens. Its own thread may call it.
  Instant heartbeat(Instant now);
  // Looks for ready lanes: reads the store. Its own thread may call it.
  Instant poll(Instant now);
  void note_wakes(const store::Wakes& wakes);

  // The executor calls this right before the handler; false: the lease is gone, do not run it (and do not finish it).
  bool begin(Run& run, Instant now);
  // The handler is over. The outcome is durable when the slot is free again.
  void finish(RunRef run, HandlerOutcome outcome);

  // Stop claiming and release what has not started. Handlers go on.
  void drain();
  // Tell running handlers to stop.
  void cancel_running();
  // Forget handlers that did not end; their leases expire.
  void abandon();
  void close_session();
  bool drained() const;  // nothing claimed, running or unconfirmed
  bool closed() const;

  WorkerStats stats() const;
  std::function<void()> wake;  // set before use: step has something to do; from any thread

 private:
  enum class SessionState : std::uint8_t { none, opening, open, closing, closed };
  struct Claim {
    int left = 0;
    bool answered = false;
  };

  void open_session(Instant now);
  void session_opened(SessionId session, core::Answer answer, Instant asked_at);
  void session_lost(const char* why);  // mutex_ held
  void claim_more(Instant now);
  void claim_alone(Instant now);
  int wanted(Instant now) const;
  void claimed(ClaimId id, std::vector<core::TaskClaim::Want> wants, bool alone, Instant asked_at, core::Answer answer);
  void release_unknown(std::vector<RunRef> runs);
  void send_release(RunRef run, Duration delay, bool no_handler);
  void send_end(RunRef run, HandlerOutcome outcome, int tries);
  void ended(RunRef run, const HandlerOutcome& outcome, int tries, core::Answer answer);
  void forget(const RunRef& run);  // mutex_ held
  void observe_duration(Duration took, std::size_t bytes);
  void beat_runs(Instant now);
  void poke();

  Engine& engine_;
  Env& env_;
  const HandlerTable& handlers_;
  Executor& executor_;
  WorkerOptions options_;

  mutable std::mutex mutex_;
  LanePicker lanes_;
  SessionState session_state_ = SessionState::none;
  SessionId session_;
  Instant session_expires_{};
  Instant renew_at_{};
  Instant open_at_{};
  bool renewing_ = false;
  std::unordered_map<ExecutionId, RunRef> runs_;  // claimed and not yet confirmed
  std::unordered_map<ClaimId, Claim> claims_;
  std::vector<ClaimId> forgettable_;
  std::deque<std::pair<Instant, std::pair<RunRef, HandlerOutcome>>> retry_ends_;
  bool claiming_ = false;
  bool alone_running_ = false;
  bool alone_waiting_ = false;
  Instant alone_seen_{};
  Instant alone_rest_until_{};
  Instant claim_at_{};
  bool draining_ = false;
  double mean_micros_ = 0;
  double mean_bytes_ = 256;
  double claim_micros_ = 1000;
  WorkerStats stats_;
};

}  // namespace semel::engine
