#include "store/sqlite/row_codec.h"

#include <sqlite3.h>

#include <cstring>

#include "store/row_check.h"

namespace semel::store::sqlite {
namespace {

template <class T>
inline constexpr bool is_stored_as_integer =
    std::is_integral_v<T> || std::is_enum_v<T> || std::is_same_v<T, Instant> || std::is_same_v<T, Duration>;

// Walks the columns of a row in order.
class Columns {
 public:
  Columns(const Statement& from, int column) : from_(from), column_(column) {}
  template <class... Fields>
  Columns& operator()(Fields&... fields) {
    (read(fields), ...);
    return *this;
  }
  // The row, once it is known to be sound.
  template <class Row>
  Row checked(Row row) const {
    check(row, misfit_);
    return row;
  }

 private:
  template <class T>
  void read(T& out) {
    if constexpr (is_stored_as_integer<T>) look<T>();
    from_.get(column_++, out);
  }
  template <class T>
  void read(std::optional<T>& out) {
    if constexpr (is_stored_as_integer<T>)
      if (!from_.is_null(column_)) look<T>();
    from_.get(column_++, out);
  }
  template <class T>
  void look() {
    const std::int64_t stored = from_.integer(column_);
    if (!misfit_ && !fits<T>(stored))
      misfit_ = std::string(from_.column_name(column_)) + " is " + std::to_string(stored);
  }

  const Statement& from_;
  int column_;
  Misfit misfit_;
};

void add_fixed(Statement& to, const core::Execution& e) {
  to.add(e.id).add(e.tenant).add(e.lane).add(e.kind).add(e.name).add(e.identity).add(e.priority).add(e.max_attempts);
  to.add(e.attempt_timeout).add(e.concurrency_key).add(e.idempotency_key).add(e.idempotency_key_ttl_seconds);
  to.add(e.fingerprint).add(e.previous).add(e.parent_run).add(e.parent_workflow_id).add(e.group).add(e.created_at);
  to.add(e.timeout_at);
}

void add_changing(Statement& to, const core::Execution& e) {
  to.add(e.status).add(e.version).add(e.attempt).add(e.flags).add(e.last_end).add(e.close_reason).add(e.suspend_reason);
  to.add(e.scheduled_at).add(e.started_at).add(e.completed_at).add(e.cancel_requested_at).add(e.lease_expires_at);
  to.add(e.session).add(e.worker).add(e.next).add(Blob(e.result)).add(Blob(e.error)).add(Blob(e.progress));
}

}  // namespace

void add_execution(Statement& to, const core::Execution& row) {
  add_fixed(to, row);
  add_changing(to, row);
  to.add(row.parent_command);
}

void bind_execution_update(Statement& to, const core::Execution& row, std::int32_t read_version) {
  to.bind(row.id, read_version);
  add_changing(to, row);
}

namespace {

void read_all(Columns& columns, core::Execution& e) {
  columns(e.id, e.tenant, e.lane, e.kind, e.name, e.identity, e.priority, e.max_attempts, e.attempt_timeout)(
      e.concurrency_key, e.idempotency_key, e.idempotency_key_ttl_seconds, e.fingerprint, e.previous, e.parent_run)(
      e.parent_workflow_id, e.group, e.created_at, e.timeout_at, e.status, e.version, e.attempt, e.flags, e.last_end)(
      e.close_reason, e.suspend_reason, e.scheduled_at, e.started_at, e.completed_at, e.cancel_requested_at)(
      e.lease_expires_at, e.session, e.worker, e.next, e.result, e.error, e.progress)(e.parent_command);
}

}  // namespace

core::Execution read_execution(const Statement& from, int column) {
  core::Execution e;
  Columns columns(from, column);
  read_all(columns, e);
  return columns.checked(std::move(e));
}

void add_payload(Statement& to, const core::Payload& row) {
  to.add(row.execution).add(row.encoding).add(Blob(row.args)).add(row.policy);
}

core::Payload read_payload(const Statement& from, int column) {
  core::Payload p;
  Columns columns(from, column);
  columns(p.execution, p.encoding, p.args, p.policy);
  return columns.checked(std::move(p));
}

void bind_identity(Statement& to, const core::Identity& row) {
  to.bind(row.id.tenant, row.id.space, row.id.key, row.target, row.target_kind, row.tombstone, row.fingerprint,
          row.expires_at, row.revision);
}

core::Identity read_identity(const Statement& from) {
  core::Identity i;
  Columns columns(from, 0);
  columns(i.id.tenant, i.id.space, i.id.key, i.target, i.target_kind, i.tombstone, i.fingerprint, i.expires_at,
          i.revision);
  return columns.checked(std::move(i));
}

void bind_lane(Statement& to, const core::Lane& row) {
  const core::LaneConfig& c = row.config;
  to.bind(row.id, row.tenant, row.queue, c.retention);
  if (c.rate_limit) {
    to.add(c.rate_limit->count).add(c.rate_limit->per);
  } else {
    to.add(std::nullopt).add(std::nullopt);
  }
  to.add(c.concurrency).add(c.concurrency_per_key).add(c.dead_letter).add(c.max_attempts).add(c.retry).add(c.paused);
  to.add(row.running_count).add(row.tokens_micro).add(row.tokens_at).add(row.revision);
}

core::Lane read_lane(const Statement& from) {
  core::Lane l;
  core::LaneConfig& c = l.config;
  std::optional<std::int64_t> rate_count;
  std::optional<Duration> rate_per;
  Columns columns(from, 0);
  columns(l.id, l.tenant, l.queue, c.retention, rate_count, rate_per, c.concurrency, c.concurrency_per_key)(
      c.dead_letter, c.max_attempts, c.retry, c.paused, l.running_count, l.tokens_micro, l.tokens_at, l.revision);
  if (rate_count && rate_per) c.rate_limit = core::RateLimit{*rate_count, *rate_per};
  return columns.checked(std::move(l));
}

void bind_group(Statement& to, const core::Group& row) {
  const core::Payload& p = row.completion_payload;
  to.bind(row.id, row.tenant, row.total, row.joined, row.ended, row.failed, row.completed, p.execution, p.encoding,
          Blob(p.args), p.policy);
  add_fixed(to, row.completion);
  add_changing(to, row.completion);
  to.add(row.completion.parent_command);
}

core::Group read_group(const Statement& from) {
  core::Group g;
  core::Payload& p = g.completion_payload;
  Columns columns(from, 0);
  columns(g.id, g.tenant, g.total, g.joined, g.ended, g.failed, g.completed);
  columns(p.execution, p.encoding, p.args, p.policy);
  read_all(columns, g.completion);
  return columns.checked(std::move(g));
}

void bind_attention(Statement& to, const core::Attention& row) {
  to.bind(row.execution, row.tenant, row.lane, row.status, row.at, row.discarded_at, row.successor);
}

core::Attention read_attention(const Statement& from) {
  core::Attention a;
  Columns columns(from, 0);
  columns(a.execution, a.tenant, a.lane, a.status, a.at, a.discarded_at, a.successor);
  return columns.checked(std::move(a));
}

core::ReadyRow read_ready(const Statement& from) {
  core::ReadyRow r;
  Columns columns(from, 0);
  columns(r.lane, r.pool, r.priority, r.due_at, r.execution);
  return columns.checked(std::move(r));
}

core::BlockedRow read_blocked(const Statement& from) {
  core::BlockedRow b;
  Columns columns(from, 0);
  columns(b.lane, b.concurrency_key, b.priority, b.due_at, b.execution);
  return columns.checked(std::move(b));
}

core::TimerRow read_timer(const Statement& from) {
  core::TimerRow t;
  Columns columns(from, 0);
  columns(t.due_at, t.kind, t.execution, t.version);
  return columns.checked(std::move(t));
}

core::KeySlot read_key_slot(const Statement& from) {
  core::KeySlot k;
  Columns columns(from, 0);
  columns(k.lane, k.concurrency_key, k.used);
  return columns.checked(std::move(k));
}

core::Session read_session(const Statement& from) {
  core::Session s;
  Columns columns(from, 0);
  columns(s.id, s.worker, s.opened_at, s.expires_at);
  return columns.checked(std::move(s));
}

void bind_run(Statement& to, const core::Run& row) {
  to.bind(row.execution, row.events, row.bytes, Blob(row.state), row.memo, row.attributes, row.chain);
}

core::Run read_run(const Statement& from) {
  core::Run r;
  Columns columns(from, 0);
  columns(r.execution, r.events, r.bytes, r.state, r.memo, r.attributes, r.chain);
  return columns.checked(std::move(r));
}

core::HistoryRow read_history(const Statement& from) {
  core::HistoryRow h;
  Columns columns(from, 0);
  columns(h.run, h.first, h.count, h.at, h.events);
  return columns.checked(std::move(h));
}

core::Mail read_mail(const Statement& from) {
  core::Mail m;
  Columns columns(from, 0);
  columns(m.key.run, m.key.at, m.key.id, m.event);
  return columns.checked(std::move(m));
}

core::Watch read_watch(const Statement& from) {
  core::Watch w;
  Columns columns(from, 0);
  columns(w.target, w.run, w.command);
  return columns.checked(std::move(w));
}

core::RowCache::Noted read_noted(const Statement& from) {
  core::RowCache::Noted n;
  Columns columns(from, 0);
  columns(n.id.tenant, n.id.space, n.id.key, n.at);
  return columns.checked(std::move(n));
}

core::LedgerNote read_note(const Statement& from) {
  core::LedgerNote n;
  Columns columns(from, 0);
  columns(n.tenant, n.space, n.key, n.rule, n.at, n.winner);
  return columns.checked(std::move(n));
}

core::Signal read_signal(const Statement& from) {
  core::Signal s;
  Columns columns(from, 0);
  columns(s.key.chain, s.key.name, s.key.dedupe, s.mail, s.answer);
  return columns.checked(std::move(s));
}

namespace {
constexpr std::size_t kLeasedBytes = 20;
}

std::string encode_leased(const std::vector<core::LeasedExecution>& executions) {
  std::string out;
  out.reserve(executions.size() * kLeasedBytes);
  for (const core::LeasedExecution& one : executions) {
    out.append(reinterpret_cast<const char*>(one.execution.bytes.data()), one.execution.bytes.size());
    const auto version = static_cast<std::uint32_t>(one.version);
    for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<char>(version >> shift));
  }
  return out;
}

core::Lease read_lease(const Statement& from) {
  core::Lease lease;
  Columns columns(from, 0);
  columns(lease.id, lease.session);
  const std::string_view held = from.bytes(2);
  if (held.size() % kLeasedBytes != 0) throw SqliteFailure{SQLITE_CORRUPT, "lease.executions has a broken length"};
  for (std::size_t at = 0; at < held.size(); at += kLeasedBytes) {
    core::LeasedExecution one;
    std::memcpy(one.execution.bytes.data(), held.data() + at, one.execution.bytes.size());
    std::uint32_t version = 0;
    for (std::size_t i = 16; i < kLeasedBytes; ++i) version = version << 8 | static_cast<unsigned char>(held[at + i]);
    one.version = static_cast<std::int32_t>(version);
    lease.executions.push_back(one);
  }
  return columns.checked(std::move(lease));
}

}  // namespace semel::store::sqlite
