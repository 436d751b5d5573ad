#include "store/postgres/schema.h"

#include "store/postgres/sql.gen.h"

namespace semel::store::postgres {
namespace {

// A migration that older binaries cannot live with raises this to its own number.
constexpr int kMinBinary = 4;

constexpr std::string_view kServer =
    "select pg_is_in_recovery(), current_setting('fsync'), current_setting('full_page_writes'), "
    "getdatabaseencoding()::text, current_setting('server_version_num')::integer, current_setting('server_version')";
constexpr int kOldestServer = 130000;

struct Version {
  int schema = 0;  // 0: none
  int min_binary = 0;
};

Version read_version(Connection& connection) {
  connection.queue_text("select to_regclass('semel.meta') is not null");
  if (!connection.run()[0].flag(0, 0)) return {};
  connection.queue_text("select schema_version, min_binary from semel.meta");
  const auto rows = connection.run();
  if (rows[0].count() != 1) return {};
  return {rows[0].i32(0, 0), rows[0].i32(0, 1)};
}

Error too_new(const Version& found) {
  return make_error(ErrorCode::SchemaTooNew, "store: the schema is version " + std::to_string(found.schema) +
                                                 " and needs a binary that knows version " +
                                                 std::to_string(found.min_binary) + "; this one knows " +
                                                 std::to_string(known_schema()) + ": install a newer semel");
}

void apply_missing(Connection& connection, int from) {
  for (const auto& migration : sql::kMigrations)
    if (migration.number > from) connection.script(std::string(migration.text));
  connection.queue_text(
      "insert into semel.meta (schema_version, min_binary, created_at) "
      "values ($1::integer, $2::integer, (extract(epoch from clock_timestamp()) * 1000000)::bigint) "
      "on conflict (one) do update set schema_version = excluded.schema_version, "
      "min_binary = excluded.min_binary",
      Params().i32(known_schema()).i32(kMinBinary));
}

}  // namespace

int known_schema() { return sql::kMigrations.back().number; }

Result<void> check_server(Connection& connection, const PgOptions& options) {
  try {
    connection.queue_text(kServer);
    const auto rows = connection.run();
    const Rows& r = rows[0];
    if (r.flag(0, 0))
      return make_error(ErrorCode::StoreReadOnly, "store: the server is a replica; point the store URL at the primary");
    if ((r.bytes(0, 1) != "on" || r.bytes(0, 2) != "on") && !options.unsafe)
      return make_error(ErrorCode::InvalidConfig,
                        "store: the server runs with fsync or full_page_writes off and would lose acknowledged work; "
                        "switch them on, or accept the loss with --unsafe");
    if (r.bytes(0, 3) != "UTF8")
      return make_error(ErrorCode::InvalidConfig,
                        "store: the database's encoding is " + r.text(0, 3) + "; create one with ENCODING 'UTF8'");
    if (r.i32(0, 4) < kOldestServer)
      return make_error(ErrorCode::Unsupported,
                        "store: PostgreSQL " + r.text(0, 5) + " is too old; 13 or newer is needed");
    return {};
  } catch (const PgError& error) {
    return to_error(error);
  }
}

Result<void> check_schema(Connection& connection) {
  try {
    const Version found = read_version(connection);
    if (found.min_binary > known_schema()) return too_new(found);
    if (found.schema >= known_schema()) return {};
    const std::string what = found.schema == 0 ? "the database holds no semel schema"
                                               : "the schema is version " + std::to_string(found.schema) +
                                                     ", version " + std::to_string(known_schema()) + " is needed";
    return make_error(ErrorCode::SchemaTooOld,
                      "store: " + what + "; run `semel migrate --store URL` or start with --migrate");
  } catch (const PgError& error) {
    return to_error(error);
  }
}

Result<void> check_demand(const Rows& meta) {
  if (meta.count() != 1) return {};
  const Version found{meta.i32(0, 0), meta.i32(0, 1)};
  if (found.min_binary > known_schema()) return too_new(found);
  return {};
}

Result<void> migrate(Connection& connection) {
  try {
    connection.queue_text("begin");
    connection.queue_text("select set_config('statement_timeout', '0', true)");
    connection.queue_text("select pg_advisory_xact_lock(x'73656d656c00'::bigint)");
    connection.run();
    const Version found = read_version(connection);
    if (found.min_binary > known_schema()) {
      connection.queue_text("rollback");
      connection.run();
      return too_new(found);
    }
    if (found.schema < known_schema()) apply_missing(connection, found.schema);
    connection.queue_text("commit");
    connection.run();
    return {};
  } catch (const PgError& error) {
    Error told = to_error(error);
    if (!error.lost) {
      try {
        connection.queue_text("rollback");
        connection.run();
      } catch (const PgError&) {
      }
    }
    return told;
  }
}

}  // namespace semel::store::postgres
