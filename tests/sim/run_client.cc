#include "tests/sim/run_client.h"

#include "tests/sim/program.h"
#include "tests/sim/run_checks.h"

namespace semel::sim {

std::optional<ExecutionId> RunClient::some_run() {
  if (seen_.empty()) return std::nullopt;
  // The newest ones are those that still run.
  const std::uint64_t among = std::min<std::uint64_t>(seen_.size(), 12);
  return seen_[seen_.size() - 1 - world_.random.below(among)];
}

// ---- start ----------------------------------------------------------------------------------------------------------

engine::EnqueueRequest RunClient::random_start() {
  auto& random = world_.random;
  engine::EnqueueRequest request;
  request.kind = Kind::workflow;
  static const char* kQueues[] = {"default", "default", "default", "limited", "dead", "zero"};
  request.queue = kQueues[random.below(6)];
  request.name = random.below(10) == 0 ? "rare" : "flow";
  request.task_id = some_identity();
  const std::uint64_t seed = random.below(4) == 0 ? random.below(20) : random.below(1ull << 40);
  request.args =
      std::to_string(ProgramId{seed, static_cast<int>(random.below(3)), static_cast<int>(random.below(3))}.pack());
  request.match_args = random.below(3) == 0;
  if (random.below(8) == 0) request.delay = Duration{static_cast<std::int64_t>(random.below(1'500'000))};
  if (random.below(10) == 0) request.timeout = Duration{static_cast<std::int64_t>(1000 + random.below(5'000'000))};
  const auto dice = random.below(10);
  if (dice < 2) request.on_duplicate = OnDuplicate::reject;
  else if (dice < 4) request.on_duplicate = OnDuplicate::replace;
  if (random.below(3) != 0) request.reuse = random.below(4) == 0 ? Reuse::never : Reuse::always;
  if (random.below(3) == 0) {
    request.max_attempts = 2;
    request.retry.initial_interval = Duration{100'000};
  }
  if (random.below(12) == 0) request.idempotency_key = "run-key-" + std::to_string(random.below(6));
  return request;
}

void RunClient::start(SimNode& node) {
  auto request = random_start();
  testing::History::Enqueue call;
  call.identity = *request.task_id;
  call.name = request.name;
  call.args = request.args;
  call.match_args = false;  // a run that continued has other arguments than the one that was started
  call.reuse = request.reuse;
  call.kept = request.queue != "zero";
  const auto history_call = world_.history.enqueue_called(call);
  const auto number = calls_.open(node, "start " + call.identity);
  node.engine().enqueue(std::move(request), [this, number, history_call](Result<engine::EnqueueOutcome> outcome) {
    if (calls_.close(number)) started(history_call, outcome);
  });
}

void RunClient::started(std::uint64_t call, const Result<engine::EnqueueOutcome>& outcome) {
  auto& goals = world_.goals;
  if (!outcome) {
    const auto code = outcome.error().code;
    if (code == ErrorCode::WorkflowAlreadyStarted || code == ErrorCode::WorkflowAlreadyCompleted)
      goals.hit("second start rejected");
    return code == ErrorCode::UnknownCommit ? world_.history.enqueue_unknown(call)
                                            : world_.history.enqueue_refused(call);
  }
  seen_.push_back(outcome->execution_id);
  if (!outcome->created) goals.hit(is_terminal(outcome->status) ? "ended run answered" : "live run answered");
  // A key answers with the run it was used for, whatever id is asked for.
  core::EnqueueAnswer answer{outcome->execution_id, outcome->status,       outcome->created,
                             outcome->result,       outcome->completed_at, outcome->result_expired};
  world_.history.enqueue_answered(call, answer, world_.store);
}

// ---- signals --------------------------------------------------------------------------------------------------------

void RunClient::signal(SimNode& node) {
  auto& random = world_.random;
  Signal chosen;
  if (!sent_.empty() && random.below(3) == 0) {
    chosen = sent_[random.below(sent_.size())];
  } else {
    chosen = {some_identity(), random.below(2) == 0 ? "go" : "stop", ""};
    if (random.below(2) == 0) chosen.dedupe = "d" + std::to_string(next_text_);
    if (!chosen.dedupe.empty()) sent_.push_back(chosen);
  }
  core::RunSignal operation;
  operation.identity = chosen.identity;
  operation.name = chosen.name;
  operation.dedupe = chosen.dedupe;
  operation.data = "\"c" + std::to_string(next_text_++) + "\"";
  operation.mail = node.engine_node().env.next_id<MailId>();
  const std::string text = operation.data;
  ++world_.history.operations;
  const auto number = calls_.open(node, "signal " + chosen.identity + " " + text);
  node.engine().writer().submit(std::move(operation), [this, number, text](core::Answer answer) {
    if (calls_.close(number)) signalled(text, answer);
  });
}

void RunClient::signalled(const std::string& text, const core::Answer& answer) {
  if (const auto* taken = std::get_if<core::SignalAnswer>(&answer)) {
    // Taken before may mean by this very call, when its first commit was lost sight of.
    if (taken->created) world_.runs->signal_accepted(text, taken->run);
    return;
  }
  const auto code = std::get<Error>(answer).code;
  if (code == ErrorCode::UnknownCommit) return;
  if (code == ErrorCode::WorkflowAlreadyCompleted) world_.goals.hit("signal after the end refused");
  world_.runs->signal_refused(text);
}

// ---- operators and readers ------------------------------------------------------------------------------------------

void RunClient::end(SimNode& node, bool terminate) {
  const auto run = some_run();
  if (!run) return;
  ++world_.history.operations;
  const auto number = calls_.open(node, terminate ? "terminate" : "cancel");
  node.engine().writer().submit(core::ExecutionCancel{core::kDefaultTenant, *run, terminate},
                                [this, number](core::Answer answer) {
                                  const auto* ended = std::get_if<core::CancelAnswer>(&answer);
                                  if (calls_.close(number) && ended && ended->requested)
                                    world_.goals.hit("cancel requested of a run");
                                });
}

void RunClient::resume(SimNode& node) {
  const auto run = some_run();
  if (!run) return;
  ++world_.history.operations;
  const auto number = calls_.open(node, "resume");
  node.engine().writer().submit(core::RunResume{core::kDefaultTenant, *run}, [this, number](core::Answer answer) {
    const auto* resumed = std::get_if<core::ResumeAnswer>(&answer);
    if (calls_.close(number) && resumed && resumed->resumed) world_.goals.hit("parked run resumed by hand");
  });
}

void RunClient::redrive(SimNode& node) {
  const auto run = some_run();
  if (!run) return;
  ++world_.history.operations;
  const auto number = calls_.open(node, "redrive");
  node.engine().redrive("default", *run, [this, number](Result<core::RedriveAnswer> answer) {
    if (!calls_.close(number) || !answer) return;
    if (answer->created) world_.goals.hit("run redriven");
    seen_.push_back(answer->successor);
  });
}

void RunClient::read(SimNode& node) {
  const auto run = some_run();
  if (!run) return;
  ++world_.history.operations;
  const auto number = calls_.open(node, "wait_result of a run");
  node.engine().wait_result("default", *run, world_.clock.now() + Duration{1'000'000},
                            [this, number](Result<store::ExecutionView> view) {
                              if (calls_.close(number) && view && is_terminal(view->execution.status))
                                world_.goals.hit("result of a run read");
                            });
}

void RunClient::act(SimNode& node) {
  const auto dice = world_.random.below(100);
  if (dice < 45) return start(node);
  if (dice < 75) return signal(node);
  if (dice < 85) return end(node, false);
  if (dice < 89) return end(node, true);
  if (dice < 92) return redrive(node);
  if (dice < 95) return resume(node);
  read(node);
}

}  // namespace semel::sim
