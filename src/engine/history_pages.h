// The history of a run, append by append.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "store/port.h"

namespace semel::engine {

// An append with its events read.
struct Append {
  const core::HistoryRow& row;
  std::vector<core::Event> events;
};

// Calls `take` for the appends that end after event `after`, in order, and answers the number of the last event.
// StoreCorrupt, which names table and row: they are not numbered without gaps; then it does not read on.
// `most_pages`: what is enough for now; 0: all.
Result<std::int32_t> read_history(store::Store& store, ExecutionId run, std::int32_t after, std::int64_t page_bytes,
                                  const std::function<Result<void>(Append)>& take, int most_pages = 0);

}  // namespace semel::engine
