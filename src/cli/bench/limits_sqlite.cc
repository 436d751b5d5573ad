// Raw statements over our own tables in a file beside the store: what SQLite itself can do with these rows.
#include <sqlite3.h>

#include <algorithm>
#include <cstdio>

#include "base/clock.h"
#include "base/random.h"
#include "base/uuid.h"
#include "cli/bench/bench.h"
#include "cli/process.h"
#include "cli/wiring.h"

namespace semel::cli::bench {
namespace {

constexpr std::int64_t kBatch = 1000;
constexpr std::int64_t kNow = 1'772'355'600'000'000;

struct Fault {
  std::string message;
};

class Db {
 public:
  explicit Db(const std::string& path) {
    if (sqlite3_open(path.c_str(), &db_) != SQLITE_OK) throw Fault{"cannot open " + path};
    run("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA cache_size=-16384; PRAGMA mmap_size=0");
  }
  ~Db() {
    for (sqlite3_stmt* statement : statements_) sqlite3_finalize(statement);
    sqlite3_close(db_);
  }
  Db(const Db&) = delete;
  Db& operator=(const Db&) = delete;

  void run(const char* sql) {
    if (sqlite3_exec(db_, sql, nullptr, nullptr, nullptr) != SQLITE_OK) throw Fault{sqlite3_errmsg(db_)};
  }
  sqlite3_stmt* prepare(const char* sql) {
    sqlite3_stmt* statement = nullptr;
    if (sqlite3_prepare_v2(db_, sql, -1, &statement, nullptr) != SQLITE_OK) throw Fault{sqlite3_errmsg(db_)};
    statements_.push_back(statement);
    return statement;
  }
  // Runs to the end and resets.
  void step(sqlite3_stmt* statement) {
    int code = SQLITE_ROW;
    while (code == SQLITE_ROW) code = sqlite3_step(statement);
    if (code != SQLITE_DONE) throw Fault{sqlite3_errmsg(db_)};
    sqlite3_reset(statement);
  }

 private:
  sqlite3* db_ = nullptr;
  std::vector<sqlite3_stmt*> statements_;
};

void bind_id(sqlite3_stmt* statement, int at, const ExecutionId& id) {
  sqlite3_bind_blob(statement, at, id.bytes.data(), 16, SQLITE_STATIC);
}
void bind_text(sqlite3_stmt* statement, int at, const std::string& text) {
  sqlite3_bind_text(statement, at, text.data(), static_cast<int>(text.size()), SQLITE_STATIC);
}

class Probe {
 public:
  Probe(const std::string& path, const Options& options) : db_(path), options_(options), ids_(random_) {
    identity_ = db_.prepare("INSERT OR IGNORE INTO identity VALUES (1, 0, ?1, ?2, 0, 0, NULL, NULL, 1)");
    execution_ = db_.prepare(
        "INSERT INTO execution (id, tenant, lane, kind, name, identity, priority, max_attempts, attempt_timeout, "
        "idempotency_key_ttl_seconds, fingerprint, created_at, status, version, attempt, flags, last_end, "
        "close_reason, "
        "suspend_reason, scheduled_at) VALUES (?1, 1, 1, 0, 'noop', ?2, 100, 3, 0, 0, zeroblob(32), ?3, 0, 1, 0, 0, 0, "
        "0, 0, ?3)");
    payload_ = db_.prepare("INSERT INTO payload VALUES (?1, 0, CAST(?2 AS BLOB), '')");
    ready_ = db_.prepare("INSERT INTO ready VALUES (1, 0, 100, ?2, ?1)");
    take_ = db_.prepare(
        "SELECT e.*, p.* FROM ready r CROSS JOIN execution e ON e.id = r.execution CROSS JOIN payload p ON p.execution "
        "= "
        "r.execution WHERE r.lane = 1 AND r.pool = 0 ORDER BY r.priority, r.due_at, r.execution LIMIT ?1");
    remove_ = db_.prepare(
        "DELETE FROM ready WHERE lane = 1 AND pool = 0 AND priority = 100 AND due_at = ?2 AND execution = ?1");
    claim_ = db_.prepare(
        "UPDATE execution SET status = 1, version = 2, attempt = 1, started_at = ?2, lease_expires_at = ?2, "
        "worker = 'probe' WHERE id = ?1 AND version = 1");
    succeed_ = db_.prepare(
        "UPDATE execution SET status = 4, version = 3, last_end = 1, completed_at = ?2, result = x'6e756c6c', "
        "lease_expires_at = NULL WHERE id = ?1 AND version = 2");
    find_ = db_.prepare(
        "SELECT e.* FROM identity i JOIN execution e ON e.id = i.target WHERE i.tenant = 1 AND i.space = 0 AND i.key = "
        "?1");
  }

  double insert(std::int64_t count, std::int64_t batch) {
    const std::int64_t begin = steady_now();
    for (std::int64_t done = 0; done < count; done += batch) {
      db_.run("BEGIN IMMEDIATE");
      for (std::int64_t i = 0; i < batch; ++i) insert_one();
      db_.run("COMMIT");
    }
    return rate_of(count, steady_now() - begin);
  }

  double claim_and_complete(std::int64_t count) {
    const std::int64_t begin = steady_now();
    for (std::int64_t done = 0; done < count; done += kBatch) {
      db_.run("BEGIN IMMEDIATE");
      const auto taken = take();
      for (const auto& id : taken) {
        run_on(remove_, id);
        run_on(claim_, id);
      }
      db_.run("COMMIT");
      db_.run("BEGIN IMMEDIATE");
      for (const auto& id : taken) run_on(succeed_, id);
      db_.run("COMMIT");
    }
    return rate_of(count, steady_now() - begin);
  }

  double duplicates(std::int64_t count) {
    const std::string key = options_.run + "-1";
    const ExecutionId id = ids_.next<ExecutionId>(from_micros(kNow));
    const std::int64_t begin = steady_now();
    for (std::int64_t done = 0; done < count; done += kBatch) {
      db_.run("BEGIN IMMEDIATE");
      for (std::int64_t i = 0; i < kBatch; ++i) {
        bind_text(identity_, 1, key);
        bind_id(identity_, 2, id);
        db_.step(identity_);
        bind_text(find_, 1, key);
        db_.step(find_);
      }
      db_.run("COMMIT");
    }
    return rate_of(count, steady_now() - begin);
  }

 private:
  void insert_one() {
    const std::int64_t i = ++next_;
    const ExecutionId id = ids_.next<ExecutionId>(from_micros(kNow));
    const std::string key = options_.run + "-" + std::to_string(i);
    const std::string args = payload(i, options_.payload_bytes);
    bind_text(identity_, 1, key);
    bind_id(identity_, 2, id);
    db_.step(identity_);
    bind_id(execution_, 1, id);
    bind_text(execution_, 2, key);
    sqlite3_bind_int64(execution_, 3, kNow);
    db_.step(execution_);
    bind_id(payload_, 1, id);
    bind_text(payload_, 2, args);
    db_.step(payload_);
    run_on(ready_, id);
  }
  void run_on(sqlite3_stmt* statement, const ExecutionId& id) {
    bind_id(statement, 1, id);
    sqlite3_bind_int64(statement, 2, kNow);
    db_.step(statement);
  }
  std::vector<ExecutionId> take() {
    std::vector<ExecutionId> out;
    sqlite3_bind_int64(take_, 1, kBatch);
    while (sqlite3_step(take_) == SQLITE_ROW) {
      const auto* bytes = static_cast<const std::uint8_t*>(sqlite3_column_blob(take_, 0));
      ExecutionId id;
      std::copy(bytes, bytes + 16, id.bytes.begin());
      out.push_back(id);
    }
    sqlite3_reset(take_);
    return out;
  }

  Db db_;
  const Options& options_;
  base::SystemRandom random_;
  base::IdSource ids_;
  std::int64_t next_ = 0;
  sqlite3_stmt *identity_, *execution_, *payload_, *ready_, *take_, *remove_, *claim_, *succeed_, *find_;
};

void remove_file(const std::string& path) {
  for (const char* suffix : {"", "-wal", "-shm", "-owner", "-ballast"}) std::remove((path + suffix).c_str());
}

}  // namespace

Result<void> limits_sqlite(const std::string& path, const Options& options, Report& report) {
  const std::string file = path + ".limits-" + options.run;
  {
    auto tables = open_store("sqlite:" + file, {});
    if (!tables) return tables.error();
  }
  const std::int64_t count = std::max<std::int64_t>(kBatch, options.count / kBatch * kBatch);
  try {
    Probe probe(file, options);
    report.add("insert_rate", probe.insert(count, kBatch));
    report.add("claim_complete_rate", probe.claim_and_complete(count));
    report.add("duplicate_rate", probe.duplicates(count));
    report.add("insert_one_per_commit_rate", probe.insert(std::max<std::int64_t>(100, count / 50), 1));
  } catch (const Fault& fault) {
    remove_file(file);
    return make_error(ErrorCode::Internal, "limits: " + fault.message);
  }
  remove_file(file);
  return {};
}

}  // namespace semel::cli::bench
