// What callers are told when the store cannot be reached, has failed for good, or the engine ends.
#include <iterator>
#include <utility>

#include "engine/writer_line.h"

namespace semel::engine {

// Nothing happened and nobody answers: whoever still has time does not hear of it.
void Writer::wait_for_store(Line& line, const Error& error, Instant now) {
  if (error.code != ErrorCode::StoreUnavailable) return fail(line, error);
  const Duration latest = env_.monotonic.now() - options_.unavailable_patience;
  Items late, young;
  for (auto& item : line.current) (item->since <= latest ? late : young).push_back(std::move(item));
  line.current = std::move(young);
  for (auto& item : late) answer(*item, error);
  recycle(late);
  if (line.current.empty()) return finish(line);
  {
    std::lock_guard lock(mutex_);
    ++stats_.retries;
  }
  rest(line, ++line.away, now);
}

void Writer::stop_for_good(Line& line, const Error& error) {
  Items rest;
  bool first = false;
  {
    std::lock_guard lock(mutex_);
    first = !std::exchange(fatal_, true);
    refusal_ = internal_refusal_ = error;
    for (Line* other : all_lines()) {
      Items queued = take_queued(*other, other == &line);
      std::move(queued.begin(), queued.end(), std::back_inserter(rest));
    }
    notes_.clear();
    notes_due_ = kEndOfTime;
  }
  // Whether this batch is durable is not known; the rest never reached the store.
  Error unknown = error;
  if (line.unknown) unknown.code = ErrorCode::UnknownCommit;
  for (auto& item : line.current) answer(*item, unknown);
  for (auto& item : rest) answer(*item, error);
  if (first && hooks_.fatal) hooks_.fatal(error);
  finish(line);
}

Writer::Items Writer::take_queued(Line& line, bool halves) {
  Items out;
  if (halves) {
    for (auto& half : line.pending) {
      in_flight_ -= half.size();
      std::move(half.begin(), half.end(), std::back_inserter(out));
    }
    line.pending.clear();
  }
  std::move(line.incoming.begin() + static_cast<std::ptrdiff_t>(line.head), line.incoming.end(),
            std::back_inserter(out));
  line.incoming.clear();
  line.head = line.bytes = 0;
  return out;
}

void Writer::give_up(const Error& why) {
  const Error unknown =
      make_error(ErrorCode::UnknownCommit,
                 "the engine stopped before the store told whether the write happened; repeat the same request, its "
                 "answer tells");
  for (Line* line : all_lines()) {
    Items rest;
    {
      std::lock_guard lock(mutex_);
      rest = take_queued(*line, true);
      if (line->index == 0) notes_.clear();
    }
    for (auto& item : line->current) answer(*item, line->unknown ? unknown : why);
    for (auto& item : rest) answer(*item, why);
    finish(*line);
  }
}

}  // namespace semel::engine
