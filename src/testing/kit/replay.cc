#include <utility>
#include <vector>

#include "engine/history_json.h"
#include "sdk/workflow/code.h"
#include "semel/testing.h"

namespace semel::testing {

Result<void> replay_raw(const std::string& name, const WorkflowStarter& starter, std::string history_json,
                        const std::shared_ptr<const PayloadCodec>& codec) {
  auto history = engine::history_from_json(std::move(history_json));
  if (!history) return std::move(history).error();
  if (history->name != name)
    return make_error(ErrorCode::InvalidArgument,
                      "it is the history of '" + history->name + "', not of '" + name + "'");
  const sdk::Sealer sealer(codec);
  sdk::RunInfo info;
  info.run_id = history->run_id;
  info.workflow_id = history->workflow_id;
  info.workflow_name = history->name;
  info.started_at = history->started_at;
  auto args = sealer.open(Payload{static_cast<Encoding>(history->encoding), history->args});
  if (!args) return std::move(args).error();
  info.args = std::move(args->bytes);
  std::vector<core::Event> events;
  for (auto& recorded : history->events) events.push_back(sdk::open_event(std::move(recorded.event), sealer));
  sdk::Machine machine(starter, std::move(info));
  return machine.replay(events);
}

}  // namespace semel::testing
