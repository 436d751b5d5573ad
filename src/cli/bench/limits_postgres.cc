// Raw statements over copies of our own tables in a schema of their own, which is dropped afterwards.
#include <libpq-fe.h>

#include <algorithm>

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
  explicit Db(const std::string& url) : connection_(PQconnectdb(url.c_str())) {
    if (PQstatus(connection_) != CONNECTION_OK) throw Fault{PQerrorMessage(connection_)};
    run("set client_min_messages = warning");
    run("set synchronous_commit = on");
  }
  ~Db() { PQfinish(connection_); }
  Db(const Db&) = delete;
  Db& operator=(const Db&) = delete;

  void run(const std::string& sql) { check(PQexec(connection_, sql.c_str())); }
  void prepare(const char* name, const std::string& sql) {
    check(PQprepare(connection_, name, sql.c_str(), 0, nullptr));
  }
  // First column of every row.
  std::vector<std::string> execute(const char* name, const std::vector<std::string>& values = {}) {
    std::vector<const char*> pointers;
    for (const auto& value : values) pointers.push_back(value.c_str());
    PGresult* result =
        PQexecPrepared(connection_, name, static_cast<int>(values.size()), pointers.data(), nullptr, nullptr, 0);
    std::vector<std::string> out;
    for (int i = 0; i < PQntuples(result); ++i) out.emplace_back(PQgetvalue(result, i, 0));
    check(result);
    return out;
  }

 private:
  void check(PGresult* result) {
    const ExecStatusType status = PQresultStatus(result);
    const std::string message = PQresultErrorMessage(result);
    PQclear(result);
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) throw Fault{message};
  }
  PGconn* connection_;
};

// '{a,b}' of values that need no quoting, or quoted ones.
std::string array_of(const std::vector<std::string>& values, bool quote = false) {
  std::string out = "{";
  for (const auto& value : values) {
    if (out.size() > 1) out += ',';
    if (!quote) {
      out += value;
      continue;
    }
    out += '"';
    for (const char c : value) {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
    out += '"';
  }
  return out + "}";
}

class Probe {
 public:
  Probe(const std::string& url, const Options& options)
      : db_(url), options_(options), ids_(random_), schema_("semel_limits_" + options.run) {
    db_.run("create schema " + schema_);
    for (const char* table : {"identity", "execution", "ready"}) {
      db_.run("create table " + schema_ + "." + table + " (like semel." + table + " including all)");
    }
    db_.run("alter table " + schema_ + ".execution set (fillfactor = 50)");
    db_.run("set search_path = " + schema_);
    db_.prepare(
        "identity",
        "insert into identity (tenant, space, key, target, target_kind, tombstone, revision) select 1, 0, k, t, 0, "
        "false, 1 from unnest($1::text[], $2::uuid[]) u(k, t) on conflict do nothing returning target");
    db_.prepare(
        "execution",
        "insert into execution (id, tenant, lane, kind, name, identity, priority, max_attempts, fingerprint, "
        "created_at, scheduled_at, encoding, policy, args) select t, 1, 1, 0, 'noop', k, 100, 3, decode(repeat('00', "
        "32), 'hex'), $3::bigint, $3::bigint, 0, '', convert_to(a, 'UTF8') from unnest($1::text[], $2::uuid[], "
        "$4::text[]) u(k, t, a)");
    db_.prepare("ready",
                "insert into ready (lane, pool, priority, due_at, execution) select 1, 0, 100, $2::bigint, t from "
                "unnest($1::uuid[]) t");
    db_.prepare(
        "take",
        "with gone as (delete from ready where ctid = any (array(select r.ctid from ready r where r.lane = 1 and "
        "r.pool = 0 order by r.lane, r.pool, r.priority, r.due_at, r.execution limit $1::integer for update skip "
        "locked)) returning execution) update execution e set status = 1, version = 2, attempt = 1, "
        "started_at = $2::bigint, lease_expires_at = $2::bigint, worker = 'probe' where e.id = any (array(select "
        "execution from gone)) and e.status = 0 returning e.*");
    db_.prepare(
        "succeed",
        "update execution e set status = 4, version = e.version + 1, last_end = 1, completed_at = $2::bigint, result "
        "= 'null', lease_expires_at = null from unnest($1::uuid[]) u(id) where e.id = u.id and e.version = 2");
    // An array, not a join: a join over fresh tables may be planned as a walk over all of them.
    db_.prepare(
        "find",
        "select e.* from execution e where e.id = any (array(select i.target from identity i where i.tenant = 1 "
        "and i.space = 0 and i.key = any ($1::text[])))");
  }
  ~Probe() {
    try {
      db_.run("drop schema " + schema_ + " cascade");
    } catch (const Fault&) {
      // The connection is gone; the schema's name says what it was.
    }
  }
  Probe(const Probe&) = delete;
  Probe& operator=(const Probe&) = delete;

  double insert(std::int64_t count, std::int64_t batch) {
    const std::int64_t begin = steady_now();
    for (std::int64_t done = 0; done < count; done += batch) insert_batch(batch);
    return rate_of(count, steady_now() - begin);
  }
  double claim_and_complete(std::int64_t count) {
    const std::string now = std::to_string(kNow);
    const std::int64_t begin = steady_now();
    for (std::int64_t done = 0; done < count; done += kBatch) {
      const auto ids = db_.execute("take", {std::to_string(kBatch), now});
      db_.execute("succeed", {array_of(ids), now});
    }
    return rate_of(count, steady_now() - begin);
  }
  double duplicates(std::int64_t count) {
    std::vector<std::string> keys(kBatch, options_.run + "-1");
    std::vector<std::string> ids(kBatch, ids_.next<ExecutionId>(from_micros(kNow)).to_string());
    const std::string key_array = array_of(keys);
    const std::string id_array = array_of(ids);
    db_.run("analyze identity, execution");  // tables this fresh have no statistics, and the lookup a bad plan
    const std::int64_t begin = steady_now();
    for (std::int64_t done = 0; done < count; done += kBatch) {
      db_.run("begin");
      db_.execute("identity", {key_array, id_array});
      db_.execute("find", {key_array});
      db_.run("commit");
    }
    return rate_of(count, steady_now() - begin);
  }

 private:
  void insert_batch(std::int64_t batch) {
    std::vector<std::string> keys, ids, args;
    for (std::int64_t i = 0; i < batch; ++i) {
      ++next_;
      keys.push_back(options_.run + "-" + std::to_string(next_));
      ids.push_back(ids_.next<ExecutionId>(from_micros(kNow)).to_string());
      args.push_back(payload(next_, options_.payload_bytes));
    }
    const std::string now = std::to_string(kNow);
    const std::string key_array = array_of(keys);
    const std::string id_array = array_of(ids);
    db_.run("begin");
    db_.execute("identity", {key_array, id_array});
    db_.execute("execution", {key_array, id_array, now, array_of(args, true)});
    db_.execute("ready", {id_array, now});
    db_.run("commit");
  }

  Db db_;
  const Options& options_;
  base::SystemRandom random_;
  base::IdSource ids_;
  std::string schema_;
  std::int64_t next_ = 0;
};

}  // namespace

Result<void> limits_postgres(const std::string& url, const Options& options, Report& report) {
  // What is set here must reach nobody else: the store's own door refuses poolers that share sessions.
  if (const auto door = open_store(url, {}); !door && door.error().code == ErrorCode::Unsupported) return door.error();
  const std::int64_t count = std::max<std::int64_t>(kBatch, options.count / kBatch * kBatch);
  try {
    Probe probe(url, options);
    report.add("insert_rate", probe.insert(count, kBatch));
    report.add("claim_complete_rate", probe.claim_and_complete(count));
    report.add("duplicate_rate", probe.duplicates(count));
    report.add("insert_one_per_commit_rate", probe.insert(std::max<std::int64_t>(100, count / 50), 1));
  } catch (const Fault& fault) {
    return make_error(ErrorCode::Internal, "limits: " + fault.message);
  }
  return {};
}

}  // namespace semel::cli::bench
