// One page of a list of executions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/args.h"
#include "cli/session.h"
#include "store/port.h"

namespace semel::cli {

struct ListPage {
  std::vector<store::ExecutionView> views;
  std::optional<ExecutionId> next;  // the page was full
  std::string more() const;         // how to see the next page; empty: this was the last
};

// --limit and --cursor.
std::vector<Flag> page_flags();
Result<void> read_page_flags(const Args& args, store::ExecutionFilter& filter);
// The store lists rows without their payloads; JSON shows them.
void fill_payloads(Session& session, engine::Runtime& runtime, std::vector<store::ExecutionView>& views);

Result<ListPage> list_page(Session& session, engine::Runtime& runtime, const Args& args, store::ExecutionFilter filter);

}  // namespace semel::cli
