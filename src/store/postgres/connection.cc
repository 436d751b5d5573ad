#include "store/postgres/connection.h"

#include <libpq-fe.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/clock.h"
#include "store/postgres/codec.h"
#include "store/postgres/dial.h"
#include "store/postgres/pooler.h"
#include "store/postgres/stop_signal.h"

namespace semel::store::postgres {
namespace {

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
  // The server always tells where in its sources an error arose. Poolers tell severity, code and message alone.
  error.foreign = !PQresultErrorField(result, PG_DIAG_SOURCE_FILE);
  return error;
}

std::string milliseconds(Duration d) { return std::to_string(d.count() / 1000); }

// Why the planner is pinned: docs/adr/0002-pinned-plans.md.
std::string pinned_settings(const PgOptions& options, const Role& role) {
  const std::vector<std::pair<const char*, std::string>> settings = {
      {"application_name", std::string(role.application)},
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

constexpr Duration kGoodbye = std::chrono::seconds(1);

std::string expanded(std::string_view text) {
  std::string out(text);
  constexpr std::string_view kMark = "{execution}";
  for (auto at = out.find(kMark); at != std::string::npos; at = out.find(kMark, at))
    out.replace(at, kMark.size(), kExecutionColumns);
  return out;
}

}  // namespace

Connection::Connection(PgHandle connection, const PgOptions& options)
    : connection_(std::move(connection)), call_timeout_(options.call_timeout), stop_(options.stop) {
  PQsetNoticeReceiver(raw(), hear_notice, this);
  PQsetnonblocking(raw(), 1);
  PQenterPipelineMode(raw());
}

Connection::~Connection() {
  if (!pooled_ || lost_ || (stop_ && stop_->raised())) return;
  call_timeout_ = kGoodbye;
  try {
    if (queued_ > 0) send();
    queue_text("rollback");
    run();
    discard_session();
  } catch (const PgError&) {  // then the pooler closes the server connection in the middle of a call
  }
}

Result<std::unique_ptr<Connection>> Connection::open_bare(const PgOptions& options, std::string_view application) {
  auto dialed = dial(options, application);
  if (!dialed) return std::move(dialed).error();
  return std::unique_ptr<Connection>(new Connection(std::move(*dialed), options));
}

Result<std::unique_ptr<Connection>> Connection::open(const PgOptions& options, const Role& role) {
  auto made = open_bare(options, role.application);
  if (!made) return made;
  if (auto settled = (*made)->settle(options, role); !settled) return std::move(settled).error();
  return made;
}

Result<void> Connection::settle(const PgOptions& options, const Role& role) {
  auto reached = look_for_pooler(*this, options);
  if (!reached) return std::move(reached).error();
  backend_ = reached->backend;
  pooled_ = reached->pooled;
  try {
    if (pooled_) discard_session();
    queue_text(pinned_settings(options, role));
    run();
    return {};
  } catch (const PgError& error) {
    return to_error(error);
  }
}

// What others left in the session: statements of the same names, settings, channels.
void Connection::discard_session() {
  queue_text("discard all");
  run();
}

// Told by the name of the server's function: the text is in the server's language, the code that of every warning.
void Connection::hear_notice(void* connection, const pg_result* notice) {
  if (field(notice, PG_DIAG_SOURCE_FUNCTION) == "SyncRepWaitForLSN")
    static_cast<Connection*>(connection)->cancelled_wait_ = field(notice, PG_DIAG_MESSAGE_PRIMARY);
}

Result<void> Connection::prepare(std::span<const Statement> statements) {
  try {
    for (const Statement& statement : statements) {
      if (!PQsendPrepare(raw(), std::string(statement.name).c_str(), expanded(statement.text).c_str(), 0, nullptr))
        fail_lost(queued_, trimmed(PQerrorMessage(raw())));
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

int Connection::announced_pid() const { return PQbackendPID(raw()); }

void Connection::fail_lost(std::size_t at, std::string what, bool timed_out) {
  lost_ = true;
  throw PgError{"", std::move(what), "", true, at, true, timed_out};
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
  if (lost_ || !PQsendQueryPrepared(raw(), std::string(statement.name).c_str(), bound.size(), bound.values.data(),
                                    bound.lengths.data(), bound.formats.data(), 1))
    fail_lost(queued_, trimmed(PQerrorMessage(raw())));
  return queued_++;
}

std::size_t Connection::queue_text(std::string_view sql, const Params& params) {
  const Bound bound(params);
  if (lost_ || !PQsendQueryParams(raw(), expanded(sql).c_str(), bound.size(), nullptr, bound.values.data(),
                                  bound.lengths.data(), bound.formats.data(), 1))
    fail_lost(queued_, trimmed(PQerrorMessage(raw())));
  return queued_++;
}

std::size_t Connection::end_segment() {
  if (lost_ || !PQpipelineSync(raw())) fail_lost(0, trimmed(PQerrorMessage(raw())));
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

// What happened at the socket.
short Connection::wait_for(short events, std::int64_t deadline) {
  const std::int64_t wait = deadline - base::steady_micros();
  if (wait <= 0) fail_lost(0, "no answer within the call timeout", /*timed_out=*/true);
  pollfd fds[2] = {{PQsocket(raw()), events, 0}, {stop_ ? stop_->fd() : -1, POLLIN, 0}};
  if (::poll(fds, 2, static_cast<int>(wait / 1000 + 1)) < 0 && errno != EINTR) fail_lost(0, std::strerror(errno));
  if (fds[1].revents != 0) fail_lost(0, "the store is being closed");
  return fds[0].revents;
}

void Connection::flush(std::int64_t deadline) {
  for (;;) {
    const int left = PQflush(raw());
    if (left == 0) return;
    if (left < 0) fail_lost(0, trimmed(PQerrorMessage(raw())));
    // The server may be blocked on answers we do not read: read while sending.
    if ((wait_for(POLLIN | POLLOUT, deadline) & (POLLIN | POLLHUP | POLLERR)) && !PQconsumeInput(raw()))
      fail_lost(0, trimmed(PQerrorMessage(raw())));
  }
}

pg_result* Connection::next_result(std::int64_t deadline) {
  while (PQisBusy(raw())) {
    wait_for(POLLIN, deadline);
    if (!PQconsumeInput(raw())) break;  // PQgetResult reports it
  }
  return PQgetResult(raw());
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
    if (PQstatus(raw()) != CONNECTION_OK) fail_lost(0, trimmed(PQerrorMessage(raw())));
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
      if (error->foreign) lost_ = error->lost = true;
    }
    if (piece == Piece::rows) rows.emplace_back(result);
    else PQclear(result);
    if (piece == Piece::sync || lost_) return error;
    if (PQstatus(raw()) == CONNECTION_OK) continue;
    lost_ = true;
    if (!error) fail_lost(rows.size(), trimmed(PQerrorMessage(raw())));
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
  PQexitPipelineMode(raw());
  if (!PQsendQuery(raw(), sql.c_str())) fail_lost(0, trimmed(PQerrorMessage(raw())));
  flush(deadline);
  std::optional<PgError> error;
  while (pg_result* result = next_result(deadline)) {
    if (piece_of(result) == Piece::failed && !error) error = error_of(result);
    PQclear(result);
  }
  if (PQstatus(raw()) != CONNECTION_OK || (error && error->foreign)) lost_ = true;
  if (error) {
    error->lost = lost_;
    if (!lost_) PQenterPipelineMode(raw());
    throw *error;
  }
  if (lost_) fail_lost(0, trimmed(PQerrorMessage(raw())));
  PQenterPipelineMode(raw());
}

std::vector<Connection::Notification> Connection::wait_notifications(Duration timeout, int wake_fd) {
  const std::int64_t deadline = base::steady_micros() + timeout.count();
  std::vector<Notification> out;
  std::array<pollfd, 3> fds{
      {{PQsocket(raw()), POLLIN, 0}, {wake_fd, POLLIN, 0}, {stop_ ? stop_->fd() : -1, POLLIN, 0}}};
  for (;;) {
    while (PGnotify* heard = PQnotifies(raw())) {
      out.push_back({heard->be_pid, heard->extra ? heard->extra : ""});
      PQfreemem(heard);
    }
    const std::int64_t wait = deadline - base::steady_micros();
    if (!out.empty() || wait <= 0) return out;
    if (::poll(fds.data(), fds.size(), static_cast<int>(wait / 1000 + 1)) < 0 && errno != EINTR)
      fail_lost(0, std::strerror(errno));
    if (fds[1].revents != 0 || fds[2].revents != 0) return out;
    if (fds[0].revents != 0 && !PQconsumeInput(raw())) fail_lost(0, trimmed(PQerrorMessage(raw())));
  }
}

Error to_error(const PgError& error) {
  const std::string_view state = error.sqlstate;
  const auto is = [&](std::initializer_list<std::string_view> states) {
    return std::find(states.begin(), states.end(), state) != states.end();
  };
  ErrorCode code = ErrorCode::Internal;
  if (error.lost || error.foreign || state.empty() || state.starts_with("08") || state.starts_with("57P") ||
      state == "53300")
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
