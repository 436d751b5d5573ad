// Promises of workflow coroutines, and which functions may be one.
//
// A coroutine keeps its parameters in its frame, but what a reference, pointer or view points to, and the object of a
// member function or lambda, stay where they are and are gone when the coroutine goes on. So they are refused.
#pragma once

#include <coroutine>
#include <exception>
#include <functional>
#include <optional>
#include <span>
#include <stdexcept>
#include <string_view>
#include <type_traits>
#include <utility>

#include "semel/detail/run_port.h"

#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 13
// This compiler destroys the operand of `co_await f()` twice in some expressions, silently.
#define SEMEL_AWAIT_NAMED_ONLY 1
#endif

namespace semel {

template <class T>
class Workflow;
template <class T>
class Part;

namespace detail {

RunPort& port_of(WorkflowContext& context);

template <class T>
inline constexpr bool is_view = std::is_same_v<T, std::string_view>;
template <class T, std::size_t N>
inline constexpr bool is_view<std::span<T, N>> = true;
template <class T>
inline constexpr bool is_view<std::reference_wrapper<T>> = true;

// Does a copy of it stand by itself?
template <class T>
inline constexpr bool is_owned =
    !std::is_reference_v<T> && !is_view<T> && (!std::is_pointer_v<T> || std::is_function_v<std::remove_pointer_t<T>>);

template <class... P>
struct CheckedParameters {
  static constexpr bool starts_with_context = false;
  static constexpr bool owned = true;
};
template <class... P>
struct CheckedParameters<WorkflowContext&, P...> {
  static constexpr bool starts_with_context = true;
  static constexpr bool owned = (is_owned<P> && ...);
};

// What a workflow may await: anything else would go on at its own time, which no replay can repeat.
template <class T>
inline constexpr bool is_awaitable = false;
template <class T>
inline constexpr bool is_awaitable<Part<T>> = true;

class PromiseBase {
 public:
  explicit PromiseBase(RunPort& run) : run_(&run) {}
  std::suspend_always initial_suspend() const noexcept { return {}; }

  struct Final {
    bool await_ready() const noexcept { return false; }
    template <class P>
    void await_suspend(std::coroutine_handle<P> done) const noexcept {
      PromiseBase& promise = done.promise();
      if (promise.parent_) promise.run_->go_on(promise.parent_);
    }
    void await_resume() const noexcept {}
  };
  Final final_suspend() const noexcept { return {}; }
  void unhandled_exception() noexcept { thrown_ = std::current_exception(); }

  template <class A>
  A&& await_transform(A&& awaited) const noexcept {
    static_assert(is_awaitable<std::remove_cvref_t<A>>,
                  "a workflow awaits futures of its WorkflowContext and Parts, nothing else");
    return static_cast<A&&>(awaited);
  }

  void set_parent(std::coroutine_handle<> parent) { parent_ = parent; }
  // A second await would resume a finished coroutine.
  void begin() {
    if (begun_) throw std::logic_error("a Part is awaited once");
    begun_ = true;
  }

 protected:
  void rethrow() const {
    if (thrown_) std::rethrow_exception(thrown_);
  }

 private:
  RunPort* run_;
  std::coroutine_handle<> parent_;  // set only once the parent waits
  std::exception_ptr thrown_;
  bool begun_ = false;
};

template <class T>
class ReturnPromise : public PromiseBase {
 public:
  using PromiseBase::PromiseBase;
  void return_value(T value) { value_.emplace(std::move(value)); }
  T take() {
    rethrow();
    return *std::move(value_);
  }

 private:
  std::optional<T> value_;
};

template <>
class ReturnPromise<void> : public PromiseBase {
 public:
  using PromiseBase::PromiseBase;
  void return_void() const noexcept {}
  void take() const { rethrow(); }
};

template <class Coroutine, class T>
class Promise : public ReturnPromise<T> {
 public:
  template <class... P>
  explicit Promise(WorkflowContext& context, P&...) : ReturnPromise<T>(port_of(context)) {}
  Coroutine get_return_object() { return Coroutine(std::coroutine_handle<Promise>::from_promise(*this)); }
};

// Owns a frame until somebody else does.
template <class Promise>
class FrameOwner {
 public:
  using Handle = std::coroutine_handle<Promise>;
  explicit FrameOwner(Handle frame) : frame_(frame) {}
  FrameOwner(FrameOwner&& other) noexcept : frame_(std::exchange(other.frame_, {})) {}
  FrameOwner& operator=(FrameOwner&& other) noexcept {
    std::swap(frame_, other.frame_);
    return *this;
  }
  ~FrameOwner() {
    if (frame_) frame_.destroy();
  }
  Handle get() const { return frame_; }
  Handle release() { return std::exchange(frame_, {}); }

 private:
  Handle frame_;
};

// Runs the part inside await_suspend: without symmetric transfer a loop of parts needs no stack, optimised or not. The
// frame is destroyed by its owner, after the await.
template <class Promise>
struct PartAwaiter {
  std::coroutine_handle<Promise> part;
  bool await_ready() const {
    if (!part) throw std::logic_error("this Part was spawned or moved away");
    part.promise().begin();
    return false;
  }
  bool await_suspend(std::coroutine_handle<> parent) const {
    part.resume();
    if (part.done()) return false;
    part.promise().set_parent(parent);
    return true;
  }
  decltype(auto) await_resume() const { return part.promise().take(); }
};

template <class T>
inline constexpr bool refuse = false;

}  // namespace detail

// The result of a workflow function. Programs only name it; the worker runs it.
template <class T>
class [[nodiscard]] Workflow {
 public:
  using value_type = T;
  using promise_type = detail::Promise<Workflow, T>;
  explicit Workflow(std::coroutine_handle<promise_type> frame) : frame_(frame) {}
  std::coroutine_handle<promise_type> release() { return frame_.release(); }

 private:
  detail::FrameOwner<promise_type> frame_;
};

// A piece of a workflow in a function of its own: `co_await reserve(ctx, order)`. It starts when it is awaited or given
// to WorkflowContext::spawn, and is awaited once.
template <class T>
class [[nodiscard]] Part {
 public:
  using value_type = T;
  using promise_type = detail::Promise<Part, T>;
  explicit Part(std::coroutine_handle<promise_type> frame) : frame_(frame) {}

#ifdef SEMEL_AWAIT_NAMED_ONLY
  auto operator co_await() & { return detail::PartAwaiter<promise_type>{frame_.get()}; }
  template <class Never = void>
  detail::PartAwaiter<promise_type> operator co_await() && {
    static_assert(detail::refuse<Never>, "g++ before 13: await a named part: auto part = f(ctx); co_await part;");
    return {frame_.get()};
  }
#else
  auto operator co_await() { return detail::PartAwaiter<promise_type>{frame_.get()}; }
#endif
  std::coroutine_handle<promise_type> release() { return frame_.release(); }

 private:
  detail::FrameOwner<promise_type> frame_;
};

}  // namespace semel

namespace semel::detail {

// One place for the rules, whichever of the two types a function returns.
template <class Coroutine, class... P>
struct CheckedTraits {
  using Checked = CheckedParameters<P...>;
  static_assert(Checked::starts_with_context,
                "a workflow is a free function whose first parameter is semel::WorkflowContext&: "
                "lambdas and member functions lose their object while they wait");
  static_assert(Checked::owned,
                "a workflow takes its parameters by value: references, pointers and views dangle while it waits");
  using promise_type = typename Coroutine::promise_type;
};

}  // namespace semel::detail

template <class T, class... P>
struct std::coroutine_traits<semel::Workflow<T>, P...> : semel::detail::CheckedTraits<semel::Workflow<T>, P...> {};
template <class T, class... P>
struct std::coroutine_traits<semel::Part<T>, P...> : semel::detail::CheckedTraits<semel::Part<T>, P...> {};
