#include "tests/crash/sql.h"

#include <libpq-fe.h>
#include <sqlite3.h>

#include <algorithm>
#include <stdexcept>

namespace semel::crash {
namespace {

// Opened read-only for queries, as only one connection of a file may write and checkpoint.
class SqliteSql final : public Sql {
 public:
  explicit SqliteSql(std::string path) : path_(std::move(path)) {}

  std::vector<Row> query(const std::string& text) override {
    const auto db = open(SQLITE_OPEN_READONLY);
    sqlite3_stmt* raw = nullptr;
    if (sqlite3_prepare_v2(db.get(), text.c_str(), -1, &raw, nullptr) != SQLITE_OK) fail(db.get(), text);
    const std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> statement(raw, sqlite3_finalize);
    std::vector<Row> rows;
    int step = 0;
    while ((step = sqlite3_step(raw)) == SQLITE_ROW) {
      Row& row = rows.emplace_back();
      for (int i = 0; i < sqlite3_column_count(raw); ++i) {
        const auto* bytes = static_cast<const char*>(sqlite3_column_blob(raw, i));
        row.emplace_back(bytes ? std::string(bytes, static_cast<std::size_t>(sqlite3_column_bytes(raw, i)))
                               : std::string());
      }
    }
    if (step != SQLITE_DONE) fail(db.get(), text);
    return rows;
  }

  void run(const std::string& text) override {
    const auto db = open(SQLITE_OPEN_READWRITE);
    if (sqlite3_exec(db.get(), text.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) fail(db.get(), text);
  }

  bool is_sqlite() const override { return true; }

 private:
  using Handle = std::unique_ptr<sqlite3, int (*)(sqlite3*)>;

  Handle open(int flags) const {
    sqlite3* db = nullptr;
    const int opened = sqlite3_open_v2(path_.c_str(), &db, flags, nullptr);
    Handle handle(db, sqlite3_close);
    if (opened != SQLITE_OK) fail(db, path_);
    sqlite3_busy_timeout(db, 5000);
    return handle;
  }
  [[noreturn]] static void fail(sqlite3* db, const std::string& text) {
    throw std::runtime_error(std::string(sqlite3_errmsg(db)) + ": " + text);
  }

  std::string path_;
};

class PgSql final : public Sql {
 public:
  explicit PgSql(const std::string& url) : connection_(PQconnectdb(url.c_str()), PQfinish) {
    if (PQstatus(connection_.get()) != CONNECTION_OK) throw std::runtime_error(PQerrorMessage(connection_.get()));
  }

  std::vector<Row> query(const std::string& text) override {
    const std::unique_ptr<PGresult, void (*)(PGresult*)> result(PQexec(connection_.get(), text.c_str()), PQclear);
    const auto status = PQresultStatus(result.get());
    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK)
      throw std::runtime_error(PQerrorMessage(connection_.get()));
    std::vector<Row> rows(static_cast<std::size_t>(PQntuples(result.get())));
    for (int r = 0; r < PQntuples(result.get()); ++r)
      for (int c = 0; c < PQnfields(result.get()); ++c)
        rows[static_cast<std::size_t>(r)].emplace_back(PQgetvalue(result.get(), r, c), PQgetlength(result.get(), r, c));
    return rows;
  }
  void run(const std::string& text) override { query(text); }
  bool is_sqlite() const override { return false; }

 private:
  std::unique_ptr<PGconn, void (*)(PGconn*)> connection_;
};

std::string table(const Sql& sql, const std::string& name) { return sql.is_sqlite() ? name : "semel." + name; }

}  // namespace

std::unique_ptr<Sql> open_sql(const std::string& url) {
  if (url.starts_with("sqlite:")) return std::make_unique<SqliteSql>(url.substr(7));
  return std::make_unique<PgSql>(url);
}

std::vector<SqlExecution> executions(Sql& sql, const std::string& where) {
  const std::string head = sql.is_sqlite()
                               ? "lower(hex(id)), status, result, *"
                               : "replace(id::text, '-', ''), status, convert_from(result, 'UTF8'), e::text";
  std::vector<SqlExecution> out;
  for (auto& row : sql.query("SELECT " + head + " FROM " + table(sql, "execution") + " e WHERE " + where)) {
    SqlExecution& one = out.emplace_back(SqlExecution{row[0], std::stoi(row[1]), row[2], {}});
    for (std::size_t i = 3; i < row.size(); ++i) one.bytes += row[i] + "|";
  }
  return out;
}

std::vector<std::pair<std::string, std::string>> identities(Sql& sql) {
  const std::string id = sql.is_sqlite() ? "lower(hex(target))" : "replace(target::text, '-', '')";
  std::vector<std::pair<std::string, std::string>> out;
  for (auto& row : sql.query("SELECT key, " + id + " FROM " + table(sql, "identity") + " WHERE space = 0"))
    out.emplace_back(std::move(row[0]), std::move(row[1]));
  return out;
}

std::string hex_of(const std::string& uuid) {
  std::string out = uuid;
  out.erase(std::remove(out.begin(), out.end(), '-'), out.end());
  return out;
}

void watch(Sql& sql) {
  const std::string wrong = "(OLD.status >= 4 OR (OLD.status IN (1, 2) AND NEW.status = 0))";
  if (sql.is_sqlite()) {
    sql.run(
        "CREATE TABLE seen (id BLOB, was INTEGER, became INTEGER);"
        "CREATE TRIGGER seen_by_test AFTER UPDATE ON execution WHEN " +
        wrong +
        " BEGIN"
        " INSERT INTO seen VALUES (OLD.id, OLD.status, NEW.status); END;");
    return;
  }
  sql.run(
      "CREATE TABLE public.seen (id uuid, was smallint, became smallint);"
      "CREATE FUNCTION public.note_seen() RETURNS trigger LANGUAGE plpgsql AS"
      " $$ BEGIN INSERT INTO public.seen VALUES (OLD.id, OLD.status, NEW.status); RETURN NULL; END $$;"
      "CREATE TRIGGER seen_by_test AFTER UPDATE ON semel.execution FOR EACH ROW WHEN " +
      wrong + " EXECUTE FUNCTION public.note_seen()");
}

long changes_of_terminal_rows(Sql& sql) { return sql.number("SELECT count(*) FROM seen WHERE was >= 4"); }
long returns_to_queued(Sql& sql) { return sql.number("SELECT count(*) FROM seen WHERE was < 4"); }

}  // namespace semel::crash
