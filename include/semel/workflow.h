// Workflows: functions whose progress survives the process.
//
//   semel::Workflow<Receipt> order(semel::WorkflowContext& ctx, Order order) {
//     const Charge charge = co_await ctx.execute(charge_card, order);
//     co_await ctx.sleep(24h);
//     co_return co_await ctx.run("receipt", print_receipt, order, charge);
//   }
//   const auto order_workflow = semel::workflow("order", order);
//
// What the code did and learned is its history. After a crash the function runs again from its first line with the
// recorded answers, and goes on where the history ends; so between two awaits it must do the same every time: time,
// chance and ids come from the context, and what touches the world is a step (`execute`) or a local run (`run`). Code
// that no longer fits a recorded history is refused with NondeterminismError before it does anything; `patched` lets
// old runs go the old way.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "semel/detail/coroutine.h"
#include "semel/detail/run_port.h"
#include "semel/exceptions.h"
#include "semel/future.h"
#include "semel/json.h"
#include "semel/task.h"
#include "semel/workflow_options.h"

namespace semel {

// A workflow by name, with what it returns and takes.
template <class R, class A = None>
class WorkflowRef {
 public:
  using result_type = R;
  using argument_type = A;
  static_assert(!std::is_same_v<R, Bytes> || std::is_same_v<A, Bytes>, "a workflow that returns Bytes must take Bytes");
  explicit WorkflowRef(std::string name) : name_(std::move(name)) {}
  const std::string& name() const { return name_; }

 private:
  std::string name_;
};

// A workflow function without its types: decodes the arguments and makes the coroutine, which has not run yet.
using WorkflowStarter = std::function<detail::Started(WorkflowContext&, const std::string& args)>;

template <class R, class A = None>
class WorkflowType : public WorkflowRef<R, A> {
 public:
  WorkflowType(std::string name, WorkflowStarter starter)
      : WorkflowRef<R, A>(std::move(name)), starter_(std::move(starter)) {}
  const WorkflowStarter& starter() const { return starter_; }

 private:
  WorkflowStarter starter_;
};

namespace detail {

// Converts to whatever a function has to return: nothing comes back from continue_as_new.
struct Never {
  template <class T>
  operator T() const {
    std::terminate();
  }
};

struct ContinueAwaiter {
  RunPort* run;
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<>) const { run->continue_as_new(); }
  Never await_resume() const noexcept { return {}; }
};

class [[nodiscard]] ContinueAsNew {
 public:
  explicit ContinueAsNew(RunPort& run) : run_(&run) {}
  ContinueAwaiter operator co_await() const& { return {run_}; }
#ifdef SEMEL_AWAIT_NAMED_ONLY
  template <class Never = void>
  ContinueAwaiter operator co_await() && {
    static_assert(refuse<Never>, "g++ before 13: await a named value: auto next = ctx.continue_as_new(args);");
    return {run_};
  }
#endif

 private:
  RunPort* run_;
};
template <>
inline constexpr bool is_awaitable<ContinueAsNew> = true;

template <class T>
std::string encode_bytes(const T& value) {
  return encode_payload(value).value().bytes;
}

// Calls it and encodes what it returns: a value, nothing, or a Result of either.
template <class F, class... A>
std::string call_encoded(F& function, A&... args) {
  using Returned = std::invoke_result_t<F&, A&...>;
  if constexpr (std::is_void_v<Returned>) {
    std::invoke(function, args...);
    return "null";
  } else if constexpr (!Unwrap<Returned>::is_result) {
    return encode_bytes(std::invoke(function, args...));
  } else if constexpr (std::is_void_v<typename Unwrap<Returned>::type>) {
    std::invoke(function, args...).value();
    return "null";
  } else {
    return encode_bytes(std::invoke(function, args...).value());
  }
}

template <class T>
inline constexpr bool is_part = false;
template <class T>
inline constexpr bool is_part<Part<T>> = true;

// A coroutine that returns T, run as a strand: its value stays an object, or is encoded.
template <class Coroutine>
Started start_object(Coroutine coroutine) {
  using T = typename Coroutine::value_type;
  const auto frame = coroutine.release();
  return {frame, [frame] {
            Outcome out;
            if constexpr (std::is_void_v<T>) frame.promise().take();
            else out.object = std::make_shared<T>(frame.promise().take());
            return out;
          }};
}

template <class Coroutine>
Started start_encoded(Coroutine coroutine) {
  using T = typename Coroutine::value_type;
  const auto frame = coroutine.release();
  return {frame, [frame] {
            Outcome out;
            if constexpr (std::is_void_v<T>) frame.promise().take(), out.data = "null";
            else out.data = encode_bytes(frame.promise().take());
            return out;
          }};
}

}  // namespace detail

// What a workflow does to the world and learns from it. Belongs to one run; used by its code only, on the thread that
// runs it. Calls that answer a future take effect when they are made, awaited or not.
class WorkflowContext {
 public:
  explicit WorkflowContext(detail::RunPort& run) : run_(run) {}
  WorkflowContext(const WorkflowContext&) = delete;
  WorkflowContext& operator=(const WorkflowContext&) = delete;

  ExecutionId run_id() const { return run_.run_id(); }
  const std::string& workflow_id() const { return run_.workflow_id(); }
  const std::string& workflow_name() const { return run_.workflow_name(); }

  // ---- doing things ------------------------------------------------------------------------------------------------

  // Calls `function(args...)` in this process, outside the workflow's thread. Its result is durable before the await
  // goes on; after a crash before that it is called again. Arguments are copied, and so is the function: it must not
  // refer to variables of the workflow. A failure throws TaskFailed. It cannot be stopped half-way, so an await of it
  // is not cut short when the run is cancelled: the next one throws.
  template <class F, class... A>
  auto run(std::string name, F&& function, A&&... args) {
    static_assert((detail::is_owned<std::decay_t<A>> && ...),
                  "ctx.run copies its arguments: pass values, no pointers and views");
    using Returned = std::invoke_result_t<std::decay_t<F>&, std::decay_t<A>&...>;
    using R = typename detail::Unwrap<std::remove_cvref_t<Returned>>::type;
    auto body = [function = std::decay_t<F>(std::forward<F>(function)),
                 ... args = std::decay_t<A>(std::forward<A>(args))]() mutable {
      return detail::call_encoded(function, args...);
    };
    return Future<R>(run_, run_.local(std::move(name), std::move(body)));
  }

  // A task, run by any worker, with its retries.
  template <class R, class A>
  Future<R> execute(const TaskRef<R, A>& task, const std::type_identity_t<A>& args, StepOptions options = {}) {
    return {run_, run_.step(task.name(), encode_payload(args).value(), std::move(options))};
  }
  template <class R>
  Future<R> execute(const TaskRef<R, None>& task, StepOptions options = {}) {
    return {run_, run_.step(task.name(), encode_payload(None{}).value(), std::move(options))};
  }
  template <class R, class A = None>
  Future<R> execute(std::string task, const A& args = {}, StepOptions options = {}) {
    return {run_, run_.step(std::move(task), encode_payload(args).value(), std::move(options))};
  }

  // Another workflow. It lives on when its future is not awaited.
  template <class R, class A>
  Future<R> child(const WorkflowRef<R, A>& workflow, const std::type_identity_t<A>& args, ChildOptions options = {}) {
    return {run_, run_.child(workflow.name(), encode_payload(args).value(), std::move(options))};
  }
  template <class R, class A = None>
  Future<R> child(std::string workflow, const A& args = {}, ChildOptions options = {}) {
    return {run_, run_.child(std::move(workflow), encode_payload(args).value(), std::move(options))};
  }

  // Runs a part beside its caller until it first waits, and whenever what it waits for is there. What it throws reaches
  // whoever awaits it; parts that still wait when the workflow returns are dropped.
  template <class T>
  Spawned<T> spawn(Part<T> part) {
    return {run_, run_.spawn(detail::start_object(std::move(part)))};
  }

  // ---- time and messages -------------------------------------------------------------------------------------------

  // When the code last learned something; the same in every replay.
  Instant now() const { return run_.now(); }
  Future<void> sleep(Duration duration) { return sleep_until(add_saturated(now(), duration)); }
  Future<void> sleep_until(Instant due) { return {run_, run_.timer(due)}; }

  // The next signal of the name that no earlier call took, in the order in which they came.
  template <class T = None>
  Future<T> signal(std::string name) {
    return {run_, run_.signal(std::move(name))};
  }
  // To another run, by its workflow_id. Sent once, read or not.
  template <class T = None>
  void send_signal(std::string workflow_id, std::string name, const T& value = {}) {
    run_.send_signal(std::move(workflow_id), std::move(name), detail::encode_bytes(value));
  }

  // ---- the run itself ----------------------------------------------------------------------------------------------

  // From then on every await outside a CancelShield throws Cancelled; a run that Cancelled leaves ends cancelled.
  bool cancel_requested() const { return run_.cancel_requested(); }

  // Ends this run and starts the next one of the same identity with an empty history:
  // `co_return co_await ctx.continue_as_new(args)`. Nothing after the await runs.
  template <class A = None>
  detail::ContinueAsNew continue_as_new(const A& args = {}) {
    run_.prepare_next(detail::encode_bytes(args));
    return detail::ContinueAsNew(run_);
  }

  // A value that can be read from outside while the run goes on.
  template <class T>
  void set_state(const T& value) {
    run_.set_state(detail::encode_bytes(value));
  }

  // Answered while the run waits, from memory. Must not change anything; may take one argument. Captured references
  // must outlive the function's last await: handlers are dropped when it ends.
  template <class F>
  void on_query(std::string name, F handler) {
    run_.on_query(std::move(name),
                  [handler = std::move(handler)](const std::string& args) mutable { return call_with(handler, args); });
  }
  // A change asked for from outside, with an answer. Updates that come before this call are rejected, so make it before
  // the first await. The handler takes nothing, the argument, or context and argument,
  // and returns a value or a Part; what it throws rejects the update.
  template <class F>
  void on_update(std::string name, F handler);

  // ---- determinism -------------------------------------------------------------------------------------------------

  // The same numbers in every replay. Not for secrets.
  std::uint64_t random() { return run_.random(); }
  std::string uuid() { return run_.uuid(); }

  // Belongs to the next call that is made through this context: the same text whenever that call is repeated, in this
  // process or after a crash, and never that of another call. Hand it to the system the call talks to:
  // `ctx.run("charge", charge, order, ctx.idempotency_key())`. A task reads its own from its TaskContext.
  std::string idempotency_key() { return run_.idempotency_key(); }

  // True in new runs, and in runs that once got true here; false in a run that passed this place before the change.
  // When no such run is left, drop the question and keep what it guarded.
  bool patched(std::string_view id) { return run_.patched(id); }

  // Silent while history is replayed.
  void log(LogLevel level, std::string_view message, std::initializer_list<LogField> fields = {}) const {
    run_.log(level, message, {fields.begin(), fields.size()});
  }

 private:
  friend detail::RunPort& detail::port_of(WorkflowContext& context);
  template <class F>
  static std::string call_with(F& handler, const std::string& args) {
    using Signature = detail::Function<F>;
    if constexpr (Signature::takes) {
      auto argument = decode_payload<typename Signature::argument>(Payload{Encoding::json, args}).value();
      return detail::call_encoded(handler, argument);
    } else {
      return detail::call_encoded(handler);
    }
  }

  detail::RunPort& run_;
};

// While it lives, awaits of this part of the code are not cancelled, and neither is what it starts: for clean-up.
//
//   } catch (const semel::Cancelled&) {
//     stopped = true;                        // C++ allows no co_await in a handler
//   }
//   if (stopped) {
//     semel::CancelShield shield(ctx);
//     auto undone = ctx.execute(undo, order);
//     co_await undone;
class CancelShield {
 public:
  explicit CancelShield(WorkflowContext& context) : run_(detail::port_of(context)), strand_(run_.shield()) {}
  ~CancelShield() { run_.unshield(strand_); }
  CancelShield(const CancelShield&) = delete;
  CancelShield& operator=(const CancelShield&) = delete;

 private:
  detail::RunPort& run_;
  void* strand_;
};

namespace detail {

inline RunPort& port_of(WorkflowContext& context) { return context.run_; }

template <class... P>
struct UpdateParameters;
template <>
struct UpdateParameters<> {
  using argument = None;
  static constexpr bool context = false, takes = false;
};
template <class A>
struct UpdateParameters<A> {
  static constexpr bool context = std::is_same_v<A, WorkflowContext&>, takes = !context;
  using argument = std::conditional_t<context, None, std::remove_cvref_t<A>>;
};
template <class A>
struct UpdateParameters<WorkflowContext&, A> {
  using argument = std::remove_cvref_t<A>;
  static constexpr bool context = true, takes = true;
};

template <class F>
struct UpdateFunction : UpdateFunction<decltype(&F::operator())> {};
template <class R, class... P>
struct UpdateFunction<R (*)(P...)> : UpdateParameters<P...> {};
template <class C, class R, class... P>
struct UpdateFunction<R (C::*)(P...)> : UpdateParameters<P...> {};
template <class C, class R, class... P>
struct UpdateFunction<R (C::*)(P...) const> : UpdateParameters<P...> {};

template <class F, class A>
decltype(auto) call_update(F& handler, WorkflowContext& context, A& argument) {
  using Signature = UpdateFunction<F>;
  if constexpr (Signature::context && Signature::takes) return handler(context, argument);
  else if constexpr (Signature::context) return handler(context);
  else if constexpr (Signature::takes) return handler(argument);
  else return handler();
}

template <class F>
Part<std::string> answer_update(WorkflowContext& context, F handler, std::string args) {
  using A = typename UpdateFunction<F>::argument;
  auto argument = decode_payload<A>(Payload{Encoding::json, args}).value();
  using Returned = decltype(call_update(handler, context, argument));
  if constexpr (is_part<Returned>) {
    auto part = call_update(handler, context, argument);
    if constexpr (std::is_void_v<typename Returned::value_type>) {
      co_await part;
      co_return "null";
    } else {
      co_return encode_bytes(co_await part);
    }
  } else {
    auto call = [&] { return call_update(handler, context, argument); };
    co_return call_encoded(call);
  }
}

// The function's type, checked where it is registered.
template <class F>
struct WorkflowFunction {
  static_assert(refuse<F>, "a workflow is a free function: Workflow<R> f(WorkflowContext&) or f(WorkflowContext&, A)");
};
template <class R>
struct WorkflowFunction<Workflow<R> (*)(WorkflowContext&)> {
  using result = R;
  using argument = None;
};
template <class R, class A>
struct WorkflowFunction<Workflow<R> (*)(WorkflowContext&, A)> {
  static_assert(CheckedParameters<WorkflowContext&, A>::owned,
                "a workflow takes its parameters by value: references, pointers and views dangle while it waits");
  using result = R;
  using argument = A;
};
template <class R, class A, class B, class... More>
struct WorkflowFunction<Workflow<R> (*)(WorkflowContext&, A, B, More...)> {
  static_assert(refuse<R>, "a workflow takes one argument: put several into a struct");
};

}  // namespace detail

template <class F>
void WorkflowContext::on_update(std::string name, F handler) {
  run_.on_update(std::move(name), [handler = std::move(handler)](WorkflowContext& context, const std::string& args) {
    auto started = detail::start_object(detail::answer_update(context, handler, args));
    return detail::Started{started.frame, [take = std::move(started.take)] {
                             detail::Outcome out;
                             out.data = *std::static_pointer_cast<std::string>(take().object);
                             return out;
                           }};
  });
}

// Names a workflow function. The name is stored with every run: keep it when the function is renamed.
template <class F>
auto workflow(std::string name, F function) {
  using Signature = detail::WorkflowFunction<F>;
  using A = typename Signature::argument;
  return WorkflowType<typename Signature::result, A>(
      std::move(name), [function](WorkflowContext& context, const std::string& args) {
        if constexpr (std::is_same_v<A, None>) {
          return detail::start_encoded(function(context));
        } else {
          auto decoded = decode_payload<A>(Payload{Encoding::json, args});
          if (!decoded) throw TaskError("DecodeFailed", "args: " + decoded.error().message);
          return detail::start_encoded(function(context, *std::move(decoded)));
        }
      });
}

}  // namespace semel
