#include "store/postgres/tables.h"

#include <algorithm>
#include <exception>
#include <numeric>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/failpoint.h"
#include "base/mutant.h"
#include "store/postgres/codec.h"
#include "store/postgres/guarded.h"
#include "store/postgres/hints.h"
#include "store/postgres/statements.h"

namespace semel::store::postgres {

using batch::TablesError;

namespace {
constexpr int kCarefulBatches = 50;
constexpr std::size_t kHeldAtMost = 64;  // ids; of more, the server works on the first while the rest is encoded
}  // namespace

TablesError to_tables_error(const PgError& error, std::optional<std::size_t> commit_at) {
  using Kind = Applied::Kind;
  const std::string_view state = error.sqlstate;
  const Error told = to_error(error);
  // A word of the server about a statement before COMMIT tells that COMMIT did not run. Silence, and what a pooler says
  // of a dead server, tell nothing.
  const bool hearsay = error.foreign || state.empty() || state.starts_with("08");
  if (commit_at && (hearsay || (error.lost && error.at >= *commit_at)))
    return {Kind::unknown,
            make_error(ErrorCode::UnknownCommit, "store: connection lost during commit: " + error.message)};
  if (error.lost || hearsay) return {Kind::retry, told};
  // Cancelled while COMMIT waited for a standby: committed here, and perhaps nowhere else.
  if (state == kCancelledWait || (state == "57014" && commit_at && error.at >= *commit_at))
    return {Kind::unknown, make_error(ErrorCode::UnknownCommit, "store: " + error.message)};
  if (state == kAnotherHistory)
    return {Kind::another_history, make_error(ErrorCode::StoreUnavailable, "store: another store is here now")};
  if (state == "55P03") return {Kind::locked, told};
  if (state == "40001" || state == "40P01" || state == "SM001" || state == "57014") return {Kind::retry, told};
  if (state.starts_with("57P") || state == "25P03") return {Kind::retry, told};
  if (state == "23505" && error.constraint == "batch_mark_pkey")
    return {Kind::unknown, make_error(ErrorCode::UnknownCommit, "store: this batch ran before")};
  // Another node created the same row between our read and our write: the next run finds it.
  if (state == "23505" && error.constraint != "execution_pkey") return {Kind::retry, told};
  if (state.starts_with("53") || state == "25006") return {Kind::unavailable, told};
  if (told.code == ErrorCode::StoreCorrupt) return {Kind::fatal, told};
  if (told.code == ErrorCode::SchemaTooOld) return {Kind::unavailable, told};
  return {Kind::halve, told};
}

std::size_t PostgresTables::queue(const Statement& statement, Params params) {
  if (holding_) {
    held_.emplace_back(&statement, std::move(params));
    return 0;
  }
  if (!std::exchange(begun_, true)) {
    db_.queue(statements::begin);
    Params check;
    db_.queue(statements::history_check, add_history(check, history_));
  }
  return db_.queue(statement, params);
}

void PostgresTables::send_held() {
  holding_ = false;
  for (auto& [statement, params] : std::exchange(held_, {})) queue(*statement, std::move(params));
}

bool PostgresTables::begin(const BatchId& id, Instant now, bool recheck) {
  begun_ = wrote_ = marked_ = hoping_ = looked_ = trusting_ = holding_ = guessed_wrong_ = false;
  held_.clear();
  commit_at_.reset();
  foreseen_.reset();
  hint_.clear();
  handed_ = nullptr;
  entered_.clear();
  if (!recheck) return false;
  try {
    const std::size_t at = queue(statements::batch_mark_win, Params().bytes(id).i64(now));
    const bool won = db_.run()[at].count() == 1;
    marked_ = wrote_ = won;
    return !won;
  } catch (const PgError& error) {
    // As long as the first run has no end, its outcome stays unknown.
    TablesError told = to_tables_error(error, std::nullopt);
    if (told.kind == Applied::Kind::locked || told.kind == Applied::Kind::retry || told.kind == Applied::Kind::halve)
      told.kind = Applied::Kind::unknown;
    throw told;
  }
}

Params key_params(const std::vector<core::IdentityKey>& keys) {
  Params p;
  p.i32s(keys, [](const auto& k) { return k.tenant; })
      .i16s(keys, [](const auto& k) { return k.space; })
      .texts(keys, [](const auto& k) -> const std::string& { return k.key; });
  return p;
}

void PostgresTables::look_back(const PgError& error) {
  if (trusting_ && (error.sqlstate == "22012" || error.constraint == "lease_pkey")) guessed_wrong_ = mistrust_ = true;
  if (!hoping_ || error.sqlstate != "23505" || error.constraint != "identity_pkey") return;
  guessed_wrong_ = true;
  careful_ = kCarefulBatches;
}

// More is needed than a look gives: rows to lock, or a change to write.
void PostgresTables::give_up_look(bool again) {
  guessed_wrong_ = true;
  locking_ = again ? kCarefulBatches : 1;
  throw TablesError{Applied::Kind::retry, make_error(ErrorCode::StoreBusy, "store: a look was not enough")};
}

void PostgresTables::queue_identities(const std::vector<const core::Identity*>& sorted, const Statement& statement) {
  const auto put = [](auto& to, const core::Identity* i) {
    to.i32(i->id.tenant).i16(i->id.space).text(i->id.key).uuid(i->target).i16(i->target_kind).flag(i->tombstone);
    to.bytea(i->fingerprint).i64(i->expires_at).i32(i->revision);
  };
  Params p;
  if (sorted.size() == 1 && &statement == &statements::identity_insert) {
    put(p, sorted.front());
    queue(statements::identity_insert_one, std::move(p));
  } else {
    queue(statement, std::move(p.records(db_.number_of_type(RowType::new_identity), sorted, put)));
  }
}

namespace {

// Indices of a list in ascending order of a key; equal keys keep their order.
template <class List, class Less>
std::vector<std::size_t> ordered(const List& list, Less less) {
  std::vector<std::size_t> order(list.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    if (less(list[a], list[b])) return true;
    return !less(list[b], list[a]) && a < b;
  });
  return order;
}

// Marks, for every id the server returned, the first of the given ones that carries it.
template <class Id>
std::vector<char> first_matches(const Rows& rows, const std::vector<Id>& given) {
  std::vector<char> out(given.size(), 0);
  std::unordered_map<Id, int> returned;
  for (int r = 0; r < rows.count(); ++r) ++returned[rows.id<Id>(r, 0)];
  for (std::size_t i = 0; i < given.size(); ++i) {
    const auto it = returned.find(given[i]);
    if (it == returned.end() || it->second == 0) continue;
    --it->second;
    out[i] = 1;
  }
  return out;
}

Params take_params(const batch::Take& take, const core::ReadyRow& from, Instant now) {
  Params p;
  p.i32(take.lane).i16(take.pool).i32(take.limit).i32(take.set_flags).i32(core::kNoHandler).i64(now);
  p.i64(take.lease_expires_at).bytes(take.session).bytes(*take.worker);
  p.i32(from.priority).i64(from.due_at).bytes(from.execution).bytes(take.claim);
  return p;
}

void in_claim_order(std::vector<core::ClaimedTask>& tasks) {
  std::sort(tasks.begin(), tasks.end(), [](const core::ClaimedTask& a, const core::ClaimedTask& b) {
    return std::tie(a.execution.priority, a.execution.scheduled_at, a.execution.id) <
           std::tie(b.execution.priority, b.execution.scheduled_at, b.execution.id);
  });
}

std::vector<core::ClaimedTask> read_taken(const batch::UnlessDamaged& sound, const Rows& rows) {
  std::vector<core::ClaimedTask> out;
  out.reserve(static_cast<std::size_t>(rows.count()));
  for (int r = 0; r < rows.count(); ++r) {
    auto task = sound([&] {
      core::ClaimedTask one;
      one.execution = read_execution(rows, r);
      one.payload = read_payload(rows, r, one.execution.id, kExecutionWidth);
      return one;
    });
    // A damaged one is claimed by nobody: it has left the ready rows, and no record holds it.
    if (task) out.push_back(*std::move(task));
  }
  in_claim_order(out);
  return out;
}

}  // namespace

// Every one is good, as far as anybody knows; write() has it checked. None: ask.
std::optional<std::vector<batch::Attempted::Asked>> PostgresTables::trust(const std::vector<batch::Ask>& asks) {
  trusting_ = !std::exchange(mistrust_, false) &&
              std::all_of(asks.begin(), asks.end(), [](const batch::Ask& ask) { return ask.session.has_value(); });
  if (!trusting_) return std::nullopt;
  return std::vector(asks.size(), batch::Attempted::Asked::open);
}

std::vector<batch::Attempted::Asked> PostgresTables::read_asked(const std::vector<batch::Ask>& asks,
                                                                const Rows& records, const Rows& sessions) {
  using Asked = batch::Attempted::Asked;
  std::unordered_set<ClaimId> recorded;
  std::unordered_set<SessionId> live;
  for (int r = 0; r < records.count(); ++r) recorded.insert(records.id<ClaimId>(r, 0));
  for (int r = 0; r < sessions.count(); ++r) live.insert(sessions.id<SessionId>(r, 0));
  std::vector<Asked> out;
  for (const batch::Ask& ask : asks)
    out.push_back(recorded.contains(ask.claim)                  ? Asked::repeated
                  : ask.session && !live.contains(*ask.session) ? Asked::session_over
                                                                : Asked::open);
  return out;
}

// True: every id is known and foreseen_ tells what it points at.
bool PostgresTables::look(std::vector<core::IdentityKey> keys) {
  if (begun_ || locking_ > 0) {
    locking_ = std::max(0, locking_ - 1);
    return false;
  }
  Params p = key_params(keys);
  const std::size_t at = db_.queue(statements::target_look, add_history(p, history_));
  Rows rows = std::move(db_.run()[at]);
  if (static_cast<std::size_t>(rows.count()) != keys.size()) return false;
  foreseen_ = Targets{std::move(keys), std::move(rows), {}, false};
  return looked_ = true;
}

// A claim that began behind the front and got too little asks once more, from there.
std::vector<core::ClaimedTask> PostgresTables::finish_take(const batch::Take& take, const core::ReadyRow& from,
                                                           const Rows& rows, Instant now) {
  std::vector<core::ClaimedTask> taken = read_taken(unless_damaged_, rows);
  const core::ReadyRow front = Fronts::very_front(take.lane, take.pool);
  if (taken.size() == static_cast<std::size_t>(take.limit)) {
    const core::Execution& last = taken.back().execution;
    fronts_.reached({take.lane, take.pool, last.priority, last.scheduled_at, last.id},
                    from == front ? std::optional(now) : std::nullopt);
    return taken;
  }
  fronts_.forget(take.lane, take.pool);
  if (from == front) return taken;
  batch::Take rest = take;
  rest.limit -= static_cast<std::int32_t>(taken.size());
  const std::size_t at = queue(statements::take, take_params(rest, front, now));
  for (auto& task : read_taken(unless_damaged_, db_.run()[at])) taken.push_back(std::move(task));
  in_claim_order(taken);
  return taken;
}

batch::Attempted PostgresTables::attempt(const batch::Attempt& attempt, Instant now) {
  return guarded([&] {
    send_held();
    foreseen_.reset();
    const bool blind = attempt.successes.empty() && attempt.takes.empty();
    const bool only_ids = blind && attempt.asks.empty();
    std::size_t identities_at = 0, successes_at = 0, targets_at = 0;
    std::vector<core::IdentityKey> keys;
    if (!attempt.identities.empty()) {
      std::vector<const core::Identity*> sorted;
      for (const std::size_t i : ordered(attempt.identities, [](auto* a, auto* b) { return a->id < b->id; }))
        sorted.push_back(attempt.identities[i]);
      if (expect_duplicates_)
        for (const core::Identity* identity : sorted)
          if (keys.empty() || keys.back() != identity->id) keys.push_back(identity->id);
      if (!keys.empty() && only_ids && look(keys))
        return batch::Attempted{std::vector<char>(sorted.size(), 0), {}, {}, {}, {}};
      const bool repeats = std::adjacent_find(sorted.begin(), sorted.end(),
                                              [](auto* a, auto* b) { return a->id == b->id; }) != sorted.end();
      hoping_ = careful_ == 0 && !repeats;
      const auto asked = hoping_ && blind ? trust(attempt.asks) : std::nullopt;
      holding_ = asked && !begun_ && sorted.size() <= kHeldAtMost;
      queue_identities(sorted, hoping_ ? statements::identity_insert : statements::identity_win);
      if (asked) {  // nothing to wait for
        wrote_ = true;
        return batch::Attempted{std::vector<char>(sorted.size(), 1), {}, {}, {}, *asked};
      }
      identities_at = db_.queued() - 1;
    }
    if (!attempt.successes.empty()) {
      const auto& all = attempt.successes;
      const auto order = ordered(all, [](const auto& a, const auto& b) { return a.execution < b.execution; });
      Params p;
      p.records(db_.number_of_type(RowType::success), order,
                [&](Record& r, std::size_t i) { r.uuid(all[i].execution).i32(all[i].version).bytea(*all[i].result); });
      successes_at = queue(statements::execution_succeed, p.i64(now).i32(core::kEndMarks));
    }
    std::vector<std::size_t> takes_at;
    std::vector<core::ReadyRow> from;
    for (const batch::Take& take : attempt.takes) {
      from.push_back(keys.empty() ? fronts_.where(take.lane, take.pool, now)
                                  : Fronts::very_front(take.lane, take.pool));
      takes_at.push_back(queue(statements::take, take_params(take, from.back(), now)));
    }
    std::size_t records_at = 0;  // behind the takes: one that found no record may be told of it here, never the reverse
    if (!attempt.takes.empty())
      records_at = queue(statements::lease_known, Params().uuids(attempt.takes, [](const auto& t) { return t.claim; }));
    std::size_t asks_at = 0;
    if (!attempt.asks.empty()) {
      std::vector<SessionId> sessions;
      for (const batch::Ask& ask : attempt.asks)
        if (ask.session) sessions.push_back(*ask.session);
      asks_at = queue(statements::lease_known, Params().uuids(attempt.asks, [](const auto& a) { return a.claim; }));
      queue(statements::session_share, Params().uuids(sessions, [](const auto& s) { return s; }).i64(now));
    }
    if (!keys.empty()) targets_at = queue_targets(keys);  // last: it must see what the others changed
    SEMEL_FP("pg.attempt.before");
    std::vector<Rows> rows = db_.run();

    batch::Attempted out;
    if (!attempt.identities.empty()) {
      std::vector<ExecutionId> targets;
      for (const core::Identity* i : attempt.identities) targets.push_back(i->target);
      if (hoping_) {
        out.identity_won.assign(targets.size(), 1);
      } else {
        const auto won = static_cast<std::size_t>(rows[identities_at].count());
        out.identity_won = first_matches(rows[identities_at], targets);
        expect_duplicates_ = won * 2 < targets.size();
        careful_ = won < targets.size() ? kCarefulBatches : std::max(0, careful_ - 1);
      }
      wrote_ = wrote_ || std::count(out.identity_won.begin(), out.identity_won.end(), 1) > 0;
      if (!keys.empty())
        foreseen_ = Targets{std::move(keys), std::move(rows[targets_at]), std::move(rows[targets_at + 1])};
    }
    if (!attempt.successes.empty()) {
      std::vector<ExecutionId> ids;
      for (const batch::PlainSuccess& s : attempt.successes) ids.push_back(s.execution);
      out.success_applied = first_matches(rows[successes_at], ids);
      wrote_ = wrote_ || rows[successes_at].count() > 0;
    }
    if (!attempt.asks.empty()) out.asked = read_asked(attempt.asks, rows[asks_at], rows[asks_at + 1]);
    std::unordered_set<ClaimId> records;
    for (int r = 0; r < (takes_at.empty() ? 0 : rows[records_at].count()); ++r)
      records.insert(rows[records_at].id<ClaimId>(r, 0));
    for (std::size_t i = 0; i < takes_at.size(); ++i) {
      out.repeated.push_back(records.contains(attempt.takes[i].claim));
      out.taken.push_back(finish_take(attempt.takes[i], from[i], rows[takes_at[i]], now));
      wrote_ = wrote_ || !out.taken.back().empty();
    }
    return out;
  });
}

// In the transaction itself: told once it is durable, or never.
void PostgresTables::queue_hand_over() {
  if (!handed_) return;
  for (const auto& [backend, text] : encode_hand_over(*handed_))
    queue(statements::hand_over, Params().bytes(text).bytes(private_channel(channel_, backend)));
}

void PostgresTables::commit(const BatchId& id, Instant now, bool changed) {
  guarded([&] {
    if (!begun_ && held_.empty() && !changed) return;
    if (!changed && !wrote_) {  // only locks to give back: nothing to sync, nobody waits
      db_.queue(statements::rollback);
      db_.send();
      begun_ = false;
      return;
    }
    Params mark;
    add_history(mark.bytes(id).i64(now), history_);
    if (changed && !marked_ && !holding_) queue(statements::batch_mark_insert, std::move(mark));
    queue_hand_over();
    const auto end = holding_ ? Connection::End::commits : Connection::End::says_nothing;
    if (std::exchange(holding_, false)) {  // nothing was sent before; first what raises in another history
      db_.queue(statements::batch_mark_insert, mark);
      for (auto& [statement, params] : std::exchange(held_, {})) db_.queue(*statement, params);
      commit_at_ = db_.queued();
    } else {
      commit_at_ = queue(statements::commit);
    }
    SEMEL_FP("pg.commit.before");
    if (hints_ && !hint_.empty()) db_.run_then(statements::notify, Params().bytes(hint_).bytes(channel_), end);
    else db_.run(end);
    begun_ = false;
    commit_at_.reset();
    fronts_.entered(entered_);
    SEMEL_FP("pg.commit.after");
  });
}

// Writes, so that its COMMIT waits as that of the first run would have: one that wrote nothing waits for no standby.
void PostgresTables::commit_recall(const BatchId& id) {
  if (SEMEL_MUTANT("recall-without-commit")) return rollback();
  guarded([&] {
    queue(statements::batch_mark_touch, Params().bytes(id));
    commit_at_ = queue(statements::commit);
    db_.run();
    begun_ = false;
    commit_at_.reset();
  });
}

void PostgresTables::rollback() noexcept {
  commit_at_.reset();
  fronts_.forget_all();  // it may have come further than what was taken
  if (!std::exchange(begun_, false) || db_.lost()) return;
  try {
    // In a segment of its own: behind a statement that fails it would be skipped.
    if (db_.queued() > 0) db_.send();
    db_.queue(statements::rollback);
    db_.run();
  } catch (const PgError&) {  // lost: the server rolls back by itself
  }
}

}  // namespace semel::store::postgres
