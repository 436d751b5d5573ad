// Typed task functions.
//
//   Receipt charge_card(semel::TaskContext& context, const Order& order);
//   const auto charge = semel::task("charge", charge_card);            // runs and enqueues
//   const semel::TaskRef<Receipt, Order> charge_ref("charge");         // only enqueues: the code is elsewhere
//
// A function may leave out the context, the argument, or both; it may return nothing, a value or a Result of it. It may
// run more than once for one task: steps run at least once, outcomes are recorded exactly once.
#pragma once

#include <functional>
#include <string>
#include <type_traits>
#include <utility>

#include "semel/context.h"
#include "semel/json.h"
#include "semel/payload.h"
#include "semel/result.h"

namespace semel {

// The argument of a task that takes none.
struct None {
  bool operator==(const None&) const = default;
};

// A task by name, with what it returns and takes.
template <class R, class A = None>
class TaskRef {
 public:
  using result_type = R;
  using argument_type = A;
  static_assert(!std::is_same_v<R, Bytes> || std::is_same_v<A, Bytes>, "a task that returns Bytes must take Bytes");

  explicit TaskRef(std::string name) : name_(std::move(name)) {}
  const std::string& name() const { return name_; }

 private:
  std::string name_;
};

// A task function without its types. Throws to fail.
using RawHandler = std::function<Payload(TaskContext&)>;

template <class R, class A = None>
class Task : public TaskRef<R, A> {
 public:
  Task(std::string name, RawHandler handler) : TaskRef<R, A>(std::move(name)), handler_(std::move(handler)) {}
  const RawHandler& handler() const { return handler_; }

 private:
  RawHandler handler_;
};

template <class T>
Result<Payload> encode_payload(const T& value) {
  if constexpr (std::is_same_v<T, Payload>) {
    return value;
  } else if constexpr (std::is_same_v<T, Bytes>) {
    return Payload{Encoding::opaque, value.data};
  } else if constexpr (std::is_same_v<T, None>) {
    return Payload{Encoding::json, "null"};
  } else {
    auto text = json::encode(value);
    if (!text) return std::move(text).error();
    return Payload{Encoding::json, *std::move(text)};
  }
}

template <class T>
Result<T> decode_payload(const Payload& payload) {
  if constexpr (std::is_same_v<T, Payload>) {
    return payload;
  } else if constexpr (std::is_same_v<T, Bytes>) {
    return Bytes{payload.bytes};
  } else if constexpr (std::is_same_v<T, None>) {
    return None{};
  } else {
    return json::decode<T>(payload.bytes);
  }
}

namespace detail {

template <class T>
struct Unwrap {
  using type = T;
  static constexpr bool is_result = false;
};
template <class T>
struct Unwrap<Result<T>> {
  using type = T;
  static constexpr bool is_result = true;
};

// Parameters of a task function: (), (context), (argument), (context, argument).
template <class... P>
struct Parameters;
template <>
struct Parameters<> {
  using argument = None;
  static constexpr bool context = false, takes = false;
};
template <class P>
struct Parameters<P> {
  static constexpr bool context = std::is_same_v<P, TaskContext&>, takes = !context;
  using argument = std::conditional_t<context, None, std::remove_cvref_t<P>>;
};
template <class A>
struct Parameters<TaskContext&, A> {
  using argument = std::remove_cvref_t<A>;
  static constexpr bool context = true, takes = true;
};

template <class F>
struct Function : Function<decltype(&F::operator())> {};
template <class R, class... P>
struct Function<R (*)(P...)> : Parameters<P...> {
  using returned = R;
};
template <class R, class... P>
struct Function<R (*)(P...) noexcept> : Function<R (*)(P...)> {};
template <class C, class R, class... P>
struct Function<R (C::*)(P...)> : Function<R (*)(P...)> {};
template <class C, class R, class... P>
struct Function<R (C::*)(P...) const> : Function<R (*)(P...)> {};
template <class C, class R, class... P>
struct Function<R (C::*)(P...) noexcept> : Function<R (*)(P...)> {};
template <class C, class R, class... P>
struct Function<R (C::*)(P...) const noexcept> : Function<R (*)(P...)> {};

template <class F, class A>
decltype(auto) call(F& function, TaskContext& context, const A& argument) {
  using Signature = Function<F>;
  if constexpr (Signature::context && Signature::takes) return function(context, argument);
  else if constexpr (Signature::context) return function(context);
  else if constexpr (Signature::takes) return function(argument);
  else return function();
}

template <class F>
Payload run(F& function, TaskContext& context) {
  using Signature = Function<F>;
  using Returned = Unwrap<typename Signature::returned>;
  // Retried like any failure: a newer version of the program may be able to read it.
  const auto decoded = decode_payload<typename Signature::argument>(context.execution().args);
  if (!decoded) throw TaskError("DecodeFailed", "args: " + decoded.error().message);
  const auto& argument = *decoded;
  if constexpr (std::is_void_v<typename Signature::returned>) {
    call(function, context, argument);
    return Payload{Encoding::json, "null"};
  } else if constexpr (Returned::is_result && std::is_void_v<typename Returned::type>) {
    call(function, context, argument).value();
    return Payload{Encoding::json, "null"};
  } else if constexpr (Returned::is_result) {
    return encode_payload(call(function, context, argument).value()).value();
  } else {
    return encode_payload(call(function, context, argument)).value();
  }
}

}  // namespace detail

// Function must be a function pointer or an object with one operator(): a lambda without `auto` parameters.
template <class F>
auto task(std::string name, F function) {
  using Signature = detail::Function<F>;
  using R = typename detail::Unwrap<std::remove_cvref_t<typename Signature::returned>>::type;
  using A = typename Signature::argument;
  return Task<R, A>(std::move(name), [function = std::move(function)](TaskContext& context) mutable -> Payload {
    return detail::run(function, context);
  });
}

}  // namespace semel
