// One transaction, three phases: blind writes, decisions over the rows they left, grouped guarded writes.
//
// Invariants: nothing is answered before commit() returned; operations on one key are decided in arrival order; a batch
// that cannot be finished leaves nothing behind.
#include <algorithm>
#include <tuple>
#include <unordered_set>

#include "core/decide.h"
#include "core/transition.h"
#include "store/batch/tables.h"

namespace semel::store::batch {
namespace {

using core::Answer;
using core::ClaimAnswer;
using core::EnqueueAnswer;
using core::Needs;
using core::RowCache;
using core::TaskClaim;
using core::TaskComplete;
using core::TaskEnqueue;

// A decision asks for rows at most a few times (id, its execution, that one's key or lane, ...).
constexpr int kMaxReads = 32;

template <class T>
void sort_unique(std::vector<T>& list) {
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
}

// One read serves every operation of the batch, rows in ascending key order so that writers on other nodes lock alike.
void tidy(Needs& needs) {
  sort_unique(needs.identities);
  sort_unique(needs.executions);
  sort_unique(needs.payloads);
  sort_unique(needs.lanes);
  sort_unique(needs.lane_names);
  sort_unique(needs.tenant_names);
  sort_unique(needs.key_slots);
  sort_unique(needs.groups);
  sort_unique(needs.sessions);
  sort_unique(needs.leases);
  sort_unique(needs.attention);
  sort_unique(needs.inbox);
  std::sort(needs.blocked.begin(), needs.blocked.end(),
            [](const auto& a, const auto& b) { return a.key != b.key ? a.key < b.key : a.limit > b.limit; });
  needs.blocked.erase(std::unique(needs.blocked.begin(), needs.blocked.end(),
                                  [](const auto& a, const auto& b) { return a.key == b.key; }),
                      needs.blocked.end());
}

class Run {
 public:
  Run(Tables& tables, Batch& batch) : tables_(tables), batch_(batch), open_(batch.operations.size(), true) {
    batch_.answers.assign(batch_.operations.size(), core::NoAnswer{});
  }

  void execute() {
    recall_ = tables_.begin(batch_.id, batch_.now, batch_.recheck);
    if (!recall_) attempt_blindly();
    decide_rest();
    finish_claims();
    if (refused_whole_) return tables_.rollback();
    if (recall_) return tables_.commit_recall(batch_.id);
    batch_.rows_written = blind_rows_ + count_changes();
    if (batch_.rows_written > 0) tables_.write(rows_, batch_.now);
    tables_.commit(batch_.id, batch_.now, batch_.rows_written > 0);
    publish();
  }

 private:
  void attempt_blindly() {
    Attempt attempt;
    std::vector<core::Identity> identities;
    std::vector<std::size_t> enqueues, completes, claims;
    std::unordered_set<ClaimId> claim_ids;
    identities.reserve(batch_.operations.size());  // pointers into it are handed out
    for (std::size_t i = 0; i < batch_.operations.size(); ++i) {
      const core::Operation& operation = *batch_.operations[i];
      if (auto* enqueue = std::get_if<TaskEnqueue>(&operation)) {
        rows_.executions.load(enqueue->id, std::nullopt);  // a fresh id: nothing to look up
        auto identity = core::identity_to_win(*enqueue);
        if (!identity) continue;
        identities.push_back(std::move(*identity));
        attempt.identities.push_back(&identities.back());
        enqueues.push_back(i);
      } else if (auto* complete = std::get_if<TaskComplete>(&operation)) {
        attempt.successes.push_back({complete->execution, complete->version, &complete->result});
        completes.push_back(i);
      } else if (auto* claim = std::get_if<TaskClaim>(&operation); claim && claim_ids.insert(claim->id).second) {
        if (claim->takes == core::Takes::ready) add_takes(*claim, attempt, /*limited=*/false);
        else add_ask(*claim, attempt);
        claims.push_back(i);
      }
    }
    if (!attempt.identities.empty() || !attempt.successes.empty() || !attempt.takes.empty() || !attempt.asks.empty()) {
      Attempted done = tables_.attempt(attempt, batch_.now);
      note_winners(attempt, done);
      note_successes(completes, done);
      note_claims(claims, done);
    }
    claim_limited(claims);
    claims_ = std::move(claims);
  }

  void note_winners(const Attempt& attempt, const Attempted& done) {
    for (std::size_t k = 0; k < attempt.identities.size(); ++k) {
      if (!done.identity_won[k]) continue;
      ++blind_rows_;
      rows_.identities.load(attempt.identities[k]->id, *attempt.identities[k]);
    }
  }

  void note_successes(const std::vector<std::size_t>& completes, const Attempted& done) {
    for (std::size_t k = 0; k < completes.size(); ++k) {
      if (!done.success_applied[k]) continue;
      ++blind_rows_;
      const auto& complete = std::get<TaskComplete>(*batch_.operations[completes[k]]);
      rows_.ended.push_back(complete.execution);
      answer(completes[k], core::EndAnswer{Status::succeeded, false, {}});
    }
  }

  void add_takes(const TaskClaim& claim, Attempt& attempt, bool limited) const {
    for (const auto& want : claim.lanes)
      if (want.limited == limited && want.limit > 0) attempt.takes.push_back(take(claim, want.lane, want.limit, 0));
  }

  static void add_ask(const TaskClaim& claim, Attempt& attempt) {
    const bool fresh = claim.takes == core::Takes::fresh;
    attempt.asks.push_back({claim.id, fresh ? std::optional(claim.session) : std::nullopt});
  }

  Take take(const TaskClaim& claim, core::LaneId lane, std::int32_t limit, std::uint32_t set_flags) const {
    return {claim.id,  lane,          claim.pool,    limit,
            set_flags, claim.session, &claim.worker, add_saturated(batch_.now, claim.lease)};
  }

  // What the blind takes brought, in the order of the claims. A repeat stays open: core answers it from its record.
  void note_claims(std::vector<std::size_t>& claims, Attempted& done) {
    std::size_t k = 0, ask = 0;
    std::erase_if(claims, [&](std::size_t i) {
      const auto& claim = std::get<TaskClaim>(*batch_.operations[i]);
      ClaimAnswer result;
      if (claim.takes != core::Takes::ready) {
        const Attempted::Asked asked = done.asked[ask++];
        if (asked != Attempted::Asked::repeated) answer(i, std::move(result));
        return asked != Attempted::Asked::open;
      }
      bool repeated = false;
      for (const auto& want : claim.lanes) {
        if (want.limited || want.limit <= 0) continue;
        repeated = repeated || done.repeated[k];
        append(result, std::move(done.taken[k++]));
      }
      if (repeated && !result.tasks.empty()) throw made_meanwhile();
      if (!repeated) answer(i, std::move(result));
      return repeated;
    });
  }

  // The record came between two looks for it: the first run of the claim was committed just now.
  static TablesError made_meanwhile() {
    return {Applied::Kind::retry, make_error(ErrorCode::StoreBusy, "store: the claim was made meanwhile")};
  }

  void append(ClaimAnswer& result, std::vector<core::ClaimedTask> tasks) {
    blind_rows_ += static_cast<std::int32_t>(tasks.size());
    for (auto& task : tasks) result.tasks.push_back(std::move(task));
  }

  // Before a lane grants anything its claim is looked up: a repeat spends nothing, whatever the lane has left.
  void read_limited(std::vector<std::size_t>& claims) {
    Needs needs;
    for (std::size_t i : claims) {
      const auto& claim = std::get<TaskClaim>(*batch_.operations[i]);
      for (const auto& want : claim.lanes) {
        if (!want.limited || claim.takes != core::Takes::ready) continue;
        core::want(rows_.lanes, want.lane, needs.lanes);
        core::want(rows_.leases, claim.id, needs.leases);
      }
    }
    read(needs);
    std::erase_if(claims, [&](std::size_t i) {
      const auto& claim = std::get<TaskClaim>(*batch_.operations[i]);
      if (!core::peek(rows_.leases, claim.id)) return false;
      const auto* taken = std::get_if<ClaimAnswer>(&batch_.answers[i]);
      if (taken && !taken->tasks.empty()) throw made_meanwhile();
      open_[i] = true;
      return true;
    });
  }

  void claim_limited(std::vector<std::size_t>& claims) {
    read_limited(claims);
    for (std::size_t i : claims) {
      const auto& claim = std::get<TaskClaim>(*batch_.operations[i]);
      if (!std::holds_alternative<ClaimAnswer>(batch_.answers[i])) answer(i, ClaimAnswer{});
      auto& result = std::get<ClaimAnswer>(batch_.answers[i]);
      for (const auto& want : claim.lanes)
        if (want.limited && want.limit > 0 && claim.takes == core::Takes::ready) claim_from(claim, want, result);
      in_lane_order(claim, result);
      // Now: a later operation of this batch may end what was just claimed, timer and all.
      core::record_claim(rows_, claim, result.tasks, batch_.now);
    }
  }

  // A claim also gets what was enqueued before it in this batch, as far as the lanes held less than it asked for.
  void finish_claims() {
    for (std::size_t i : claims_) {
      const auto& claim = std::get<TaskClaim>(*batch_.operations[i]);
      auto& result = std::get<ClaimAnswer>(batch_.answers[i]);
      std::unordered_set<ExecutionId> before;
      for (const auto& [index, id] : fresh_)
        if (index < i) before.insert(id);
      for (const auto& want : claim.lanes) {
        if (want.limited || claim.pool == core::Pool::alone || claim.takes == core::Takes::nothing || before.empty())
          continue;
        const auto has = std::count_if(result.tasks.begin(), result.tasks.end(),
                                       [&](const auto& task) { return task.execution.lane == want.lane; });
        std::vector<core::ClaimedTask> taken;
        core::claim_fresh(rows_, claim, want.lane, want.limit - static_cast<std::int32_t>(has), before, batch_.now,
                          taken);
        core::record_claim(rows_, claim, taken, batch_.now);
        std::move(taken.begin(), taken.end(), std::back_inserter(result.tasks));
      }
    }
  }

  // Unlimited lanes were taken first; the answer keeps the order in which the lanes were asked for.
  static void in_lane_order(const TaskClaim& claim, ClaimAnswer& result) {
    if (claim.lanes.size() < 2) return;
    const auto position = [&](const core::ClaimedTask& task) {
      return std::find_if(claim.lanes.begin(), claim.lanes.end(),
                          [&](const auto& want) { return want.lane == task.execution.lane; }) -
             claim.lanes.begin();
    };
    std::sort(result.tasks.begin(), result.tasks.end(), [&](const auto& a, const auto& b) {
      const auto at_a = position(a), at_b = position(b);
      if (at_a != at_b) return at_a < at_b;
      const core::Execution &x = a.execution, &y = b.execution;
      return std::tie(x.priority, x.scheduled_at, x.id) < std::tie(y.priority, y.scheduled_at, y.id);
    });
  }

  void claim_from(const TaskClaim& claim, const TaskClaim::Want& want, ClaimAnswer& result) {
    const core::Lane* lane = rows_.lanes.find(want.lane);
    if (!lane) return;
    core::Lane after = *lane;
    const core::Grant grant = core::grant_claims(after, want.limit, batch_.now);
    if (grant.count == 0) {
      if (grant.retry_at) result.retry_at.push_back({want.lane, *grant.retry_at});
      return;
    }
    Attempt attempt;
    attempt.takes.push_back(take(claim, want.lane, grant.count, lane->config.concurrency ? core::kCountedInLane : 0));
    Attempted done = tables_.attempt(attempt, batch_.now);
    if (done.repeated[0]) throw made_meanwhile();
    const auto taken = static_cast<std::int32_t>(done.taken[0].size());
    append(result, std::move(done.taken[0]));
    // With tokens left over it is work that lacks, not the limit that holds.
    if (taken == grant.count && grant.retry_at) result.retry_at.push_back({want.lane, *grant.retry_at});
    if (taken == 0) return;
    core::return_grant(after, grant.count - taken);
    rows_.lanes.update(want.lane) = after;
  }

  void decide_rest() {
    for (int round = 0;; ++round) {
      Needs needs;
      for (std::size_t i = 0; i < open_.size(); ++i)
        if (open_[i]) core::gather(*batch_.operations[i], rows_, batch_.now, needs);
      if (!read(needs)) break;
      check_rounds(round);
    }
    for (std::size_t i = 0; i < open_.size(); ++i)
      if (open_[i]) decide_one(i);
  }

  void decide_one(std::size_t i) {
    const core::Operation& operation = *batch_.operations[i];
    for (int round = 0;; ++round) {  // an earlier decision of this batch may have changed what this one needs
      Needs needs;
      core::gather(operation, rows_, batch_.now, needs);
      if (!read(needs)) break;
      check_rounds(round);
    }
    if (auto* within = std::get_if<core::EnqueueWithin>(&operation)) {
      if (auto ran = run_function(*within); !ran) {
        refused_whole_ = true;
        return answer(i, std::move(ran).error());
      }
    }
    Answer decided = core::decide(operation, rows_, batch_.now);
    core::for_each_start(operation, [&](const TaskEnqueue& start) { fresh_.emplace_back(i, start.id); });
    if (std::holds_alternative<core::EnqueueWithin>(operation) && std::holds_alternative<Error>(decided))
      refused_whole_ = true;
    if (recall_ && made_now(operation, decided))
      decided = make_error(ErrorCode::UnknownCommit, "what came of it was changed since by others; ask again");
    answer(i, std::move(decided));
  }

  // An operation that is decided again finds what it made. What it would make only now it did not make then, when the
  // store stood otherwise; and nothing of a recall is written.
  bool made_now(const core::Operation& operation, const Answer& decided) const {
    const auto inserted = [](const auto& map, const auto& key) {
      const auto it = map.all().find(key);
      return it != map.all().end() && it->second.change == core::Change::inserted;
    };
    if (const auto* made = std::get_if<EnqueueAnswer>(&decided))
      return made->created && inserted(rows_.executions, made->execution);
    if (const auto* made = std::get_if<core::RedriveAnswer>(&decided))
      return made->created && inserted(rows_.executions, made->successor);
    // Without a dedupe id nothing tells a signal that was learned from one that was never sent.
    if (const auto* made = std::get_if<core::SignalAnswer>(&decided))
      return made->created &&
             inserted(rows_.mail, core::MailKey{made->run, batch_.now, std::get<core::RunSignal>(operation).mail});
    const auto* deliver = std::get_if<core::TaskDeliver>(&operation);
    return deliver != nullptr && inserted(rows_.leases, deliver->claim);
  }

  Result<void> run_function(const core::EnqueueWithin& within) {
    if (batch_.operations.size() != 1)
      throw TablesError{Applied::Kind::halve, make_error(ErrorCode::Internal, "must run alone")};
    void* connection = tables_.native_connection();
    if (!connection)
      return make_error(ErrorCode::Unsupported,
                        "this store has no writer connection to share; on PostgreSQL use semel.enqueue");
    blind_rows_ += 1;  // the function may have written
    return within.function ? within.function(connection) : Result<void>{};
  }

  bool read(Needs& needs) {
    if (needs.empty()) return false;
    tidy(needs);
    for (const auto& name : needs.lane_names) created_names_.push_back(name);
    tables_.read(needs, rows_, batch_.now);
    return true;
  }

  static void check_rounds(int round) {
    if (round > kMaxReads) throw core::InvariantBroken("a decision never has all the rows it asks for");
  }

  void answer(std::size_t i, Answer value) {
    batch_.answers[i] = std::move(value);
    open_[i] = false;
  }

  template <class Map>
  static std::int32_t changed(const Map& map) {
    return static_cast<std::int32_t>(std::count_if(
        map.all().begin(), map.all().end(), [](const auto& slot) { return slot.second.change != core::Change::none; }));
  }
  template <class Set>
  static std::int32_t moved(const Set& set) {
    return static_cast<std::int32_t>(std::count_if(
        set.all().begin(), set.all().end(), [](const auto& row) { return row.second != core::Presence::loaded; }));
  }

  std::int32_t count_changes() const {
    std::int32_t created = 0;
    for (const auto& name : created_names_)
      if (auto it = rows_.lane_names.find(name); it != rows_.lane_names.end()) ++created;
    return changed(rows_.identities) + changed(rows_.executions) + changed(rows_.payloads) + changed(rows_.lanes) +
           changed(rows_.key_slots) + changed(rows_.groups) + changed(rows_.sessions) + changed(rows_.leases) +
           changed(rows_.attention) + changed(rows_.inbox) + changed(rows_.runs) + changed(rows_.mail) +
           changed(rows_.signals) + moved(rows_.watches) + static_cast<std::int32_t>(rows_.history.size()) +
           moved(rows_.ready) + moved(rows_.blocked) + moved(rows_.timers) +
           static_cast<std::int32_t>(rows_.ledger.size() + rows_.ledger_forgotten.size() + rows_.tenant_names.size()) +
           created + (rows_.prune_batch_marks ? 1 : 0);
  }

  void publish() {
    batch_.wakes = wakes_of(rows_);
    batch_.notes = std::move(rows_.notes);
  }

  Tables& tables_;
  Batch& batch_;
  RowCache rows_;
  std::vector<bool> open_;                                  // not answered yet
  std::vector<std::size_t> claims_;                         // operations that are claims of this run, repeats apart
  std::vector<std::pair<std::size_t, ExecutionId>> fresh_;  // what may have been created, and by which operation
  std::vector<core::LaneName> created_names_;
  std::int32_t blind_rows_ = 0;
  bool recall_ = false;         // an earlier run of this batch committed: only read the answers back
  bool refused_whole_ = false;  // a transactional enqueue was refused: leave nothing
};

}  // namespace

Wakes wakes_of(const RowCache& rows) {
  Wakes wakes;
  for (const auto& [row, presence] : rows.ready.all()) {
    auto& lanes = row.pool == core::Pool::alone ? wakes.alone : row.pool == core::Pool::runs ? wakes.runs : wakes.lanes;
    if (presence == core::Presence::added && (lanes.empty() || lanes.back() != row.lane)) lanes.push_back(row.lane);
  }
  for (const auto& [row, presence] : rows.timers.all())
    if (presence == core::Presence::added) {
      wakes.timer_at = row.due_at;
      break;
    }
  wakes.ended = rows.ended;
  wakes.cancel_requested = rows.cancel_requested;
  wakes.mailed = rows.mailed;
  return wakes;
}

namespace {

// It looks for rows itself, and goes on without one of them.
bool is_about_many(const core::Operation& operation) {
  return std::holds_alternative<TaskClaim>(operation) || std::holds_alternative<core::SessionsExpire>(operation) ||
         std::holds_alternative<core::TimersFire>(operation) || std::holds_alternative<core::BlockedSweep>(operation) ||
         std::holds_alternative<core::RetentionSweep>(operation) ||
         std::holds_alternative<core::KeysExpire>(operation) || std::holds_alternative<core::LedgerSweep>(operation);
}

Applied run_once(Tables& tables, Batch& batch) {
  batch.answers.clear();
  batch.notes.clear();
  batch.wakes = {};
  batch.rows_written = 0;
  try {
    Run(tables, batch).execute();
    return {};
  } catch (TablesError& error) {
    tables.rollback();
    return {error.kind, std::move(error.error)};
  } catch (const std::exception& broken) {  // a row that is damaged, or one that others say is there
    tables.rollback();
    return {Applied::Kind::halve, make_error(ErrorCode::Internal, broken.what())};
  }
}

}  // namespace

Applied run_batch(Tables& tables, Batch& batch) {
  Applied applied = run_once(tables, batch);
  if (applied.kind != Applied::Kind::halve || batch.operations.size() != 1 || !is_about_many(*batch.operations[0]))
    return applied;
  tables.pass_over_damage(true);
  applied = run_once(tables, batch);
  tables.pass_over_damage(false);
  return applied;
}

}  // namespace semel::store::batch
