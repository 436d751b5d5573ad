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
#include <unordered_set>
#include <vector>

#include "engine/engine.h"
#include "engine/handler.h"
#include "engine/lane_picker.h"

namespace semel::engine {

struct WorkerOptions {
  std::string name = "worker";
  std::vector<std::string> tenants;  // empty: all
  std::vector<std::string> queues;   // empty: all
  int slots = 8;                     // tasks begun whose outcome is not durable yet
  int max_prefetch = 400;            // claimed before a slot is free; adapts to how long handlers take
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
  std::uint64_t handed = 0;     // claimed for it by those who enqueued
  std::uint64_t recovered = 0;  // claimed, and the word of it was lost
  std::size_t waiting = 0;      // claimed, not started
  std::size_t running = 0;
  std::size_t unconfirmed = 0;  // ended, not durable
};

// Runs handlers somewhere else. Calls Worker::finish once per run it was given and did not give back.
class Executor {
 public:
  virtual ~Executor() = default;
  virtual void start(std::vector<RunRef> runs) = 0;
  // One run is likely to come within a moment. Only a hint.
  virtual void expect() {}
  // Takes back what has not started.
  virtual std::vector<RunRef> take_unstarted() = 0;
  // Looks after runs that wait for a handler which does not end. Returns when it wants to be called again.
  virtual Instant step(Instant) { return kEndOfTime; }
};

// A run that this worker's session owns now.
struct ClaimedRun {
  store::ExecutionView view;
  ClaimId claim;
  SessionId session;
  std::uint64_t history = 0;  // of the store, in which it was claimed
};

// Keeps the runs that a worker claims (run_keeper.h). The worker calls it; it never calls the worker under a lock of
// its own.
class RunOwner {
 public:
  virtual ~RunOwner() = default;
  virtual int room() const = 0;  // runs it would take now
  virtual void own(std::vector<ClaimedRun> runs) = 0;
  virtual void lose(SessionId session) = 0;  // the session is over: its runs belong to others
  virtual void note_wakes(const store::Wakes& wakes) = 0;
  virtual Instant step(Instant now) = 0;
  virtual void poll(Instant now) = 0;
  virtual void drain() = 0;
  virtual bool drained() const = 0;
  virtual bool quiet() const = 0;
};

// How long the record of an offered claim stays when nobody here needs it any more: longer than enqueuers remember an
// offer.
inline constexpr Duration kOfferOutlives{4'000'000};

class Worker {
 public:
  // `runs` is null where no workflow is known: then no run is ever claimed.
  Worker(Engine& engine, const HandlerTable& handlers, Executor& executor, WorkerOptions options,
         RunOwner* runs = nullptr);
  ~Worker();

  // Opens the session and claims what it may. Returns when it wants to be called again.
  Instant step(Instant now);
  // Session renewal, running marks, cancel tokens. Its own thread may call it.
  Instant heartbeat(Instant now);
  // Looks for ready lanes: reads the store. Its own thread may call it.
  Instant poll(Instant now);
  void note_wakes(const store::Wakes& wakes);
  // Work is about to be enqueued into these lanes: an idle worker claims it in the same transaction. Nothing where
  // other work waits: then everybody's turn comes by `step`.
  std::vector<Rider> ride(const FreshLanes& lanes, Instant now);
  // Does the session still hold its runs, by the store's clock? One that has expired is given up here and now.
  bool holds(SessionId session);
  // A run of that claim is owned no more. `closed`: the store said so, else the claim's record must stay.
  void run_over(ClaimId claim, bool closed);

  // The executor calls this right before the handler; false: the lease is gone, do not run it (and do not finish it).
  bool begin(Run& run, Instant now);
  // The handler is over. The outcome is durable when the slot is free again.
  void finish(RunRef run, HandlerOutcome outcome);

  // Stop claiming and release what has not started. Handlers go on.
  void drain();
  // Tell running handlers to stop.
  void cancel_running();
  void close_session();
  bool drained() const;  // nothing claimed, running or unconfirmed
  bool closed() const;
  bool quiet() const;  // no operation of this worker is under way

  WorkerStats stats() const;
  std::function<void()> wake;  // set before use: step has something to do; from any thread

 private:
  enum class SessionState : std::uint8_t { none, opening, open, closing, closed };

  // Each of these expects mutex_ to be held and collects what is to be done without it.
  struct Todo {
    std::vector<RunRef> start;
    std::vector<RunRef> release;
    std::vector<std::pair<RunRef, StopReason>> stop;
    std::vector<core::Operation> forget;
    std::optional<core::SessionOpen> open;
    std::vector<std::shared_ptr<const core::TaskClaim>> claims;
    std::vector<RunRef> end;
    std::vector<ClaimedRun> own;
    std::vector<core::TaskRelease> give_back;  // runs
    std::optional<SessionId> lost;
    std::optional<core::TaskClaim> offer;
    std::vector<core::TaskClaim> recover;
  };
  // One claim is under way at a time, of tasks and of runs each.
  struct Asking {
    bool busy = false;
    Instant not_before{};
    bool resent = false;
    std::shared_ptr<const core::TaskClaim> unknown;  // may hold something: asked again until the store tells
  };
  Asking& asking_for(core::Pool pool) { return pool == core::Pool::runs ? asking_runs_ : asking_tasks_; }
  bool may_ask(const Asking& asking, Instant now) const;
  void plan_session(Instant now, Todo& todo);
  bool plan_repeat(Asking& asking, Instant now, Todo& todo);
  void plan_claim(Instant now, Todo& todo);
  void plan_runs(Instant now, Todo& todo);
  bool plan_alone(Instant now, Todo& todo);
  // Mutex held; no other of its sort until it is answered.
  core::TaskClaim new_claim(std::vector<core::TaskClaim::Want> lanes, core::Pool pool = core::Pool::tasks);
  std::optional<core::TaskClaim> ride_tasks(const std::map<core::LaneId, std::int32_t>& lanes, Instant now);
  std::optional<core::TaskClaim> ride_runs(const std::map<core::LaneId, std::int32_t>& lanes, Instant now);
  void mark_alone(core::LaneId lane);
  // worker_offers.cc. Mutex held:
  bool may_offer(const LaneEntry& lane) const;
  void plan_offer(Instant now, Todo& todo);
  void note_served(core::LaneId lane);
  void plan_forgets(Instant now, Todo& todo);
  void take_over(const store::HandOver& handed, Todo& todo);
  void note_offer(const core::TaskClaim& offer);
  void start_recovery(ClaimId claim, Todo& todo);
  std::unordered_set<ClaimId> over_claims() const;  // nothing of them is held, their records may be there still
  void look_at_records(SessionId session, const std::vector<ClaimId>& records, Todo& todo);
  core::TaskClaim claim_of(ClaimId id, core::Takes takes) const;
  // Without it:
  void check_records(Instant now);
  void recovered(core::TaskClaim claim, core::Answer answer);
  void plan_dispatch(Todo& todo);
  void lose_session(Todo& todo);
  bool check_history(Todo& todo);  // true: the store has another one, the session was given up
  void forget(const Run& run, bool closed);
  int wanted() const;
  Instant next_step(Instant now) const;

  void carry_out(Todo todo);
  void send_claim(std::shared_ptr<const core::TaskClaim> claim);
  void session_opened(SessionId session, core::Answer answer);
  void session_renewed(SessionId session, core::Answer answer);
  void claimed(std::shared_ptr<const core::TaskClaim> claim, Instant asked_at, core::Answer answer);
  // `handed`: by another process, which does not know how busy this worker is by now.
  void take_tasks(const core::TaskClaim& claim, core::ClaimAnswer answer, Todo& todo, bool handed = false);
  void take_runs(const core::TaskClaim& claim, core::ClaimAnswer answer, Todo& todo);
  void count_over(ClaimId claim, bool closed);
  void send_release(const RunRef& run);
  void send_end(const RunRef& run);
  void ended(const RunRef& run, core::Answer answer);
  void beaten(const RunRef& run, core::Answer answer);
  void count_end(const Run& run, const core::EndAnswer& answer);
  Instant store_now() const;
  void submit(core::Operation operation, Writer::Done done);
  void poke() const;

  Engine& engine_;
  Env& env_;
  const HandlerTable& handlers_;
  Executor& executor_;
  const WorkerOptions options_;
  RunOwner* const owner_;

  mutable std::mutex mutex_;
  LanePicker lanes_;
  LanePicker run_lanes_;
  SessionState session_state_ = SessionState::none;
  SessionId session_;
  std::uint64_t history_ = 0;  // of the store, in which the session was opened
  Instant session_expires_{};
  Instant renew_at_ = kEndOfTime;
  Instant open_at_{};
  bool renewing_ = false;

  std::unordered_map<ExecutionId, RunRef> runs_;  // claimed and not yet confirmed
  std::deque<RunRef> buffer_;                     // of these: not handed to the executor yet
  std::size_t in_executor_ = 0;                   // handed over, not ended
  std::size_t running_ = 0;
  std::size_t unconfirmed_ = 0;
  std::deque<std::pair<Instant, RunRef>> retry_ends_;
  struct Held {
    int left = 0;         // executions not yet confirmed
    bool unsure = false;  // of one that went, nobody knows whether its attempt is over
  };
  std::unordered_map<ClaimId, Held> claims_;
  std::vector<ClaimId> forgettable_;

  int under_way_ = 0;  // operations whose answer has not come
  Asking asking_tasks_, asking_runs_;
  int rides_to_skip_ = 0;
  // The claim that other processes may make for this worker. It is told again and again while the worker is idle; once
  // it has brought something the next one gets a new id.
  std::optional<ClaimId> offered_;
  Instant offer_due_{};
  std::vector<core::LaneId> offered_lanes_;  // ascending
  std::deque<Instant> others_offer_;         // when workers of other processes offered to serve all these lanes
  // Offered claims that brought something: others may still know them, so their records outlive them for a while.
  std::unordered_set<ClaimId> handed_;
  std::deque<std::pair<Instant, ClaimId>> forget_later_;
  // Records of this session that nobody here knows are asked for: what they hold was claimed, and the word got lost.
  std::unordered_set<ClaimId> recovering_, suspects_;
  Instant look_at_{};
  bool draining_ = false;
  bool alone_running_ = false;
  std::vector<core::LaneId> alone_lanes_;
  Instant alone_since_{};
  Instant alone_rest_until_{};

  double mean_micros_ = -1;  // of a handler; negative: none measured
  double mean_bytes_ = 256;
  double claim_micros_ = 1000;
  WorkerStats stats_;
};

}  // namespace semel::engine
