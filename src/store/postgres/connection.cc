#include "store/postgres/connection.h"

#include <libpq-fe.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/clock.h"
#include "store/postgres/codec.h"

namespace semel::store::postgres {
namespace {

std::string trimmed(const char* text) {
  std::string out = text ? text : "";
  while (!out.empty() && (out.back() == '\n' || out.back() == ' ')) out.pop_back();
  std::replace(out.begin(), out.end(), '\n', ' ');
  return out;
}

std::string field(const PGresult* result, int code) {
  const char* text = PQresultErrorField(result, code);
  return text ? text : "";
}

PgError error_of(const PGresult* result) {
  PgError error;
  error.sqlstate = field(result, PG_DIAG_SQLSTATE);
  error.message = field(result, PG_DIAG_MESSAGE_PRIMARY);
  error.constraint = field(result, PG_DIAG_CONSTRAINT_NAME);
  if (error.message.empty()) error.message = trimmed(PQresultErrorMessage(result));
  return error;
}

// Connection parameters: the caller's, then ours where the caller said nothing.
struct ConnInfo {
  std::vector<std::pair<std::string, std::string>> pairs;

  bool has(std::string_view key) const {
    return std::any_of(pairs.begin(), pairs.end(), [&](const auto& p) { return p.first == key; });
  }
  void fallback(const char* key, std::string value) {
    if (!has(key)) pairs.emplace_back(key, std::move(value));
  }
};

Result<ConnInfo> parse_url(const PgOptions& options, const Role& role) {
  char* why = nullptr;
  PQconninfoOption* parsed = PQconninfoParse(options.url.c_str(), &why);
  if (!parsed) {
    const std::string reason = trimmed(why);
    PQfreemem(why);
    return make_error(ErrorCode::InvalidArgument, "store: the PostgreSQL URL cannot be read: " + reason);
  }
  ConnInfo info;
  for (const PQconninfoOption* o = parsed; o->keyword; ++o)
    if (o->val) info.pairs.emplace_back(o->keyword, o->val);
  PQconninfoFree(parsed);
  info.pairs.emplace_back("application_name", std::string(role.application));
  info.pairs.emplace_back("client_encoding", "UTF8");
  info.fallback("connect_timeout",
                std::to_string(std::max<std::int64_t>(2, options.connect_timeout.count() / 1'000'000)));
  info.fallback("tcp_user_timeout", std::to_string(options.call_timeout.count() / 1000));
  info.fallback("keepalives_idle", "5");
  info.fallback("keepalives_interval", "2");
  info.fallback("keepalives_count", "3");
  const auto host = std::find_if(info.pairs.begin(), info.pairs.end(), [](const auto& p) { return p.first == "host"; });
  if (host != info.pairs.end() && host->second.find(',') != std::string::npos)
    info.fallback("target_session_attrs", "read-write");  // X16: of several hosts, the primary
  return info;
}

pg_conn* connect(const ConnInfo& info) {
  std::vector<const char*> keys, values;
  for (const auto& [key, value] : info.pairs) {
    keys.push_back(key.c_str());
    values.push_back(value.c_str());
  }
  keys.push_back(nullptr);
  values.push_back(nullptr);
  return PQconnectdbParams(keys.data(), values.data(), 0);
}

std::string milliseconds(Duration d) { return std::to_string(d.count() / 1000); }

// Why the planner is pinned: docs/adr/0002-pinned-plans.md.
std::string pinned_settings(const PgOptions& options, const Role& role) {
  const std::vector<std::pair<const char*, std::string>> settings = {
      {"synchronous_commit", "on"},
      {"default_transaction_isolation", "read committed"},
      {"default_transaction_read_only", role.read_only ? "on" : "off"},
      {"default_transaction_deferrable", "off"},
      {"search_path", "pg_catalog"},
      {"TimeZone", "UTC"},
      {"DateStyle", "ISO, YMD"},
      {"IntervalStyle", "iso_8601"},
      {"bytea_output", "hex"},
      {"standard_conforming_strings", "on"},
      {"lock_timeout", milliseconds(role.lock_timeout)},
      // A client that stopped waiting has given the connection up; the server must not outlive it for long.
      {"statement_timeout", milliseconds(options.call_timeout + options.call_timeout / 2)},
      {"idle_in_transaction_session_timeout", milliseconds(options.call_timeout)},
      {"enable_seqscan", "off"},
      {"enable_bitmapscan", "off"},
      {"enable_hashjoin", "off"},
      {"enable_mergejoin", "off"},
      {"enable_sort", "off"},
      {"enable_material", "off"},
      {"enable_memoize", "off"},
      {"max_parallel_workers_per_gather", "0"},
      {"jit", "off"},
      {"plan_cache_mode", "force_generic_plan"},
  };
  std::string sql = "select ";
  for (const auto& [name, value] : settings)
    sql += (sql.size() > 7 ? ", " : "") + std::string("set_config('") + name + "', '" + value + "', false)";
  return sql;
}

std::string expanded(std::string_view text) {
  std::string out(text);
  constexpr std::string_view kMark = "{execution}";
  for (auto at = out.find(kMark); at != std::string::npos; at = out.find(kMark, at))
    out.replace(at, kMark.size(), kExecutionColumns);
  return out;
}

}  // namespace

Connection::Connection(pg_conn* connection, Duration call_timeout)
    : connection_(connection), call_timeout_(call_timeout) {}

Connection::~Connection() { PQfinish(connection_); }

Result<std::unique_ptr<Connection>> Connection::open(const PgOptions& options, const Role& role) {
  auto info = parse_url(options, role);
  if (!info) return info.error();
  pg_conn* raw = connect(*info);
  std::unique_ptr<Connection> made(new Connection(raw, options.call_timeout));
  if (!raw || PQstatus(raw) != CONNECTION_OK) {
    const std::string reason = raw ? trimmed(PQerrorMessage(raw)) : "out of memory";
    // libpq gives no code here, only words.
    const auto says = [&](const char* words) { return reason.find(words) != std::string::npos; };
    ErrorCode code = ErrorCode::StoreUnavailable;
    if (says("invalid port number") || says("invalid integer value")) code = ErrorCode::InvalidArgument;
    else if (says("database") && says("does not exist")) code = ErrorCode::StoreNotFound;
    return make_error(code, "store: " + reason);
  }
  PQsetNoticeReceiver(raw, hear_notice, made.get());
  PQsetnonblocking(raw, 1);
  PQenterPipelineMode(raw);
  try {
    made->queue_text(pinned_settings(options, role));
    made->run();
  } catch (const PgError& error) {
    return to_error(error);
  }
  return made;
}

// Told by the name of the server's function: the text is in the server's language, the code that of every warning.
void Connection::hear_notice(void* connection, const pg_result* notice) {
  if (field(notice, PG_DIAG_SOURCE_FUNCTION) == "SyncRepWaitForLSN")
    static_cast<Connection*>(connection)->cancelled_wait_ = field(notice, PG_DIAG_MESSAGE_PRIMARY);
}

Result<void> Connection::prepare(std::span<const Statement> statements) {
  try {
    for (const Statement& statement : statements) {
      if (!PQsendPrepare(connection_, std::string(statement.name).c_str(), expanded(statement.text).c_str(), 0,
                         nullptr))
        fail_lost(queued_, trimmed(PQerrorMessage(connection_)));
      ++queued_;
    }
    run();
    return {};
  } catch (const PgError& error) {
    Error told = to_error(error);
    if (!error.lost) told.message = "store: statement " + std::string(statements[error.at].name) + ": " + error.message;
    return told;
  }
}

Result<void> Connection::learn_row_types() {
  constexpr std::array<const char*, kRowTypes> kNames = {"new_identity", "new_execution", "new_ready", "success"};
  std::string sql;
  for (const char* name : kNames)
    sql += (sql.empty() ? "select 'semel." : ", 'semel.") + std::string(name) + "'::regtype::oid::bigint";
  try {
    queue_text(sql);
    const auto rows = run();
    for (std::size_t i = 0; i < kRowTypes; ++i)
      row_types_[i] = static_cast<std::uint32_t>(rows[0].i64(0, static_cast<int>(i)));
    return {};
  } catch (const PgError& error) {
    return to_error(error);
  }
}

int Connection::backend_pid() const { return PQbackendPID(connection_); }

void Connection::fail_lost(std::size_t at, std::string what) {
  lost_ = true;
  throw PgError{"", std::move(what), "", true, at};
}

namespace {

struct Bound {
  explicit Bound(const Params& params) {
    for (std::size_t i = 0; i < params.size(); ++i) {
      values.push_back(params.is_null(i) ? nullptr : params.value(i).data());
      lengths.push_back(static_cast<int>(params.value(i).size()));
    }
    formats.assign(params.size(), 1);
  }
  int size() const { return static_cast<int>(values.size()); }
  std::vector<const char*> values;
  std::vector<int> lengths, formats;
};

}  // namespace

std::size_t Connection::queue(const Statement& statement, const Params& params) {
  const Bound bound(params);
  if (lost_ || !PQsendQueryPrepared(connection_, std::string(statement.name).c_str(), bound.size(), bound.values.data(),
                                    bound.lengths.data(), bound.formats.data(), 1))
    fail_lost(queued_, trimmed(PQerrorMessage(connection_)));
  return queued_++;
}

std::size_t Connection::queue_text(std::string_view sql, const Params& params) {
  const Bound bound(params);
  if (lost_ || !PQsendQueryParams(connection_, expanded(sql).c_str(), bound.size(), nullptr, bound.values.data(),
                                  bound.lengths.data(), bound.formats.data(), 1))
    fail_lost(queued_, trimmed(PQerrorMessage(connection_)));
  return queued_++;
}

std::size_t Connection::end_segment() {
  if (lost_ || !PQpipelineSync(connection_)) fail_lost(0, trimmed(PQerrorMessage(connection_)));
  return std::exchange(queued_, 0);
}

std::vector<Rows> Connection::run(End end) { return collect(end_segment(), 0, end); }

std::vector<Rows> Connection::run_then(const Statement& after, const Params& params, End end) {
  const std::size_t count = end_segment();
  queue(after, params);
  end_segment();
  return collect(count, 1, end);
}

void Connection::send() {
  end_segment();
  flush(base::steady_micros() + call_timeout_.count());
  ++unread_;
}

void Connection::flush(std::int64_t deadline) {
  for (;;) {
    const int left = PQflush(connection_);
    if (left == 0) return;
    if (left < 0) fail_lost(0, trimmed(PQerrorMessage(connection_)));
    pollfd fd{PQsocket(connection_), POLLIN | POLLOUT, 0};
    const std::int64_t wait = deadline - base::steady_micros();
    if (wait <= 0) fail_lost(0, "no answer within the call timeout");
    if (::poll(&fd, 1, static_cast<int>(wait / 1000 + 1)) < 0 && errno != EINTR) fail_lost(0, std::strerror(errno));
    // The server may be blocked on answers we do not read: read while sending.
    if ((fd.revents & (POLLIN | POLLHUP | POLLERR)) && !PQconsumeInput(connection_))
      fail_lost(0, trimmed(PQerrorMessage(connection_)));
  }
}

void Connection::wait_readable(std::int64_t deadline) {
  pollfd fd{PQsocket(connection_), POLLIN, 0};
  const std::int64_t wait = deadline - base::steady_micros();
  if (wait <= 0) fail_lost(0, "no answer within the call timeout");
  if (::poll(&fd, 1, static_cast<int>(wait / 1000 + 1)) < 0 && errno != EINTR) fail_lost(0, std::strerror(errno));
}

pg_result* Connection::next_result(std::int64_t deadline) {
  while (PQisBusy(connection_)) {
    wait_readable(deadline);
    if (!PQconsumeInput(connection_)) break;  // PQgetResult reports it
  }
  return PQgetResult(connection_);
}

namespace {

// One statement's answer is a result and then a null; a segment ends with a sync.
enum class Piece { rows, failed, skipped, sync, gap };

Piece piece_of(const PGresult* result) {
  if (!result) return Piece::gap;
  switch (PQresultStatus(result)) {
    case PGRES_TUPLES_OK:
    case PGRES_COMMAND_OK:
    case PGRES_EMPTY_QUERY:
      return Piece::rows;
    case PGRES_PIPELINE_SYNC:
      return Piece::sync;
    case PGRES_PIPELINE_ABORTED:
      return Piece::skipped;
    default:
      return Piece::failed;
  }
}

}  // namespace

// Answers of segments that nobody waited for come first.
void Connection::drain_unread(std::int64_t deadline) {
  while (unread_ > 0) {
    pg_result* result = next_result(deadline);
    const Piece piece = piece_of(result);
    PQclear(result);
    if (PQstatus(connection_) != CONNECTION_OK) fail_lost(0, trimmed(PQerrorMessage(connection_)));
    if (piece == Piece::sync) --unread_;
  }
}

std::optional<PgError> Connection::read_segment(std::vector<Rows>& rows, std::int64_t deadline) {
  std::optional<PgError> error;
  for (;;) {
    pg_result* result = next_result(deadline);
    const Piece piece = piece_of(result);
    if (piece == Piece::failed && !error) {
      error = error_of(result);
      error->at = rows.size();
    }
    if (piece == Piece::rows) rows.emplace_back(result);
    else PQclear(result);
    if (piece == Piece::sync) return error;
    if (PQstatus(connection_) == CONNECTION_OK) continue;
    lost_ = true;
    if (!error) fail_lost(rows.size(), trimmed(PQerrorMessage(connection_)));
    error->lost = true;
    return error;
  }
}

std::vector<Rows> Connection::collect(std::size_t count, std::size_t behind, End end) {
  const std::int64_t deadline = base::steady_micros() + call_timeout_.count();
  std::vector<Rows> rows;
  rows.reserve(count);
  std::optional<PgError> error;
  try {
    flush(deadline);
    drain_unread(deadline);
    cancelled_wait_.clear();
    error = read_segment(rows, deadline);
  } catch (PgError& lost) {
    lost.at = rows.size();
    // Every statement was answered: only the end is missing.
    if (rows.size() < count || count == 0 || end == End::commits) throw;
  }
  unread_ = behind;
  if (error) throw *error;
  if (!cancelled_wait_.empty()) throw PgError{std::string(kCancelledWait), cancelled_wait_, "", false, count};
  return rows;
}

void Connection::script(const std::string& sql) {
  const std::int64_t deadline = base::steady_micros() + 30 * call_timeout_.count();
  PQexitPipelineMode(connection_);
  if (!PQsendQuery(connection_, sql.c_str())) fail_lost(0, trimmed(PQerrorMessage(connection_)));
  flush(deadline);
  std::optional<PgError> error;
  while (pg_result* result = next_result(deadline)) {
    if (piece_of(result) == Piece::failed && !error) error = error_of(result);
    PQclear(result);
  }
  if (PQstatus(connection_) != CONNECTION_OK) lost_ = true;
  if (error) {
    error->lost = lost_;
    if (!lost_) PQenterPipelineMode(connection_);
    throw *error;
  }
  if (lost_) fail_lost(0, trimmed(PQerrorMessage(connection_)));
  PQenterPipelineMode(connection_);
}

std::vector<Connection::Notification> Connection::wait_notifications(Duration timeout, int wake_fd) {
  const std::int64_t deadline = base::steady_micros() + timeout.count();
  std::vector<Notification> out;
  std::array<pollfd, 2> fds{{{PQsocket(connection_), POLLIN, 0}, {wake_fd, POLLIN, 0}}};
  for (;;) {
    while (PGnotify* heard = PQnotifies(connection_)) {
      out.push_back({heard->be_pid, heard->extra ? heard->extra : ""});
      PQfreemem(heard);
    }
    const std::int64_t wait = deadline - base::steady_micros();
    if (!out.empty() || wait <= 0) return out;
    if (::poll(fds.data(), fds.size(), static_cast<int>(wait / 1000 + 1)) < 0 && errno != EINTR)
      fail_lost(0, std::strerror(errno));
    if (fds[1].revents != 0) return out;
    if (fds[0].revents != 0 && !PQconsumeInput(connection_)) fail_lost(0, trimmed(PQerrorMessage(connection_)));
  }
}

Error to_error(const PgError& error) {
  const std::string_view state = error.sqlstate;
  const auto is = [&](std::initializer_list<std::string_view> states) {
    return std::find(states.begin(), states.end(), state) != states.end();
  };
  ErrorCode code = ErrorCode::Internal;
  if (error.lost || state.empty() || state.starts_with("08") || state.starts_with("57P") || state == "53300")
    code = ErrorCode::StoreUnavailable;
  else if (state == "53100") code = ErrorCode::StoreFull;
  else if (state == "25006" || state == "42501") code = ErrorCode::StoreReadOnly;
  else if (is({"55P03", "57014", "40001", "40P01", "SM001", "25P03", "53200"})) code = ErrorCode::StoreBusy;
  else if (state == "3D000") code = ErrorCode::StoreNotFound;
  else if (is({"42P01", "3F000", "42883", "42703"})) code = ErrorCode::SchemaTooOld;
  else if (is({"XX001", "XX002", "58030"})) code = ErrorCode::StoreCorrupt;
  return make_error(code, "store: " + error.message + (state.empty() ? "" : " (SQLSTATE " + error.sqlstate + ")"));
}

}  // namespace semel::store::postgres
