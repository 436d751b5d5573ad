#include <algorithm>
#include <map>

#include "core/transition.h"
#include "store/snapshot_text.h"
#include "store/sqlite/row_codec.h"
#include "store/sqlite/store.h"

namespace semel::store::sqlite {
namespace {

// One snapshot for all statements of a check.
class ReadTransaction {
 public:
  explicit ReadTransaction(Connection& db) : db_(db) { db_.execute("BEGIN"); }
  ~ReadTransaction() {
    try {
      db_.execute("ROLLBACK");
    } catch (const SqliteFailure&) {
    }
  }

 private:
  Connection& db_;
};

void check_pages(Connection& db, std::vector<std::string>& out) {
  Statement check(db.raw(), "PRAGMA integrity_check(20)");
  while (check.step()) {
    const std::string line(check.bytes(0));
    if (line != "ok") out.push_back("file: " + line);
  }
}

void check_rows(Connection& db, std::vector<std::string>& out) {
  for (const auto& [name, text] : all_statements()) {
    if (!name.starts_with("verify_") || name == "verify_holders") continue;
    Statement& check = db.prepared(name);
    while (check.step()) {
      std::string line;
      if (!check.is_null(0)) {
        ExecutionId id;
        check.get(0, id);
        line = id.to_string() + " ";
      }
      out.push_back(line + std::string(check.bytes(1)));
    }
  }
}

void check_leases(Connection& db, std::vector<std::string>& out) {
  std::map<ExecutionId, std::vector<std::int32_t>> recorded;
  Statement leases(db.raw(), "SELECT * FROM lease");
  while (leases.step()) try {
      for (const core::LeasedExecution& one : read_lease(leases).executions)
        recorded[one.execution].push_back(one.version);
    } catch (const core::InvariantBroken&) {
      // Named with the other values.
    }
  Statement& holders = db.prepared("verify_holders");
  while (holders.step()) {
    ExecutionId id;
    std::int32_t version = 0;
    holders.get(0, id);
    holders.get(1, version);
    const std::vector<std::int32_t>& versions = recorded[id];
    if (std::find(versions.begin(), versions.end(), version) == versions.end()) {
      out.push_back(id.to_string() + " is claimed, but no lease record holds its version " + std::to_string(version));
    }
  }
}

std::string ledger_line(const Statement& row) {
  core::IdentityKey id;
  core::LedgerRule rule{};
  row.get(0, id.tenant);
  row.get(1, id.space);
  row.get(2, id.key);
  row.get(3, rule);
  return to_line(id, rule, row.integer(4));
}

struct Print {
  const char* sql;
  std::string (*line)(const Statement& row);
};

const Print kPrints[] = {
    {"SELECT id, name FROM tenant",
     [](const Statement& r) { return to_line(core::TenantId{static_cast<std::int32_t>(r.integer(0))}, r.bytes(1)); }},
    {"SELECT * FROM lane", [](const Statement& r) { return to_line(read_lane(r)); }},
    {"SELECT * FROM identity", [](const Statement& r) { return to_line(read_identity(r)); }},
    {"SELECT * FROM execution", [](const Statement& r) { return to_line(read_execution(r)); }},
    {"SELECT * FROM payload", [](const Statement& r) { return to_line(read_payload(r)); }},
    {"SELECT * FROM ready", [](const Statement& r) { return to_line(read_ready(r)); }},
    {"SELECT * FROM blocked", [](const Statement& r) { return to_line(read_blocked(r)); }},
    {"SELECT * FROM timer", [](const Statement& r) { return to_line(read_timer(r)); }},
    {"SELECT * FROM key_slot", [](const Statement& r) { return to_line(read_key_slot(r)); }},
    {"SELECT * FROM session", [](const Statement& r) { return to_line(read_session(r)); }},
    {"SELECT * FROM lease", [](const Statement& r) { return to_line(read_lease(r)); }},
    {"SELECT * FROM grp", [](const Statement& r) { return to_line(read_group(r)); }},
    {"SELECT * FROM attention", [](const Statement& r) { return to_line(read_attention(r)); }},
    {"SELECT * FROM run", [](const Statement& r) { return to_line(read_run(r)); }},
    {"SELECT * FROM history", [](const Statement& r) { return to_line(read_history(r)); }},
    {"SELECT * FROM mail", [](const Statement& r) { return to_line(read_mail(r)); }},
    {"SELECT * FROM watch", [](const Statement& r) { return to_line(read_watch(r)); }},
    {"SELECT * FROM signal", [](const Statement& r) { return to_line(read_signal(r)); }},
    {"SELECT tenant, space, key, rule, count FROM ledger", ledger_line},
    {"SELECT tenant, space, key, rule, at, winner FROM ledger_note",
     [](const Statement& r) { return to_line(read_note(r)); }},
};

// Rows that the codec refuses, each named by what it says.
void check_values(Connection& db, std::vector<std::string>& out) {
  for (const Print& print : kPrints) {
    Statement rows(db.raw(), print.sql);
    while (rows.step()) try {
        (void)print.line(rows);
      } catch (const core::InvariantBroken& broken) {
        out.emplace_back(broken.what());
      }
  }
}

}  // namespace

Result<std::vector<std::string>> SqliteStore::verify() {
  return reading(
      [](Connection& db) {
        std::vector<std::string> out;
        const ReadTransaction snapshot(db);
        check_pages(db, out);
        check_values(db, out);
        check_rows(db, out);
        check_leases(db, out);
        std::sort(out.begin(), out.end());
        return out;
      },
      false);
}

Result<std::string> SqliteStore::snapshot() {
  return reading(
      [](Connection& db) {
        const ReadTransaction snapshot(db);
        std::vector<std::string> out;
        for (const Print& print : kPrints) {
          Statement rows(db.raw(), print.sql);
          while (rows.step()) out.push_back(print.line(rows));
        }
        return to_snapshot(std::move(out));
      },
      false);
}

}  // namespace semel::store::sqlite
