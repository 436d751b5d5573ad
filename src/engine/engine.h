// The use cases over one store and its writer. Asynchronous at heart: what has to be written ends in a callback, what
// is only read returns at once. Every method is thread-safe.
//
// A success given to a callback is durable. Errors are those of the one error table; outcomes are part of success.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/env.h"
#include "engine/explain.h"
#include "engine/lane_directory.h"
#include "engine/requests.h"
#include "engine/waiting_room.h"
#include "engine/writer.h"

namespace semel::engine {

class Engine {
 public:
  Engine(Env env, Writer& writer);
  ~Engine();

  // ---- tasks ----
  void enqueue(EnqueueRequest request, Callback<EnqueueOutcome> done);
  // At most 1,000 items or 4 MiB. Outcomes in order; one bad item does not stop the others.
  void enqueue_batch(std::vector<EnqueueRequest> requests, Callback<std::vector<Result<EnqueueOutcome>>> done);
  // Runs `function` on the writer's connection and enqueues in the same transaction (SQLite). All or nothing.
  void enqueue_within(std::function<Result<void>(void* connection)> function, std::vector<EnqueueRequest> requests,
                      Callback<std::vector<EnqueueOutcome>> done);
  // Enqueues a row of the inbox and deletes it, in one transaction; a row that cannot be read keeps its error.
  void feed_inbox(core::InboxRow row, Callback<bool> done);
  // A set of tasks; the id goes into EnqueueRequest.group of its members.
  void group_create(GroupRequest request, Callback<GroupOutcome> done);

  // ---- workers that are not embedded ----
  void claim(ClaimRequest request, Callback<std::vector<store::ExecutionView>> done);
  void deliver(DeliverRequest request, Callback<DeliverOutcome> done);
  void heartbeat(HeartbeatRequest request, Callback<core::HeartbeatAnswer> done);
  void complete(CompleteRequest request, Callback<core::EndAnswer> done);
  void fail(FailRequest request, Callback<core::EndAnswer> done);
  void release(ReleaseRequest request, Callback<core::EndAnswer> done);
  void session_open(std::string worker, Duration lease, Callback<SessionId> done);
  void session_renew(SessionId session, Duration lease, Callback<Instant> done);
  void session_close(SessionId session, Callback<Instant> done);

  // ---- runs ----
  // A workflow is started by `enqueue` with kind workflow.
  // Once answered the signal is mail of the run; a repeat with the same dedupe id is answered, not delivered again.
  void signal(SignalRequest request, Callback<core::SignalAnswer> done);
  // Starts the workflow unless it runs, and signals it, in one transaction.
  void signal_with_start(SignalRequest request, EnqueueRequest start, Callback<core::SignalAnswer> done);
  // An update: a signal with an answer, which the code gives. NotReady when there is none by `deadline` (store time):
  // asked again under the same id, the change is not made again. WorkflowAlreadyCompleted: the run ended before.
  void update(SignalRequest request, Instant deadline, Callback<UpdateOutcome> done);
  // Ends the run now, without its clean-up code.
  void terminate(std::string_view tenant, ExecutionId execution, Callback<core::CancelAnswer> done);
  // Ends the parking of a run whose code did not fit its history: it is tried again now.
  void resume(std::string_view tenant, ExecutionId execution, Callback<core::ResumeAnswer> done);
  // The newest run of a workflow_id, or the run of that execution id.
  Result<RunView> run_get(std::string_view tenant, std::string_view workflow_id_or_execution_id);
  // Runs whose attributes have every member of `attributes`, a JSON object, newest first. There is no index: a page
  // looks at the headers of at most 1,000 rows that pass the filter.
  Result<RunPage> run_list(std::string_view tenant, store::ExecutionFilter filter, const std::string& attributes);
  // Every event after number `after`, in order.
  Result<std::vector<HistoryEvent>> history(std::string_view tenant, ExecutionId execution, std::int32_t after = 0);

  // ---- operators ----
  void cancel(std::string_view tenant, ExecutionId execution, Callback<core::CancelAnswer> done);
  void redrive(std::string_view tenant, ExecutionId execution, Callback<core::RedriveAnswer> done);
  void discard(std::string_view tenant, ExecutionId execution, Callback<core::DiscardAnswer> done);
  // One page; reads on the calling thread.
  void bulk(BulkRequest request, Callback<BulkPage> done);

  void queue_set(std::string_view tenant, std::string queue, core::LaneConfig config, Callback<core::Lane> done);
  void queue_pause(std::string_view tenant, std::string queue, bool paused, Callback<core::Lane> done);
  Result<QueueView> queue_get(std::string_view tenant, std::string_view queue);
  Result<std::vector<QueueView>> queue_list(std::string_view tenant);
  void tenant_create(std::string name, Callback<core::TenantAnswer> done);
  Result<std::vector<std::string>> tenant_list();

  void key_release(std::string_view tenant, std::string key, bool force, Callback<core::KeyAnswer> done);
  Result<core::Identity> key_get(std::string_view tenant, std::string_view key);
  Result<std::vector<core::Identity>> key_list(std::string_view tenant, std::string_view after, std::int32_t limit);

  // Deletes what is past its retention now, one page; go on with next_after while `more`.
  void purge(ExecutionId after, Callback<core::SweepAnswer> done);

  // ---- reads ----
  Result<core::TenantId> tenant(std::string_view name) { return directory_.tenant(name); }
  Result<store::ExecutionView> get(std::string_view tenant, ExecutionId execution);
  // The newest execution of a task_id; also finds an execution by its own id, as tasks without task_id print it.
  Result<store::ExecutionView> get_task(std::string_view tenant, std::string_view task_id, Kind kind = Kind::task);
  Result<std::vector<store::ExecutionView>> list(std::string_view tenant, store::ExecutionFilter filter);
  // By task_id, workflow_id or execution id. An id that is both a task's and a workflow's needs `kind`: without it
  // InvalidArgument names the two.
  Result<Explanation> explain(std::string_view tenant, std::string_view id_or_execution,
                              std::optional<Kind> kind = std::nullopt);
  Result<Explanation> explain_key(std::string_view tenant, std::string_view key);

  // Answers when the execution is terminal, or with the row as it is at `deadline` (store time). Follows
  // next_execution_id: the row answered may be a successor.
  void wait_result(std::string_view tenant, ExecutionId execution, Instant deadline,
                   Callback<store::ExecutionView> done);

  // ---- for the driver ----
  void note_wakes(const store::Wakes& wakes);  // hints: waiters look again
  Instant step(Instant now);                   // waiters and waiting claims; reads the store
  void stop(const Error& why);                 // answers every waiter
  LaneDirectory& directory() { return directory_; }
  Env& env() { return env_; }
  Writer& writer() { return writer_; }
  std::function<void(core::LaneId)> lane_changed;  // set before use: this node changed the config of a lane
  std::function<void()> wake;                      // set before use: step has something to do; from any thread

 private:
  using Views = std::vector<store::ExecutionView>;

  template <class Op, class T, class Map>
  void send(Op operation, Callback<T> done, Map map);
  template <class Op>
  void send(Op operation, Callback<typename core::AnswerOf<Op>::type> done);
  void change_lane(std::string_view tenant, core::LaneEnsure change, Callback<core::Lane> done);
  void with_lane(core::TenantId tenant, const std::string& queue, Callback<LaneRef> done);
  struct Prepared;
  Result<Prepared> prepare(EnqueueRequest& request);
  // Calls back with the lanes of all prepared requests filled in, creating what is missing.
  void settle_lanes(std::shared_ptr<std::vector<Result<Prepared>>> all, std::size_t from, std::function<void()> then);
  void claim_once(std::shared_ptr<const ClaimRequest> request, core::TenantId tenant, Callback<Views> done);
  void claim_in(SessionId session, std::shared_ptr<const ClaimRequest> request,
                std::vector<core::TaskClaim::Want> wants, Callback<Views> done);
  void wait_for_claim(std::shared_ptr<const ClaimRequest> request, core::TenantId tenant, Instant deadline,
                      Callback<Views> done);
  Result<std::vector<core::TaskClaim::Want>> wants_of(const ClaimRequest& request, core::TenantId tenant);
  store::ExecutionView view_of(core::ClaimedTask task);
  void look_wake();
  void await_update(core::TenantId tenant, ExecutionId run, std::string update_id, Instant deadline,
                    Callback<UpdateOutcome> done);
  Result<Explanation> explain_view(core::TenantId tenant, store::ExecutionView view);

  Env env_;
  Writer& writer_;
  LaneDirectory directory_;
  WaitingRoom waiting_;
};

}  // namespace semel::engine
