// What a workflow waits for. A future is cheap to copy, may be awaited more than once, and means the same in a replay:
// its number was given when the call was made, so calls made together run side by side.
//
//   auto flight = ctx.execute(book_flight, trip);
//   auto hotel = ctx.execute(book_hotel, trip);
//   auto booked = co_await all(flight, hotel);          // std::tuple
//
// `co_await` answers the value or throws TaskFailed, Cancelled or TimedOut.
#pragma once

#include <concepts>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "semel/detail/coroutine.h"
#include "semel/detail/run_port.h"
#include "semel/task.h"

namespace semel {

namespace detail {

template <class F>
struct FutureAwaiter {
  F future;
  bool await_ready() const { return future.ready(); }
  bool await_suspend(std::coroutine_handle<> waiter) const { return future.port().wait(future.slot(), waiter); }
  auto await_resume() const { return future.take(); }
};

// In tuples of results nothing is None.
template <class T>
using ValueOrNone = std::conditional_t<std::is_void_v<T>, None, T>;

template <class F>
auto take_or_none(const F& future) {
  if constexpr (std::is_void_v<typename F::value_type>) {
    future.take();
    return None{};
  } else {
    return future.take();
  }
}

}  // namespace detail

// Every future: which slot of which run.
class FutureBase {
 public:
  FutureBase(detail::RunPort& run, int slot) : run_(&run), slot_(slot) {}
  // Has it ended? Then awaiting it does not wait.
  bool ready() const { return run_->ready(slot_); }
  // Gives it up: whoever awaits it gets Cancelled; a step or child is asked to stop, a timer is taken back. Nothing
  // happens when it has ended.
  void cancel() const { run_->cancel(slot_); }

  detail::RunPort& port() const { return *run_; }
  int slot() const { return slot_; }

 private:
  detail::RunPort* run_;
  int slot_;
};

// Adds `co_await` to a future that has `take`.
template <class Self>
class Awaitable : public FutureBase {
  friend Self;
  Awaitable(detail::RunPort& run, int slot) : FutureBase(run, slot) {}

 public:
  auto operator co_await() const& { return detail::FutureAwaiter<Self>{static_cast<const Self&>(*this)}; }
#ifdef SEMEL_AWAIT_NAMED_ONLY
  template <class Never = void>
  detail::FutureAwaiter<Self> operator co_await() && {
    static_assert(detail::refuse<Never>, "g++ before 13: await a named future: auto f = ctx.sleep(d); co_await f;");
    return {static_cast<const Self&>(*this)};
  }
#endif
};

// Of a step, a local run, a child, a timer, a signal.
template <class T>
class [[nodiscard]] Future : public Awaitable<Future<T>> {
 public:
  using value_type = T;
  Future(detail::RunPort& run, int slot) : Awaitable<Future<T>>(run, slot) {}
  // Precondition: ready().
  T take() const {
    const detail::Outcome& outcome = this->port().outcome(this->slot());
    if constexpr (!std::is_void_v<T>) return decode_payload<T>(Payload{Encoding::json, outcome.data}).value();
  }
};

// Of a part that runs beside its caller.
template <class T>
class [[nodiscard]] Spawned : public Awaitable<Spawned<T>> {
 public:
  using value_type = T;
  Spawned(detail::RunPort& run, int slot) : Awaitable<Spawned<T>>(run, slot) {}
  T take() const {
    const detail::Outcome& outcome = this->port().outcome(this->slot());
    if constexpr (!std::is_void_v<T>) return *std::static_pointer_cast<T>(outcome.object);
  }
};

// All the values, in the order of the call, whatever came first.
template <class... F>
class [[nodiscard]] All : public Awaitable<All<F...>> {
 public:
  using value_type = std::tuple<detail::ValueOrNone<typename F::value_type>...>;
  All(detail::RunPort& run, int slot) : Awaitable<All<F...>>(run, slot) {}
  value_type take() const {
    this->port().outcome(this->slot());
    return collect(std::index_sequence_for<F...>{});
  }

 private:
  template <std::size_t... I>
  value_type collect(std::index_sequence<I...>) const {
    detail::RunPort& port = this->port();
    return value_type{detail::take_or_none(F(port, port.member(this->slot(), I)))...};
  }
};

template <class F>
class [[nodiscard]] AllOf : public Awaitable<AllOf<F>> {
 public:
  using Element = typename F::value_type;
  using value_type = std::conditional_t<std::is_void_v<Element>, void, std::vector<detail::ValueOrNone<Element>>>;
  AllOf(detail::RunPort& run, int slot) : Awaitable<AllOf<F>>(run, slot) {}
  value_type take() const {
    detail::RunPort& port = this->port();
    port.outcome(this->slot());
    if constexpr (!std::is_void_v<Element>) {
      value_type out;
      for (std::size_t i = 0; i < port.member_count(this->slot()); ++i)
        out.push_back(F(port, port.member(this->slot(), i)).take());
      return out;
    }
  }
};

class [[nodiscard]] Any : public Awaitable<Any> {
 public:
  using value_type = std::size_t;
  Any(detail::RunPort& run, int slot) : Awaitable<Any>(run, slot) {}
  std::size_t take() const { return port().outcome(slot()).index; }
};

template <class F>
class [[nodiscard]] Timed : public Awaitable<Timed<F>> {
 public:
  using value_type = typename F::value_type;
  Timed(detail::RunPort& run, int slot) : Awaitable<Timed<F>>(run, slot) {}
  value_type take() const {
    this->port().outcome(this->slot());
    return F(this->port(), this->port().member(this->slot(), 0)).take();
  }
};

template <class F>
concept AnyFuture = std::derived_from<F, FutureBase>;

namespace detail {
template <AnyFuture F>
inline constexpr bool is_awaitable<F> = true;

template <class F>
std::vector<int> slots_of(const std::vector<F>& futures) {
  std::vector<int> slots;
  slots.reserve(futures.size());
  for (const F& future : futures) slots.push_back(future.slot());
  return slots;
}
}  // namespace detail

// Waits for every one. The first failure is thrown at once; the others go on, `cancel` them if they should not.
template <AnyFuture First, AnyFuture... Rest>
All<First, Rest...> all(First first, Rest... rest) {
  return {first.port(), first.port().group(detail::Group::all, {first.slot(), rest.slot()...})};
}

template <AnyFuture F>
AllOf<F> all(const std::vector<F>& futures) {
  detail::RunPort& run = detail::current_run();
  return {run, run.group(detail::Group::all, detail::slots_of(futures))};
}

// Waits for the first that ends, well or not, and answers its place: 0 for the first argument. Await that one for its
// value. The others go on.
template <AnyFuture First, AnyFuture... Rest>
Any any(First first, Rest... rest) {
  return {first.port(), first.port().group(detail::Group::any, {first.slot(), rest.slot()...})};
}

template <AnyFuture F>
Any any(const std::vector<F>& futures) {
  if (futures.empty()) throw std::invalid_argument("any() of no futures would wait for ever");
  detail::RunPort& run = detail::current_run();
  return {run, run.group(detail::Group::any, detail::slots_of(futures))};
}

// The future's value if it ends within `limit`; else it is cancelled and TimedOut is thrown. Uses a durable timer.
template <AnyFuture F>
Timed<F> with_timeout(F future, Duration limit) {
  detail::RunPort& run = future.port();
  const int timer = run.timer(add_saturated(run.now(), limit));
  return {run, run.group(detail::Group::timeout, {future.slot(), timer})};
}

}  // namespace semel
