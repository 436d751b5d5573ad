#include "store/snapshot_text.h"

#include <algorithm>
#include <concepts>
#include <optional>
#include <type_traits>

namespace semel::store {
namespace {

void put_quoted(std::string& out, std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  out.push_back('"');
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte >= 0x7f || c == '"' || c == '\\' || c == '|') {
      out += "\\x";
      out.push_back(kHex[byte >> 4]);
      out.push_back(kHex[byte & 15]);
    } else {
      out.push_back(c);
    }
  }
  out.push_back('"');
}

// Appends `|name=value` for every kind of field a row has.
class Line {
 public:
  explicit Line(std::string_view table) : text_(table) {}

  template <class T>
  Line& operator()(std::string_view name, const T& value) {
    text_.push_back('|');
    text_.append(name);
    text_.push_back('=');
    put(value);
    return *this;
  }

  std::string take() { return std::move(text_); }

 private:
  void put(const std::string& value) { put_quoted(text_, value); }
  void put(std::string_view value) { put_quoted(text_, value); }
  void put(const char* value) { put_quoted(text_, value); }
  void put(Instant value) { text_ += std::to_string(to_micros(value)); }
  void put(Duration value) { text_ += std::to_string(value.count()); }
  void put(bool value) { text_.push_back(value ? '1' : '0'); }
  void put(std::integral auto value) { text_ += std::to_string(value); }
  void put(const core::Fingerprint& value) { text_ += value.to_string(); }
  template <class E>
    requires std::is_enum_v<E>
  void put(E value) {
    text_ += std::to_string(static_cast<std::int64_t>(value));
  }
  template <class Tag>
  void put(const Uuid<Tag>& value) {
    text_ += value.to_string();
  }
  template <class T>
  void put(const std::optional<T>& value) {
    if (value) put(*value);
  }

  std::string text_;
};

Line& fields(Line& line, const core::Execution& e) {
  return line("id", e.id)("tenant", e.tenant)("lane", e.lane)("kind", e.kind)("name", e.name)("identity", e.identity)(
      "priority", e.priority)("max_attempts", e.max_attempts)("attempt_timeout", e.attempt_timeout)(
      "concurrency_key", e.concurrency_key)("idempotency_key", e.idempotency_key)(
      "idempotency_key_ttl_seconds", e.idempotency_key_ttl_seconds)("fingerprint", e.fingerprint)(
      "previous", e.previous)("parent_run", e.parent_run)("parent_workflow_id", e.parent_workflow_id)("group", e.group)(
      "created_at", e.created_at)("timeout_at", e.timeout_at)("status", e.status)("version", e.version)(
      "attempt", e.attempt)("flags", e.flags)("last_end", e.last_end)("close_reason", e.close_reason)(
      "suspend_reason", e.suspend_reason)("scheduled_at", e.scheduled_at)("started_at", e.started_at)(
      "completed_at", e.completed_at)("cancel_requested_at", e.cancel_requested_at)(
      "lease_expires_at", e.lease_expires_at)("session", e.session)("worker", e.worker)("next", e.next)(
      "result", e.result)("error", e.error)("progress", e.progress)("parent_command", e.parent_command);
}

Line& fields(Line& line, const core::Payload& p) {
  return line("execution", p.execution)("encoding", p.encoding)("args", p.args)("policy", p.policy);
}

}  // namespace

std::string to_line(core::TenantId id, std::string_view name) { return Line("tenant")("id", id)("name", name).take(); }

std::string to_line(const core::Lane& row) {
  const core::LaneConfig& c = row.config;
  Line line("lane");
  line("id", row.id)("tenant", row.tenant)("queue", row.queue)("retention", c.retention);
  line("rate_count", c.rate_limit ? std::optional(c.rate_limit->count) : std::nullopt);
  line("rate_per", c.rate_limit ? std::optional(c.rate_limit->per) : std::nullopt);
  return line("concurrency", c.concurrency)("concurrency_per_key", c.concurrency_per_key)("dead_letter", c.dead_letter)(
             "max_attempts", c.max_attempts)("retry", c.retry)("paused", c.paused)("running_count", row.running_count)(
             "tokens_micro", row.tokens_micro)("tokens_at", row.tokens_at)("revision", row.revision)
      .take();
}

std::string to_line(const core::Identity& row) {
  return Line("identity")("tenant", row.id.tenant)("space", row.id.space)("key", row.id.key)("target", row.target)(
             "target_kind", row.target_kind)("tombstone", row.tombstone)("fingerprint", row.fingerprint)(
             "expires_at", row.expires_at)("revision", row.revision)
      .take();
}

std::string to_line(const core::Execution& row) {
  Line line("execution");
  return fields(line, row).take();
}

std::string to_line(const core::Payload& row) {
  Line line("payload");
  return fields(line, row).take();
}

std::string to_line(const core::ReadyRow& row) {
  return Line("ready")("lane", row.lane)("pool", row.pool)("priority", row.priority)("due_at", row.due_at)(
             "execution", row.execution)
      .take();
}

std::string to_line(const core::BlockedRow& row) {
  return Line("blocked")("lane", row.lane)("concurrency_key", row.concurrency_key)("priority", row.priority)(
             "due_at", row.due_at)("execution", row.execution)
      .take();
}

std::string to_line(const core::TimerRow& row) {
  return Line("timer")("due_at", row.due_at)("kind", row.kind)("execution", row.execution)("version", row.version)
      .take();
}

std::string to_line(const core::KeySlot& row) {
  return Line("key_slot")("lane", row.lane)("concurrency_key", row.concurrency_key)("used", row.used).take();
}

std::string to_line(const core::Session& row) {
  return Line("session")("id", row.id)("worker", row.worker)("opened_at", row.opened_at)("expires_at", row.expires_at)
      .take();
}

std::string to_line(const core::Lease& row) {
  std::string held;
  for (const core::LeasedExecution& one : row.executions) {
    if (!held.empty()) held.push_back(',');
    held += one.execution.to_string() + "@" + std::to_string(one.version);
  }
  return Line("lease")("id", row.id)("session", row.session)("executions", held).take();
}

std::string to_line(const core::Group& row) {
  Line line("group");
  line("id", row.id)("tenant", row.tenant)("total", row.total)("joined", row.joined)("ended", row.ended)("failed",
                                                                                                         row.failed);
  line("completion", "");
  fields(line, row.completion);
  line("completion_payload", "");
  fields(line, row.completion_payload);
  return line("completed", row.completed).take();
}

std::string to_line(const core::Attention& row) {
  return Line("attention")("execution", row.execution)("tenant", row.tenant)("lane", row.lane)("status", row.status)(
             "at", row.at)("discarded_at", row.discarded_at)("successor", row.successor)
      .take();
}

std::string to_line(const core::IdentityKey& id, core::LedgerRule rule, std::int64_t count) {
  return Line("ledger")("tenant", id.tenant)("space", id.space)("key", id.key)("rule", rule)("count", count).take();
}

std::string to_line(const core::LedgerNote& row) {
  return Line("ledger_note")("tenant", row.tenant)("space", row.space)("key", row.key)("rule", row.rule)("at", row.at)(
             "winner", row.winner)
      .take();
}

std::string to_line(const core::Run& row) {
  return Line("run")("execution", row.execution)("events", row.events)("bytes", row.bytes)("state", row.state)(
             "memo", row.memo)("attributes", row.attributes)("chain", row.chain)
      .take();
}

std::string to_line(const core::HistoryRow& row) {
  return Line("history")("run", row.run)("first", row.first)("count", row.count)("at", row.at)("events", row.events)
      .take();
}

std::string to_line(const core::Mail& row) {
  return Line("mail")("run", row.key.run)("at", row.key.at)("id", row.key.id)("event", row.event).take();
}

std::string to_line(const core::Watch& row) {
  return Line("watch")("target", row.target)("run", row.run)("command", row.command).take();
}

std::string to_line(const core::Signal& row) {
  return Line("signal")("chain", row.key.chain)("name", row.key.name)("dedupe", row.key.dedupe)("mail", row.mail)(
             "answer", row.answer)
      .take();
}

std::string to_snapshot(std::vector<std::string> lines) {
  std::sort(lines.begin(), lines.end());
  std::string out;
  for (const std::string& line : lines) {
    out += line;
    out.push_back('\n');
  }
  return out;
}

}  // namespace semel::store
