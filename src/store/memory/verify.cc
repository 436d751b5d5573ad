// The white-box invariants: what must hold between the tables after every batch.
#include "store/memory/memory_store.h"

namespace semel::store::memory {
namespace {

using core::Execution;
using core::Identity;
using core::TimerKind;

class Checker {
 public:
  explicit Checker(const Tables& tables) : t_(tables) {}

  std::vector<std::string> run() {
    for (const auto& [claim, lease] : t_.leases)
      for (const auto& held : lease.executions) leased_[held.execution].push_back(held.version);
    for (const auto& [id, e] : t_.executions) check_execution(e);
    for (const auto& [key, row] : t_.identities) check_identity(row);
    check_waiting_rows();
    check_counters();
    check_companions();
    for (const auto& [id, run] : t_.runs) check_run(run);
    for (const auto& [key, mail] : t_.mail) expect(t_.runs.contains(key.run), "mail of nobody");
    for (const auto& [key, row] : t_.history) expect(t_.runs.contains(key.first), "history of nobody");
    return std::move(broken_);
  }

 private:
  void expect(bool holds, const std::string& what) {
    if (!holds) broken_.push_back(what);
  }

  static bool waits_for_claim(const Execution& e) {
    return e.status == Status::queued || (e.kind == Kind::workflow && e.status == Status::running && !e.session);
  }

  void check_run(const core::Run& run) {
    const std::string name = "run " + run.execution.to_string() + " ";
    const Execution* e = find_row(t_.executions, run.execution);
    expect(e && e->kind == Kind::workflow, name + "is no workflow");
    std::int32_t next = 1;
    std::int64_t bytes = 0;
    for (auto it = t_.history.lower_bound({run.execution, 0});
         it != t_.history.end() && it->first.first == run.execution; ++it) {
      expect(it->second.first == next, name + "has a gap in its history");
      next = it->second.first + it->second.count;
      bytes += static_cast<std::int64_t>(it->second.events.size());
    }
    expect(next == run.events + 1 && bytes == run.bytes, name + "does not count its history");
    const auto mail = t_.mail.lower_bound({run.execution, Instant::min(), {}});
    const bool has_mail = mail != t_.mail.end() && mail->first.run == run.execution;
    const bool waits =
        e && e->status == Status::suspended && !e->session && e->suspend_reason == core::SuspendReason::none;
    expect(!(waits && has_mail), name + "waits, but has mail");
  }

  void check_execution(const Execution& e) {
    const std::string name = "execution " + e.id.to_string() + " ";
    const int places = static_cast<int>(t_.ready.contains(ready_row(e))) +
                       static_cast<int>(t_.blocked.contains(blocked_row(e))) +
                       static_cast<int>(t_.timers.find(e.id, TimerKind::due) != nullptr);
    expect(places == (waits_for_claim(e) || is_parked(e) ? 1 : 0),
           name + "waits in " + std::to_string(places) + " places");
    expect(t_.payloads.contains(e.id), name + "has no payload");
    expect(e.suspend_reason == core::SuspendReason::none || (e.status == Status::suspended && !e.session),
           name + "has a reason to be suspended and is not");
    expect(t_.lanes.contains(e.lane), name + "has no lane");
    expect(t_.runs.contains(e.id) == (e.kind == Kind::workflow), name + "and its run do not belong together");
    expect(e.attempt >= 0 && e.attempt <= e.max_attempts, name + "has attempt " + std::to_string(e.attempt));
    if (is_held(e)) {
      expect(e.lease_expires_at && e.session && e.worker, name + "is claimed without a lease");
      const auto* versions = find_row(leased_, e.id);
      expect(versions && std::count(versions->begin(), versions->end(), e.version) == 1, name + "has no lease record");
    } else {
      expect(!e.lease_expires_at && !e.session, name + "has a lease and is not claimed");
      expect(!(e.flags & core::kCountedInLane), name + "is counted in its lane and not claimed");
    }
    const bool has_timeout = t_.timers.find(e.id, TimerKind::timeout) != nullptr;
    if (!is_terminal(e.status)) {
      expect(!e.completed_at, name + "is live and has completed_at");
      return;
    }
    expect(e.completed_at.has_value(), name + "is terminal without completed_at");
    expect(!has_timeout && !t_.timers.find(e.id, TimerKind::attempt_timeout), name + "is terminal and has a timer");
    expect(!(e.flags & core::kHoldsSlot), name + "is terminal and holds a slot");
  }

  void check_identity(const Identity& row) {
    const std::string name = "identity '" + row.id.key + "' ";
    const Execution* e = find_row(t_.executions, row.target);
    if (row.id.space != core::Space::key) {
      expect(e && e->identity == row.id.key && e->tenant == row.id.tenant, name + "points at nothing of its own");
      return;
    }
    if (row.tombstone) {
      expect(!e && row.expires_at, name + "is a tombstone of something alive or without end");
      return;
    }
    expect(e && e->idempotency_key == row.id.key && e->tenant == row.id.tenant, name + "points at nothing of its own");
    if (!e) return;
    if (row.expires_at) expect(is_terminal(e->status), name + "expires while its target is live");
    else expect(!is_terminal(e->status) || e->status == Status::dead_lettered, name + "never expires");
  }

  void check_waiting_rows() {
    for (const auto& row : t_.ready) {
      const Execution* e = find_row(t_.executions, row.execution);
      expect(e && waits_for_claim(*e) && ready_row(*e) == row,
             "ready row of " + row.execution.to_string() + " is stale");
    }
    for (const auto& row : t_.blocked) {
      const Execution* e = find_row(t_.executions, row.execution);
      expect(e && e->status == Status::queued && blocked_row(*e) == row,
             "blocked row of " + row.execution.to_string() + " is stale");
    }
    for (const auto& row : t_.timers.all()) {
      if (row.kind == TimerKind::run) continue;  // of a run that is over, it does nothing
      const Execution* e = find_row(t_.executions, row.execution);
      bool fits = e && !is_terminal(e->status);
      if (fits && row.kind == TimerKind::due)
        fits = (waits_for_claim(*e) || is_parked(*e)) && e->scheduled_at == row.due_at;
      if (fits && row.kind == TimerKind::timeout) fits = e->timeout_at == row.due_at;
      if (fits && row.kind == TimerKind::attempt_timeout) fits = is_held(*e) && e->version == row.version;
      expect(fits, "timer of " + row.execution.to_string() + " is stale");
    }
  }

  void check_counters() {
    std::map<core::LaneId, std::int32_t> running;
    std::map<SlotName, std::int32_t> used;
    for (const auto& [id, e] : t_.executions) {
      if (e.flags & core::kCountedInLane) ++running[e.lane];
      if (e.flags & core::kHoldsSlot) ++used[{e.lane, e.concurrency_key.value_or("")}];
    }
    for (const auto& [id, lane] : t_.lanes)
      expect(lane.running_count == running[id], "lane " + lane.queue + " counts " + std::to_string(lane.running_count));
    expect(used == t_.key_slots, "key slots do not add up");
  }

  void check_companions() {
    for (const auto& [id, payload] : t_.payloads)
      expect(t_.executions.contains(id), "payload of " + id.to_string() + " has no execution");
    for (const auto& [id, row] : t_.attention) {
      const Execution* e = find_row(t_.executions, id);
      expect(e && e->status == row.status, "attention of " + id.to_string() + " does not fit its execution");
    }
    for (const auto& [id, group] : t_.groups)
      expect(
          group.ended <= group.joined && group.joined <= group.total && group.completed == (group.ended == group.total),
          "group " + id.to_string() + " does not add up");
  }

  const Tables& t_;
  std::map<ExecutionId, std::vector<std::int32_t>> leased_;
  std::vector<std::string> broken_;
};

}  // namespace

std::vector<std::string> broken_invariants(const Tables& tables) { return Checker(tables).run(); }

}  // namespace semel::store::memory
