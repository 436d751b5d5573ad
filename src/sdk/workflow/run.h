// The code of one run in memory: its coroutines, what they wait for, and what they asked for.
//
// Single-threaded and deterministic: given the same arguments and the same inputs in the same order it issues the same
// commands. A *strand* is a coroutine that runs by itself: the workflow function, a spawned part, an update's handler.
// A *slot* is one thing that can be waited for. Neither is ever removed while the run lives, so futures stay valid.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sdk/workflow/command.h"
#include "semel/workflow.h"

namespace semel::sdk {

struct RunInfo {
  ExecutionId run_id;
  std::string workflow_id;
  std::string workflow_name;
  Instant started_at{};
  std::string args = "null";
};

enum class SlotKind : std::uint8_t { step, child, local, timer, signal, part, all, any, timeout };
std::string_view to_string(SlotKind kind);

class Run final : public detail::RunPort {
 public:
  Run(RunInfo info, LogSink log);
  // Destroys the frames: destructors of user code run, awaits do not go on.
  ~Run() override;
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  // ---- for the machine ---------------------------------------------------------------------------------------------

  // The code begins with the next `run`; `starter` lives as long.
  void start(const WorkflowStarter& starter) { starter_ = &starter; }
  // Settles what waits for the input; the code goes on with the next `run`.
  void hand_over(const core::Event& input);
  // Lets the code go on until everything waits.
  void run();
  // Nothing is left for `run` to do.
  bool at_rest() const { return starter_ == nullptr && ready_.empty(); }
  Result<std::string> query(const std::string& name, const std::string& args);

  bool closed() const { return closed_; }
  std::int32_t numbers_given() const { return static_cast<std::int32_t>(by_number_.size()); }
  std::deque<Command>& commands() { return commands_; }
  std::vector<LocalRun> take_locals();
  // Signals that no code asked for and updates without an answer, in the order in which they came.
  const std::deque<core::Event>& unread() const { return unread_; }

  struct Call {
    SlotKind kind;
    std::string_view name;
  };
  // What the number was given for, if for something that can be waited for.
  std::optional<Call> at(std::int32_t number) const;
  // Was it given for something that nobody can wait for? What came of a sent signal is told, and not listened to.
  bool is_silent(std::int32_t number) const {
    return number >= 1 && number <= numbers_given() && by_number_[static_cast<std::size_t>(number) - 1] < 0;
  }

  // Did the code ask for the idempotency key of that call?
  bool key_read(std::int32_t number) const { return keys_read_.contains(number); }

  // What replay knows about the rest of the history.
  void set_recorded_patches(std::set<std::string, std::less<>> ids) { recorded_patches_ = std::move(ids); }
  void set_events_left(std::size_t count) { events_left_ = count; }
  // The history recorded the patch at a place where the code does not ask for it (any more).
  void patch_passed(const std::string& id) { patches_[id] = true; }

  // ---- for the code ------------------------------------------------------------------------------------------------

  int local(std::string name, std::function<std::string()> body) override;
  int step(std::string name, Payload args, StepOptions options) override;
  int child(std::string name, Payload args, ChildOptions options) override;
  int timer(Instant due) override;
  int signal(std::string name) override;
  void send_signal(std::string workflow_id, std::string name, std::string data) override;
  int spawn(detail::Started part) override;
  int group(detail::Group kind, std::vector<int> members) override;
  int member(int slot, std::size_t index) const override { return slots_[slot].members[index]; }
  std::size_t member_count(int slot) const override { return slots_[slot].members.size(); }
  bool settled(int slot) const override { return slots_[slot].settled; }
  bool ready(int slot) override;
  bool wait(int slot, std::coroutine_handle<> waiter) override;
  const detail::Outcome& outcome(int slot) const override;
  void cancel(int slot) override;
  void go_on(std::coroutine_handle<> parent) noexcept override;
  void* shield() override;
  void unshield(void* strand) noexcept override;
  void prepare_next(std::string args) override { next_args_ = std::move(args); }
  void continue_as_new() override;
  void set_state(std::string data) override;
  bool patched(std::string_view id) override;
  void on_query(std::string name, detail::QueryHandler handler) override;
  void on_update(std::string name, detail::UpdateHandler handler) override;
  Instant now() const override { return now_; }
  std::uint64_t random() override;
  std::string uuid() override;
  std::string idempotency_key() override;
  bool cancel_requested() const override { return cancel_requested_; }
  void log(LogLevel level, std::string_view message, std::span<const LogField> fields) const override;
  ExecutionId run_id() const override { return info_.run_id; }
  const std::string& workflow_id() const override { return info_.workflow_id; }
  const std::string& workflow_name() const override { return info_.workflow_name; }

 private:
  struct Strand {
    detail::Started started;
    int shields = 0;
    bool cancelled = false;
    bool done = false;
    int slot = -1;          // of a spawned part
    std::string update_id;  // of an update's handler
    bool open() const { return !cancelled || shields > 0; }
  };
  struct Waiter {
    Strand* strand = nullptr;
    std::coroutine_handle<> frame = {};
  };
  struct Slot {
    SlotKind kind;
    std::int32_t number = 0;
    std::string name;
    Strand* owner = nullptr;
    bool shielded = false;
    bool ends_itself = false;  // the run's cancellation does not settle it
    bool stopping = false;     // its cancellation is a command already
    bool settled = false;
    bool listening = false;  // a signal takes the next of its name; a group's signals do
    detail::Outcome outcome;
    int cause = -1;  // of a group: the member whose end is its own
    std::vector<int> members;
    std::size_t left = 0;
    std::vector<std::pair<int, std::size_t>> groups;  // that this slot is a member of, and at which place
    Strand* strand = nullptr;                         // of a spawned part
    std::vector<Waiter> waiters;
  };

  // Slots.
  int add_slot(SlotKind kind, std::string name);
  int add_numbered(SlotKind kind, std::string name);
  void settle(int slot, detail::Outcome outcome);
  void member_settled(int group, std::size_t index);
  void take_unread(int slot);
  void listen(int slot);
  void release(int slot);
  void mark_shielded(int slot);
  void request_stop(Slot& slot);
  void cancel_strand(Strand& strand);
  bool is_group(const Slot& slot) const { return slot.kind >= SlotKind::all; }
  std::string label(int slot) const;
  Strand& strand() const;  // the one that runs; throws when none does

  // Inputs.
  void receive_signal(const core::Event& input);
  void receive_outcome(const core::Event& input);

  // Strands.
  Strand& add_strand(detail::Started started);
  void begin(const WorkflowStarter& starter);
  void begin_update();
  void run_strand(Strand& strand, std::coroutine_handle<> frame);
  void strand_done(Strand& strand);
  void root_done(const detail::Outcome& outcome);
  void update_done(const Strand& strand, const detail::Outcome& outcome);
  void answer_update(core::EventKind kind, const std::string& id, std::string data);

  Command& issue(core::EventKind kind, std::int32_t number = 0, std::string name = {}, std::string id = {});
  void close(core::EventKind kind, std::string data = {}, std::string name = {});
  void forbid_in_query() const;

  RunInfo info_;
  LogSink log_;
  Instant now_;
  WorkflowContext context_{*this};
  std::deque<Slot> slots_;
  std::vector<int> by_number_;  // number 1 is at 0
  std::deque<Command> commands_;
  std::deque<Command> dropped_;  // asked for by destructors after the end
  std::vector<std::pair<int, LocalRun>> locals_;
  std::deque<core::Event> unread_;
  std::map<std::string, std::deque<int>> signal_waits_;
  std::map<std::string, detail::QueryHandler> queries_;
  std::map<std::string, detail::UpdateHandler> updates_;
  const WorkflowStarter* starter_ = nullptr;  // set: the code has not begun
  std::deque<Waiter> ready_;                  // in the order in which they go on; without a strand: the next new update
  std::deque<core::Event> new_updates_;
  std::deque<std::unique_ptr<Strand>> strands_;
  Strand* current_ = nullptr;
  bool cancel_requested_ = false;
  bool closed_ = false;
  bool in_query_ = false;
  std::string next_args_;
  std::map<std::string, bool, std::less<>> patches_;
  std::set<std::string, std::less<>> recorded_patches_;
  std::size_t events_left_ = 0;
  std::uint64_t random_count_ = 0;
  std::uint64_t uuid_count_ = 0;
  std::set<std::int32_t> keys_read_;
};

}  // namespace semel::sdk
