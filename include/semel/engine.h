// The engine inside your program: one open store, its writer, its clockwork, and the workers you start.
//
// Every call answers a Result; only `.value()` throws. A success is durable: it survives a crash and, on SQLite and
// PostgreSQL, a power cut. A duplicate is a success too, with `created() == false`. Thread-safe. No signal handler is
// installed, no global is touched, the process is never ended.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "semel/execution.h"
#include "semel/handle.h"
#include "semel/log.h"
#include "semel/options.h"
#include "semel/result.h"
#include "semel/task.h"
#include "semel/worker.h"
#include "semel/workflow.h"
#include "semel/workflow_handle.h"

struct sqlite3;

namespace semel {

namespace sdk {
class Backend;
class Host;
}  // namespace sdk

// A kind of store beside the built-in ones; see semel::postgres::backend().
using BackendRef = std::shared_ptr<const sdk::Backend>;

// Settings of an engine.
class Options {
 public:
  SEMEL_OPTION(Options, std::string, tenant)  // of calls that name none; default "default"
  SEMEL_OPTION(Options, LogSink, log)         // default: silent
  SEMEL_OPTION(Options, std::shared_ptr<const PayloadCodec>, codec)
  // Called once when the store cannot be trusted any more (I/O error, corruption): every later call fails. Runs where
  // callbacks run.
  SEMEL_OPTION(Options, std::function<void(const Error&)>, on_fatal)
  // Runs the callbacks of asynchronous calls, for instance by posting them to your event loop. Default: one thread of
  // the engine's own, one callback at a time. What a callback throws is logged. One that is run on the spot, on a
  // thread of the engine, may make no call that waits for the engine (Unsupported).
  SEMEL_OPTION(Options, std::function<void(std::function<void()>)>, callbacks)
  // false: a client that enqueues and reads, and leaves timers, expired leases and cleanup to other processes on the
  // same store. Default true; a SQLite or memory store has no other process.
  SEMEL_OPTION(Options, bool, housekeeping)
  SEMEL_OPTION(Options, int, max_batch)  // operations per transaction; default 1,000

  Options& backend(BackendRef backend) {
    backends_.push_back(std::move(backend));
    return *this;
  }
  const std::vector<BackendRef>& backends() const { return backends_; }

 private:
  std::vector<BackendRef> backends_;
};

// One enqueue of a batch or transaction.
class Item {
 public:
  template <class R, class A>
  Item(const TaskRef<R, A>& task, const std::type_identity_t<A>& argument, EnqueueOptions options = {})
      : name_(task.name()), argument_(encode_payload(argument)), options_(std::move(options)) {}

  const std::string& name() const { return name_; }
  const Result<Payload>& argument() const { return argument_; }
  const EnqueueOptions& options() const { return options_; }

 private:
  std::string name_;
  Result<Payload> argument_;
  EnqueueOptions options_;
};

template <class R>
struct Group {
  GroupId id;
  Handle<R> completion;  // answers ExecutionNotFound until the last member has ended
};

struct DeliverOptions {
  std::optional<ExecutionId> execution;  // when the message carries one; else the newest execution of the job
  Duration lease = std::chrono::seconds(30);
};

// Why an execution is where it is, and what its duplicates were told.
struct Explanation {
  std::optional<Execution> execution;
  std::string summary;    // one sentence
  std::string waits_for;  // e.g. "backoff", "queue_paused", of a run "signals"; "none" when it does not wait
  std::vector<std::pair<std::string, std::int64_t>> duplicates;  // rule that answered -> how often
};

struct MetricsSnapshot {
  std::uint64_t commits = 0;
  std::uint64_t operations = 0;
  std::uint64_t refused = 0;  // Overloaded
  std::uint64_t queued = 0;   // operations waiting for the writer now
  std::uint64_t timers_fired = 0;
  std::uint64_t leases_expired = 0;
  std::uint64_t rows_cleaned = 0;
  WorkerMetrics workers;  // summed over the workers of this engine
};

class Engine {
 public:
  // `sqlite:PATH` (created when absent; one writing process at a time), `memory:` (nothing is durable), and what
  // Options::backend adds. Errors say what is wrong with the URL or the store and how to go on.
  static Result<Engine> open(std::string_view url, const Options& options = {});

  explicit Engine(std::shared_ptr<sdk::Host> host) : host_(std::move(host)) {}
  Engine(Engine&&) noexcept = default;
  Engine& operator=(Engine&&) noexcept;
  ~Engine();  // shutdown() with its default

  // ---- enqueue -----------------------------------------------------------------------------------------------------

  // Durable when it returns. An id that exists already is answered with its execution, see EnqueueOptions.
  template <class R, class A>
  Result<Handle<R>> enqueue(const TaskRef<R, A>& task, const std::type_identity_t<A>& argument,
                            const EnqueueOptions& options = {}) {
    return typed<R>(enqueue_raw(Item(task, argument, options)));
  }
  template <class R>
  Result<Handle<R>> enqueue(const TaskRef<R, None>& task, const EnqueueOptions& options = {}) {
    return typed<R>(enqueue_raw(Item(task, None{}, options)));
  }
  Result<RawHandle> enqueue_raw(Item item);

  // Returns at once; `done` is called when the task is durable or refused. Never blocks.
  template <class R, class A>
  void enqueue_async(const TaskRef<R, A>& task, const std::type_identity_t<A>& argument, const EnqueueOptions& options,
                     std::type_identity_t<std::function<void(Result<Handle<R>>)>> done) {
    enqueue_raw_async(Item(task, argument, options),
                      [done = std::move(done)](Result<RawHandle> handle) { done(typed<R>(std::move(handle))); });
  }
  void enqueue_raw_async(Item item, std::function<void(Result<RawHandle>)> done);

  // At most 1,000 items or 4 MiB, answers in order; one refused item does not stop the others. Not one transaction: use
  // enqueue_within for that. `options_of` makes the options of each argument.
  template <class R, class A, class OptionsOf>
  Result<std::vector<Result<Handle<R>>>> enqueue_batch(const TaskRef<R, A>& task, const std::vector<A>& arguments,
                                                       const OptionsOf& options_of) {
    std::vector<Item> items;
    items.reserve(arguments.size());
    for (const A& argument : arguments) items.emplace_back(task, argument, options_of(argument));
    auto handles = enqueue_batch(std::move(items));
    if (!handles) return std::move(handles).error();
    std::vector<Result<Handle<R>>> out;
    out.reserve(handles->size());
    for (auto& handle : *handles) out.push_back(typed<R>(std::move(handle)));
    return out;
  }
  Result<std::vector<Result<RawHandle>>> enqueue_batch(std::vector<Item> items);

  // SQLite only: runs `write` on the writer's connection and enqueues in the same transaction. All of it happens, or
  // nothing: an error or exception out of `write`, or one refused item, undoes the rest. Your tables live in the
  // store's file. `write` must neither commit nor roll back, and holds up every other writer while it runs. Calls of
  // this engine that wait are refused inside it (Unsupported).
  template <class R, class A>
  Result<Handle<R>> enqueue_within(std::function<Result<void>(sqlite3*)> write, const TaskRef<R, A>& task,
                                   const std::type_identity_t<A>& argument, const EnqueueOptions& options = {}) {
    std::vector<Item> items;
    items.emplace_back(task, argument, options);
    auto handles = enqueue_within(std::move(write), std::move(items));
    if (!handles) return std::move(handles).error();
    return Handle<R>(std::move(handles->front()));
  }
  Result<std::vector<RawHandle>> enqueue_within(std::function<Result<void>(sqlite3*)> write, std::vector<Item> items);

  // A set of `total` tasks: the completion task is enqueued when the last of them has ended, in that same transaction.
  // Give the id to the members with EnqueueOptions::group. The completion task takes neither task_id nor delay.
  template <class R, class A>
  Result<Group<R>> create_group(int total, const TaskRef<R, A>& completion, const std::type_identity_t<A>& argument,
                                const EnqueueOptions& options = {}) {
    auto group = create_group_raw(total, Item(completion, argument, options));
    if (!group) return std::move(group).error();
    return Group<R>{group->first, Handle<R>(std::move(group->second))};
  }
  Result<std::pair<GroupId, RawHandle>> create_group_raw(int total, Item completion);

  // ---- workflows ---------------------------------------------------------------------------------------------------

  // Durable when it returns. A workflow_id that exists already is answered with its run, see StartOptions.
  template <class R, class A>
  Result<WorkflowHandle<R>> start(const WorkflowRef<R, A>& workflow, std::string workflow_id,
                                  const std::type_identity_t<A>& argument, const StartOptions& options = {}) {
    return workflow_handle<R>(start_raw(workflow.name(), std::move(workflow_id), encode_payload(argument), options));
  }
  template <class R>
  Result<WorkflowHandle<R>> start(const WorkflowRef<R, None>& workflow, std::string workflow_id,
                                  const StartOptions& options = {}) {
    return workflow_handle<R>(start_raw(workflow.name(), std::move(workflow_id), encode_payload(None{}), options));
  }
  Result<RawHandle> start_raw(std::string name, std::string workflow_id, Result<Payload> argument,
                              const StartOptions& options);

  // Starts it unless it lives, and hands it the signal, in one step: no signal finds nobody.
  template <class R, class A, class T>
  Result<WorkflowHandle<R>> signal_with_start(const WorkflowRef<R, A>& workflow, std::string workflow_id,
                                              const std::type_identity_t<A>& argument, std::string signal,
                                              const T& value, std::string dedupe_id = {},
                                              const StartOptions& options = {}) {
    return workflow_handle<R>(signal_with_start_raw(workflow.name(), std::move(workflow_id), encode_payload(argument),
                                                    std::move(signal), encode_payload(value), std::move(dedupe_id),
                                                    options));
  }
  Result<RawHandle> signal_with_start_raw(std::string name, std::string workflow_id, Result<Payload> argument,
                                          std::string signal, Result<Payload> value, std::string dedupe_id,
                                          const StartOptions& options);

  // The newest run of a workflow_id. InvalidArgument when it runs another workflow.
  template <class R, class A>
  Result<WorkflowHandle<R>> find(const WorkflowRef<R, A>& workflow, std::string_view workflow_id) {
    return workflow_handle<R>(find_workflow_raw(workflow.name(), workflow_id));
  }
  Result<RawHandle> find_workflow_raw(std::string_view name, std::string_view workflow_id);
  // Tries a run again that was parked because its code did not fit its history. False: it was not parked.
  Result<bool> resume(ExecutionId run);
  // As JSON, to be looked at or kept as a test of later code (semel/testing.h: replay).
  Result<std::string> export_history(ExecutionId run);

  // ---- look up -----------------------------------------------------------------------------------------------------

  // The newest execution of an id, as a handle of the task's types. InvalidArgument when it runs another task.
  template <class R, class A>
  Result<Handle<R>> find(const TaskRef<R, A>& task, std::string_view task_id) {
    return typed<R>(find_raw(task.name(), task_id));
  }
  Result<RawHandle> find_raw(std::string_view name, std::string_view task_id);
  Result<Execution> get(ExecutionId id);
  Result<Execution> get_task(std::string_view task_id);  // the newest execution of that id
  Result<std::vector<Execution>> list(const ExecutionQuery& query = {});
  // By task_id, workflow_id or execution id. `kind` tells which one is meant where an id is a task's and a workflow's.
  Result<Explanation> explain(std::string_view id, std::optional<Kind> kind = std::nullopt);

  // ---- deliveries from a message broker
  // ------------------------------------------------------------------------------

  // One message about job `job_id` (its task_id). Runs the task's function on this thread when the delivery wins the
  // claim; the outcome is durable when it returns. JobNotFound, NotReady (not due, paused, limited): nothing changed.
  // Acknowledge the message after any success.
  template <class R, class A>
  Result<Delivery> deliver(std::string_view job_id, std::string_view worker, const Task<R, A>& task,
                           const DeliverOptions& options = {}) {
    return deliver_raw(job_id, worker, task.name(), task.handler(), options);
  }
  // With an empty `name` the handler runs whatever the job is.
  Result<Delivery> deliver_raw(std::string_view job_id, std::string_view worker, std::string_view name,
                               const RawHandler& handler, const DeliverOptions& options = {});

  // ---- operators ---------------------------------------------------------------------------------------------------

  Result<Status> cancel(ExecutionId id);  // see RawHandle::cancel
  // A new execution of a failed, timed out, cancelled or dead-lettered one. Asked twice, answers the same successor.
  Result<RawHandle> redrive(ExecutionId id);
  Result<void> discard(ExecutionId id);  // gives up a dead-lettered execution: its id is free again

  Result<void> set_queue(std::string_view queue, const QueueOptions& options);
  Result<void> pause_queue(std::string_view queue);
  Result<void> resume_queue(std::string_view queue);
  Result<void> create_tenant(std::string_view tenant);  // fine when it exists

  // ---- workers and the end
  // -------------------------------------------------------------------------------------------

  // Overloaded: the system has no threads for it; nothing was started.
  Result<Worker> start_worker(const WorkerOptions& options);

  MetricsSnapshot metrics() const;

  // Refuses new work, stops the workers as Worker::stop does, writes what is under way and closes the store, all within
  // `grace`. Calls that were not answered by then are: UnknownCommit where the store did not tell what became of a
  // commit, else ShuttingDown. Idempotent. Never from a callback or a handler.
  void shutdown(Duration grace = std::chrono::seconds(30));

 private:
  template <class R>
  static Result<WorkflowHandle<R>> workflow_handle(Result<RawHandle> handle) {
    if (!handle) return std::move(handle).error();
    return WorkflowHandle<R>(*std::move(handle));
  }
  template <class R>
  static Result<Handle<R>> typed(Result<RawHandle> handle) {
    if (!handle) return std::move(handle).error();
    return Handle<R>(*std::move(handle));
  }

  std::shared_ptr<sdk::Host> host_;
};

}  // namespace semel
