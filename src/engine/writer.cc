#include "engine/writer.h"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <utility>

#include "base/failpoint.h"
#include "base/mutant.h"
#include "core/precondition.h"
#include "engine/in_history.h"
#include "engine/lines.h"
#include "engine/operation_size.h"
#include "engine/writer_line.h"

namespace semel::engine {

namespace {

constexpr std::size_t kSpareItems = 2048;
constexpr std::size_t kNotesPerOperation = 1000;
constexpr std::size_t kCompactAfter = 8192;

Error overloaded(std::size_t queued) {
  return make_error(ErrorCode::Overloaded, "the writer's queue is full (" + std::to_string(queued) +
                                               " operations wait); repeat after a pause");
}

bool removes_old(const core::Operation& operation) {
  return std::holds_alternative<core::RetentionSweep>(operation) ||
         std::holds_alternative<core::LedgerSweep>(operation);
}

// Planted bug: what is said before the commit.
std::optional<core::Answer> premature_answer(const core::Operation& operation) {
  if (const auto* enqueue = std::get_if<core::TaskEnqueue>(&operation))
    return core::EnqueueAnswer{enqueue->id, Status::queued, true, {}, {}, false};
  if (std::holds_alternative<core::TaskComplete>(operation)) return core::EndAnswer{Status::succeeded, false, {}};
  return std::nullopt;
}

}  // namespace

Writer::Writer(Env env, WriterOptions options) : env_(env), options_(options) {
  options_.max_batch = std::clamp<std::size_t>(options_.max_batch, 1, 1000);
  for (store::Store* store : env_.store.lines()) lines_.push_back(std::make_unique<Line>(*store, lines_.size()));
  if (store::Store* slow = env_.store.slow_lane()) slow_ = std::make_unique<Line>(*slow, lines_.size());
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
  std::size_t queued = 0, queued_bytes = 0;
  for (const auto& line : lines_) {
    queued += line->queued();
    queued_bytes += line->bytes;
  }
  if (queued + count > options_.max_queued || queued_bytes + bytes > options_.max_queued_bytes)
    return overloaded(queued);
  return std::nullopt;
}

// Removing what nobody waits for never stands before anybody, where there is a lane beside the lines. What comes while
// nothing else is there takes the last line, wherever it belongs: a connection that was used a moment ago is faster
// than one that rests. Others about the same id follow it as long as it is under way. The first line counts duplicates
// now and then, which costs them more than a look.
Writer::Line& Writer::line_for(Item& item) {
  if (slow_ && removes_old(item.operation)) return *slow_;
  Line& own = *lines_[line_of(item.operation, lines_.size())];
  if (&own == lines_.back().get()) return own;
  const auto key = line_key(item.operation);
  if (!key || (!rests() && !strays_.contains(*key))) return own;
  strays_.insert(*key);
  item.stray = key;
  return *lines_.back();
}

bool Writer::rests() const {
  return in_flight_ == 0 && std::ranges::none_of(lines_, [](const auto& line) { return line->queued() > 0; });
}

bool Writer::admit(std::span<core::Operation> operations, Done* done, std::shared_ptr<Group> group, bool internal) {
  std::size_t bytes = 0;
  for (const auto& operation : operations) bytes += operation_size(operation);
  const std::uint64_t history = InHistory::current().value_or(env_.store.history());
  std::optional<Error> refused;
  std::uint64_t wake = 0;  // lines that had nothing to do
  const Duration since = env_.monotonic.now();
  {
    std::lock_guard lock(mutex_);
    refused = refusal_for(operations.size(), bytes, internal);
    if (!refused) {
      for (std::size_t i = 0; i < operations.size(); ++i) {
        auto item = take_spare();
        item->operation = std::move(operations[i]);
        Line& line = line_for(*item);
        if (line.queued() == 0) wake |= std::uint64_t{1} << line.index;
        item->bytes = operation_size(item->operation);
        item->since = since;
        item->internal = internal;
        item->rider = false;
        item->history = history;
        item->index = i;
        item->group = group;
        if (done != nullptr) item->done = std::move(*done);
        line.bytes += item->bytes;
        line.incoming.push_back(std::move(item));
      }
    } else if (refused->code == ErrorCode::Overloaded) {
      ++stats_.refused;
    }
  }
  if (!refused) {
    for (std::size_t i = 0; i < lines_.size(); ++i, wake >>= 1)
      if ((wake & 1) != 0 && hooks_.wake) hooks_.wake(i);
    if (wake != 0 && hooks_.wake_slow) hooks_.wake_slow();
    return true;
  }
  if (done != nullptr && *done) (*done)(*refused);
  if (group) group->done(std::vector<core::Answer>(operations.size(), core::Answer(*refused)));
  return false;
}

// ---- step -----------------------------------------------------------------------------------------------------------

std::size_t Writer::lines() const { return lines_.size(); }

std::size_t Writer::queued(std::size_t line) const {
  std::lock_guard lock(mutex_);
  return lines_[line]->queued();
}

Instant Writer::step(Instant now, std::size_t line) { return run(*lines_[line], now); }

Instant Writer::slow_step(Instant now) { return slow_ ? run(*slow_, now) : kEndOfTime; }

// Fills line.current with what is to be done next. False: nothing.
bool Writer::take_batch(Line& line, Instant now) {
  if (!line.current.empty()) return true;
  line.tries = 0;
  line.away = 0;
  line.unknown = false;
  line.batch.recheck = false;
  line.batch.syncing = nullptr;
  if (!line.pending.empty()) {
    line.current = std::move(line.pending.front());
    line.pending.pop_front();
  } else {
    std::lock_guard lock(mutex_);
    std::size_t bytes = 0;
    while (line.queued() > 0 && line.current.size() < options_.max_batch) {
      auto& item = line.incoming[line.head];
      const bool alone = std::holds_alternative<core::EnqueueWithin>(item->operation);
      const bool other = !line.current.empty() && item->history != line.current.front()->history;
      if (other || (!line.current.empty() && (alone || bytes + item->bytes > options_.max_batch_bytes))) break;
      bytes += item->bytes;
      line.current.push_back(std::move(item));
      ++line.head;
      if (alone) break;
    }
    if (line.queued() == 0) {
      line.incoming.clear();
      line.head = 0;
    } else if (line.head > kCompactAfter) {
      line.incoming.erase(line.incoming.begin(), line.incoming.begin() + static_cast<std::ptrdiff_t>(line.head));
      line.head = 0;
    }
    line.bytes -= bytes;
    if (line.index == 0) add_ledger(line, now);
    in_flight_ += line.current.size();
  }
  if (line.current.empty()) return false;
  line.batch.history = line.current.front()->history;
  if (&line != slow_.get() && line.pending.empty() && hooks_.ride) add_riders(line);
  line.batch.id = env_.next_id<BatchId>();
  return true;
}

// Counts of suppressed duplicates ride along once their time has come: no duplicate pays a commit of its own.
void Writer::add_ledger(Line& line, Instant now) {
  if (notes_.empty() || now < notes_due_) return;
  const bool alone =
      !line.current.empty() && std::holds_alternative<core::EnqueueWithin>(line.current.front()->operation);
  if (alone || (!line.current.empty() && options_.max_batch == 1)) return;
  if (!line.current.empty() && line.current.front()->history != notes_history_) return;
  core::LedgerAdd add;
  const std::size_t count = std::min(notes_.size(), kNotesPerOperation);
  add.notes.assign(std::make_move_iterator(notes_.begin()),
                   std::make_move_iterator(notes_.begin() + static_cast<std::ptrdiff_t>(count)));
  notes_.erase(notes_.begin(), notes_.begin() + static_cast<std::ptrdiff_t>(count));
  if (notes_.empty()) notes_due_ = kEndOfTime;
  auto item = take_spare();
  item->operation = std::move(add);
  item->since = env_.monotonic.now();
  item->history = notes_history_;
  item->internal = true;
  item->rider = false;
  item->bytes = 0;
  line.current.push_back(std::move(item));
}

void Writer::add_riders(Line& line) {
  if (line.current.size() >= options_.max_batch) return;
  FreshLanes lanes;
  for (const auto& item : line.current)
    core::for_each_start(item->operation, [&](const core::TaskEnqueue& start) {
      if (!start.delay && !start.scheduled_at) ++(start.kind == Kind::task ? lanes.tasks : lanes.runs)[start.lane];
    });
  if (lanes.tasks.empty() && lanes.runs.empty()) return;
  std::vector<Rider> riders = hooks_.ride(lanes);
  if (riders.empty()) return;
  const Duration since = env_.monotonic.now();
  line.soon.clear();
  std::lock_guard lock(mutex_);
  for (Rider& rider : riders) {
    if (rider.soon) line.soon.push_back(std::move(rider.soon));
    auto item = take_spare();
    item->operation = std::move(rider.operation);
    item->done = std::move(rider.done);
    item->since = since;
    item->history = line.batch.history;
    item->rider = true;
    item->internal = true;
    item->bytes = 0;
    line.current.push_back(std::move(item));
    ++in_flight_;
  }
  if (line.soon.empty()) return;
  line.batch.syncing = [&line] {
    for (const auto& tell : line.soon) tell();
  };
}

Instant Writer::run(Line& line, Instant now) {
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
  if (SEMEL_MUTANT("ack-before-commit")) {
    for (auto& item : line.current)
      if (auto early = premature_answer(item->operation); early && (item->done || item->group))
        answer(*item, std::move(*early));
    if (hooks_.answered) hooks_.answered();
  }
  SEMEL_FP("writer.before_apply");
  store::Applied applied = line.store.apply(batch);
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
    case Kind::another_history:
      return fail(line, line.unknown ? make_error(ErrorCode::UnknownCommit, applied.error.message) : applied.error);
    // A store that cannot be reached does not tell what became of an earlier commit.
    case Kind::unavailable:
      return line.unknown ? again(line, applied.error, now) : wait_for_store(line, applied.error, now);
  }
}

void Writer::committed(Line& line, Instant now) {
  assert(line.batch.answers.size() == line.current.size());
  SEMEL_FP("writer.before_answers");
  // Riders first: their handlers start while the enqueuers are told.
  for (const bool riders : {true, false})
    for (std::size_t i = 0; i < line.current.size(); ++i) {
      if (line.current[i]->rider != riders) continue;
      tell_unexpected(line.batch.answers[i]);
      answer(*line.current[i], std::move(line.batch.answers[i]));
    }
  {
    std::lock_guard lock(mutex_);
    ++stats_.batches;
    if (line.batch.rows_written > 0) ++stats_.commits;
    if (&line == slow_.get()) ++stats_.slow_batches;
    stats_.operations += line.current.size();
    auto& notes = line.batch.notes;
    if (!notes.empty()) {
      if (notes_history_ != line.batch.history) notes_.clear();  // ids of tenants that may be others now
      notes_history_ = line.batch.history;
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

// Redeliveries and lost races are part of every day; these two mean that somebody else ended or requeued a row under
// its holder.
void Writer::tell_unexpected(const core::Answer& answer) {
  const auto* error = std::get_if<Error>(&answer);
  if (error == nullptr) return;
  const auto found = core::precondition_of(*error);
  if (!found || !core::is_unexpected(*found)) return;
  env_.log.write(base::LogLevel::error, "a write was refused: its row is not as its holder left it",
                 {{"precondition", std::string(core::to_string(*found))}, {"error", error->message}});
  std::lock_guard lock(mutex_);
  ++stats_.unexpected_refusals;
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
  rest(line, line.tries, now);
}

void Writer::rest(Line& line, int tries, Instant now) {
  const int doublings = std::min(tries - 1, 16);
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
  if (&line == slow_.get()) {
    if (line.current.size() > 1) return split(line, error);
    return again(line, error, now);
  }
  if (!slow_) return again(line, error, now);
  {
    std::lock_guard lock(mutex_);
    in_flight_ -= line.current.size();
    for (auto& item : line.current) {
      slow_->bytes += item->bytes;
      slow_->incoming.push_back(std::move(item));
    }
  }
  line.current.clear();
  if (hooks_.wake_slow) hooks_.wake_slow();
}

void Writer::fail(Line& line, const Error& error) {
  for (auto& item : line.current) answer(*item, error);
  finish(line);
}

void Writer::answer(Item& item, core::Answer answer) {
  const InHistory in(item.history);
  if (item.group) {
    auto group = std::move(item.group);
    group->answers[item.index] = std::move(answer);
    if (group->left.fetch_sub(1) == 1) group->done(std::move(group->answers));
  } else if (item.done) {
    Done done = std::exchange(item.done, nullptr);
    done(std::move(answer));
  }
}

// The batch is over.
void Writer::finish(Line& line) {
  recycle(line.current);
  line.unknown = false;
  if (hooks_.answered) hooks_.answered();
}

// Items that were answered may be used again.
void Writer::recycle(Items& items) {
  std::lock_guard lock(mutex_);
  in_flight_ -= items.size();
  for (auto& item : items)
    if (const auto key = std::exchange(item->stray, std::nullopt)) strays_.extract(*key);
  for (auto& item : items) {
    if (spare_.size() >= kSpareItems) break;
    if (item->bytes > 16 * kOperationOverhead) item->operation = core::KeysExpire{};
    spare_.push_back(std::move(item));
  }
  items.clear();
}

Instant Writer::next_call(Line& line, Instant now) const {
  if (!line.current.empty()) return line.retry_at;
  if (!line.pending.empty()) return now;
  std::lock_guard lock(mutex_);
  if (line.queued() > 0) return now;
  return notes_.empty() || line.index != 0 ? kEndOfTime : notes_due_;
}

// ---- control --------------------------------------------------------------------------------------------------------

std::vector<Writer::Line*> Writer::all_lines() const {
  std::vector<Line*> out;
  for (const auto& line : lines_) out.push_back(line.get());
  if (slow_) out.push_back(slow_.get());
  return out;
}

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
  if (hooks_.wake) hooks_.wake(0);
}

bool Writer::idle() const {
  std::lock_guard lock(mutex_);
  const auto busy = [](const Line* line) { return line->queued() > 0; };
  const auto all = all_lines();
  return std::none_of(all.begin(), all.end(), busy) && in_flight_ == 0 && notes_.empty();
}

WriterStats Writer::stats() const {
  std::lock_guard lock(mutex_);
  WriterStats out = stats_;
  for (const auto& line : lines_) out.queued += line->queued();
  return out;
}

}  // namespace semel::engine
