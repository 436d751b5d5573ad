#include "store/row_check.h"

#include "base/text.h"
#include "core/transition.h"
#include "core/validate.h"

namespace semel::store {
namespace {

// Counters leave room: one more is always a number.
constexpr std::int64_t kMost = std::int64_t{1} << 30;
constexpr std::int64_t kMostTokens = 1'000'000'000;  // of a rate limit

// `key` answers the text of the row's key; it is asked for damaged rows alone.
template <class Key>
class Row {
 public:
  Row(std::string_view table, Key key, const Misfit& misfit) : table_(table), key_(std::move(key)) {
    if (misfit) broken(*misfit);
  }
  Row& operator()(std::string_view column, std::int64_t value, std::int64_t low, std::int64_t high = kMost) {
    if (value < low || value > high) broken(std::string(column) + " is " + std::to_string(value));
    return *this;
  }
  template <class T>
  Row& operator()(std::string_view column, const std::optional<T>& value, std::int64_t low, std::int64_t high = kMost) {
    return value ? (*this)(column, *value, low, high) : *this;
  }
  Row& holds(bool sound, std::string_view what) {
    if (!sound) broken(std::string(what));
    return *this;
  }

 private:
  [[noreturn]] void broken(const std::string& what) const {
    throw core::InvariantBroken("InvariantBroken: table " + std::string(table_) + ", row " + key_() + ": " + what +
                                "; the row is damaged and left as it is");
  }
  std::string_view table_;
  Key key_;
};

std::string number_text(auto id) { return std::to_string(static_cast<std::int64_t>(id)); }
std::string lane_text(core::LaneId lane, const std::string& key) {
  return "lane " + number_text(lane) + " " + base::printable(key);
}

}  // namespace

void check(const core::Execution& e, const Misfit& misfit) {
  Row row("execution", [&] { return e.id.to_string(); }, misfit);
  row("priority", e.priority, core::kMinPriority, core::kMaxPriority)("max_attempts", e.max_attempts, 0);
  row("idempotency_key_ttl_seconds", e.idempotency_key_ttl_seconds, 0)("version", e.version, 1);
  row("attempt", e.attempt, 0)("parent_command", e.parent_command, 0);
  row.holds(!is_terminal(e.status) || e.completed_at, "it is over, but completed_at is not set");
}

void check(const core::Payload& p, const Misfit& misfit) {
  Row("payload", [&] { return p.execution.to_string(); }, misfit);
}

void check(const core::Identity& i, const Misfit& misfit) {
  Row(
      "identity", [&] { return "tenant " + number_text(i.id.tenant) + " " + base::printable(i.id.key); }, misfit)(
      "revision", i.revision, 1);
}

void check(const core::Lane& l, const Misfit& misfit) {
  Row row("lane", [&] { return number_text(l.id) + " " + base::printable(l.queue); }, misfit);
  if (l.config.rate_limit) {
    row("rate_count", l.config.rate_limit->count, 1, kMostTokens);
    row("rate_per", l.config.rate_limit->per.count(), 1, std::numeric_limits<std::int64_t>::max());
  }
  row("concurrency", l.config.concurrency, 0)("concurrency_per_key", l.config.concurrency_per_key, 0);
  row("max_attempts", l.config.max_attempts, 0)("running_count", l.running_count, 0);
  row("tokens_micro", l.tokens_micro, 0, kMostTokens * 1'000'000)("revision", l.revision, 0);
}

void check(const core::Group& g, const Misfit& misfit) {
  Row row("grp", [&] { return g.id.to_string(); }, misfit);
  row("total", g.total, 0)("joined", g.joined, 0)("ended", g.ended, 0)("failed", g.failed, 0);
  try {
    check(g.completion, {});
  } catch (const core::InvariantBroken& broken) {
    row.holds(false, broken.what());
  }
}

void check(const core::Attention& a, const Misfit& misfit) {
  Row("attention", [&] { return a.execution.to_string(); }, misfit);
}

void check(const core::ReadyRow& r, const Misfit& misfit) {
  Row(
      "ready", [&] { return r.execution.to_string(); }, misfit)("priority", r.priority, core::kMinPriority,
                                                                core::kMaxPriority);
}

void check(const core::BlockedRow& b, const Misfit& misfit) {
  Row(
      "blocked", [&] { return b.execution.to_string(); }, misfit)("priority", b.priority, core::kMinPriority,
                                                                  core::kMaxPriority);
}

void check(const core::TimerRow& t, const Misfit& misfit) {
  Row("timer", [&] { return t.execution.to_string(); }, misfit)("version", t.version, 0);
}

void check(const core::KeySlot& k, const Misfit& misfit) {
  Row("key_slot", [&] { return lane_text(k.lane, k.concurrency_key); }, misfit)("used", k.used, 0);
}

void check(const core::Session& s, const Misfit& misfit) {
  Row("session", [&] { return s.id.to_string(); }, misfit);
}

void check(const core::Lease& l, const Misfit& misfit) {
  Row row("lease", [&] { return l.id.to_string(); }, misfit);
  for (const core::LeasedExecution& one : l.executions) row("versions", one.version, 0);
}

void check(const core::Run& r, const Misfit& misfit) {
  Row("run", [&] { return r.execution.to_string(); }, misfit)("events", r.events, 0)("bytes", r.bytes, 0, kMost * 1024);
}

void check(const core::HistoryRow& h, const Misfit& misfit) {
  Row(
      "history", [&] { return h.run.to_string() + " event " + std::to_string(h.first); }, misfit)("first", h.first, 1)(
      "count", h.count, 1);
}

void check(const core::Mail& m, const Misfit& misfit) {
  Row("mail", [&] { return m.key.run.to_string(); }, misfit);
}

void check(const core::Watch& w, const Misfit& misfit) {
  Row("watch", [&] { return w.target.to_string(); }, misfit)("command", w.command, 0);
}

void check(const core::Signal& s, const Misfit& misfit) {
  Row("signal", [&] { return s.key.chain.to_string() + " " + base::printable(s.key.name); }, misfit);
}

void check(const core::RowCache::Noted& n, const Misfit& misfit) {
  Row("ledger_note", [&] { return base::printable(n.id.key); }, misfit);
}

void check(const core::LedgerNote& n, const Misfit& misfit) {
  Row("ledger_note", [&] { return base::printable(n.key); }, misfit);
}

void check(const core::InboxRow& i, const Misfit& misfit) {
  Row("inbox", [&] { return std::to_string(i.id); }, misfit);
}

}  // namespace semel::store
