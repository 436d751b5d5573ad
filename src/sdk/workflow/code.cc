#include "sdk/workflow/code.h"

#include <utility>

namespace semel::sdk {
namespace {

using core::EventKind;

// Errors are never sealed: operators read them.
bool has_payload(EventKind kind) {
  switch (kind) {
    case EventKind::step_completed:
    case EventKind::child_completed:
    case EventKind::signal_received:
    case EventKind::update_received:
    case EventKind::local_completed:
    case EventKind::signal_sent:
    case EventKind::state_set:
    case EventKind::update_completed:
    case EventKind::run_completed:
    case EventKind::run_continued:
      return true;
    default:
      return false;
  }
}

core::Event seal_event(core::Event event, const Sealer& sealer) {
  if (has_payload(event.kind)) event.data = sealer.seal(Payload{Encoding::json, std::move(event.data)}).bytes;
  return event;
}

void set_args(engine::EnqueueRequest& request, Payload plain, const Sealer& sealer) {
  Payload sealed = sealer.seal(std::move(plain));
  request.encoding = static_cast<core::Encoding>(sealed.encoding);
  request.args = std::move(sealed.bytes);
  request.match_args = sealer.same_in_same_out();
}

class MachineCode final : public engine::RunCode {
 public:
  MachineCode(WorkflowStarter starter, RunInfo info, Sealer sealer, LogSink log, const store::ExecutionView& view)
      : sealer_(std::move(sealer)),
        encoding_(view.payload.encoding),
        identity_(view.execution.identity.value_or("")),
        machine_(std::move(starter), std::move(info), std::move(log)) {}

  Result<void> replay(std::span<const core::Event> history) override {
    machine_.expect(history);
    machine_.start();
    for (const auto& event : history) {
      auto replayed = machine_.replay(sealer_.transparent() ? event : open_event(event, sealer_));
      if (!replayed) return replayed;
    }
    return {};
  }
  core::Event stamp(core::Event input, Instant now) const override { return machine_.stamp(std::move(input), now); }
  void hand_over(const core::Event& input) override {
    if (sealer_.transparent()) machine_.hand_over(input);
    else machine_.hand_over(open_event(input, sealer_));
  }
  void run() override { machine_.run(); }
  bool closed() const override { return machine_.closed(); }
  std::vector<engine::RunCommand> take_commands() override {
    std::vector<engine::RunCommand> out;
    for (auto& command : machine_.take_commands()) out.push_back(to_engine(std::move(command)));
    return out;
  }
  std::vector<engine::LocalCall> take_locals() override {
    std::vector<engine::LocalCall> out;
    for (auto& local : machine_.take_locals())
      out.push_back({local.command, std::move(local.name), [body = std::move(local.body), sealer = sealer_] {
                       core::Event event = body();
                       return sealer.transparent() ? event : seal_event(std::move(event), sealer);
                     }});
    return out;
  }
  std::vector<core::Event> unread() const override {
    std::vector<core::Event> out = machine_.unread();
    for (auto& event : out) event = seal_event(std::move(event), sealer_);
    return out;
  }
  Result<std::string> query(const std::string& name, const std::string& args) override {
    return machine_.query(name, args);
  }
  bool key_read(std::int32_t command) const override { return machine_.key_read(command); }

 private:
  engine::RunCommand to_engine(Command command) {
    engine::RunCommand out;
    if (command.event.kind == EventKind::step_scheduled) out.start = step_request(command);
    if (command.event.kind == EventKind::child_started) out.start = child_request(command);
    if (command.event.kind == EventKind::run_continued) out.start = next_request(command);
    const bool plain = command.event.kind == EventKind::run_completed && encoding_ == core::Encoding::json;
    out.event =
        sealer_.transparent() || plain ? std::move(command.event) : seal_event(std::move(command.event), sealer_);
    return out;
  }

  engine::EnqueueRequest step_request(Command& command) const {
    const StepOptions& options = *command.step;
    engine::EnqueueRequest out;
    out.name = command.event.name;
    out.queue = options.queue().value_or("");
    out.task_id = options.task_id();
    out.priority = options.priority().value_or(100);
    out.delay = options.delay();
    out.timeout = options.timeout();
    out.attempt_timeout = options.attempt_timeout();
    out.max_attempts = options.max_attempts();
    if (options.retry()) out.retry = to_overrides(*options.retry());
    out.concurrency_key = options.concurrency_key();
    set_args(out, *std::move(command.args), sealer_);
    return out;
  }

  engine::EnqueueRequest child_request(Command& command) const {
    const ChildOptions& options = *command.child;
    engine::EnqueueRequest out;
    out.kind = Kind::workflow;
    out.name = command.event.name;
    out.queue = options.queue().value_or("");
    out.task_id = command.event.id;
    out.timeout = options.timeout();
    out.on_duplicate = options.on_duplicate().value_or(OnDuplicate::return_existing);
    out.reuse = options.reuse().value_or(Reuse::failed_only);
    set_args(out, *std::move(command.args), sealer_);
    return out;
  }

  engine::EnqueueRequest next_request(const Command& command) const {
    engine::EnqueueRequest out;
    out.kind = Kind::workflow;
    out.name = command.event.name;
    out.task_id = identity_;
    set_args(out, Payload{Encoding::json, command.event.data}, sealer_);
    return out;
  }

  const Sealer sealer_;
  const core::Encoding encoding_;  // of the run's arguments, and so of its result
  const std::string identity_;
  Machine machine_;
};

}  // namespace

core::Event open_event(core::Event event, const Sealer& sealer) {
  if (!has_payload(event.kind)) return event;
  if (auto plain = sealer.open(Payload{Encoding::opaque, event.data})) event.data = std::move(plain->bytes);
  return event;
}

engine::WorkflowTable::Maker make_run_code(WorkflowStarter starter, Sealer sealer, LogSink log) {
  return [starter = std::move(starter), sealer = std::move(sealer),
          log = std::move(log)](const store::ExecutionView& view) -> std::unique_ptr<engine::RunCode> {
    RunInfo info;
    info.run_id = view.execution.id;
    info.workflow_id = view.execution.identity.value_or("");
    info.workflow_name = view.execution.name;
    info.started_at = view.execution.created_at;
    auto args = sealer.open(Payload{static_cast<Encoding>(view.payload.encoding), view.payload.args});
    if (args) info.args = std::move(args->bytes);
    else info.args = view.payload.args;  // the code says DecodeFailed
    return std::make_unique<MachineCode>(starter, std::move(info), sealer, log, view);
  };
}

}  // namespace semel::sdk
