// One turn of a run: what is to be learned is read, user code runs, what it did is recorded.
#include <algorithm>
#include <utility>

#include "base/json_value.h"
#include "base/json_writer.h"
#include "base/mutant.h"
#include "core/retry.h"
#include "core/validate.h"
#include "engine/history_pages.h"
#include "engine/owned_run.h"
#include "engine/prepare.h"

namespace semel::engine {

using core::EventKind;

namespace {

constexpr std::int64_t kHistoryPage = 4 << 20;
constexpr int kRefusalsOfDamage = 20;

bool starts_something(EventKind kind) {
  return kind == EventKind::step_scheduled || kind == EventKind::child_started || kind == EventKind::timer_started;
}

bool cancels_something(EventKind kind) {
  return kind == EventKind::step_cancel_requested || kind == EventKind::child_cancel_requested ||
         kind == EventKind::timer_cancelled;
}

std::string error_text(const Error& error) {
  std::string details;
  base::JsonWriter json(details);
  json.begin_object();
  for (const auto& detail : error.details) json.raw_field(detail.name, detail.json);
  json.end_object();
  return error_json(error_info(error.code).name, error.message,
                    error.details.empty() ? std::nullopt : std::optional(details));
}

// The row says that this claim owns it no more.
bool belongs_to_others(const Error& error) {
  return error.code == ErrorCode::LeaseLost || error.code == ErrorCode::ExecutionNotFound;
}

}  // namespace

void RunKeeper::job(const OwnedRef& run) {
  if (!enter()) return;
  Turn turn;
  const bool go = prepare_turn(run, turn);
  leave();
  if (!go) return;
  const auto taken = take_turn(run, turn);
  if (!enter()) return;
  if (!taken) refuse_code(run, taken.error());
  else end_turn(run);
  leave();
}

// ---- before: reads the store ----------------------------------------------------------------------------------------

bool RunKeeper::prepare_turn(const OwnedRef& run, Turn& turn) {
  bool read_mail = false;
  {
    std::lock_guard lock(mutex_);
    if (run->gone) return false;
    read_mail = std::exchange(run->mail_waits, false);
    turn.queries = std::exchange(run->queries, {});
  }
  if (auto fetched = std::exchange(run->fetched, std::nullopt); fetched && !read_mail) turn.mail = *std::move(fetched);
  const bool has_mail = read_mail || !turn.mail.empty();
  if (run->close && has_mail && !run->failed_outright) take_back(run);
  turn.load = !run->code;
  if (turn.load) {
    const auto* maker = workflows_->find(run->row().name);
    if (maker == nullptr) return give_up(run, options_.no_handler_delay, true), false;
    if (auto loaded = load(*run, turn); !loaded)
      return could_not_read(run, std::move(turn), has_mail, loaded.error()), false;
    if (run->known == 0) {  // it ended since the claim, and nothing of it was kept
      for (auto& query : turn.queries) query.done(make_error(ErrorCode::ExecutionNotFound, "the run is gone"));
      return forget(run, true), false;
    }
    run->code = (*maker)(run->claimed.view);
    std::lock_guard lock(mutex_);
    stats_.replayed_events += turn.history.size();
  }
  if (read_mail) {
    auto mail = env_.store.mail_list({&run->row().id, 1});
    if (!mail) return could_not_read(run, std::move(turn), true, mail.error()), false;
    turn.mail = *std::move(mail);
  }
  turn.handed = std::exchange(run->handed, std::nullopt);
  turn.refused = std::exchange(run->refused, {});
  turn.now = env_.store.clock().now();
  run->inside_since.store(env_.monotonic.now().count());
  return true;
}

void RunKeeper::could_not_read(const OwnedRef& run, Turn turn, bool read_mail, const Error& error) {
  if (error.code != ErrorCode::StoreCorrupt) return try_turn_again(run, std::move(turn), read_mail);
  for (auto& query : turn.queries) query.done(error);
  park_damaged(run, error);
}

// A row of the run is damaged: nothing of it can be decided before somebody has looked at it. Where not even that can
// be recorded, it is given back for as long.
void RunKeeper::park_damaged(const OwnedRef& run, const Error& error) {
  run->damaged = true;
  const auto header = env_.store.run_get(run->row().id);
  if (header && *header) {
    run->known = (*header)->events;
    return refuse_code(run, make_error(ErrorCode::NondeterminismError, error.message));
  }
  refuse_code(run, error);
}

void RunKeeper::try_turn_again(const OwnedRef& run, Turn turn, bool read_mail) {
  if (turn.load) run->code.reset();  // nothing was replayed into it yet
  {
    std::lock_guard lock(mutex_);
    run->mail_waits = run->mail_waits || read_mail;
    run->queries.insert(run->queries.begin(), std::make_move_iterator(turn.queries.begin()),
                        std::make_move_iterator(turn.queries.end()));
  }
  again_later([this, run] { again(run); });
}

Result<void> RunKeeper::load(Owned& run, Turn& turn) {
  if (run.is_new() && run.known <= 1) {
    run.known = 1;  // run_started
    return {};
  }
  run.known = 0;
  auto known = read_history(run, turn.history);
  if (!known) return std::move(known).error();
  run.known = *known;
  return {};
}

Result<std::int32_t> RunKeeper::read_history(const Owned& run, std::vector<core::Event>& out) {
  return engine::read_history(env_.store, run.row().id, 0, kHistoryPage, [&out](Append append) -> Result<void> {
    std::ranges::move(append.events, std::back_inserter(out));
    return {};
  });
}

// ---- user code ------------------------------------------------------------------------------------------------------

Result<void> RunKeeper::take_turn(const OwnedRef& run, Turn& turn) {
  if (turn.load) {
    if (const auto replayed = replay(*run, turn); !replayed) {
      run->inside_since.store(0);
      for (auto& query : turn.queries) query.done(replayed.error());
      return replayed;
    }
  }
  send_locals(run);
  const auto answer_queries = [&] {
    for (auto& query : std::exchange(turn.queries, {})) query.done(run->code->query(query.name, query.args));
  };
  if (run->rested_at == run->known && !turn.handed) answer_queries();
  // All that there is to learn lies ready before the code goes on.
  if (turn.handed) run->code->hand_over(*turn.handed);
  for (auto& event : turn.refused) learn(*run, std::nullopt, std::move(event), turn.now);
  if (auto read = read_mail(*run, turn); !read) {
    run->inside_since.store(0);
    return read;
  }
  run_code(*run);
  answer_queries();
  if (run->close && run->close->entry.event.kind == EventKind::run_continued) run->carried = run->code->unread();
  run->inside_since.store(0);
  send_locals(run);
  take_local_result(*run, turn.now);
  return {};
}

// What came of the last inputs of the history may have begun in the hands of an owner before: it begins again before
// anything else is learned. Nothing begins that ends the run: then the mail is learned together with those inputs.
Result<void> RunKeeper::replay(Owned& run, const Turn& turn) {
  for (const auto& event : turn.history) remember(run, event);
  if (auto replayed = run.code->replay(turn.history); !replayed || run.joins) return replayed;
  run.code->run();
  if (!run.code->closed() || turn.mail.empty()) {
    run_code(run);
    return {};
  }
  run.code = (*workflows_->find(run.row().name))(run.claimed.view);
  return run.code->replay(turn.history);
}

void RunKeeper::run_code(Owned& run) {
  if (run.failed_outright) return;
  run.code->run();
  collect(run);
  if (!run.close && !learned_something(run)) run.rested_at = run.known;
}

// Has the code learned what is not recorded yet? What it asked for after that may be something else after a crash.
bool RunKeeper::learned_something(const Owned& run) {
  return std::ranges::any_of(run.entries,
                             [](const PendingEntry& pending) { return core::is_input(pending.entry.event.kind); });
}

// What a run that fails outright has not handed to its code lies in the mailbox still.
Result<void> RunKeeper::read_mail(Owned& run, const Turn& turn) {
  const std::size_t learned = run.entries.size();
  for (const auto& mail : turn.mail) {
    const auto end = run.entries.begin() + static_cast<std::ptrdiff_t>(learned);
    if (std::any_of(run.entries.begin(), end, [&](const auto& e) { return e.entry.mail == mail.key; })) continue;
    auto event = core::decode_event(mail.event);
    if (!event || core::to_string(event->kind) == "unknown")
      return make_error(ErrorCode::Unsupported, "mail of the run was written by a later version");
    learn(run, mail.key, *std::move(event), turn.now);
  }
  return {};
}

void RunKeeper::learn(Owned& run, std::optional<core::MailKey> mail, core::Event input, Instant now) {
  core::Event stamped = run.code->stamp(std::move(input), now);
  run.entries.push_back({{mail, stamped, std::nullopt}, std::nullopt});
  if (mail) run.entries.back().entry.event.data.clear();  // the store has it
  if (!run.failed_outright) run.code->hand_over(stamped);
}

void RunKeeper::collect(Owned& run) {
  for (auto& command : run.code->take_commands()) {
    core::Event& event = command.event;
    if (const auto it = run.started.find(event.command); cancels_something(event.kind) && it != run.started.end()) {
      event.execution = it->second.execution;
      event.at = it->second.at;
    }
    if (event.kind == EventKind::timer_started) remember(run, event);
    PendingEntry pending{{std::nullopt, std::move(event), std::nullopt}, std::move(command.start)};
    if (core::is_closing(pending.entry.event.kind)) run.close = std::move(pending);
    else run.entries.push_back(std::move(pending));
  }
  for (auto& local : run.code->take_locals()) run.locals.push_back(std::move(local));
}

void RunKeeper::remember(Owned& run, const core::Event& event) {
  if (starts_something(event.kind))
    run.started[event.command] = {.kind = event.kind, .at = event.at, .execution = event.execution};
  if (event.kind == EventKind::run_parked) ++run.parks;
  else if (core::is_input(event.kind)) run.parks = 0;
}

// A body may be carried out right here; then its result is there when this returns. None begins before that is recorded
// which led to it: after a crash the code might learn more at once, and never ask for it.
void RunKeeper::send_locals(const OwnedRef& run) {
  if (run->locals.empty() || (learned_something(*run) && !run->close)) return;
  auto locals = std::exchange(run->locals, {});
  if (run->close) return;
  std::erase_if(locals, [&](const LocalCall& local) { return !run->begun.insert(local.command).second; });
  {
    std::lock_guard lock(mutex_);
    run->locals_out += static_cast<int>(locals.size());
  }
  for (auto& local : locals)
    executor_->call([self = shared_from_this(), run, body = std::move(local.body)] {
      if (self->may_begin(run)) self->local_done(run, body());
    });
}

// A body may have waited for its thread until the run is somebody else's, who calls it too: then it is not begun here.
bool RunKeeper::may_begin(const OwnedRef& run) {
  if (SEMEL_MUTANT("body-without-lease")) return run != nullptr;
  {
    std::lock_guard lock(mutex_);
    if (run->gone) return false;
  }
  if (!enter()) return false;
  const bool held = !holds || holds(run->claimed.session);
  leave();
  return held;
}

void RunKeeper::local_done(const OwnedRef& run, core::Event event) {
  std::lock_guard lock(mutex_);
  --run->locals_out;
  if (run->gone) return;
  run->local_results.push_back(std::move(event));
  schedule(run);
}

// One at a time: what the code does with it decides how the next one is stamped.
void RunKeeper::take_local_result(Owned& run, Instant now) {
  if (run.close || run.handed) return;
  std::optional<core::Event> result;
  {
    std::lock_guard lock(mutex_);
    if (run.local_results.empty()) return;
    result = std::move(run.local_results.front());
    run.local_results.pop_front();
  }
  run.handed = run.code->stamp(*std::move(result), now);
  run.entries.push_back({{std::nullopt, *run.handed, std::nullopt}, std::nullopt});
  if (SEMEL_MUTANT("local-before-durable")) {
    run.code->hand_over(*std::exchange(run.handed, std::nullopt));
    run.code->run();
    collect(run);
  }
}

// ---- after: what the code did goes to the store ---------------------------------------------------------------------

// The code does not fit the history, or the history is of a later version.
void RunKeeper::refuse_code(const OwnedRef& run, const Error& error) {
  env_.log.write(base::LogLevel::error, "run cannot be replayed",
                 {{"workflow", run->row().name},
                  {"workflow_id", run->row().identity.value_or("")},
                  {"run_id", run->row().id.to_string()},
                  {"error", error.message}});
  if (error.code != ErrorCode::NondeterminismError)
    return give_up(run, run->damaged ? options_.park_most : options_.no_handler_delay, !run->damaged);
  {
    std::lock_guard lock(mutex_);
    ++stats_.parked;
  }
  core::Event parked;
  parked.kind = EventKind::run_parked;
  parked.data = error_text(error);
  run->entries.clear();
  run->close = PendingEntry{{std::nullopt, std::move(parked), std::nullopt}, std::nullopt};
  record(run);
}

Duration RunKeeper::park_for(const Owned& run) const {
  if (run.damaged) return options_.park_most;
  const Duration wait{options_.park_first.count() << std::min(run.parks, 20)};
  return std::min(wait, options_.park_most);
}

void RunKeeper::end_turn(const OwnedRef& run) {
  if (!settle_starts(run)) return;
  if (!run->entries.empty() || run->close) return record(run);
  bool more = false, tell = false, draining = false;
  {
    std::lock_guard lock(mutex_);
    if (is_lost(*run)) return;
    more = has_more(*run);
    const bool idle = run->locals_out == 0;
    tell = idle && !run->suspended;  // the store does not know yet that it waits
    draining = idle && draining_;
    if (!more && !tell && !draining) {
      run->busy = false;  // mail or a result of ctx.run wakes it
      if (idle) rest(run);
    }
  }
  if (more) return again(run);
  if (draining) return give_up(run, Duration{0}, false);
  if (tell) record(run);
}

// Mutex held. Results of ctx.run that came since it was lost were dropped: it must not say that it waits.
bool RunKeeper::is_lost(const Owned& run) const { return run.gone && !SEMEL_MUTANT("lost-run-waits"); }

// Mutex held.
bool RunKeeper::has_more(const Owned& run) const {
  return run.mail_waits || run.handed || !run.refused.empty() || !run.locals.empty() || !run.local_results.empty() ||
         !run.queries.empty();
}

// Makes what the entries start. False: goes on later.
bool RunKeeper::settle_starts(const OwnedRef& run) {
  const core::TenantId tenant = run->row().tenant;
  bool refused = false;
  const auto settle = [&](PendingEntry& pending) {
    if (!pending.request || pending.entry.start) return true;
    if (pending.request->queue.empty()) pending.request->queue = run->claimed.view.queue;
    const LaneRef lane = engine_.directory().find(tenant, pending.request->queue);
    if (!lane && core::validate_queue(pending.request->queue)) return false;
    if (auto made = make_start(*run, pending, lane); !made) {
      pending.request.reset();
      refused = refuse_start(*run, pending, made.error()) || refused;
    }
    return true;
  };
  for (auto& pending : run->entries)
    if (!settle(pending)) return make_lane(run, pending.request->queue), false;
  if (run->close) retry_after_failure(*run);
  if (run->close && run->close->request && !run->close->entry.start) hand_on(*run, *run->close->request);
  if (run->close && !settle(*run->close)) return make_lane(run, run->close->request->queue), false;
  if (refused) {
    put_back_local_result(*run);
    return again(run), false;
  }
  name_cancelled(*run);
  if (run->close && run->close->entry.event.kind == EventKind::run_failed && run->close->entry.start) {
    if (tell_again(*run)) return true;
    again_later([this, run] { end_turn(run); });
    return false;
  }
  return true;
}

// What could not be started is learned in the record that says so, before any result of ctx.run.
void RunKeeper::put_back_local_result(Owned& run) {
  if (!run.handed) return;
  run.entries.pop_back();
  std::lock_guard lock(mutex_);
  run.local_results.push_front(*std::exchange(run.handed, std::nullopt));
}

// What is cancelled in the turn that asked for it has its id only now. A start that was refused has none: then a new
// id says the same, that there is nothing to stop.
void RunKeeper::name_cancelled(Owned& run) {
  for (auto& pending : run.entries) {
    core::Event& event = pending.entry.event;
    if (pending.entry.mail || event.execution || event.kind == EventKind::timer_cancelled) continue;
    if (!cancels_something(event.kind)) continue;
    const auto it = run.started.find(event.command);
    event.execution = it != run.started.end() ? it->second.execution : env_.next_id<ExecutionId>();
  }
}

Result<void> RunKeeper::make_start(Owned& run, PendingEntry& pending, const LaneRef& lane) {
  EnqueueRequest request = *pending.request;
  auto operation = prepare_enqueue(request, run.row().tenant, env_.next_id<ExecutionId>(), env_.store.clock().now());
  if (!operation) return std::move(operation).error();
  if (auto applied = apply_lane(*operation, request.retry, *lane); !applied) return applied;
  core::Event& event = pending.entry.event;
  if (starts_something(event.kind)) operation->parent = {run.row().id, run.row().identity.value_or(""), event.command};
  event.execution = operation->id;
  pending.entry.start = *std::move(operation);
  remember(run, event);
  return {};
}

// A step that could not even be asked for has failed; a next run that could not, fails this one. True: the code learns
// it.
bool RunKeeper::refuse_start(Owned& run, PendingEntry& pending, const Error& error) {
  core::Event& event = pending.entry.event;
  if (core::is_closing(event.kind)) {
    event = {.kind = EventKind::run_failed, .data = error_text(error)};
    return false;
  }
  const auto kind = event.kind == EventKind::child_started ? EventKind::child_failed : EventKind::step_failed;
  run.refused.push_back({.kind = kind, .command = event.command, .data = error_text(error)});
  return true;
}

void RunKeeper::make_lane(const OwnedRef& run, const std::string& queue) {
  submit(*run, core::LaneEnsure{run->row().tenant, queue, std::nullopt}, [this, run](core::Answer answer) {
    if (const auto* made = std::get_if<core::LaneAnswer>(&answer)) {
      engine_.directory().learn(made->lane);
      return end_turn(run);
    }
    again_later([this, run] { end_turn(run); });
  });
}

void RunKeeper::record(const OwnedRef& run) {
  core::RunAdvance advance;
  advance.execution = run->row().id;
  advance.version = run->row().version;
  advance.known = run->known;
  for (const auto& pending : run->entries) advance.entries.push_back(pending.entry);
  if (run->close) advance.entries.push_back(run->close->entry);
  const auto last = run->close ? run->close->entry.event.kind : EventKind{};
  if (last == EventKind::run_parked) advance.park_for = park_for(*run);
  if (core::is_closing(last)) advance.carried = run->carried;
  {
    std::lock_guard lock(mutex_);
    if (is_lost(*run)) return;
    run->asked_to_wait =
        !run->close && !run->handed && run->locals.empty() && run->locals_out == 0 && run->local_results.empty();
    ++stats_.advances;
  }
  advance.waits = run->asked_to_wait;
  submit(*run, std::move(advance), [this, run](core::Answer answer) { recorded(run, std::move(answer)); });
}

void RunKeeper::recorded(const OwnedRef& run, core::Answer answer) {
  if (const auto* error = std::get_if<Error>(&answer)) return record_failed(run, *error);
  const auto advanced = std::get<core::AdvanceAnswer>(answer);
  if (advanced.unread && !run->failed_outright) take_back(run);
  if (!advanced.unread) {
    run->known = advanced.events;
    tell_updated(*run);
    run->entries.clear();
    if (run->handed) run->begun.erase(run->handed->command);
    else run->rested_at = run->known;
    run->suspended = advanced.status == Status::suspended;
    if (run->close || is_terminal(advanced.status)) {
      {
        std::lock_guard lock(mutex_);
        if (is_terminal(advanced.status)) ++stats_.closed;
      }
      return forget(run, true);
    }
  }
  bool more = false, draining = false;
  {
    std::lock_guard lock(mutex_);
    if (advanced.unread || (run->asked_to_wait && !run->suspended)) run->mail_waits = true;
    draining = draining_ && run->locals_out == 0 && !run->close;
    more = has_more(*run);
    if (!more && !draining) {
      run->busy = false;
      if (run->suspended) rest(run);
    }
  }
  // What is durable is enough to go on elsewhere.
  if (draining) return give_up(run, Duration{0}, false);
  if (more) again(run);
}

// Whoever waits for the answer to an update looks now and not at the next poll.
void RunKeeper::tell_updated(const Owned& run) {
  const bool answered = std::ranges::any_of(run.entries, [](const PendingEntry& pending) {
    const EventKind kind = pending.entry.event.kind;
    return kind == EventKind::update_completed || kind == EventKind::update_rejected;
  });
  if (!answered) return;
  store::Wakes hint;
  hint.ended.push_back(run.row().id);
  engine_.note_wakes(hint);
}

void RunKeeper::record_failed(const OwnedRef& run, const Error& error) {
  if (belongs_to_others(error)) {
    {
      std::lock_guard lock(mutex_);
      ++stats_.lost;
    }
    return forget(run, true);
  }
  if (error.code == ErrorCode::ShuttingDown || error.code == ErrorCode::StoreCorrupt) return forget(run, false);
  if (error.code == ErrorCode::HistoryTooLong && !run->failed_outright) {
    run->failed_outright = true;
    std::erase_if(run->entries, [](const PendingEntry& pending) { return !pending.entry.mail; });
    run->handed.reset();
    run->close = PendingEntry{{std::nullopt, {.kind = EventKind::run_failed, .data = error_text(error)}, std::nullopt},
                              std::nullopt};
    return record(run);
  }
  if (error.code == ErrorCode::InvalidArgument || error.code == ErrorCode::InvalidTransition) {
    // What is in memory does not fit the store: the history is the truth, and is replayed from.
    env_.log.write(base::LogLevel::error, "a run's memory does not fit its history",
                   {{"run_id", run->row().id.to_string()}, {"error", error.message}});
    return give_up(run, Duration{1'000'000}, false);
  }
  // Internal again and again: a row that it would touch is damaged.
  if (error.code == ErrorCode::Internal && ++run->refusals >= kRefusalsOfDamage) {
    run->damaged = true;
    run->entries.clear();
    run->close.reset();
    return refuse_code(run, error);
  }
  again_later([this, run] { record(run); });
}

}  // namespace semel::engine
