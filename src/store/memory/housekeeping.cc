// docs/rules.md, "Sessions and housekeeping".
#include <algorithm>

#include "base/uuid.h"
#include "core/error_text.h"
#include "store/memory/model.h"

namespace semel::store::memory {

using core::AttemptEnd;
using core::Execution;
using core::Identity;
using core::SweepAnswer;
using core::TimerKind;

namespace {

bool is_over(const Tables& t, SessionId id, Instant now) {
  const core::Session* session = find_row(t.sessions, id);
  return !session || session->expires_at <= now;
}

// Spreads one draw over many executions: the last 8 bytes of the id, big endian.
std::uint64_t tail_bits(const ExecutionId& id) {
  std::uint64_t out = 0;
  for (std::size_t i = 8; i < 16; ++i) out = out << 8 | id.bytes[i];
  return out;
}

}  // namespace

core::Answer Model::run(const core::SessionOpen& q) {
  ++effects_.changes;
  const Instant expires_at = add_saturated(now_, q.lease);
  const auto [it, fresh] = t_.sessions.try_emplace(q.session, core::Session{q.session, q.worker, now_, expires_at});
  it->second.expires_at = expires_at;
  return core::SessionAnswer{expires_at};
}

core::Answer Model::run(const core::SessionRenew& q) {
  if (is_over(t_, q.session, now_)) return make_error(ErrorCode::LeaseLost, "the session is over; open a new one");
  ++effects_.changes;
  return core::SessionAnswer{t_.sessions.at(q.session).expires_at = add_saturated(now_, q.lease)};
}

core::Answer Model::run(const core::SessionClose& q) {
  if (core::Session* session = find_row(t_.sessions, q.session)) {
    ++effects_.changes;
    session->expires_at = now_;
  }
  return core::SessionAnswer{now_};
}

core::Answer Model::run(const core::LeaseForget& q) {
  for (const ClaimId& claim : q.claims) effects_.changes += static_cast<std::int32_t>(t_.leases.erase(claim));
  return core::NoAnswer{};
}

core::Answer Model::run(const core::SessionsExpire& q) {
  SweepAnswer answer;
  for (auto it = t_.sessions.begin(); it != t_.sessions.end();) {
    bool holds_lease = false;
    for (const auto& [claim, lease] : t_.leases) holds_lease = holds_lease || lease.session == it->first;
    const bool over = it->second.expires_at <= now_ && !holds_lease;
    effects_.changes += over;
    it = over ? t_.sessions.erase(it) : std::next(it);
  }
  for (auto it = t_.leases.begin(); it != t_.leases.end();) {
    core::Lease& lease = it->second;
    if (!is_over(t_, lease.session, now_)) {
      ++it;
      continue;
    }
    if (answer.looked_at >= q.limit) break;
    std::vector<core::LeasedExecution> kept;
    for (const core::LeasedExecution& held : lease.executions) {
      ++answer.looked_at;
      Execution* e = find_row(t_.executions, held.execution);
      if (!e || e->version != held.version || !is_held(*e)) continue;
      const bool voided = lease.session == SessionId{};
      if (!voided && e->lease_expires_at && *e->lease_expires_at > now_) {
        kept.push_back(held);
        continue;
      }
      ++answer.changed;
      if (!voided) {
        lose_lease(*e);
        continue;
      }
      if (e->kind == Kind::task) --e->attempt;
      requeue(*e, AttemptEnd::released, now_);
    }
    effects_.changes += kept.size() != lease.executions.size();
    lease.executions = std::move(kept);
    it = lease.executions.empty() ? t_.leases.erase(it) : std::next(it);
  }
  answer.more = answer.looked_at >= q.limit;
  return answer;
}

core::Answer Model::run(const core::TimersFire& q) {
  SweepAnswer answer;
  std::vector<core::TimerRow> due;
  for (const core::TimerRow& row : t_.timers.all()) {
    if (row.due_at > now_ || static_cast<std::int32_t>(due.size()) >= q.limit) break;
    due.push_back(row);
  }
  for (const core::TimerRow& row : due) {
    const core::TimerRow* present = t_.timers.find(row.execution, row.kind, row.version);
    if (!present || *present != row) continue;  // an earlier one ended the execution
    ++answer.looked_at;
    t_.timers.remove(row.execution, row.kind, row.version);
    ++effects_.changes;
    Execution* e = find_row(t_.executions, row.execution);
    if (!e || is_terminal(e->status)) continue;
    const bool given_back = e->kind == Kind::workflow && e->status == Status::running && !e->session;
    if (row.kind == TimerKind::run) {
      core::Event fired;
      fired.kind = core::EventKind::timer_fired;
      fired.command = row.version;
      send_mail(e->id, fired, mail_number(row.version));
    } else if (row.kind == TimerKind::due && is_parked(*e) && e->scheduled_at == row.due_at) {
      unpark(*e, row.due_at);
    } else if (row.kind == TimerKind::due && (e->status == Status::queued || given_back) &&
               e->scheduled_at == row.due_at) {
      enters(*e);
    } else if (row.kind == TimerKind::timeout) {
      e->error = std::string(core::kTimedOutError);
      close_from_outside(*e, core::EventKind::run_timed_out);
      end(*e, Status::timed_out, AttemptEnd::timed_out);
    } else if (row.kind == TimerKind::attempt_timeout && is_held(*e) && e->version == row.version) {
      fail_attempt(*e, {"AttemptTimeout",
                        core::kAttemptTimeoutError,
                        AttemptEnd::attempt_timeout,
                        true,
                        {},
                        q.random_bits ^ tail_bits(e->id)});
    } else {
      continue;
    }
    ++answer.changed;
  }
  answer.more = answer.looked_at >= q.limit;
  return answer;
}

core::Answer Model::run(const core::BlockedSweep& q) {
  SweepAnswer answer;
  std::vector<core::BlockedRow> waiting;
  for (auto it = t_.blocked.lower_bound({q.lane, "", INT32_MIN, Instant::min(), {}});
       it != t_.blocked.end() && it->lane == q.lane && static_cast<std::int32_t>(waiting.size()) < q.limit; ++it)
    waiting.push_back(*it);
  for (const core::BlockedRow& row : waiting) {
    ++answer.looked_at;
    Execution& e = t_.executions.at(row.execution);
    if (key_is_full(e)) continue;
    t_.blocked.erase(row);
    take_slot(e);
    put_ready(e);
    ++effects_.changes;
    ++answer.changed;
  }
  answer.more = answer.looked_at >= q.limit;
  return answer;
}

Duration Model::retention_of(const Execution& e) const {
  const auto& config = t_.lanes.at(e.lane).config;
  if (config.retention) return *config.retention;
  return std::chrono::hours(24) * (e.kind == Kind::task ? 7 : 30);
}

bool Model::may_be_removed(const Execution& e) const {
  if (!is_terminal(e.status)) return false;
  const Execution* parent = e.parent_run ? find_row(t_.executions, *e.parent_run) : nullptr;
  if (parent && !is_terminal(parent->status)) return false;
  Instant from = *e.completed_at;
  if (e.status == Status::dead_lettered) {
    const core::Attention& attention = t_.attention.at(e.id);
    if (!attention.successor && !attention.discarded_at) return false;
    if (attention.discarded_at) from = *attention.discarded_at;
  }
  return add_saturated(from, retention_of(e)) <= now_;
}

void Model::remove_retained(ExecutionId id) {
  const Execution e = t_.executions.at(id);
  if (e.idempotency_key) {
    Identity* key = find_row(t_.identities, key_row_key(e));
    if (key && key->target == id) {
      if (key->expires_at && *key->expires_at <= now_) {
        t_.identities.erase(key_row_key(e));
      } else {
        key->tombstone = true;
        key->revision += 1;
      }
    }
  }
  if (e.identity) {
    const Identity* row = find_row(t_.identities, id_row_key(e));
    if (row && row->target == id) t_.identities.erase(id_row_key(e));
  }
  t_.attention.erase(id);
  t_.payloads.erase(id);
  forget_run(e);
  t_.executions.erase(id);
}

core::Answer Model::run(const core::RetentionSweep& q) {
  SweepAnswer answer;
  answer.next_after = q.after;
  const ExecutionId before =
      base::uuidv7_lower_bound<ExecutionId>(std::max(Instant{}, add_saturated(now_, -q.min_age)));
  for (auto it = t_.executions.upper_bound(q.after); it != t_.executions.end() && it->first < before;) {
    if (answer.looked_at >= q.limit) break;
    const ExecutionId id = it->first;
    const bool removable = may_be_removed(it->second);
    ++it;
    ++answer.looked_at;
    answer.next_after = id;
    if (!removable) continue;
    remove_retained(id);
    ++effects_.changes;
    ++answer.changed;
  }
  answer.more = answer.looked_at >= q.limit;
  return answer;
}

core::Answer Model::run(const core::KeysExpire& q) {
  SweepAnswer answer;
  for (auto it = t_.identities.begin(); it != t_.identities.end();) {
    const auto& expires_at = it->second.expires_at;
    if (!expires_at || *expires_at > now_) {
      ++it;
      continue;
    }
    if (answer.looked_at >= q.limit) break;
    it = t_.identities.erase(it);
    ++answer.looked_at;
    ++answer.changed;
    ++effects_.changes;
  }
  answer.more = answer.looked_at >= q.limit;
  return answer;
}

core::Answer Model::run(const core::LedgerSweep& q) {
  SweepAnswer answer;
  answer.next_key = q.after;
  for (auto it = t_.ledger.upper_bound(q.after); it != t_.ledger.end() && answer.looked_at < q.limit;) {
    answer.next_key = it->first;
    ++answer.looked_at;
    const bool lately = std::ranges::any_of(
        it->second.recent, [&](const auto& note) { return note.at + std::chrono::hours(30 * 24) > now_; });
    const auto execution = ExecutionId::parse(it->first.key);
    const bool there = t_.identities.contains(it->first) || (execution && t_.executions.contains(*execution));
    if (lately || there) {
      ++it;
      continue;
    }
    it = t_.ledger.erase(it);
    ++answer.changed;
    ++effects_.changes;
  }
  answer.more = answer.looked_at >= q.limit;
  return answer;
}

// Only a database has callers with transactions of their own.
core::Answer Model::run(const core::InboxFeed&) { return core::InboxAnswer{}; }

core::Answer Model::run(const core::LedgerAdd& q) {
  for (const core::LedgerNote& note : q.notes) {
    ++effects_.changes;
    LedgerEntry& entry = t_.ledger[{note.tenant, note.space, note.key}];
    entry.counts[note.rule] += 1;
    entry.recent.push_front(note);
    if (entry.recent.size() > static_cast<std::size_t>(core::kLedgerRecent)) entry.recent.pop_back();
  }
  return core::NoAnswer{};
}

}  // namespace semel::store::memory
