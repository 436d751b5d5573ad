#include "engine/history_pages.h"

#include <string>
#include <utility>

namespace semel::engine {
namespace {

Error damaged(const core::HistoryRow& row, const std::string& what) {
  return make_error(ErrorCode::StoreCorrupt, "InvariantBroken: table history, row " + row.run.to_string() + " event " +
                                                 std::to_string(row.first) + ": " + what +
                                                 "; the row is damaged and left as it is");
}

// The first one read may begin before `after`; behind it each begins where the last one ended.
Result<Append> read_append(const core::HistoryRow& row, std::int32_t after, bool is_first) {
  if (row.first > after + 1 || (row.first <= after && !is_first))
    return damaged(row, "event " + std::to_string(after + 1) + " was to follow");
  auto events = core::decode_events(row.events);
  if (!events) return damaged(row, events.error().message);
  if (static_cast<std::int64_t>(events->size()) != row.count)
    return damaged(row, "count is " + std::to_string(row.count) + ", but it holds " + std::to_string(events->size()));
  if (std::int64_t{row.first} + row.count - 1 <= after) return damaged(row, "it ends before it begins");
  return Append{row, *std::move(events)};
}

}  // namespace

Result<std::int32_t> read_history(store::Store& store, ExecutionId run, std::int32_t after, std::int64_t page_bytes,
                                  const std::function<Result<void>(Append)>& take, int most_pages) {
  bool is_first = true;
  for (int pages = 0; most_pages == 0 || pages < most_pages; ++pages) {
    auto page = store.history_get(run, after, page_bytes);
    if (!page) return std::move(page).error();
    if (page->empty()) break;
    for (const auto& row : *page) {
      auto append = read_append(row, after, std::exchange(is_first, false));
      if (!append) return std::move(append).error();
      after = row.first + row.count - 1;
      if (auto taken = take(*std::move(append)); !taken) return std::move(taken).error();
    }
  }
  return after;
}

}  // namespace semel::engine
