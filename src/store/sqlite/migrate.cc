#include "store/sqlite/migrate.h"

#include <array>

#include "base/failpoint.h"
#include "store/sqlite/backup.h"
#include "store/sqlite/errors.h"
#include "store/sqlite/sql.gen.h"

namespace semel::store::sqlite {
namespace {

// "SEML": marks the file as ours.
constexpr std::int64_t kApplicationId = 0x53454d4c;

Error not_ours(const std::string& path) {
  return make_error(ErrorCode::StoreCorrupt,
                    "sqlite:" + path + " is a SQLite database of another program; choose a file of its own");
}

// `text` may set meta.min_binary itself; a step that says nothing keeps the file usable by older binaries.
void apply_step(Connection& db, const SchemaStep& step) {
  db.execute("BEGIN IMMEDIATE");
  try {
    db.execute(std::string(step.text).c_str());
    SEMEL_FP("sqlite.migrate.before_commit");
    Statement mark(db.raw(),
                   "INSERT INTO meta VALUES ('schema_version', ?1) ON CONFLICT (name) DO UPDATE SET value = ?1");
    mark.bind(step.number).run();
    if (step.number == 1) {
      db.execute("INSERT INTO meta VALUES ('min_binary', 1)");
      db.execute(("PRAGMA application_id = " + std::to_string(kApplicationId)).c_str());
    }
    db.execute("COMMIT");
    SEMEL_FP("sqlite.migrate.after_commit");
  } catch (const SqliteFailure&) {
    if (db.in_transaction()) db.execute("ROLLBACK");
    throw;
  }
}

}  // namespace

std::span<const SchemaStep> schema_steps() {
  static constexpr auto steps = [] {
    std::array<SchemaStep, sql::kMigrations.size()> out{};
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i] = {sql::kMigrations[i].number, sql::kMigrations[i].name, sql::kMigrations[i].text};
    }
    return out;
  }();
  return steps;
}

Result<SchemaState> read_schema(Connection& db, const std::string& path) {
  SchemaState state;
  const std::int64_t mark = db.integer("PRAGMA application_id");
  const std::int64_t tables = db.integer("SELECT count(*) FROM sqlite_schema");
  if (tables == 0 && mark == 0) {
    state.empty = true;
    return state;
  }
  if (mark != kApplicationId || db.integer("SELECT count(*) FROM sqlite_schema WHERE name = 'meta'") == 0)
    return not_ours(path);
  state.version = static_cast<int>(db.integer("SELECT value FROM meta WHERE name = 'schema_version'"));
  state.min_binary = static_cast<int>(db.integer("SELECT value FROM meta WHERE name = 'min_binary'"));
  return state;
}

Result<void> check_schema(const SchemaState& state, int known, const std::string& path) {
  if (state.min_binary <= known) return {};
  return make_error(ErrorCode::SchemaTooNew, "sqlite:" + path + " has schema " + std::to_string(state.version) +
                                                 ", which needs a binary of schema " +
                                                 std::to_string(state.min_binary) + " or newer; this one knows " +
                                                 std::to_string(known) +
                                                 ": install the newer semel, nothing was changed");
}

Result<void> migrate(Connection& db, const std::string& path, std::span<const SchemaStep> steps) {
  const Result<SchemaState> state = read_schema(db, path);
  if (!state) return state.error();
  const int known = steps.empty() ? 0 : steps.back().number;
  if (auto fits = check_schema(*state, known, path); !fits) return fits;
  if (state->version >= known) return {};
  if (!state->empty) {
    SEMEL_FP("sqlite.migrate.before_backup");
    const std::string copy = path + ".before-" + std::to_string(known);
    if (auto copied = backup_connection(db, copy); !copied) return copied;
    SEMEL_FP("sqlite.migrate.after_backup");
  }
  for (const SchemaStep& step : steps) {
    if (step.number > state->version) apply_step(db, step);
  }
  return {};
}

}  // namespace semel::store::sqlite
