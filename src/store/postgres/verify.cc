#include <algorithm>

#include "core/transition.h"
#include "store/postgres/codec.h"
#include "store/postgres/sql.gen.h"
#include "store/postgres/store.h"
#include "store/snapshot_text.h"

namespace semel::store::postgres {
namespace {

constexpr std::string_view kSnapshot = "begin isolation level repeatable read read only";

// These walk whole tables, so the planner may do as it likes; a minute per statement.
void let_it_plan(Connection& c) {
  c.queue_text(
      "select set_config('enable_seqscan', 'on', true), set_config('enable_hashjoin', 'on', true), "
      "set_config('enable_mergejoin', 'on', true), set_config('enable_sort', 'on', true), "
      "set_config('enable_bitmapscan', 'on', true), set_config('enable_material', 'on', true), "
      "set_config('plan_cache_mode', 'auto', true)");
}

struct Print {
  std::string_view sql;
  std::string (*line)(const Rows& rows, int row);
};

const Print kPrints[] = {
    {"select id, name from semel.tenant",
     [](const Rows& r, int i) { return to_line(core::TenantId{r.i32(i, 0)}, r.bytes(i, 1)); }},
    {"select id, tenant, queue, retention, rate_count, rate_per, concurrency, concurrency_per_key, dead_letter, "
     "max_attempts, "
     "retry, paused, running_count, tokens_micro, tokens_at, revision from semel.lane",
     [](const Rows& r, int i) { return to_line(read_lane(r, i)); }},
    {"select tenant, space, key, target, target_kind, tombstone, fingerprint, expires_at, revision from semel.identity",
     [](const Rows& r, int i) { return to_line(read_identity(r, i)); }},
    {"select {execution} from semel.execution e", [](const Rows& r, int i) { return to_line(read_execution(r, i)); }},
    {"select id, encoding, args, policy from semel.execution",
     [](const Rows& r, int i) { return to_line(read_payload(r, i, r.id<ExecutionId>(i, 0), 1)); }},
    {"select lane, pool, priority, due_at, execution from semel.ready",
     [](const Rows& r, int i) { return to_line(read_ready(r, i)); }},
    {"select lane, concurrency_key, priority, due_at, execution from semel.blocked",
     [](const Rows& r, int i) { return to_line(read_blocked(r, i)); }},
    {"select due_at, kind, execution, version from semel.timer",
     [](const Rows& r, int i) { return to_line(read_timer(r, i)); }},
    {"select lane, concurrency_key, used from semel.key_slot",
     [](const Rows& r, int i) { return to_line(read_key_slot(r, i)); }},
    {"select id, worker, opened_at, expires_at from semel.session",
     [](const Rows& r, int i) { return to_line(read_session(r, i)); }},
    {"select id, session, executions, versions from semel.lease",
     [](const Rows& r, int i) { return to_line(read_lease(r, i)); }},
    {"select id, tenant, total, joined, ended, failed, completed, completion from semel.grp",
     [](const Rows& r, int i) { return to_line(read_group(r, i)); }},
    {"select execution, tenant, lane, status, at, discarded_at, successor from semel.attention",
     [](const Rows& r, int i) { return to_line(read_attention(r, i)); }},
    {"select execution, events, bytes, state, memo, attributes, chain from semel.run",
     [](const Rows& r, int i) { return to_line(read_run(r, i)); }},
    {"select run, first, count, at, events from semel.history",
     [](const Rows& r, int i) { return to_line(read_history(r, i)); }},
    {"select run, at, id, event from semel.mail", [](const Rows& r, int i) { return to_line(read_mail(r, i)); }},
    {"select target, run, command from semel.watch", [](const Rows& r, int i) { return to_line(read_watch(r, i)); }},
    {"select chain, name, dedupe, mail, answer from semel.signal",
     [](const Rows& r, int i) { return to_line(read_signal(r, i)); }},
    {"select tenant, space, key, rule, count from semel.ledger",
     [](const Rows& r, int i) {
       const core::IdentityKey id{core::TenantId{r.i32(i, 0)}, static_cast<core::Space>(r.i16(i, 1)), r.text(i, 2)};
       return to_line(id, static_cast<core::LedgerRule>(r.i16(i, 3)), r.i64(i, 4));
     }},
    {"select tenant, space, key, rule, at, winner from semel.ledger_note",
     [](const Rows& r, int i) { return to_line(read_note(r, i)); }},
};

// Rows that the codec refuses, each named by what it says. Page by page: a table may be larger than memory.
void check_values(Connection& c, std::vector<std::string>& out) {
  for (const Print& print : kPrints) {
    c.queue_text("declare all_rows no scroll cursor for " + std::string(print.sql));
    for (bool more = true; more;) {
      const std::size_t at = c.queue_text("fetch 10000 from all_rows");
      const Rows rows = std::move(c.run()[at]);
      more = rows.count() > 0;
      for (int r = 0; r < rows.count(); ++r) try {
          (void)print.line(rows, r);
        } catch (const core::InvariantBroken& broken) {
          out.emplace_back(broken.what());
        }
    }
    c.queue_text("close all_rows");
  }
}

}  // namespace

Result<std::vector<std::string>> PostgresReads::verify() {
  return shared_->readers.run<std::vector<std::string>>([](Connection& c) {
    c.queue_text(kSnapshot);
    let_it_plan(c);
    const std::size_t at = c.queue_text(sql::verify);
    const auto rows = c.run();
    std::vector<std::string> out;
    check_values(c, out);
    c.queue_text("rollback");
    (void)c.run();
    for (int r = 0; r < rows[at].count(); ++r) {
      std::string line = rows[at].is_null(r, 0) ? "" : rows[at].id<ExecutionId>(r, 0).to_string() + " ";
      out.push_back(line + rows[at].text(r, 1));
    }
    std::sort(out.begin(), out.end());
    return out;
  });
}

Result<std::string> PostgresReads::snapshot() {
  return shared_->readers.run<std::string>([](Connection& c) {
    c.queue_text(kSnapshot);
    for (const Print& print : kPrints) c.queue_text(print.sql);
    c.queue_text("rollback");
    const auto rows = c.run();
    std::vector<std::string> lines;
    for (std::size_t k = 0; k < std::size(kPrints); ++k)
      for (int r = 0; r < rows[k + 1].count(); ++r) lines.push_back(kPrints[k].line(rows[k + 1], r));
    return to_snapshot(std::move(lines));
  });
}

}  // namespace semel::store::postgres
