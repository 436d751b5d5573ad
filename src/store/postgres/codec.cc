#include "store/postgres/codec.h"

#include <cstring>
#include <stdexcept>

#include "store/row_check.h"

namespace semel::store::postgres {
namespace {

// Walks the columns of one row from left to right.
class Columns {
 public:
  Columns(const Rows& rows, int row, int first) : rows_(rows), row_(row), column_(first) {}

  void operator()(std::string& out) { out = rows_.text(row_, column_++); }
  void operator()(Instant& out) { out = from_micros(integer<Instant>()); }
  void operator()(Duration& out) { out = Duration{integer<Duration>()}; }
  void operator()(bool& out) { out = rows_.flag(row_, column_++); }
  void operator()(core::Fingerprint& out) {
    const std::string_view bytes = rows_.bytes(row_, column_++);
    if (bytes.size() != out.bytes.size()) throw std::runtime_error("fingerprint has a wrong size");
    std::memcpy(out.bytes.data(), bytes.data(), bytes.size());
  }
  template <class T>
    requires(std::is_integral_v<T> || std::is_enum_v<T>)
  void operator()(T& out) {
    out = static_cast<T>(integer<T>());
  }
  template <class Tag>
  void operator()(Uuid<Tag>& out) {
    out = rows_.id<Uuid<Tag>>(row_, column_++);
  }
  template <class T>
  void operator()(std::optional<T>& out) {
    if (rows_.is_null(row_, column_)) {
      out.reset();
      ++column_;
    } else {
      (*this)(out.emplace());
    }
  }
  // The row, once it is known to be sound.
  template <class Row>
  Row checked(Row row) const {
    check(row, misfit_);
    return row;
  }

 private:
  template <class T>
  std::int64_t integer() {
    const std::int64_t stored = rows_.i64(row_, column_);
    if (!misfit_ && !fits<T>(stored)) misfit_ = rows_.name(column_) + " is " + std::to_string(stored);
    ++column_;
    return stored;
  }

  const Rows& rows_;
  int row_;
  int column_;
  Misfit misfit_;
};

// The fields of an execution in the order of kExecutionColumns, without the last: it came with schema 2.
template <class Visit, class E>
void each_field(Visit& visit, E& e) {
  visit(e.id), visit(e.tenant), visit(e.lane), visit(e.kind), visit(e.name), visit(e.identity), visit(e.priority);
  visit(e.max_attempts), visit(e.attempt_timeout), visit(e.concurrency_key), visit(e.idempotency_key);
  visit(e.idempotency_key_ttl_seconds), visit(e.fingerprint), visit(e.previous), visit(e.parent_run);
  visit(e.parent_workflow_id), visit(e.group), visit(e.created_at), visit(e.timeout_at), visit(e.status);
  visit(e.version), visit(e.attempt), visit(e.flags), visit(e.last_end), visit(e.close_reason), visit(e.suspend_reason);
  visit(e.scheduled_at), visit(e.started_at), visit(e.completed_at), visit(e.cancel_requested_at);
  visit(e.lease_expires_at), visit(e.session), visit(e.worker), visit(e.next), visit(e.result), visit(e.error);
  visit(e.progress);
}

// Length-prefixed fields; -1 marks an absent optional. Starts with a format number.
class Packer {
 public:
  void operator()(const std::string& value) { put(value); }
  template <class T>
  void operator()(const std::optional<T>& value) {
    if (value) (*this)(*value);
    else length(-1);
  }
  template <class T>
  void operator()(const T& value) {
    if constexpr (requires { bytes_of(value); }) put(bytes_of(value));
    else put(std::to_string(number_of(value)));
  }
  std::string take() { return std::move(out_); }

 private:
  void put(std::string_view bytes) {
    length(static_cast<std::int32_t>(bytes.size()));
    out_.append(bytes);
  }
  void length(std::int32_t n) {
    for (int shift = 24; shift >= 0; shift -= 8)
      out_.push_back(static_cast<char>(static_cast<std::uint32_t>(n) >> shift));
  }
  std::string out_;
};

class Unpacker {
 public:
  explicit Unpacker(std::string_view in) : in_(in) {}

  template <class T>
  void operator()(std::optional<T>& out) {
    if (next_absent()) return out.reset();
    (*this)(out.emplace());
  }
  template <class T>
  void operator()(T& out) {
    const std::string_view bytes = field();
    if constexpr (std::is_same_v<T, std::string>) out = std::string(bytes);
    else if constexpr (requires { out.bytes; }) copy(bytes, out.bytes);
    else if constexpr (std::is_same_v<T, Instant>) out = from_micros(number(bytes));
    else if constexpr (std::is_same_v<T, Duration>) out = Duration{number(bytes)};
    else out = static_cast<T>(number(bytes));
  }

 private:
  template <class Array>
  static void copy(std::string_view bytes, Array& out) {
    if (bytes.size() != out.size()) throw std::runtime_error("group completion: a field has a wrong size");
    std::memcpy(out.data(), bytes.data(), bytes.size());
  }
  static std::int64_t number(std::string_view digits) { return std::stoll(std::string(digits)); }
  bool next_absent() {
    if (in_.size() < 4 || read_integer(in_.substr(0, 4)) >= 0) return false;
    in_.remove_prefix(4);
    return true;
  }
  std::string_view field() {
    if (in_.size() < 4) throw std::runtime_error("group completion is cut short");
    const std::int64_t size = read_integer(in_.substr(0, 4));
    in_.remove_prefix(4);
    if (size < 0 || in_.size() < static_cast<std::size_t>(size))
      throw std::runtime_error("group completion is cut short");
    const std::string_view out = in_.substr(0, static_cast<std::size_t>(size));
    in_.remove_prefix(static_cast<std::size_t>(size));
    return out;
  }
  std::string_view in_;
};

template <class Visit, class P>
void each_payload_field(Visit& visit, P& p) {
  visit(p.execution), visit(p.encoding), visit(p.args), visit(p.policy);
}

// The row that has these fields, all of its columns, once it is known to be sound.
template <class Row, class... Fields>
Row read_fields(Row& out, const Rows& rows, int row, Fields&... fields) {
  Columns read(rows, row, 0);
  (read(fields), ...);
  return read.checked(std::move(out));
}

}  // namespace

core::Execution read_execution(const Rows& rows, int row, int first) {
  core::Execution e;
  Columns read(rows, row, first);
  each_field(read, e), read(e.parent_command);
  return read.checked(std::move(e));
}

core::Payload read_payload(const Rows& rows, int row, ExecutionId id, int first) {
  core::Payload p;
  p.execution = id;
  Columns read(rows, row, first);
  read(p.encoding), read(p.args), read(p.policy);
  return read.checked(std::move(p));
}

core::Lane read_lane(const Rows& rows, int row, int first) {
  core::Lane lane;
  core::LaneConfig& c = lane.config;
  std::optional<std::int64_t> rate_count;
  std::optional<Duration> rate_per;
  Columns read(rows, row, first);
  read(lane.id), read(lane.tenant), read(lane.queue), read(c.retention), read(rate_count), read(rate_per);
  read(c.concurrency), read(c.concurrency_per_key), read(c.dead_letter), read(c.max_attempts), read(c.retry);
  read(c.paused), read(lane.running_count), read(lane.tokens_micro), read(lane.tokens_at), read(lane.revision);
  if (rate_count && rate_per) c.rate_limit = core::RateLimit{*rate_count, *rate_per};
  return read.checked(std::move(lane));
}

core::Identity read_identity(const Rows& rows, int row) {
  core::Identity i;
  return read_fields(i, rows, row, i.id.tenant, i.id.space, i.id.key, i.target, i.target_kind, i.tombstone,
                     i.fingerprint, i.expires_at, i.revision);
}

core::ReadyRow read_ready(const Rows& rows, int row) {
  core::ReadyRow r;
  return read_fields(r, rows, row, r.lane, r.pool, r.priority, r.due_at, r.execution);
}

core::BlockedRow read_blocked(const Rows& rows, int row) {
  core::BlockedRow r;
  return read_fields(r, rows, row, r.lane, r.concurrency_key, r.priority, r.due_at, r.execution);
}

core::TimerRow read_timer(const Rows& rows, int row) {
  core::TimerRow r;
  return read_fields(r, rows, row, r.due_at, r.kind, r.execution, r.version);
}

core::KeySlot read_key_slot(const Rows& rows, int row) {
  core::KeySlot r;
  return read_fields(r, rows, row, r.lane, r.concurrency_key, r.used);
}

core::Session read_session(const Rows& rows, int row) {
  core::Session r;
  return read_fields(r, rows, row, r.id, r.worker, r.opened_at, r.expires_at);
}

core::Lease read_lease(const Rows& rows, int row) {
  core::Lease lease;
  Columns read(rows, row, 0);
  read(lease.id), read(lease.session);
  const auto ids = rows.array(row, 2);
  const auto versions = rows.array(row, 3);
  if (ids.size() != versions.size()) throw std::runtime_error("lease " + lease.id.to_string() + " is uneven");
  for (std::size_t i = 0; i < ids.size(); ++i) {
    core::LeasedExecution one;
    std::memcpy(one.execution.bytes.data(), ids[i].data(), 16);
    one.version = static_cast<std::int32_t>(read_integer(versions[i]));
    lease.executions.push_back(one);
  }
  return read.checked(std::move(lease));
}

core::Group read_group(const Rows& rows, int row) {
  core::Group g;
  std::string completion;
  Columns read(rows, row, 0);
  read(g.id), read(g.tenant), read(g.total), read(g.joined), read(g.ended), read(g.failed), read(g.completed);
  read(completion);
  decode_task(completion, g.completion, g.completion_payload);
  return read.checked(std::move(g));
}

void decode_task(const std::string& bytes, core::Execution& execution, core::Payload& payload) {
  Unpacker unpack(bytes);
  std::int32_t format = 0;
  unpack(format);
  if (format != 1 && format != 2) throw std::runtime_error("a packed task has an unknown format");
  each_field(unpack, execution);
  if (format > 1) unpack(execution.parent_command);  // since schema 2
  each_payload_field(unpack, payload);
}

std::string encode_task(const core::Execution& execution, const core::Payload& payload) {
  Packer pack;
  pack(std::int32_t{2});
  each_field(pack, execution), pack(execution.parent_command);
  each_payload_field(pack, payload);
  return pack.take();
}

core::Attention read_attention(const Rows& rows, int row) {
  core::Attention r;
  return read_fields(r, rows, row, r.execution, r.tenant, r.lane, r.status, r.at, r.discarded_at, r.successor);
}

core::LedgerNote read_note(const Rows& rows, int row) {
  core::LedgerNote r;
  return read_fields(r, rows, row, r.tenant, r.space, r.key, r.rule, r.at, r.winner);
}

core::InboxRow read_inbox(const Rows& rows, int row) {
  core::InboxRow r;
  return read_fields(r, rows, row, r.id, r.tenant, r.request, r.error);
}

core::Run read_run(const Rows& rows, int row) {
  core::Run r;
  return read_fields(r, rows, row, r.execution, r.events, r.bytes, r.state, r.memo, r.attributes, r.chain);
}

core::HistoryRow read_history(const Rows& rows, int row) {
  core::HistoryRow r;
  return read_fields(r, rows, row, r.run, r.first, r.count, r.at, r.events);
}

core::Mail read_mail(const Rows& rows, int row) {
  core::Mail r;
  return read_fields(r, rows, row, r.key.run, r.key.at, r.key.id, r.event);
}

core::Watch read_watch(const Rows& rows, int row) {
  core::Watch r;
  return read_fields(r, rows, row, r.target, r.run, r.command);
}

core::Signal read_signal(const Rows& rows, int row) {
  core::Signal r;
  return read_fields(r, rows, row, r.key.chain, r.key.name, r.key.dedupe, r.mail, r.answer);
  return r;
}

}  // namespace semel::store::postgres
