#include "engine/writer.h"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <utility>

#include "base/failpoint.h"
#include "engine/operation_size.h"

namespace semel::engine {

// Callers of submit_all share one of these: the last answer calls back.
struct Writer::Group {
  std::vector<core::Answer> answers;
  std::atomic<std::size_t> left{0};
  DoneAll done;
};

struct Writer::Item {
  core::Operation operation;
  Done done;
  std::shared_ptr<Group> group;
  std::size_t index = 0;
  std::size_t bytes = 0;
  bool internal = false;
};

// What one stepping thread works on: the main line and the slow one.
struct Writer::Line {
  explicit Line(bool is_slow) : slow(is_slow) {}
  const bool slow;
  Items current;              // the batch under way; kept until its outcome is known
  std::deque<Items> pending;  // halves of a batch that raised; before anything new
  store::Batch batch;
  int tries = 0;
  bool unknown = false;  // an apply of this batch may have committed
  Instant unknown_since{};
  Instant retry_at{};
  Instant last_now{};
};

namespace {

constexpr std::size_t kSpareItems = 2048;
constexpr std::size_t kNotesPerOperation = 1000;
constexpr std::size_t kCompactAfter = 8192;

Error overloaded(std::size_t queued) {
  return make_error(ErrorCode::Overloaded, "the writer's queue is full (" + std::to_string(queued) +
                                               " operations wait); repeat after a pause");
}

#if defined(SEMEL_MUTANT_ACK_BEFORE_COMMIT)
std::optional<core::Answer> premature_answer(const core::Operation& operation) {
  if (const auto* enqueue = std::get_if<core::TaskEnqueue>(&operation))
    return core::EnqueueAnswer{enqueue->id, Status::queued, true, {}, {}, false};
  if (std::holds_alternative<core::TaskComplete>(operation)) return core::EndAnswer{Status::succeeded, false, {}};
  return std::nullopt;
}
#endif

}  // namespace

Writer::Writer(Env env, WriterOptions options)
    : env_(env), options_(options), main_(std::make_unique<Line>(false)), slow_(std::make_unique<Line>(true)) {
  options_.max_batch = std::clamp<std::size_t>(options_.max_batch, 1, 1000);
}

Writer::~Writer() = default;

void Writer::set_hooks(WriterHooks hooks) { hooks_ = std::move(hooks); }

// ---- submit ---------------------------------------------------------------------------------------------------------

bool Writer::submit(core::Operation operation, Done done) { return admit({&operation, 1}, &done, nullptr, false); }

bool Writer::submit_internal(core::Operation operation, Done done) {
  return admit({&operation, 1}, &done, nullptr, true);
}

bool Writer::submit_all(std::vector<core::Operation> operations, DoneAll done) {
  auto group = std::make_shared<Group>();
  group->answers.resize(operations.size());
  group->left = operations.size();
  group->done = std::move(done);
  if (operations.empty()) {
    group->done({});
    return true;
  }
  return admit(operations, nullptr, std::move(group), false);
}

std::unique_ptr<Writer::Item> Writer::take_spare() {
  if (spare_.empty()) return std::make_unique<Item>();
  auto item = std::move(spare_.back());
  spare_.pop_back();
  return item;
}

std::optional<Error> Writer::refusal_for(std::size_t count, std::size_t bytes, bool internal) const {
  if (internal) return internal_refusal_;
  if (refusal_) return refusal_;
  const std::size_t queued = incoming_.size() - incoming_head_;
  if (queued + count > options_.max_queued || incoming_bytes_ + bytes > options_.max_queued_bytes)
    return overloaded(queued);
  return std::nullopt;
}

bool Writer::admit(std::span<core::Operation> operations, Done* done, std::shared_ptr<Group> group, bool internal) {
  std::size_t bytes = 0;
  for (const auto& operation : operations) bytes += operation_size(operation);
  std::optional<Error> refused;
  bool was_empty = false;
  {
    std::lock_guard lock(mutex_);
    refused = refusal_for(operations.size(), bytes, internal);
    if (!refused) {
      was_empty = incoming_.size() == incoming_head_;
      for (std::size_t i = 0; i < operations.size(); ++i) {
        auto item = take_spare();
        item->operation = std::move(operations[i]);
        item->bytes = operation_size(item->operation);
        item->internal = internal;
        item->index = i;
        item->group = group;
        if (done != nullptr) item->done = std::move(*done);
        incoming_.push_back(std::move(item));
      }
      incoming_bytes_ += bytes;
    } else if (refused->code == ErrorCode::Overloaded) {
      ++stats_.refused;
    }
  }
  if (!refused) {
    if (was_empty && hooks_.wake) hooks_.wake();
    return true;
  }
  if (done != nullptr && *done) (*done)(*refused);
  if (group) group->done(std::vector<core::Answer>(operations.size(), core::Answer(*refused)));
  return false;
}

// ---- step -----------------------------------------------------------------------------------------------------------

Instant Writer::step(Instant now) { return run(*main_, env_.store, now); }

Instant Writer::slow_step(Instant now) {
  store::Store* slow = env_.store.slow_lane();
  if (slow == nullptr) return kEndOfTime;
  return run(*slow_, *slow, now);
}

// Fills line.current with what is to be done next. False: nothing.
bool Writer::take_batch(Line& line, Instant now) {
  if (!line.current.empty()) return true;
  line.tries = 0;
  line.unknown = false;
  line.batch.recheck = false;
  if (!line.pending.empty()) {
    line.current = std::move(line.pending.front());
    line.pending.pop_front();
  } else {
    std::lock_guard lock(mutex_);
    if (line.slow) {
      line.current = std::exchange(slow_incoming_, {});
    } else {
      std::size_t bytes = 0;
      while (incoming_head_ < incoming_.size() && line.current.size() < options_.max_batch) {
        auto& item = incoming_[incoming_head_];
        const bool alone = std::holds_alternative<core::EnqueueWithin>(item->operation);
        if (!line.current.empty() && (alone || bytes + item->bytes > options_.max_batch_bytes)) break;
        bytes += item->bytes;
        line.current.push_back(std::move(item));
        ++incoming_head_;
        if (alone) break;
      }
      if (incoming_head_ == incoming_.size()) {
        incoming_.clear();
        incoming_head_ = 0;
      } else if (incoming_head_ > kCompactAfter) {
        incoming_.erase(incoming_.begin(), incoming_.begin() + static_cast<std::ptrdiff_t>(incoming_head_));
        incoming_head_ = 0;
      }
      incoming_bytes_ -= bytes;
      add_ledger(line, now);
    }
    in_flight_ += line.current.size();
  }
  if (line.current.empty()) return false;
  line.batch.id = env_.next_id<BatchId>();
  return true;
}

// Counts of suppressed duplicates ride along once their time has come: no duplicate pays a commit of its own.
void Writer::add_ledger(Line& line, Instant now) {
  if (notes_.empty() || now < notes_due_) return;
  const bool alone =
      !line.current.empty() && std::holds_alternative<core::EnqueueWithin>(line.current.front()->operation);
  if (alone || (!line.current.empty() && options_.max_batch == 1)) return;
  core::LedgerAdd add;
  const std::size_t count = std::min(notes_.size(), kNotesPerOperation);
  add.notes.assign(std::make_move_iterator(notes_.begin()),
                   std::make_move_iterator(notes_.begin() + static_cast<std::ptrdiff_t>(count)));
  notes_.erase(notes_.begin(), notes_.begin() + static_cast<std::ptrdiff_t>(count));
  if (notes_.empty()) notes_due_ = kEndOfTime;
  auto item = take_spare();
  item->operation = std::move(add);
  item->internal = true;
  item->bytes = 0;
  line.current.push_back(std::move(item));
}

Instant Writer::run(Line& line, store::Store& store, Instant now) {
  if (!line.current.empty() && now < line.retry_at) return line.retry_at;
  if (!take_batch(line, now)) return next_call(line, now);
  store::Batch& batch = line.batch;
  batch.now = line.last_now = std::max(line.last_now, now);
  batch.operations.clear();
  for (auto& item : line.current) batch.operations.push_back(&item->operation);
  batch.answers.clear();
  batch.notes.clear();
  batch.wakes = {};
  batch.rows_written = 0;
#if defined(SEMEL_MUTANT_ACK_BEFORE_COMMIT)
  for (auto& item : line.current)
    if (auto early = premature_answer(item->operation); early && (item->done || item->group))
      answer(*item, std::move(*early));
  if (hooks_.answered) hooks_.answered();
#endif
  SEMEL_FP("writer.before_apply");
  store::Applied applied = store.apply(batch);
  SEMEL_FP("writer.after_apply");
  settle(line, std::move(applied), now);
  return next_call(line, now);
}

void Writer::settle(Line& line, store::Applied applied, Instant now) {
  using Kind = store::Applied::Kind;
  switch (applied.kind) {
    case Kind::committed:
      return committed(line, now);
    case Kind::fatal:
      return stop_for_good(line, applied.error);
    // Halves are batches of their own and would run anew what the first run may have committed.
    case Kind::halve:
      return line.unknown ? again(line, applied.error, now) : split(line, applied.error);
    case Kind::unknown:
      if (!line.unknown) line.unknown_since = now;
      line.unknown = line.batch.recheck = true;
      {
        std::lock_guard lock(mutex_);
        ++stats_.unknown_commits;
      }
      return again(line, applied.error, now);
    case Kind::retry:
      return again(line, applied.error, now);
    case Kind::locked:
      return line.unknown ? again(line, applied.error, now) : locked(line, applied.error, now);
    // A store that cannot be reached does not tell what became of an earlier commit.
    case Kind::unavailable:
      return line.unknown ? again(line, applied.error, now) : fail(line, applied.error);
  }
}

void Writer::committed(Line& line, Instant now) {
  assert(line.batch.answers.size() == line.current.size());
  SEMEL_FP("writer.before_answers");
  for (std::size_t i = 0; i < line.current.size(); ++i) answer(*line.current[i], std::move(line.batch.answers[i]));
  {
    std::lock_guard lock(mutex_);
    ++stats_.batches;
    if (line.batch.rows_written > 0) ++stats_.commits;
    if (line.slow) ++stats_.slow_batches;
    stats_.operations += line.current.size();
    auto& notes = line.batch.notes;
    if (!notes.empty()) {
      if (notes_.empty()) notes_due_ = add_saturated(now, options_.ledger_interval);
      const std::size_t room = options_.max_ledger_notes - std::min(options_.max_ledger_notes, notes_.size());
      const std::size_t kept = std::min(room, notes.size());
      stats_.ledger_dropped += notes.size() - kept;
      std::move(notes.begin(), notes.begin() + static_cast<std::ptrdiff_t>(kept), std::back_inserter(notes_));
    }
  }
  if (hooks_.published) hooks_.published(line.batch.wakes);
  finish(line);
}

// ---- when it does not commit ----------------------------------------------------------------------------------------

void Writer::again(Line& line, const Error& error, Instant now) {
  ++line.tries;
  {
    std::lock_guard lock(mutex_);
    ++stats_.retries;
  }
  if (line.unknown) {
    if (now - line.unknown_since >= options_.unknown_patience)
      return fail(line, make_error(ErrorCode::UnknownCommit, "the store did not tell whether the write happened (" +
                                                                 error.message +
                                                                 "); repeat the same request, its answer tells"));
  } else if (line.tries >= options_.max_tries) {
    return fail(line, error);
  }
  const int doublings = std::min(line.tries - 1, 16);
  const auto pause =
      std::min<std::int64_t>(options_.retry_pause.count() << doublings, options_.max_retry_pause.count());
  const auto jittered =
      pause / 2 + static_cast<std::int64_t>(env_.random.below(static_cast<std::uint64_t>(pause / 2 + 1)));
  line.retry_at = add_saturated(now, Duration{jittered});
}

void Writer::split(Line& line, const Error& error) {
  if (line.current.size() == 1) return fail(line, error);
  {
    std::lock_guard lock(mutex_);
    ++stats_.halvings;
  }
  const auto middle = line.current.begin() + static_cast<std::ptrdiff_t>(line.current.size() / 2);
  Items second(std::make_move_iterator(middle), std::make_move_iterator(line.current.end()));
  line.current.erase(middle, line.current.end());
  line.pending.push_front(std::move(second));
  line.pending.push_front(std::move(line.current));
  line.current.clear();
}

// The whole batch leaves the main line at once, so that the stranger's lock stops nobody who comes later; the slow line
// takes it apart to find who is meant.
void Writer::locked(Line& line, const Error& error, Instant now) {
  if (line.slow) {
    if (line.current.size() > 1) return split(line, error);
    return again(line, error, now);
  }
  if (env_.store.slow_lane() == nullptr) return again(line, error, now);
  {
    std::lock_guard lock(mutex_);
    in_flight_ -= line.current.size();
    for (auto& item : line.current) slow_incoming_.push_back(std::move(item));
  }
  line.current.clear();
  if (hooks_.wake_slow) hooks_.wake_slow();
}

void Writer::fail(Line& line, const Error& error) {
  for (auto& item : line.current) answer(*item, error);
  finish(line);
}

void Writer::stop_for_good(Line& line, const Error& error) {
  Items rest;
  bool first = false;
  {
    std::lock_guard lock(mutex_);
    first = !std::exchange(fatal_, true);
    refusal_ = internal_refusal_ = error;
    for (auto i = incoming_head_; i < incoming_.size(); ++i) rest.push_back(std::move(incoming_[i]));
    incoming_.clear();
    incoming_head_ = incoming_bytes_ = 0;
    for (auto& item : slow_incoming_) rest.push_back(std::move(item));
    slow_incoming_.clear();
    notes_.clear();
    notes_due_ = kEndOfTime;
    for (auto& half : line.pending) in_flight_ -= half.size();
  }
  for (auto& half : line.pending)
    for (auto& item : half) rest.push_back(std::move(item));
  line.pending.clear();
  // Whether this batch is durable is not known; the rest never reached the store.
  Error unknown = error;
  if (line.unknown) unknown.code = ErrorCode::UnknownCommit;
  for (auto& item : line.current) answer(*item, unknown);
  for (auto& item : rest) answer(*item, error);
  if (first && hooks_.fatal) hooks_.fatal(error);
  finish(line);
}

void Writer::answer(Item& item, core::Answer answer) {
  if (item.group) {
    auto group = std::move(item.group);
    group->answers[item.index] = std::move(answer);
    if (group->left.fetch_sub(1) == 1) group->done(std::move(group->answers));
  } else if (item.done) {
    Done done = std::exchange(item.done, nullptr);
    done(std::move(answer));
  }
}

// The batch is over: its items may be used again.
void Writer::finish(Line& line) {
  {
    std::lock_guard lock(mutex_);
    in_flight_ -= line.current.size();
    for (auto& item : line.current) {
      if (spare_.size() >= kSpareItems) break;
      if (item->bytes > 16 * kOperationOverhead) item->operation = core::KeysExpire{};
      spare_.push_back(std::move(item));
    }
  }
  line.current.clear();
  line.unknown = false;
  if (hooks_.answered) hooks_.answered();
}

Instant Writer::next_call(Line& line, Instant now) const {
  if (!line.current.empty()) return line.retry_at;
  if (!line.pending.empty()) return now;
  std::lock_guard lock(mutex_);
  if (line.slow) return slow_incoming_.empty() ? kEndOfTime : now;
  if (incoming_.size() > incoming_head_) return now;
  return notes_.empty() ? kEndOfTime : notes_due_;
}

// ---- control --------------------------------------------------------------------------------------------------------

void Writer::refuse(Error why) {
  std::lock_guard lock(mutex_);
  if (!fatal_) refusal_ = std::move(why);
}

void Writer::refuse_all(Error why) {
  std::lock_guard lock(mutex_);
  if (!fatal_) refusal_ = internal_refusal_ = std::move(why);
}

void Writer::flush_ledger() {
  {
    std::lock_guard lock(mutex_);
    if (notes_.empty()) return;
    notes_due_ = Instant{};
  }
  if (hooks_.wake) hooks_.wake();
}

bool Writer::idle() const {
  std::lock_guard lock(mutex_);
  return incoming_.size() == incoming_head_ && slow_incoming_.empty() && in_flight_ == 0 && notes_.empty();
}

WriterStats Writer::stats() const {
  std::lock_guard lock(mutex_);
  WriterStats out = stats_;
  out.queued = incoming_.size() - incoming_head_;
  return out;
}

}  // namespace semel::engine
