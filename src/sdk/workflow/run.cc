#include "sdk/workflow/run.h"

#include <stdexcept>
#include <utility>

#include "base/sha256.h"
#include "core/validate.h"
#include "sdk/workflow/failure.h"

namespace semel::detail {
namespace {
thread_local RunPort* running = nullptr;
}

RunPort& current_run() {
  if (running == nullptr) throw std::logic_error("called outside a workflow");
  return *running;
}

}  // namespace semel::detail

namespace semel::sdk {

using core::EventKind;
using detail::Outcome;

namespace {

// The run whose code is on this thread's stack, for the time of one call into it.
class Inside {
 public:
  explicit Inside(detail::RunPort& run) : before_(std::exchange(detail::running, &run)) {}
  ~Inside() { detail::running = before_; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  detail::RunPort* before_;
};

Outcome::Kind outcome_kind(EventKind kind) {
  switch (kind) {
    case EventKind::step_failed:
    case EventKind::child_failed:
    case EventKind::local_failed:
      return Outcome::Kind::failed;
    case EventKind::step_cancelled:
    case EventKind::child_cancelled:
      return Outcome::Kind::cancelled;
    case EventKind::step_timed_out:
    case EventKind::child_timed_out:
      return Outcome::Kind::timed_out;
    default:
      return Outcome::Kind::ok;
  }
}

// 16 bytes that depend on nothing but the run, the purpose and how many there were before.
std::array<std::uint8_t, 16> derived(const ExecutionId& run, std::string_view purpose, std::uint64_t count) {
  const std::string_view id(reinterpret_cast<const char*>(run.bytes.data()), run.bytes.size());
  const auto digest = base::sha256({id, purpose, std::to_string(count)});
  std::array<std::uint8_t, 16> out;
  std::copy_n(digest.begin(), out.size(), out.begin());
  return out;
}

}  // namespace

Run::Run(RunInfo info, LogSink log) : info_(std::move(info)), log_(std::move(log)), now_(info_.started_at) {}

Run::~Run() {
  closed_ = true;  // what destructors of user code still ask for goes nowhere
  queries_.clear();
  updates_.clear();
  const Inside inside(*this);
  for (auto strand = strands_.rbegin(); strand != strands_.rend(); ++strand) {
    current_ = strand->get();
    if (const auto frame = std::exchange(current_->started.frame, {})) frame.destroy();
  }
}

// ---- strands -------------------------------------------------------------------------------------------------------

void Run::begin(const WorkflowStarter& starter) {
  try {
    Strand& root = add_strand(starter(context_, info_.args));
    root.cancelled = cancel_requested_;
    ready_.push_front({&root, root.started.frame});
  } catch (...) {
    close(EventKind::run_failed, error_json(std::current_exception()));
  }
}

Run::Strand& Run::add_strand(detail::Started started) {
  strands_.push_back(std::make_unique<Strand>());
  strands_.back()->started = std::move(started);
  return *strands_.back();
}

void Run::run() {
  if (starter_ != nullptr) begin(*std::exchange(starter_, nullptr));
  while (!ready_.empty() && !closed_) {
    const Waiter next = ready_.front();
    ready_.pop_front();
    if (next.strand != nullptr) run_strand(*next.strand, next.frame);
    else begin_update();
  }
  if (closed_) ready_.clear();
}

void Run::run_strand(Strand& strand, std::coroutine_handle<> frame) {
  {
    const Inside inside(*this);
    Strand* const before = std::exchange(current_, &strand);
    frame.resume();
    current_ = before;
  }
  if (!strand.done && strand.started.frame.done()) strand_done(strand);
}

void Run::strand_done(Strand& strand) {
  strand.done = true;
  Outcome outcome;
  try {
    outcome = strand.started.take();
  } catch (...) {
    outcome.kind = Outcome::Kind::failed;
    outcome.thrown = std::current_exception();
  }
  const auto frame = std::exchange(strand.started, {}).frame;
  Strand* const before = std::exchange(current_, &strand);
  frame.destroy();
  current_ = before;
  if (strand.slot >= 0) settle(strand.slot, std::move(outcome));
  else if (!strand.update_id.empty()) update_done(strand, outcome);
  else root_done(outcome);
}

void Run::root_done(const Outcome& outcome) {
  if (closed_) return;
  if (!outcome.thrown) {
    const auto fits = core::validate_payload_size("result", outcome.data.size());
    if (fits) return close(EventKind::run_completed, outcome.data);
    return close(EventKind::run_failed, error_json("PayloadTooLarge", fits.error().message));
  }
  if (cancel_requested_ && is_cancelled(outcome.thrown)) return close(EventKind::run_cancelled);
  close(EventKind::run_failed, error_json(outcome.thrown));
}

void Run::update_done(const Strand& strand, const Outcome& outcome) {
  const auto kind = outcome.thrown ? EventKind::update_rejected : EventKind::update_completed;
  answer_update(kind, strand.update_id, outcome.thrown ? error_json(outcome.thrown) : outcome.data);
}

void Run::answer_update(EventKind kind, const std::string& id, std::string data) {
  issue(kind, 0, {}, id).event.data = std::move(data);
  if (closed_) return;
  std::erase_if(unread_, [&](const core::Event& e) { return e.kind == EventKind::update_received && e.id == id; });
}

void Run::close(EventKind kind, std::string data, std::string name) {
  issue(kind, 0, std::move(name)).event.data = std::move(data);
  closed_ = true;
  // They may refer to variables of the function that is over.
  queries_.clear();
  updates_.clear();
}

Run::Strand& Run::strand() const {
  if (current_ == nullptr) throw std::logic_error("called outside the coroutine of the workflow");
  return *current_;
}

void Run::go_on(std::coroutine_handle<> parent) noexcept { ready_.push_front({current_, parent}); }

// ---- inputs --------------------------------------------------------------------------------------------------------

void Run::hand_over(const core::Event& input) {
  now_ = input.at;
  if (closed_) {
    if (input.kind == EventKind::signal_received || input.kind == EventKind::update_received) unread_.push_back(input);
    return;
  }
  switch (input.kind) {
    case EventKind::signal_received:
      receive_signal(input);
      break;
    case EventKind::update_received:
      unread_.push_back(input);
      new_updates_.push_back(input);
      ready_.push_back({});
      break;
    case EventKind::cancel_requested:
      cancel_requested_ = true;
      for (std::size_t i = 0; i < strands_.size(); ++i)
        if (strands_[i]->slot < 0) cancel_strand(*strands_[i]);
      break;
    default:
      receive_outcome(input);
  }
}

void Run::receive_signal(const core::Event& input) {
  auto& waiting = signal_waits_[input.name];
  if (waiting.empty()) return unread_.push_back(input);
  const int slot = waiting.front();
  waiting.pop_front();
  settle(slot, Outcome{Outcome::Kind::ok, input.data});
}

void Run::begin_update() {
  const core::Event input = std::move(new_updates_.front());
  new_updates_.pop_front();
  const auto handler = updates_.find(input.name);
  if (handler == updates_.end()) {
    return answer_update(EventKind::update_rejected, input.id,
                         error_json("UnknownUpdate", "the workflow has no update '" + input.name + "'"));
  }
  try {
    Strand& strand = add_strand(handler->second(context_, input.data));
    strand.update_id = input.id;
    strand.cancelled = cancel_requested_;
    issue(EventKind::update_accepted, 0, {}, input.id);
    ready_.push_front({&strand, strand.started.frame});
  } catch (...) {
    answer_update(EventKind::update_rejected, input.id, error_json(std::current_exception()));
  }
}

void Run::receive_outcome(const core::Event& input) {
  if (input.command < 1 || input.command > numbers_given()) return;
  const int slot = by_number_[input.command - 1];
  if (slot < 0 || slots_[slot].settled) return;
  settle(slot, Outcome{outcome_kind(input.kind), input.data});
}

Result<std::string> Run::query(const std::string& name, const std::string& args) {
  if (closed_) return make_error(ErrorCode::InvalidTransition, "the run is over: its code answers no queries");
  const auto handler = queries_.find(name);
  if (handler == queries_.end())
    return make_error(ErrorCode::InvalidArgument, "the workflow has no query '" + name + "'");
  const Inside inside(*this);
  in_query_ = true;
  Result<std::string> answer = std::string();
  try {
    answer = handler->second(args);
  } catch (...) {
    answer = make_error(ErrorCode::TaskFailed, "query '" + name + "': " + error_json(std::current_exception()));
  }
  in_query_ = false;
  return answer;
}

void Run::forbid_in_query() const {
  if (in_query_) throw std::logic_error("a query must not change the run");
}

// ---- small answers -------------------------------------------------------------------------------------------------

std::uint64_t Run::random() {
  forbid_in_query();
  std::uint64_t out = 0;
  const auto bytes = derived(info_.run_id, "random", ++random_count_);
  for (int i = 0; i < 8; ++i) out = out << 8 | bytes[i];
  return out;
}

std::string Run::uuid() {
  forbid_in_query();
  Uuid<struct AnyTag> out{derived(info_.run_id, "uuid", ++uuid_count_)};
  out.bytes[6] = static_cast<std::uint8_t>((out.bytes[6] & 0x0f) | 0x80);  // version 8: made our own way
  out.bytes[8] = static_cast<std::uint8_t>((out.bytes[8] & 0x3f) | 0x80);
  return out.to_string();
}

std::string Run::idempotency_key() {
  forbid_in_query();
  const std::int32_t next = numbers_given() + 1;
  keys_read_.insert(next);
  return info_.run_id.to_string() + ":" + std::to_string(next);
}

void Run::log(LogLevel level, std::string_view message, std::span<const LogField> fields) const {
  if (!log_ || events_left_ > 0) return;
  const std::string run_id = info_.run_id.to_string();
  std::vector<LogField> all = {{"workflow", info_.workflow_name}, {"run_id", run_id}};
  all.insert(all.end(), fields.begin(), fields.end());
  log_(level, message, all);
}

// The history knows whether it passed here before the patch: it did if it goes on without the marker.
bool Run::patched(std::string_view id) {
  forbid_in_query();
  if (const auto known = patches_.find(id); known != patches_.end()) return known->second;
  const bool history_ends_here = events_left_ <= commands_.size();
  const bool yes = recorded_patches_.contains(id) || history_ends_here;
  patches_.emplace(id, yes);
  // Without a number: the numbers of old runs must stay what they were.
  if (yes) issue(EventKind::marker_recorded, 0, std::string(id));
  return yes;
}

}  // namespace semel::sdk
