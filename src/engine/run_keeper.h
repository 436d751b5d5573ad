// Keeps the runs a worker owns (docs/adr/0010): their code in memory, what it learns and asks for on its way to the
// store.
//
// A run takes turns. In a turn its mail is read and handed to the code, and everything the code did and learned goes
// into one RunAdvance; the next turn waits for the commit. A result of ctx.run is recorded first and handed over in the
// turn after. User code runs in jobs of the executor, never under a lock. Thread-safe; `step` never blocks.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/engine.h"
#include "engine/run_code.h"
#include "engine/worker.h"

namespace semel::engine {

struct PendingEntry;

struct KeeperOptions {
  std::size_t max_hot = 10'000;   // runs in memory; beyond it those that wait longest are given up
  std::size_t max_turns = 1'000;  // runs claimed that do not wait
  Duration no_handler_delay{5'000'000};
  Duration park_first{10'000'000};  // a parked run is tried again after this long, doubled each time
  Duration park_most{3'600'000'000};
  Duration stuck_after{2'000'000};  // code that does not come back for this long is named in the log
};

struct KeeperStats {
  std::uint64_t owned = 0, advances = 0, closed = 0, replayed_events = 0, parked = 0, lost = 0, evicted = 0;
  std::uint64_t stuck = 0;  // jobs whose code did not come back in time
  std::size_t hot = 0, waiting = 0;
};

class RunKeeper final : public RunOwner, public std::enable_shared_from_this<RunKeeper> {
 public:
  // Made by make_shared: jobs that a closed keeper leaves behind hold on to it.
  RunKeeper(Engine& engine, std::shared_ptr<const WorkflowTable> workflows, std::shared_ptr<RunExecutor> executor,
            KeeperOptions options);
  ~RunKeeper() override;

  // ---- for the worker ----
  int room() const override;
  void own(std::vector<ClaimedRun> runs) override;
  void lose(SessionId session) override;
  void note_wakes(const store::Wakes& wakes) override;
  Instant step(Instant now) override;
  void poll(Instant now) override;
  void drain() override;  // gives up what waits, and the rest when it does
  bool drained() const override;
  bool quiet() const override;

  // Answers from the memory of an owned run. False: it is not owned here.
  bool query(ExecutionId run, std::string name, std::string args, Callback<std::string> done);
  // Nothing of the engine is touched any more once it returned. User code that is still running is left to itself.
  void close();

  KeeperStats stats() const;
  // Set before use; from any thread.
  std::function<void(ClaimId, bool closed)> over;
  std::function<bool(SessionId)> holds;  // is the session alive? Asked right before a body of ctx.run; unset: always
  std::function<void()> wake;

 private:
  struct Owned;
  using OwnedRef = std::shared_ptr<Owned>;
  struct Turn;

  // Between `enter` and `leave` the engine may be used.
  bool enter();
  void leave() { inside_.fetch_sub(1); }

  bool begin_turn(Owned& run);         // mutex held: false where one is under way
  void schedule(const OwnedRef& run);  // mutex held: a turn, unless one is under way
  void again(const OwnedRef& run);     // the next turn of one that is under way
  void fetch_mail(const std::vector<OwnedRef>& runs);
  void job(const OwnedRef& run);
  // Before the user code: reads the store.
  bool prepare_turn(const OwnedRef& run, Turn& turn);
  Result<void> load(Owned& run, Turn& turn);
  Result<std::int32_t> read_history(const Owned& run, std::vector<core::Event>& out);
  void could_not_read(const OwnedRef& run, Turn turn, bool read_mail, const Error& error);
  void park_damaged(const OwnedRef& run, const Error& error);
  void try_turn_again(const OwnedRef& run, Turn turn, bool read_mail);
  // User code: the engine is not used.
  Result<void> take_turn(const OwnedRef& run, Turn& turn);
  Result<void> replay(Owned& run, const Turn& turn);
  static void run_code(Owned& run);
  static bool learned_something(const Owned& run);
  static Result<void> read_mail(Owned& run, const Turn& turn);
  static void learn(Owned& run, std::optional<core::MailKey> mail, core::Event input, Instant now);
  static void collect(Owned& run);
  static void remember(Owned& run, const core::Event& event);
  void send_locals(const OwnedRef& run);
  bool may_begin(const OwnedRef& run);
  void local_done(const OwnedRef& run, core::Event event);
  void take_local_result(Owned& run, Instant now);
  // After it.
  void refuse_code(const OwnedRef& run, const Error& error);
  Duration park_for(const Owned& run) const;
  void end_turn(const OwnedRef& run);
  bool is_lost(const Owned& run) const;   // mutex held
  bool has_more(const Owned& run) const;  // mutex held
  bool settle_starts(const OwnedRef& run);
  void name_cancelled(Owned& run);
  void put_back_local_result(Owned& run);
  Result<void> make_start(Owned& run, PendingEntry& pending, const LaneRef& lane);
  void retry_after_failure(Owned& run);
  static void hand_on(const Owned& run, EnqueueRequest& next);
  void take_back(const OwnedRef& run);
  bool tell_again(Owned& run);
  void tell_updated(const Owned& run);
  static bool refuse_start(Owned& run, PendingEntry& pending, const Error& error);
  void make_lane(const OwnedRef& run, const std::string& queue);
  void record(const OwnedRef& run);
  void recorded(const OwnedRef& run, core::Answer answer);
  void record_failed(const OwnedRef& run, const Error& error);

  void give_up(const OwnedRef& run, Duration delay, bool no_handler);
  void forget(const OwnedRef& run, bool closed);
  void rest(const OwnedRef& run);  // mutex held: it waits
  void unrest(Owned& run);         // mutex held
  void again_later(std::function<void()> what, int tries = 0);
  void watch();
  void submit(const Owned& run, core::Operation operation, Writer::Done done);

  Engine& engine_;
  Env& env_;
  const std::shared_ptr<const WorkflowTable> workflows_;
  const std::shared_ptr<RunExecutor> executor_;
  const KeeperOptions options_;

  std::atomic<bool> closed_{false};
  std::atomic<int> inside_{0};

  mutable std::mutex mutex_;
  std::unordered_map<ExecutionId, OwnedRef> runs_;
  std::list<OwnedRef> waiting_;  // longest first
  std::deque<std::pair<Instant, std::function<void()>>> later_;
  std::deque<ExecutionId> to_look_at_;  // mailboxes whose hints may have been lost
  Instant next_watch_{};
  int under_way_ = 0;
  bool draining_ = false;
  KeeperStats stats_;
};

}  // namespace semel::engine
