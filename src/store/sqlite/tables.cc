#include "store/sqlite/tables.h"

#include <algorithm>
#include <utility>

#include "base/failpoint.h"
#include "store/sqlite/row_codec.h"

namespace semel::store::sqlite {
namespace {

batch::TablesError corrupt(std::string what) {
  return {Applied::Kind::fatal, make_error(ErrorCode::StoreCorrupt, std::move(what))};
}

}  // namespace

bool SqliteTables::begin(const BatchId& id, Instant, bool recheck) {
  return guarded([&] {
    SEMEL_FP("sqlite.begin");
    db_.prepared("batch_begin").run();
    if (!recheck) return false;
    Statement& find = db_.prepared("batch_mark_get").bind(id);
    const bool found = find.step();
    find.reset();
    return found;
  });
}

batch::Attempted SqliteTables::attempt(const batch::Attempt& attempt, Instant now) {
  return guarded([&] {
    batch::Attempted out;
    out.identity_won.reserve(attempt.identities.size());
    Statement& insert = db_.prepared("identity_insert_or_ignore");
    for (const core::Identity* identity : attempt.identities) {
      bind_identity(insert, *identity);
      out.identity_won.push_back(insert.run() == 1);
    }
    out.success_applied.reserve(attempt.successes.size());
    Statement& succeed = db_.prepared("execution_succeed");
    for (const batch::PlainSuccess& one : attempt.successes) {
      succeed.bind(one.execution, one.version, now, Blob(*one.result), core::kEndMarks);
      out.success_applied.push_back(succeed.run() == 1);
    }
    for (const batch::Take& one : attempt.takes) {
      out.repeated.push_back(has_record(one.claim));
      out.taken.push_back(out.repeated.back() ? std::vector<core::ClaimedTask>{} : take(one, now));
    }
    for (const batch::Ask& one : attempt.asks) {
      using Asked = batch::Attempted::Asked;
      const bool over = one.session && !session_lives(*one.session, now);
      out.asked.push_back(has_record(one.claim) ? Asked::repeated : over ? Asked::session_over : Asked::open);
    }
    SEMEL_FP("sqlite.attempt.after");
    return out;
  });
}

bool SqliteTables::has_record(const ClaimId& claim) {
  Statement& find = db_.prepared("lease_get").bind(claim);
  const bool found = find.step();
  find.reset();
  return found;
}

bool SqliteTables::session_lives(const SessionId& session, Instant now) {
  Statement& find = db_.prepared("session_get").bind(session);
  const ResetAtEnd reset{find};
  return find.step() && read_session(find).expires_at > now;
}

std::vector<core::ClaimedTask> SqliteTables::take(const batch::Take& take, Instant now) {
  std::vector<core::ClaimedTask> taken;
  taken.reserve(std::min<std::size_t>(static_cast<std::size_t>(take.limit), 64));
  std::int64_t last_priority = 0, last_due_at = 0;
  Statement& find = db_.prepared("ready_take").bind(take.lane, take.pool, take.limit);
  const ResetAtEnd reset{find};
  ExecutionId last;
  std::size_t found = 0;
  for (; find.step(); ++found) {
    auto task = unless_damaged_([&] {
      core::ClaimedTask one{read_execution(find), read_payload(find, kExecutionColumns)};
      const core::Execution& e = one.execution;
      const bool waits = e.kind == Kind::workflow && e.status == Status::running && !e.session;
      if (e.status != Status::queued && !waits)
        throw core::InvariantBroken("InvariantBroken: table ready, row " + e.id.to_string() +
                                    ": its execution is not queued");
      return one;
    });
    constexpr int kAfter = kExecutionColumns + kPayloadColumns;
    last_priority = find.integer(kAfter);
    last_due_at = find.integer(kAfter + 1);
    find.get(0, last);
    // A damaged one leaves the ready rows with the others: nobody comes upon it again.
    if (task) taken.push_back(*std::move(task));
  }
  if (found == 0) return taken;
  // They are the first ones of their lane: one walk removes them.
  Statement& remove = db_.prepared("ready_remove_through");
  const auto removed = remove.bind(take.lane, take.pool, last_priority, last_due_at, last).run();
  if (static_cast<std::size_t>(removed) != found) throw corrupt("a ready row has no execution or no payload");
  Statement& claim = db_.prepared("execution_claim");
  for (auto& [e, payload] : taken) {
    const bool run = e.kind == Kind::workflow;
    e.status = run ? Status::running : Status::claimed;
    ++e.version;
    e.flags = (e.flags | take.set_flags) & ~core::kNoHandler;
    if (!run || !e.started_at) {
      ++e.attempt;
      e.started_at = now;
    }
    e.lease_expires_at = take.lease_expires_at;
    e.session = take.session;
    e.worker = *take.worker;
    claim.bind(e.id, e.status, e.version, e.attempt, e.flags, e.started_at, e.lease_expires_at, e.session, e.worker)
        .run();
  }
  return taken;
}

void SqliteTables::commit(const BatchId& id, Instant now, bool changed) {
  guarded([&] {
    if (changed && marks_) db_.prepared("batch_mark_insert").bind(id, now).run();
    if (changed) clock_note_.before_commit(db_, now);
    SEMEL_FP("sqlite.commit.before");
    if (changed && before_sync_ != nullptr && *before_sync_) (*before_sync_)();
    // Without changed pages this writes nothing and syncs nothing.
    db_.prepared("batch_commit").run();
    if (changed) clock_note_.after_commit(now);
    SEMEL_FP("sqlite.commit.after");
  });
}

void SqliteTables::rollback() noexcept {
  // After SQLITE_FULL and some I/O errors SQLite has rolled back by itself, and a second ROLLBACK would be an error.
  if (!db_.in_transaction()) return;
  try {
    db_.execute("ROLLBACK");
  } catch (const SqliteFailure&) {
  }
}

void SqliteTables::expect_one(int changed, const char* what) {
  if (changed == 1) return;
  throw batch::TablesError{
      Applied::Kind::halve,
      make_error(ErrorCode::Internal, std::string(what) + " changed under the batch that read it")};
}

}  // namespace semel::store::sqlite
