#include "cli/verbs/listing.h"

#include "cli/verbs/read_args.h"

namespace semel::cli {

std::string ListPage::more() const { return next ? "more: --cursor " + next->to_string() + "\n" : ""; }

std::vector<Flag> page_flags() {
  return {{"limit", "N", "at most this many (50)"}, {"cursor", "ID", "go on after this one (next_cursor)"}};
}

Result<void> read_page_flags(const Args& args, store::ExecutionFilter& filter) {
  SEMEL_TRY(limit, args.integer("limit"));
  if (limit.value_or(50) < 1 || limit.value_or(50) > 1000) {
    return make_error(ErrorCode::InvalidArgument, "limit must be 1 .. 1000, not " + std::to_string(*limit));
  }
  filter.limit = static_cast<std::int32_t>(limit.value_or(50));
  if (const auto cursor = args.get("cursor")) {
    SEMEL_TRY(before, execution_id_of(*cursor, "cursor"));
    filter.before = before;
  }
  return {};
}

void fill_payloads(Session& session, engine::Runtime& runtime, std::vector<store::ExecutionView>& views) {
  for (auto& view : views) {
    auto whole = runtime.engine().get(session.tenant(), view.execution.id);
    if (whole) view.payload = whole->payload;
  }
}

Result<ListPage> list_page(Session& session, engine::Runtime& runtime, const Args& args,
                           store::ExecutionFilter filter) {
  if (auto read = read_page_flags(args, filter); !read) return read.error();
  SEMEL_TRY(views, runtime.engine().list(session.tenant(), filter));
  if (session.json()) fill_payloads(session, runtime, views);
  ListPage page;
  if (views.size() == static_cast<std::size_t>(filter.limit)) page.next = views.back().execution.id;
  page.views = std::move(views);
  return page;
}

}  // namespace semel::cli
