#include "tests/sim/program.h"

#include <memory>

#include "base/random.h"
#include "semel/saga.h"

namespace semel::sim {
namespace {

using base::SeededRandom;
using Text = Future<std::string>;

Duration millis(std::uint64_t count) { return Duration{static_cast<std::int64_t>(count) * 1000}; }

// What the parts of one run share. The root's frame keeps it; parts hold on to it.
struct Script {
  explicit Script(WorkflowContext& context, Effects& where, ProgramId program)
      : ctx(context), effects(where), id(program), saga(context) {}
  WorkflowContext& ctx;
  Effects& effects;
  ProgramId id;
  Saga saga;
  std::string trace;  // what was learned, in order: the run's result
  bool strict = false;
  int names = 0;
};
using ScriptRef = std::shared_ptr<Script>;

Part<void> run_op(WorkflowContext& ctx, ScriptRef s, Op op);

// Names are given out in the order of the calls: a replay gives the same ones.
Text effect(Script& s, const std::string& name) {
  return s.ctx.run(name, [where = &s.effects, run = s.ctx.run_id(), name, key = s.ctx.uuid()] {
    where->happen(run, name, key);
    return key;
  });
}
Text next_effect(Script& s) { return effect(s, "do-" + std::to_string(++s.names)); }

// Some steps meet tasks of the callers under one id; some have nobody who runs them.
Text step(Script& s, SeededRandom& dice) {
  StepOptions options;
  const auto name = dice.below(24);
  std::string task = name == 0 ? "ghost" : name == 1 ? "poison" : "work";
  if (dice.below(4) == 0) options.task_id("id-" + std::to_string(dice.below(25)));
  if (dice.below(6) == 0) options.queue("limited");
  if (dice.below(8) == 0) options.queue("keyed").concurrency_key("key-1");
  if (name == 0 || dice.below(6) == 0) options.timeout(millis(500 + dice.below(3000)));
  if (dice.below(3) == 0) options.max_attempts(1 + static_cast<int>(dice.below(2)));
  if (dice.below(4) == 0) options.wait_for_end(true);
  options.retry(RetryPolicy().initial_interval(millis(100)));
  return s.ctx.execute<std::string>(task, std::vector<int>{1}, options);
}

Text either(Script& s, SeededRandom& dice) { return dice.below(2) == 0 ? next_effect(s) : step(s, dice); }

// ---- the ops: each is awaited by run_op, which decides what its failure means ---------------------------------------

Part<void> both(WorkflowContext&, ScriptRef s, std::uint64_t number) {
  SeededRandom dice(number);
  std::vector<Text> futures;
  for (auto left = 2 + dice.below(2); left > 0; --left) futures.push_back(either(*s, dice));
  auto every = all(futures);
  const auto values = co_await every;
  s->trace += "b" + std::to_string(values.size());
}

Part<void> first(WorkflowContext& ctx, ScriptRef s, std::uint64_t number) {
  SeededRandom dice(number);
  auto work = either(*s, dice);
  auto nap = ctx.sleep(millis(dice.below(1500)));
  auto winner = any(work, nap);
  const std::size_t place = co_await winner;
  s->trace += "f" + std::to_string(place);
  if (place == 0) nap.cancel();
  else work.cancel();
}

Part<void> listen(WorkflowContext& ctx, ScriptRef s, std::uint64_t number) {
  SeededRandom dice(number);
  auto signal = ctx.signal<std::string>(dice.below(2) == 0 ? "go" : "stop");
  auto timed = with_timeout(signal, millis(200 + dice.below(4000)));
  s->trace += "l" + co_await timed;
}

Part<void> child(WorkflowContext& ctx, ScriptRef s, std::uint64_t number) {
  if (s->id.depth == 0) co_return;
  SeededRandom dice(number);
  const ProgramId program{dice.below(1ull << 40), s->id.depth - 1, 0};
  ChildOptions options;
  const bool named = dice.below(3) == 0;
  if (named) options.workflow_id("wf-" + std::to_string(dice.below(12))).reuse(Reuse::always);
  if (named && dice.below(3) == 0) options.on_duplicate(OnDuplicate::replace);
  if (dice.below(4) == 0) options.wait_for_end(true);
  auto run = ctx.child<std::string>("flow", program.pack(), options);
  // Two runs may wait for each other: whoever waits for a stranger does so for a while only.
  auto timed = with_timeout(run, millis(named || dice.below(3) == 0 ? 300 + dice.below(4000) : 600'000));
  s->trace += "c" + std::to_string((co_await timed).size());
}

Part<void> book(WorkflowContext&, ScriptRef s) {
  const std::string number = std::to_string(++s->names);
  auto booked = effect(*s, "book-" + number);
  s->trace += "k" + co_await booked;
  s->saga.add([s = s.get(), number](WorkflowContext&) { return effect(*s, "undo-" + number); });
}

Part<void> beside(WorkflowContext& ctx, ScriptRef s, std::uint64_t number) {
  SeededRandom dice(number);
  const auto some = [&dice] { return Op{static_cast<Do>(dice.below(static_cast<int>(Do::book))), dice.next()}; };
  auto left = ctx.spawn(run_op(ctx, s, some()));
  auto right = ctx.spawn(run_op(ctx, s, some()));
  co_await left;
  co_await right;
}

Part<void> carry_out(WorkflowContext& ctx, ScriptRef s, Op op) {
  SeededRandom dice(op.dice);
  switch (op.what) {
    case Do::effect: {
      auto done = next_effect(*s);
      s->trace += "e" + co_await done;
      break;
    }
    case Do::step: {
      auto done = step(*s, dice);
      s->trace += "s" + co_await done;
      break;
    }
    case Do::nap: {
      auto nap = ctx.sleep(millis(dice.below(2500)));
      co_await nap;
      s->trace += "n";
      break;
    }
    case Do::both: {
      auto part = both(ctx, s, op.dice);
      co_await part;
      break;
    }
    case Do::first: {
      auto part = first(ctx, s, op.dice);
      co_await part;
      break;
    }
    case Do::listen: {
      auto part = listen(ctx, s, op.dice);
      co_await part;
      break;
    }
    case Do::child: {
      auto part = child(ctx, s, op.dice);
      co_await part;
      break;
    }
    case Do::book: {
      auto part = book(ctx, s);
      co_await part;
      break;
    }
    case Do::beside: {
      auto part = beside(ctx, s, op.dice);
      co_await part;
      break;
    }
    case Do::tell:
      ctx.send_signal("wf-" + std::to_string(dice.below(12)), "go", "r" + ctx.uuid());
      break;
    default:
      ctx.set_state(s->trace.size());
  }
}

// A cancelled run stops at once; any other failure is part of the trace, unless the program is strict.
Part<void> run_op(WorkflowContext& ctx, ScriptRef s, Op op) {
  try {
    auto part = carry_out(ctx, s, op);
    co_await part;
  } catch (const Cancelled&) {
    s->trace += "x";
    if (ctx.cancel_requested() || s->strict) throw;
  } catch (const std::exception& error) {
    s->trace += "!" + std::to_string(std::string_view(error.what()).size());
    if (s->strict) throw;
  }
}

Part<void> run_all(WorkflowContext& ctx, ScriptRef s, Program program) {
  for (const Op& op : program.ops) {
    auto part = run_op(ctx, s, op);
    co_await part;
  }
  for (const char* name : {"go", "stop"}) {
    if (!program.drains) break;
    for (auto next = ctx.signal<std::string>(name); next.ready(); next = ctx.signal<std::string>(name))
      s->trace += "d" + co_await next;
  }
  if (program.fails) throw TaskError("GaveUp", "as it was written");
}

Workflow<std::string> interpret(WorkflowContext& ctx, ScriptRef s) {
  const Program program = make_program(s->id);
  s->strict = program.strict;
  std::exception_ptr failure;
  try {
    auto part = run_all(ctx, s, program);
    co_await part;
  } catch (...) {
    failure = std::current_exception();
  }
  if (failure) {
    try {
      auto undone = s->saga.compensate();
      co_await undone;
    } catch (const std::exception&) {
      s->trace += "?";  // the others have run
    }
    std::rethrow_exception(failure);
  }
  if (program.continues) {
    SeededRandom dice(s->id.seed + 1);
    auto next = ctx.continue_as_new(ProgramId{dice.below(1ull << 40), s->id.depth, s->id.continues - 1}.pack());
    co_return co_await next;
  }
  co_return s->trace;
}

}  // namespace

std::uint64_t ProgramId::pack() const {
  return seed << 8 | static_cast<std::uint64_t>(depth) << 4 | static_cast<std::uint64_t>(continues);
}

ProgramId ProgramId::unpack(std::uint64_t packed) {
  return {packed >> 8, static_cast<int>(packed >> 4 & 15), static_cast<int>(packed & 15)};
}

Program make_program(const ProgramId& id) {
  SeededRandom dice(id.pack() * 0x9e3779b97f4a7c15ull + 7);
  Program out;
  for (auto left = 1 + dice.below(5); left > 0; --left)
    out.ops.push_back({static_cast<Do>(dice.below(static_cast<int>(Do::count))), dice.next()});
  out.strict = dice.below(3) == 0;
  out.fails = dice.below(8) == 0;
  out.continues = id.continues > 0 && dice.below(2) == 0;
  out.drains = dice.below(2) == 0;
  return out;
}

WorkflowStarter program_starter(Effects& effects) {
  return [&effects](WorkflowContext& context, const std::string& args) {
    const auto packed = decode_payload<std::uint64_t>(Payload{Encoding::json, args}).value();
    auto script = std::make_shared<Script>(context, effects, ProgramId::unpack(packed));
    return detail::start_encoded(interpret(context, std::move(script)));
  };
}

}  // namespace semel::sim
