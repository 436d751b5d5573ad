// Housekeeping that time drives: due timers, expired sessions, retention, expired keys, promotion after a limit
// changed, the inbox, the lane directory, a look at what hinders the store. Any number of nodes may run it on one
// store; there is no leader.
//
// One thread steps; `note_wakes` and `stats` are thread-safe. Every effect goes through the writer.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

#include "engine/engine.h"

namespace semel::engine {

struct ClockworkOptions {
  Duration timer_poll{500'000};  // timers of other nodes are noticed this much later at most
  Duration session_interval{500'000};
  Duration directory_interval{1'000'000};
  Duration inbox_interval{100'000};
  Duration keys_interval{60'000'000};
  Duration alarm_interval{60'000'000};
  Duration cleanup_interval{3'600'000'000};
  // A page of cleanup is as long as this takes, so that no claim waits for it noticeably, and twice as long in a lane
  // of its own, where claims do not wait behind it; then the writer is left alone for `cleanup_rest` times as long.
  Duration cleanup_slice{1'000};
  int cleanup_rest = 4;
  std::int32_t page = 1000;             // of everything else
  std::int32_t ledger_page = 100;       // ids, each with up to kLedgerRecent notes
  Duration max_clock_step{60'000'000};  // a store clock that moved this much beside the monotonic one stops cleanup
};

struct ClockworkStats {
  std::uint64_t timers_fired = 0;
  std::uint64_t leases_expired = 0;
  std::uint64_t rows_cleaned = 0;
  std::uint64_t keys_expired = 0;
  std::uint64_t ids_forgotten = 0;  // by the ledger
  std::uint64_t promoted = 0;
  std::uint64_t inbox_fed = 0;
  std::uint64_t clock_steps = 0;  // an alarm: the store's clock jumped, cleanup is paused
  std::uint64_t alarms = 0;       // told: somebody makes the store slow or large
  std::uint64_t errors = 0;
};

class Clockwork {
 public:
  Clockwork(Engine& engine, ClockworkOptions options);

  // Submits what is due and returns when it wants to be called again. Reads the store, never waits for the writer.
  Instant step(Instant now);
  void note_wakes(const store::Wakes& wakes);
  void promote(core::LaneId lane);  // its limits changed: blocked executions may have room
  void clean_now();                 // the next step starts a cleanup pass
  void stop();                      // no new work; answers still arrive
  bool quiet() const;               // no operation of its own is under way
  ClockworkStats stats() const;
  std::function<void()> wake;  // set before use; from any thread

 private:
  static constexpr std::int32_t kSmallestPage = 20;

  // A loop submits one operation at a time and goes on at once while there is more.
  struct Loop {
    Instant due{};
    bool busy = false;
  };
  // What a finished operation of a loop leads to.
  using Then = std::function<void(const core::SweepAnswer&, Instant now)>;

  void submit(Loop& loop, core::Operation operation, Duration interval, std::uint64_t ClockworkStats::* count,
              Then then);
  void run_timers(Instant now);
  void run_sessions(Instant now);
  void run_keys(Instant now);
  void run_directory(Instant now);
  void run_inbox(Instant now);
  void run_alarms(Instant now);
  void run_cleanup(Instant now);
  void run_ledger(Instant now);
  void run_promotion(Instant now);
  bool may_run(Loop& loop, Instant now);
  bool clock_is_sane(Instant now);
  void failed(const Error& error);
  void add(std::uint64_t ClockworkStats::* count, std::uint64_t by);
  void rouse() const;

  Engine& engine_;
  ClockworkOptions options_;
  mutable std::mutex mutex_;  // guards everything below
  Loop timers_, sessions_, keys_, inbox_, cleanup_, ledger_, directory_, promotion_, alarms_;
  Instant next_timer_ = kEndOfTime;  // earliest timer known: a hint
  int empty_firings_ = 0;            // of timers, one after another
  Instant timer_read_due_{};
  ExecutionId cleanup_after_;
  core::IdentityKey ledger_after_;
  std::int32_t cleanup_page_ = kSmallestPage;
  std::vector<core::LaneId> to_promote_;
  bool anchored_ = false;
  bool clock_stepped_ = false;
  Instant anchor_store_{};
  Duration anchor_monotonic_{};
  bool stopping_ = false;
  int under_way_ = 0;
  ClockworkStats stats_;
};

}  // namespace semel::engine
