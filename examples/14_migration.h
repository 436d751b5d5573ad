// A workflow whose code changes while runs of it are under way. The workflow of 14_migration.cc.
#pragma once

#include <semel/semel.h>

#include <string>

namespace migration {

inline const auto pack = semel::task("pack", [](const std::string& item) { return "packed " + item; });
inline const auto insure = semel::task("insure", [](const std::string& item) { return "insured " + item; });
inline const auto send = semel::task("send", [](const std::string& item) { return "sent " + item; });

// As it was.
inline semel::Workflow<std::string> deliver_v1(semel::WorkflowContext& ctx, std::string item) {
  auto packed = ctx.execute(pack, item);
  co_await packed;
  auto pause = ctx.sleep(std::chrono::days(7));
  co_await pause;
  auto sent = ctx.execute(send, item);
  co_return co_await sent;
}

// As it is: parcels are insured now. A run that passed this place before the change goes the old way, whenever it is
// replayed; every other run goes the new one.
inline semel::Workflow<std::string> deliver_v2(semel::WorkflowContext& ctx, std::string item) {
  auto packed = ctx.execute(pack, item);
  co_await packed;
  std::string out;
  if (ctx.patched("insurance")) {
    auto insured = ctx.execute(insure, item);
    out = co_await insured + ", ";
  }
  auto pause = ctx.sleep(std::chrono::days(7));
  co_await pause;
  auto sent = ctx.execute(send, item);
  co_return out + co_await sent;
}

// The same without asking: runs that are under way do not fit it.
inline semel::Workflow<std::string> deliver_careless(semel::WorkflowContext& ctx, std::string item) {
  auto packed = ctx.execute(pack, item);
  co_await packed;
  auto insured = ctx.execute(insure, item);
  co_await insured;
  auto pause = ctx.sleep(std::chrono::days(7));
  co_await pause;
  auto sent = ctx.execute(send, item);
  co_return co_await sent;
}

inline const auto v1 = semel::workflow("deliver", deliver_v1);
inline const auto v2 = semel::workflow("deliver", deliver_v2);
inline const auto careless = semel::workflow("deliver", deliver_careless);

inline semel::WorkerOptions tasks() { return semel::WorkerOptions().add(pack).add(insure).add(send); }

}  // namespace migration
