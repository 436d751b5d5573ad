// A run's history as a JSON document, and the way back: what `semel workflow history -o json` prints, what a replay
// reads.
//
//   {"workflow_id":"order-7","run_id":"...","name":"checkout","queue":"default","args":{...},"started_at":"...",
//    "events":[{"seq":1,"at":"...","kind":"run_started","code_at":"...","name":"checkout"}, ...]}
//
// Exact: reading what was printed gives equal values. Of an event only what is set is printed: `command`, `issued`,
// `code_at` (the code's `now` from there on; for timers `due_at`), `name`, `id`, `execution_id`, `data`. Bytes that are
// not JSON (or, of texts, not UTF-8) are printed as base64 under `data_base64` and the like.
#pragma once

#include <string>
#include <vector>

#include "engine/requests.h"

namespace semel::engine {

struct HistoryDocument {
  std::string workflow_id;
  ExecutionId run_id;
  std::string name;
  std::string queue;
  core::Encoding encoding = core::Encoding::json;  // of args
  std::string args;
  Instant started_at{};
  std::vector<HistoryEvent> events;
  bool operator==(const HistoryDocument&) const = default;
};

HistoryDocument history_document(const store::ExecutionView& run, std::vector<HistoryEvent> events);

// GET /executions/{id}/history.
std::string history_json(const HistoryDocument& history);

// Strict: unknown, missing and ill-typed members are an InvalidArgument that names the event and the member; events are
// numbered 1, 2, 3 ... without gaps.
Result<HistoryDocument> history_from_json(std::string text);

}  // namespace semel::engine
