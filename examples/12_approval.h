// Waiting for a person, but not for ever. The workflow of 12_approval.cc.
#pragma once

#include <semel/semel.h>

#include <string>

namespace expenses {

struct Expense {
  std::string who;
  int euros = 0;
};
SEMEL_FIELDS(Expense, who, euros)

struct Decision {
  bool yes = false;
  std::string by;
};
SEMEL_FIELDS(Decision, yes, by)

inline const auto ask_boss = semel::task("ask_boss", [](const Expense&) {});
inline const auto pay = semel::task("pay", [](const Expense&) {});

inline semel::Workflow<std::string> approve(semel::WorkflowContext& ctx, Expense expense) {
  using namespace std::chrono_literals;
  ctx.set_state(std::string("waits for an approval"));
  auto asked = ctx.execute(ask_boss, expense);
  co_await asked;
  std::string outcome;
  try {
    auto decided = with_timeout(ctx.signal<Decision>("decision"), 72h);
    const Decision decision = co_await decided;
    outcome = (decision.yes ? "approved by " : "refused by ") + decision.by;
  } catch (const semel::TimedOut&) {
    outcome = "nobody answered";
  }
  ctx.set_state(outcome);
  if (outcome.starts_with("approved")) {
    auto paid = ctx.execute(pay, expense);
    co_await paid;
  }
  co_return outcome;
}
inline const auto approve_workflow = semel::workflow("approve_expense", approve);

inline semel::WorkerOptions worker() { return semel::WorkerOptions().add(approve_workflow).add(ask_boss).add(pay); }

}  // namespace expenses
