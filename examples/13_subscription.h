// A subscription that is billed every month, for years. The workflow of 13_subscription.cc.
#pragma once

#include <semel/semel.h>

#include <set>
#include <string>

namespace billing {

struct Subscription {
  std::string customer;
  int months_left = 0;
  int cents = 0;   // a month
  int billed = 0;  // so far
};
SEMEL_FIELDS(Subscription, customer, months_left, cents, billed)

// Answers a month that was billed before by the key of the call.
struct Ledger {
  std::set<std::string> keys;
  int cents = 0;
};
inline Ledger ledger;

inline int bill(int cents, std::string key) {
  if (ledger.keys.insert(key).second) ledger.cents += cents;
  return cents;
}

constexpr int kMonthsPerRun = 6;

// Every half year the run ends and goes on as a new one with what is left: its history stays short, however long the
// subscription lasts.
inline semel::Workflow<int> subscribe(semel::WorkflowContext& ctx, Subscription now) {
  for (int month = 0; month < kMonthsPerRun && now.months_left > 0; ++month) {
    auto billed = ctx.run("bill", bill, now.cents, ctx.idempotency_key());
    now.billed += co_await billed;
    --now.months_left;
    ctx.set_state(now);
    auto month_passes = ctx.sleep(std::chrono::days(30));
    co_await month_passes;
  }
  if (now.months_left > 0) {
    auto next = ctx.continue_as_new(now);
    co_return co_await next;
  }
  co_return now.billed;
}
inline const auto subscribe_workflow = semel::workflow("subscription", subscribe);

}  // namespace billing
