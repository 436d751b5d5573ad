// Statements prepared on empty tables must keep index plans when the tables have grown (docs/adr/0002-pinned-plans.md).
#include <gtest/gtest.h>

#include "store/postgres/statements.h"
#include "testing/temp_postgres.h"

namespace semel::store::postgres {
namespace {

using testing::TempPostgres;

constexpr const char* kLoad = R"SQL(
do $$
declare id constant text := 'lpad(to_hex(n), 12, ''0'') || ''7000a000'' || lpad(to_hex(n), 12, ''0'')';
begin
  execute 'insert into semel.execution (id, created_at, scheduled_at, tenant, lane, priority, max_attempts, kind, name, identity, encoding, policy, args)
           select (' || id || ')::uuid, n, n, 1, 1, 100, 3, 0, ''charge'', ''t'' || n, 0, '''', ''{}'' from generate_series(1, 20000) n';
  execute 'insert into semel.ready select 1, 0, 100, n, (' || id || ')::uuid from generate_series(1, 20000) n';
  execute 'insert into semel.timer select n, 0, (' || id || ')::uuid, 0 from generate_series(1, 20000) n';
  execute 'insert into semel.blocked select 1, ''k'', 100, n, (' || id || ')::uuid from generate_series(1, 20000) n';
  execute 'insert into semel.identity (tenant, space, key, target, target_kind, tombstone, revision)
           select 1, 0, ''t'' || n, (' || id || ')::uuid, 0, false, 1 from generate_series(1, 20000) n';
end $$)SQL";

std::string plan_of(Connection& c, std::string_view name) {
  const auto quoted = std::string(name);
  c.queue_text(
      "select coalesce(string_agg('null', ','), '') from pg_prepared_statements p, unnest(p.parameter_types) "
      "where p.name = '" +
      quoted + "'");
  const std::string nulls = c.run()[0].text(0, 0);
  c.queue_text("explain execute " + quoted + (nulls.empty() ? "" : "(" + nulls + ")"));
  const auto rows = c.run();
  std::string plan;
  for (int r = 0; r < rows[0].count(); ++r) plan += rows[0].text(r, 0) + "\n";
  return plan;
}

bool is_command(std::string_view name) {
  return name == "begin" || name == "commit" || name == "rollback" || name == "listeners";
}

class Plans : public ::testing::TestWithParam<bool> {};

TEST_P(Plans, PreparedOnEmptyTablesStillUseTheIndexAfterGrowth) {
  TempPostgres database;
  PgOptions options = database.options();
  const auto connection = Connection::open(options, Role{"semel writer", options.writer_lock_timeout, false}).value();
  connection->prepare(writer_statements()).value();
  for (const Statement& statement : writer_statements())
    if (!is_command(statement.name)) plan_of(*connection, statement.name);  // fixed now, on empty tables
  database.query(kLoad);
  if (GetParam()) database.query("analyze semel.execution, semel.ready, semel.identity, semel.timer");

  for (const Statement& statement : writer_statements()) {
    if (is_command(statement.name)) continue;
    const std::string plan = plan_of(*connection, statement.name);
    for (const char* bad : {"Seq Scan", "Hash Join", "Merge Join", "Join Filter", "Bitmap", "Sort"})
      EXPECT_EQ(plan.find(bad), std::string::npos) << statement.name << " has " << bad << "\n" << plan;
  }
  for (const char* name :
       {"take", "execution_succeed", "execution_update", "execution_lock", "identity_lock", "ready_delete"})
    EXPECT_NE(plan_of(*connection, name).find("Index Scan"), std::string::npos) << plan_of(*connection, name);
}

INSTANTIATE_TEST_SUITE_P(Writer, Plans, ::testing::Values(false, true),
                         [](const auto& info) { return info.param ? "WithStatistics" : "WithoutStatistics"; });

}  // namespace
}  // namespace semel::store::postgres
