#include "cli/workflows.h"

#include <string>
#include <vector>

#include "base/duration.h"
#include "sdk/workflow/code.h"
#include "semel/workflow.h"

namespace semel::cli {

struct ApprovalArgs {
  std::string within = "1h";
};
SEMEL_FIELDS(ApprovalArgs, within)

struct StepsArgs {
  int count = 3;
  std::string task = "echo";
  std::string pause = "0s";
};
SEMEL_FIELDS(StepsArgs, count, task, pause)

namespace {

Duration duration_of(const std::string& text) {
  auto parsed = base::parse_duration(text);
  if (!parsed) throw TaskError("InvalidArgument", parsed.error().message);
  return *parsed;
}

Workflow<std::string> approval(WorkflowContext& ctx, ApprovalArgs args) {
  std::vector<std::string> notes;
  ctx.on_query("notes", [&notes] { return notes; });
  ctx.on_update("note", [&notes](std::string text) {
    notes.push_back(std::move(text));
    return static_cast<int>(notes.size());
  });
  ctx.set_state(std::string("waiting for approve"));
  auto asked = with_timeout(ctx.signal<std::string>("approve"), duration_of(args.within));
  std::string by;
  try {
    by = co_await asked;
  } catch (const TimedOut&) {
    ctx.set_state(std::string("expired"));
    co_return "expired";
  }
  ctx.set_state("approved by " + by);
  co_return "approved by " + by;
}

Workflow<int> steps(WorkflowContext& ctx, StepsArgs args) {
  for (int i = 1; i <= args.count; ++i) {
    auto step = ctx.execute<json::Raw>(args.task, i);
    co_await step;
    if (args.pause == "0s") continue;
    auto pause = ctx.sleep(duration_of(args.pause));
    co_await pause;
  }
  co_return args.count;
}

template <class F>
void add(engine::WorkflowTable& table, const std::string& name, F function) {
  table.add(name, sdk::make_run_code(workflow(name, function).starter(), sdk::Sealer(nullptr), {}));
}

}  // namespace

std::shared_ptr<const engine::WorkflowTable> builtin_workflows() {
  auto table = std::make_shared<engine::WorkflowTable>();
  add(*table, "approval", approval);
  add(*table, "steps", steps);
  return table;
}

}  // namespace semel::cli
