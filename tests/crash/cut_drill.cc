#include "tests/crash/cut_drill.h"

#include <array>
#include <atomic>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "engine/threads.h"
#include "semel/postgres.h"
#include "semel/semel.h"
#include "tests/crash/open_store.h"
#include "tests/crash/process.h"
#include "tests/crash/sql.h"

namespace semel::crash {
namespace {

using testing::PgProxy;
using Fault = PgProxy::Fault;
constexpr Duration kHour = std::chrono::hours(1);

// Tasks that were handed out, by execution and version: each once.
class HandedOut {
 public:
  bool add(const std::string& claim) {
    const std::lock_guard lock(mutex_);
    return claims_.insert(claim).second;
  }

 private:
  std::mutex mutex_;
  std::set<std::string> claims_;
};

// One caller, one call at a time. Its queues are its own.
class Caller {
 public:
  Caller(engine::Runtime& runtime, CutRecord& record, HandedOut& handed, int number, std::uint64_t seed)
      : runtime_(runtime),
        engine_(runtime.engine()),
        record_(record),
        handed_(handed),
        name_(std::to_string(number)),
        random_(seed * 1000 + static_cast<std::uint64_t>(number)) {}

  void step() {
    using Act = void (Caller::*)();
    constexpr std::array<Act, 15> kActs = {&Caller::enqueue_with_id, &Caller::enqueue_without_id,
                                           &Caller::enqueue_batch,   &Caller::enqueue_for_claims,
                                           &Caller::claim,           &Caller::claim,
                                           &Caller::cancel,          &Caller::redrive,
                                           &Caller::dead_letter,     &Caller::release_key,
                                           &Caller::start,           &Caller::signal,
                                           &Caller::terminate,       &Caller::set_queue,
                                           &Caller::housekeeping};
    (this->*kActs[random_.below(kActs.size())])();
  }

 private:
  template <class T, class Call>
  Result<T> ask(Call&& call) {
    return runtime_.wait<T>(std::forward<Call>(call));
  }
  template <class T>
  bool told(const std::string& fact, const Result<T>& result, bool undoes = false) {
    record_.answered(fact, result ? nullptr : &result.error(), undoes);
    return result.ok();
  }
  std::string token() { return "tok-" + name_ + "-" + std::to_string(++tokens_); }
  static std::string quoted(const std::string& text) { return "\"" + text + "\""; }

  engine::EnqueueRequest request(const std::string& token, const std::string& queue) {
    engine::EnqueueRequest out;
    out.name = "work";
    out.args = quoted(token);
    out.queue = queue + name_;
    return out;
  }
  std::optional<ExecutionId> enqueue(engine::EnqueueRequest request, const std::string& token) {
    const bool named = request.task_id.has_value();
    auto made = ask<engine::EnqueueOutcome>([&](auto done) { engine_.enqueue(std::move(request), std::move(done)); });
    if (!told("args " + token, made)) return std::nullopt;
    if (named && !made->created) record_.violation(token + ": the first enqueue of an id was told of another one");
    return made->execution_id;
  }

  void enqueue_with_id() {
    const std::string mark = token();
    auto task = request(mark, "idle");
    task.task_id = mark;
    enqueue(std::move(task), mark);
  }
  void enqueue_without_id() {
    const std::string mark = token();
    enqueue(request(mark, "idle"), mark);
  }
  void enqueue_batch() {
    std::vector<engine::EnqueueRequest> tasks;
    std::vector<std::string> marks;
    for (int i = 0; i < 5; ++i) {
      marks.push_back(token());
      tasks.push_back(request(marks.back(), "idle"));
      if (i % 2 == 0) tasks.back().task_id = marks.back();
    }
    using Outcomes = std::vector<Result<engine::EnqueueOutcome>>;
    auto made = ask<Outcomes>([&](auto done) { engine_.enqueue_batch(std::move(tasks), std::move(done)); });
    for (std::size_t i = 0; i < marks.size(); ++i) {
      if (made) told("args " + marks[i], (*made)[i]);
      else told("args " + marks[i], made);
    }
  }
  void enqueue_for_claims() {
    const std::string mark = token();
    enqueue(request(mark, "work"), mark);
  }

  std::vector<store::ExecutionView> claim_from(const std::string& queue) {
    engine::ClaimRequest wanted;
    wanted.queues = {queue + name_};
    wanted.worker = "w" + name_;
    wanted.max = 3;
    wanted.lease = kHour;
    using Views = std::vector<store::ExecutionView>;
    auto claimed = ask<Views>([&](auto done) { engine_.claim(wanted, std::move(done)); });
    if (!claimed) return {};
    for (const auto& view : *claimed) {
      const std::string one = view.execution.id.to_string() + " " + std::to_string(view.execution.version);
      if (!handed_.add(one)) record_.violation(one + " was handed out twice");
    }
    return *std::move(claimed);
  }
  void claim() {
    for (const auto& view : claim_from("work")) hold(view.execution);
  }
  void hold(const core::Execution& row) {
    const std::string mark = token(), id = row.id.to_string();
    switch (random_.below(5)) {
      case 0:
        told("result " + quoted(mark), ask<core::EndAnswer>([&](auto done) {
               engine_.complete({row.id, row.version, quoted(mark)}, std::move(done));
             }));
        return;
      case 1:
        if (fail(row, mark) && row.previous == std::nullopt) failed_.push_back(row.id);
        return;
      case 2:
        if (row.version != 2) return;
        told("released " + id, ask<core::EndAnswer>([&](auto done) {
               engine_.release({row.id, row.version, kHour, false}, std::move(done));
             }));
        return;
      case 3:
        told("progress " + quoted(mark), ask<core::HeartbeatAnswer>([&](auto done) {
               engine_.heartbeat({row.id, row.version, kHour, quoted(mark)}, std::move(done));
             }));
        return;
      default:
        record_.answered("held " + id + " " + std::to_string(row.version), nullptr);
    }
  }
  bool fail(const core::Execution& row, const std::string& mark) {
    engine::FailRequest failure;
    failure.execution = row.id;
    failure.version = row.version;
    failure.error_message = mark;
    failure.retryable = false;
    auto ended = ask<core::EndAnswer>([&](auto done) { engine_.fail(std::move(failure), std::move(done)); });
    if (row.previous) return ended.ok();
    return told("error " + mark, ended);
  }

  void cancel() {
    const std::string mark = token();
    auto later = request(mark, "idle");
    later.delay = kHour;
    const auto id = enqueue(std::move(later), mark);
    if (!id) return;
    if (told("cancelled " + id->to_string(),
             ask<core::CancelAnswer>([&](auto done) { engine_.cancel("default", *id, std::move(done)); })))
      failed_.push_back(*id);
  }
  void redrive() {
    if (failed_.empty()) return;
    const ExecutionId id = failed_.back();
    failed_.pop_back();
    told("follows " + id.to_string(),
         ask<core::RedriveAnswer>([&](auto done) { engine_.redrive("default", id, std::move(done)); }));
  }
  void dead_letter() {
    const std::string mark = token();
    auto task = request(mark, "dead");
    task.max_attempts = 1;
    core::LaneConfig config;
    config.dead_letter = true;
    if (!ask<core::Lane>([&](auto done) { engine_.queue_set("default", "dead" + name_, config, std::move(done)); }))
      return;
    enqueue(std::move(task), mark);
    for (const auto& view : claim_from("dead")) {
      engine::FailRequest failure;
      failure.execution = view.execution.id;
      failure.version = view.execution.version;
      failure.error_message = token();
      const std::string fact = "error " + failure.error_message;
      if (!told(fact, ask<core::EndAnswer>([&](auto done) { engine_.fail(std::move(failure), std::move(done)); })))
        continue;
      told("discarded " + view.execution.id.to_string(), ask<core::DiscardAnswer>([&](auto done) {
             engine_.discard("default", view.execution.id, std::move(done));
           }));
    }
  }
  void release_key() {
    const std::string mark = token();
    auto task = request(mark, "idle");
    task.idempotency_key = mark;
    if (!enqueue(std::move(task), mark)) return;
    record_.answered("key " + mark, nullptr);
    auto released =
        ask<core::KeyAnswer>([&](auto done) { engine_.key_release("default", mark, true, std::move(done)); });
    // Asked again after a lost connection it is gone, which is what was wanted.
    if (!released && released.error().code == ErrorCode::KeyNotFound) released = core::KeyAnswer{true};
    told("key " + mark, released, /*undoes=*/true);
  }

  void start() {
    const std::string mark = token();
    auto run = request(mark, "runs");
    run.kind = Kind::workflow;
    run.task_id = "run-" + mark;
    if (const auto id = enqueue(std::move(run), mark)) runs_.push_back({*id, "run-" + mark});
  }
  void signal() {
    if (runs_.empty()) return;
    const auto& [run, workflow_id] = runs_.back();
    const std::string mark = token();
    engine::SignalRequest signal;
    signal.workflow_id = workflow_id;
    signal.name = "s";
    signal.data = quoted(mark);
    const bool deduped = random_.below(2) == 0;
    if (deduped) signal.dedupe_id = mark;
    signal.update = deduped && random_.below(2) == 0;
    const bool update = signal.update;
    if (update) {  // nobody answers it: it is recorded when the deadline passes
      const auto asked = ask<engine::UpdateOutcome>(
          [&](auto done) { engine_.update(std::move(signal), runtime_.store().clock().now(), std::move(done)); });
      const bool recorded = !asked && asked.error().code == ErrorCode::NotReady;
      record_.answered("mail " + mark, recorded || asked ? nullptr : &asked.error());
      return;
    }
    const auto sent = ask<core::SignalAnswer>([&](auto done) { engine_.signal(std::move(signal), std::move(done)); });
    told("mail " + mark, sent);
    if (deduped) told("signal " + run.to_string() + " " + mark, sent);
  }
  void terminate() {
    if (runs_.size() < 3) return;
    const ExecutionId run = runs_.front().first;
    runs_.erase(runs_.begin());
    told("cancelled " + run.to_string(),
         ask<core::CancelAnswer>([&](auto done) { engine_.terminate("default", run, std::move(done)); }));
  }
  void set_queue() {
    const std::string mark = token();
    core::LaneConfig config;
    config.retention = kHour;
    told("queue " + mark,
         ask<core::Lane>([&](auto done) { engine_.queue_set("default", mark, config, std::move(done)); }));
  }
  void housekeeping() {
    const std::string mark = token();
    switch (random_.below(3)) {
      case 0:
        told("tenant " + mark,
             ask<core::TenantAnswer>([&](auto done) { engine_.tenant_create(mark, std::move(done)); }));
        return;
      case 1: {
        const auto session =
            ask<SessionId>([&](auto done) { engine_.session_open("w" + name_, kHour, std::move(done)); });
        if (session) told("session " + session->to_string(), session);
        return;
      }
      default: {
        engine::GroupRequest group;
        group.total = 2;
        group.completion = request(mark, "idle");
        told("group " + mark,
             ask<engine::GroupOutcome>([&](auto done) { engine_.group_create(std::move(group), std::move(done)); }));
      }
    }
  }

  engine::Runtime& runtime_;
  engine::Engine& engine_;
  CutRecord& record_;
  HandedOut& handed_;
  const std::string name_;
  base::SeededRandom random_;
  long tokens_ = 0;
  std::vector<ExecutionId> failed_;
  std::vector<std::pair<ExecutionId, std::string>> runs_;
};

// Workflows whose steps and ends are recorded by a worker of the public API.
const auto kEcho = task("echo", [](const std::string& text) { return text; });
Workflow<std::string> flow_code(WorkflowContext& ctx, std::string mark) {
  auto first = ctx.execute(kEcho, mark);
  const std::string once = co_await first;
  auto second = ctx.execute(kEcho, once + " end");
  co_return co_await second;
}
const auto kFlow = workflow("flow", flow_code);

void run_flows(Engine& engine, CutRecord& record, const std::atomic<bool>& over) {
  for (int i = 0; !over.load(); ++i) {
    const std::string mark = "tok-flow-" + std::to_string(i);
    const auto started = engine.start(kFlow, "flow-" + mark, mark);
    record.answered("args " + mark, started ? nullptr : &started.error());
    if (!started) continue;
    auto ended = started->result();
    while (!ended && ended.error().code == ErrorCode::StoreUnavailable && !over.load()) ended = started->result();
    if (ended && *ended != mark + " end") record.violation(mark + " ended as " + *ended);
    // A wait that ended without an answer says nothing about the run.
    const Error unknown = make_error(ErrorCode::UnknownCommit, "not known");
    record.answered("result \"" + mark + " end\"", ended ? nullptr : &unknown);
  }
}

}  // namespace

void drill(const DrillOptions& options, const std::function<bool()>& over, CutRecord& record) {
  std::atomic<bool> stop{false};
  {
    const auto owner = engine::Runtime::open(open_store(options.store, false).value(), {}).value();
    engine::Runtime& runtime = *owner;
    Engine flows = Engine::open(options.store, Options().backend(postgres::backend())).value();
    auto worker = flows.start_worker(WorkerOptions().add(kFlow).add(kEcho)).value();
    HandedOut handed;
    std::vector<std::thread> threads;
    for (int i = 0; i < options.callers; ++i)
      threads.emplace_back([&, i] {
        Caller caller(runtime, record, handed, i, options.seed);
        while (!stop.load()) caller.step();
      });
    threads.emplace_back([&] { run_flows(flows, record, stop); });
    if (!wait_until(over, 1800)) record.violation("it did not come to its end");
    stop = true;
    for (auto& thread : threads) thread.join();
    const auto sql = open_sql(options.direct);
    const auto ended = [&] {
      return sql->number("select count(*) from semel.execution where name = 'flow' and status < 4") == 0;
    };
    if (!wait_until(ended, 60)) record.violation("workflows that were started do not end");
  }
  record.compare(facts_of(options.direct));
  const auto sql = open_sql(options.direct);
  if (const long changes = changes_of_terminal_rows(*sql); changes != 0)
    record.violation("terminal rows were written " + std::to_string(changes) + " times");
  for (const auto& row :
       sql->query("select identity, kind, count(*) from semel.execution where identity is not null and "
                  "previous is null group by 1, 2 having count(*) > 1"))
    record.violation("id " + row[0] + " was made " + row[2] + " times");
  for (const auto& broken : open_store(options.direct, false).value()->verify().value()) record.violation(broken);
}

Cuts::Cuts(PgProxy& proxy, std::uint64_t seed, long cuts) : proxy_(proxy), random_(seed), cuts_(cuts) {}

void Cuts::arm() {
  constexpr std::array<Fault, 8> kFaults = {Fault::cut_before,    Fault::cut_inside,  Fault::cut_after,
                                            Fault::cut_answer,    Fault::cut_end,     Fault::late,
                                            Fault::pooler_before, Fault::pooler_after};
  fault_ = kFaults[random_.below(kFaults.size())];
  const auto where = random_.below(3) == 0 ? PgProxy::Where::any : PgProxy::Where::commit;
  proxy_.arm(fault_, where, static_cast<int>(random_.below(12)));
}

bool Cuts::operator()() {
  if (!std::exchange(armed_, true)) arm();
  if (!proxy_.struck()) return false;
  ++by_fault_[fault_];
  if (++struck_ >= cuts_) return true;
  arm();
  return false;
}

std::string Cuts::to_text() const {
  std::string out = std::to_string(struck_) + " cuts:";
  for (const auto& [fault, count] : by_fault_) {
    out += " " + std::to_string(static_cast<int>(fault)) + " x" + std::to_string(count);
  }
  return out;
}

}  // namespace semel::crash
