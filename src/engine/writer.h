// The one write path: many callers, one transaction.
//
// Callers hand in an operation and a callback. `step` takes whatever queued up since the last one (no linger timer),
// gives it to the store as one batch and calls every callback after the commit. Nothing is ever answered before its
// commit is durable. The writer has no thread: a driver calls `step`, one call at a time per line; everything else is
// thread-safe.
//
// Callbacks run on the thread that steps. They must be short, must not throw and may submit more operations.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_set>
#include <vector>

#include "core/operations.h"
#include "engine/env.h"
#include "store/port.h"

namespace semel::engine {

struct WriterOptions {
  std::size_t max_batch = 1000;  // 1 forces one operation per transaction
  std::size_t max_batch_bytes = 4u << 20;
  std::size_t max_queued = 20'000;
  std::size_t max_queued_bytes = 64u << 20;
  int max_tries = 30;           // of a batch that may be repeated as it is
  Duration retry_pause{2'000};  // first pause, doubled up to max_retry_pause, jittered
  Duration max_retry_pause{250'000};
  // How long after its submit an operation that did not happen is tried again while the store cannot be reached.
  Duration unavailable_patience{5'000'000};
  Duration unknown_patience{30'000'000};  // how long an unknown commit is looked up before callers are told so
  Duration ledger_interval{200'000};      // suppressed duplicates are counted at most this much later
  std::size_t max_ledger_notes = 50'000;  // beyond, counts are dropped: never outcomes
};

struct WriterStats {
  std::uint64_t commits = 0;     // batches that wrote something
  std::uint64_t batches = 0;     // committed batches, read-only ones included
  std::uint64_t operations = 0;  // answered by the store
  std::uint64_t refused = 0;     // Overloaded
  std::uint64_t retries = 0;
  std::uint64_t halvings = 0;
  std::uint64_t unknown_commits = 0;
  std::uint64_t slow_batches = 0;
  std::uint64_t ledger_dropped = 0;
  std::uint64_t unexpected_refusals = 0;  // a holder's row was ended or requeued by others while it worked
  std::size_t queued = 0;
  double mean_batch() const {
    return batches == 0 ? 0 : static_cast<double>(operations) / static_cast<double>(batches);
  }
};

// An operation that joins a batch about to be written.
struct Rider {
  core::Operation operation;
  std::function<void(core::Answer)> done;
  std::function<void()> soon;  // may be empty; called when the sync is all that is left to do, by stores that tell
};

// How many due executions a batch is about to enqueue, by lane.
struct FreshLanes {
  std::map<core::LaneId, std::int32_t> tasks, runs;
};

struct WriterHooks {
  std::function<void(std::size_t line)> wake;          // work arrived; from any thread
  std::function<void()> wake_slow;                     // the same for slow_step
  std::function<void(const store::Wakes&)> published;  // after the answers of a batch; from the stepping thread
  std::function<void()> answered;                      // once per batch, after its answers and its wakes
  // A batch about to be written enqueues due work into these lanes: who claims it at once rides along and spares a
  // commit. From the stepping thread; what it returns is submitted with the batch.
  std::function<std::vector<Rider>(const FreshLanes& lanes)> ride;
  std::function<void(const Error&)> fatal;  // once: the store cannot be trusted any more
};

class Writer {
 public:
  using Done = std::function<void(core::Answer)>;
  using DoneAll = std::function<void(std::vector<core::Answer>)>;

  Writer(Env env, WriterOptions options);
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  void set_hooks(WriterHooks hooks);  // before the first submit

  // Queues the operation, for the history that this thread works in (in_history.h), else for the store's of now: in
  // another one it is refused as StoreUnavailable, nothing happened. `done` is called exactly once: with the answer
  // once it is durable, or with an Error. False: it was refused (Overloaded, ShuttingDown) and `done` was called before
  // this returned.
  bool submit(core::Operation operation, Done done);
  // Many operations, answers in order in one call. They may be committed in several batches.
  bool submit_all(std::vector<core::Operation> operations, DoneAll done);
  // For the engine's own few operations (heartbeats, sweeps, completions): not counted against the bounds of the queue.
  bool submit_internal(core::Operation operation, Done done);

  // Independent transactions that may run beside each other; operations on one id keep to one line, in their order.
  std::size_t lines() const;
  std::size_t queued(std::size_t line) const;
  // Runs at most one batch of a line; one call at a time per line. Returns when it wants to be called again;
  // kEndOfTime: when something is submitted.
  Instant step(Instant now, std::size_t line = 0);
  // The same for what met a stranger's lock and for removing old rows; its own thread may call it beside step.
  Instant slow_step(Instant now);

  // Refuses every later submit but internal ones with this error.
  void refuse(Error why);
  // The same for internal ones too, once the queue should only run dry.
  void refuse_all(Error why);
  bool idle() const;  // nothing queued, nothing in flight, nothing to flush
  // Answers everybody now: UnknownCommit what may have been committed, `why` the rest. Nobody steps any more.
  void give_up(const Error& why);
  void flush_ledger();  // the next step writes the notes collected so far

  WriterStats stats() const;

 private:
  struct Group;
  struct Item;
  struct Line;
  using Items = std::vector<std::unique_ptr<Item>>;

  Line& line_for(Item& item);  // mutex_ held
  bool rests() const;          // mutex_ held
  bool admit(std::span<core::Operation> operations, Done* done, std::shared_ptr<Group> group, bool internal);
  std::unique_ptr<Item> take_spare();                                                           // mutex_ held
  std::optional<Error> refusal_for(std::size_t count, std::size_t bytes, bool internal) const;  // mutex_ held

  bool take_batch(Line& line, Instant now);
  void add_ledger(Line& line, Instant now);  // mutex_ held
  void add_riders(Line& line);
  Instant run(Line& line, Instant now);
  void settle(Line& line, store::Applied applied, Instant now);
  void committed(Line& line, Instant now);
  void again(Line& line, const Error& error, Instant now);
  void split(Line& line, const Error& error);
  void locked(Line& line, const Error& error, Instant now);
  void wait_for_store(Line& line, const Error& error, Instant now);
  void rest(Line& line, int tries, Instant now);
  void fail(Line& line, const Error& error);
  void stop_for_good(Line& line, const Error& error);
  Instant next_call(Line& line, Instant now) const;
  void finish(Line& line);
  void recycle(Items& items);
  Items take_queued(Line& line, bool halves);  // mutex held; `halves`: of a batch that was taken apart too
  std::vector<Line*> all_lines() const;
  static void answer(Item& item, core::Answer answer);
  void tell_unexpected(const core::Answer& answer);

  Env env_;
  WriterOptions options_;
  WriterHooks hooks_;

  mutable std::mutex mutex_;
  Items spare_;
  std::optional<Error> refusal_;
  std::optional<Error> internal_refusal_;
  std::vector<core::LedgerNote> notes_;
  std::uint64_t notes_history_ = 0;
  Instant notes_due_ = kEndOfTime;
  std::size_t in_flight_ = 0;
  bool fatal_ = false;
  WriterStats stats_;

  std::vector<std::unique_ptr<Line>> lines_;
  std::unordered_multiset<std::size_t> strays_;  // under way on the last line, and not at home there
  std::unique_ptr<Line> slow_;                   // null where the store has none
};

}  // namespace semel::engine
