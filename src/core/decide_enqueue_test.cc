#include <gtest/gtest.h>

#include "core/decide.h"
#include "core/duplicate_matrix.h"

namespace semel::core {
namespace {

constexpr Instant kNow = from_micros(1'000'000'000);

ExecutionId id_of(std::uint8_t n) {
  ExecutionId id;
  id.bytes[15] = n;
  return id;
}

Fingerprint print_of(std::uint8_t n) {
  Fingerprint fingerprint;
  fingerprint.bytes[0] = n;
  return fingerprint;
}

Execution stored(const DuplicateCell& cell) {
  Execution e;
  e.id = id_of(1);
  e.lane = LaneId{1};
  e.kind = cell.kind;
  e.name = "charge";
  e.identity = "pay-1";
  e.fingerprint = print_of(1);
  e.status = *cell.found;
  if (is_terminal(e.status)) e.completed_at = kNow - std::chrono::seconds(5);
  if (e.status == Status::succeeded) e.result = "42";
  return e;
}

TaskEnqueue request(const DuplicateCell& cell) {
  TaskEnqueue q;
  q.id = id_of(2);
  q.lane = LaneId{1};
  q.kind = cell.kind;
  q.name = cell.same_name ? "charge" : "refund";
  q.identity = "pay-1";
  q.fingerprint = print_of(cell.same_args && cell.same_name ? 1 : 2);
  q.reuse = cell.reuse;
  q.on_duplicate = cell.on_duplicate;
  q.match_args = cell.match_args;
  return q;
}

RowCache rows_for(const DuplicateCell& cell) {
  RowCache rows;
  const IdentityKey key{kDefaultTenant, identity_space(cell.kind), "pay-1"};
  rows.executions.load(id_of(2), std::nullopt);
  if (!cell.found) {
    rows.identities.load(key, std::nullopt);
    return rows;
  }
  rows.identities.load(key, Identity{key, id_of(1), cell.kind, false, {}, {}, 1});
  rows.executions.load(id_of(1), stored(cell));
  if (cell.kind == Kind::workflow) rows.runs.load(id_of(1), Run{id_of(1), 1, 0, {}, "", ""});
  return rows;
}

std::string describe(const DuplicateCell& cell) {
  return std::string(to_string(cell.kind)) + " found " +
         (cell.found ? std::string(to_string(*cell.found)) : "nothing") + " reuse " +
         std::string(to_string(cell.reuse)) + " on_duplicate " + std::string(to_string(cell.on_duplicate)) +
         " match_args " + (cell.match_args ? "yes" : "no") + " same args " + (cell.same_args ? "yes" : "no") +
         " same name " + (cell.same_name ? "yes" : "no") + ": " + cell.rule;
}

void check(const DuplicateCell& cell, const Answer& answer, RowCache& rows) {
  if (const auto* error = std::get_if<Error>(&answer)) {
    ASSERT_EQ(cell.answer.outcome, DuplicateOutcome::error) << error->to_json();
    EXPECT_EQ(cell.answer.error, error->code) << error->to_json();
    EXPECT_EQ(nullptr, rows.executions.find(id_of(2)));
    return;
  }
  const auto& enqueued = std::get<EnqueueAnswer>(answer);
  ASSERT_NE(cell.answer.outcome, DuplicateOutcome::error);
  EXPECT_EQ(cell.answer.outcome == DuplicateOutcome::created, enqueued.created);
  const Execution* fresh = rows.executions.find(id_of(2));
  ASSERT_EQ(enqueued.created, fresh != nullptr);
  if (!fresh) return;
  EXPECT_EQ(cell.answer.links_previous, fresh->previous == std::optional(id_of(1)));
  if (!cell.found) return;
  const Execution* old = rows.executions.find(id_of(1));
  if (!cell.answer.terminates_live) EXPECT_EQ(*old, stored(cell));  // terminal rows stay, byte for byte
  else EXPECT_TRUE(old->status == Status::cancelled && old->close_reason == CloseReason::terminated);
}

TEST(DecideEnqueue, EveryCellOfTheDuplicateMatrix) {
  const auto cells = expand_duplicate_matrix();
  ASSERT_GT(cells.size(), 500u);
  for (const DuplicateCell& cell : cells) {
    SCOPED_TRACE(describe(cell));
    if (cell.kind == Kind::task && cell.on_duplicate == OnDuplicate::replace) continue;  // refused before it gets here
    RowCache rows = rows_for(cell);
    const Operation operation = request(cell);
    Needs needs;
    gather(operation, rows, kNow, needs);
    ASSERT_TRUE(needs.empty());
    check(cell, decide(operation, rows, kNow), rows);
  }
}

TEST(DecideEnqueue, RepeatFindsItsOwnRowAndCreatesNothing) {  // D4
  RowCache rows;
  TaskEnqueue q;
  q.id = id_of(2);
  q.name = "charge";
  Execution own;
  own.id = q.id;
  own.name = q.name;
  own.status = Status::running;
  rows.executions.load(q.id, own);
  const Answer answer = decide(Operation{q}, rows, kNow);
  EXPECT_TRUE(std::get<EnqueueAnswer>(answer).created);
  EXPECT_EQ(Status::running, std::get<EnqueueAnswer>(answer).status);
  EXPECT_TRUE(rows.ready.all().empty());
}

TEST(DecideEnqueue, RefusalGivesBackAnIdWonBlindly) {
  RowCache rows;
  TaskEnqueue q;
  q.id = id_of(2);
  q.name = "charge";
  q.identity = "pay-1";
  q.group = GroupId{};
  rows.executions.load(q.id, std::nullopt);
  rows.identities.load(identity_to_win(q)->id, *identity_to_win(q));
  rows.groups.load(*q.group, std::nullopt);
  EXPECT_EQ(ErrorCode::InvalidArgument, std::get<Error>(decide(Operation{q}, rows, kNow)).code);
  EXPECT_EQ(nullptr, rows.identities.find(identity_to_win(q)->id));
}

}  // namespace
}  // namespace semel::core
