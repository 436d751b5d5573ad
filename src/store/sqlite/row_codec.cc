#include "store/sqlite/row_codec.h"

#include <sqlite3.h>

#include <cstring>

namespace semel::store::sqlite {
namespace {

// Walks the columns of a row in order.
class Columns {
 public:
  Columns(const Statement& from, int column) : from_(from), column_(column) {}
  template <class... Fields>
  Columns& operator()(Fields&... fields) {
    (from_.get(column_++, fields), ...);
    return *this;
  }

 private:
  const Statement& from_;
  int column_;
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

core::Execution read_execution(const Statement& from, int column) {
  core::Execution e;
  Columns(from, column)(e.id, e.tenant, e.lane, e.kind, e.name, e.identity, e.priority, e.max_attempts,
                        e.attempt_timeout)(e.concurrency_key, e.idempotency_key, e.idempotency_key_ttl_seconds,
                                           e.fingerprint, e.previous, e.parent_run)(
      e.parent_workflow_id, e.group, e.created_at, e.timeout_at, e.status, e.version, e.attempt, e.flags, e.last_end)(
      e.close_reason, e.suspend_reason, e.scheduled_at, e.started_at, e.completed_at, e.cancel_requested_at)(
      e.lease_expires_at, e.session, e.worker, e.next, e.result, e.error, e.progress)(e.parent_command);
  return e;
}

void add_payload(Statement& to, const core::Payload& row) {
  to.add(row.execution).add(row.encoding).add(Blob(row.args)).add(row.policy);
}

core::Payload read_payload(const Statement& from, int column) {
  core::Payload p;
  Columns(from, column)(p.execution, p.encoding, p.args, p.policy);
  return p;
}

void bind_identity(Statement& to, const core::Identity& row) {
  to.bind(row.id.tenant, row.id.space, row.id.key, row.target, row.target_kind, row.tombstone, row.fingerprint,
          row.expires_at, row.revision);
}

core::Identity read_identity(const Statement& from) {
  core::Identity i;
  Columns(from, 0)(i.id.tenant, i.id.space, i.id.key, i.target, i.target_kind, i.tombstone, i.fingerprint, i.expires_at,
                   i.revision);
  return i;
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
  Columns(from, 0)(l.id, l.tenant, l.queue, c.retention, rate_count, rate_per, c.concurrency, c.concurrency_per_key)(
      c.dead_letter, c.max_attempts, c.retry, c.paused, l.running_count, l.tokens_micro, l.tokens_at, l.revision);
  if (rate_count && rate_per) c.rate_limit = core::RateLimit{*rate_count, *rate_per};
  return l;
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
  constexpr int kOwnColumns = 7;
  core::Group g;
  Columns(from, 0)(g.id, g.tenant, g.total, g.joined, g.ended, g.failed, g.completed);
  g.completion_payload = read_payload(from, kOwnColumns);
  g.completion = read_execution(from, kOwnColumns + kPayloadColumns);
  return g;
}

void bind_attention(Statement& to, const core::Attention& row) {
  to.bind(row.execution, row.tenant, row.lane, row.status, row.at, row.discarded_at, row.successor);
}

core::Attention read_attention(const Statement& from) {
  core::Attention a;
  Columns(from, 0)(a.execution, a.tenant, a.lane, a.status, a.at, a.discarded_at, a.successor);
  return a;
}

core::ReadyRow read_ready(const Statement& from) {
  core::ReadyRow r;
  Columns(from, 0)(r.lane, r.pool, r.priority, r.due_at, r.execution);
  return r;
}

core::BlockedRow read_blocked(const Statement& from) {
  core::BlockedRow b;
  Columns(from, 0)(b.lane, b.concurrency_key, b.priority, b.due_at, b.execution);
  return b;
}

core::TimerRow read_timer(const Statement& from) {
  core::TimerRow t;
  Columns(from, 0)(t.due_at, t.kind, t.execution, t.version);
  return t;
}

core::KeySlot read_key_slot(const Statement& from) {
  core::KeySlot k;
  Columns(from, 0)(k.lane, k.concurrency_key, k.used);
  return k;
}

core::Session read_session(const Statement& from) {
  core::Session s;
  Columns(from, 0)(s.id, s.worker, s.opened_at, s.expires_at);
  return s;
}

void bind_run(Statement& to, const core::Run& row) {
  to.bind(row.execution, row.events, row.bytes, Blob(row.state), row.memo, row.attributes, row.chain);
}

core::Run read_run(const Statement& from) {
  core::Run r;
  Columns(from, 0)(r.execution, r.events, r.bytes, r.state, r.memo, r.attributes, r.chain);
  return r;
}

core::HistoryRow read_history(const Statement& from) {
  core::HistoryRow h;
  Columns(from, 0)(h.run, h.first, h.count, h.at, h.events);
  return h;
}

core::Mail read_mail(const Statement& from) {
  core::Mail m;
  Columns(from, 0)(m.key.run, m.key.at, m.key.id, m.event);
  return m;
}

core::Watch read_watch(const Statement& from) {
  core::Watch w;
  Columns(from, 0)(w.target, w.run, w.command);
  return w;
}

core::RowCache::Noted read_noted(const Statement& from) {
  core::RowCache::Noted n;
  Columns(from, 0)(n.id.tenant, n.id.space, n.id.key, n.at);
  return n;
}

core::Signal read_signal(const Statement& from) {
  core::Signal s;
  Columns(from, 0)(s.key.chain, s.key.name, s.key.dedupe, s.mail, s.answer);
  return s;
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
  Columns(from, 0)(lease.id, lease.session);
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
  return lease;
}

}  // namespace semel::store::sqlite
