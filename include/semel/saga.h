// Undoing what was done, when the rest cannot be done.
//
//   semel::Saga saga(ctx);
//   try {
//     const Booking flight = co_await ctx.execute(book_flight, trip);
//     saga.add([flight](semel::WorkflowContext& ctx) { return ctx.execute(cancel_flight, flight); });
//     ...
//   } catch (const std::exception&) {
//     failed = true;                                  // co_await is not allowed inside catch
//   }
//   if (failed) co_await saga.compensate();
//
// Compensations run in reverse order, once, one after another, and are not cancelled with the run. One that fails does
// not keep the others from running; the first failure is thrown at the end.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "semel/workflow.h"

namespace semel {

namespace detail {

using Compensation = std::function<Part<void>(WorkflowContext&)>;

template <class F>
Part<void> run_compensation(WorkflowContext& context, F start) {
  auto started = start(context);
  co_await started;
}

inline Part<void> run_compensations(WorkflowContext& context, std::vector<Compensation> compensations) {
  const CancelShield shield(context);
  std::exception_ptr first_failure;
  while (!compensations.empty()) {
    const Compensation compensation = std::move(compensations.back());
    compensations.pop_back();
    try {
      auto part = compensation(context);
      co_await part;
    } catch (...) {
      if (!first_failure) first_failure = std::current_exception();
    }
  }
  if (first_failure) std::rethrow_exception(first_failure);
}

}  // namespace detail

class Saga {
 public:
  explicit Saga(WorkflowContext& context) : context_(context) {}
  Saga(const Saga&) = delete;
  Saga& operator=(const Saga&) = delete;

  // `compensate` takes the context and answers what is to be awaited: a future or a Part. It is called when its turn
  // comes; what it needs it has captured by value.
  template <class F>
  void add(F compensate) {
    compensations_.push_back([compensate = std::move(compensate)](WorkflowContext& context) {
      return detail::run_compensation(context, compensate);
    });
  }
  bool empty() const { return compensations_.empty(); }

  // What was added since the last call.
  Part<void> compensate() { return detail::run_compensations(context_, std::exchange(compensations_, {})); }

 private:
  WorkflowContext& context_;
  std::vector<detail::Compensation> compensations_;
};

}  // namespace semel
