// The rows one batch works on, as an in-memory overlay: loaded from the store, changed by decisions in arrival order,
// written back once. Decisions of one batch see each other's changes here; the store sees only the sum.
#pragma once

#include <cassert>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/rows.h"

namespace semel::core {

// Combines hashes; for the composite keys below.
inline std::size_t mix_hash(std::size_t a, std::size_t b) {
  return a ^ (b + 0x9e3779b97f4a7c15ull + (a << 6) + (a >> 2));
}

struct LaneName {
  TenantId tenant{};
  std::string queue;
  auto operator<=>(const LaneName&) const = default;
};
struct SlotKey {
  LaneId lane{};
  std::string concurrency_key;
  auto operator<=>(const SlotKey&) const = default;
};

struct KeyHash {
  std::size_t operator()(const IdentityKey& k) const {
    return mix_hash(std::hash<std::string>{}(k.key),
                    static_cast<std::size_t>(k.tenant) * 8 + static_cast<std::size_t>(k.space));
  }
  std::size_t operator()(const LaneName& k) const {
    return mix_hash(std::hash<std::string>{}(k.queue), static_cast<std::size_t>(k.tenant));
  }
  std::size_t operator()(const SlotKey& k) const {
    return mix_hash(std::hash<std::string>{}(k.concurrency_key), static_cast<std::size_t>(k.lane));
  }
  std::size_t operator()(const SignalKey& k) const {
    return mix_hash(mix_hash(std::hash<std::string>{}(k.name), std::hash<std::string>{}(k.dedupe)), (*this)(k.chain));
  }
  std::size_t operator()(const MailKey& k) const { return mix_hash((*this)(k.run), (*this)(k.id)); }
  std::size_t operator()(std::int64_t k) const { return static_cast<std::size_t>(k); }
  std::size_t operator()(LaneId k) const { return static_cast<std::size_t>(k); }
  std::size_t operator()(const std::string& k) const { return std::hash<std::string>{}(k); }
  template <class Tag>
  std::size_t operator()(const Uuid<Tag>& k) const {
    return std::hash<Uuid<Tag>>{}(k);
  }
};

enum class Change : std::uint8_t { none, inserted, updated, erased };

template <class Row>
struct Slot {
  std::optional<Row> row;  // none: known to be absent
  Change change = Change::none;
  std::int32_t loaded_version = 0;  // Execution.version or Identity.revision as read: the guard of the write
};

template <class Key, class Row>
class SlotMap {
 public:
  bool knows(const Key& key) const { return slots_.count(key) != 0; }

  // Precondition: knows(key).
  Row* find(const Key& key) {
    auto it = slots_.find(key);
    assert(it != slots_.end());
    return it->second.row ? &*it->second.row : nullptr;
  }
  const Row* find(const Key& key) const { return const_cast<SlotMap*>(this)->find(key); }
  // One that others say is there. Throws where it is not: then one of them is damaged.
  Row& at(const Key& key) { return slots_.at(key).row.value(); }
  const Row& at(const Key& key) const { return slots_.at(key).row.value(); }

  // What the store holds. Ignored when the batch knows the row already: its own view is newer.
  void load(const Key& key, std::optional<Row> row) {
    auto [it, fresh] = slots_.try_emplace(key);
    if (!fresh) return;
    if (row) it->second.loaded_version = guard_of(*row);
    it->second.row = std::move(row);
  }

  Row& insert(const Key& key, Row row) {
    auto& slot = slots_[key];
    assert(!slot.row);
    slot.change = slot.change == Change::erased ? Change::updated : Change::inserted;
    slot.row = std::move(row);
    return *slot.row;
  }
  // Marks the row as changed; change it through the returned reference.
  Row& update(const Key& key) {
    auto& slot = slots_.at(key);
    Row& row = slot.row.value();
    if (slot.change == Change::none) slot.change = Change::updated;
    return row;
  }
  void erase(const Key& key) {
    auto& slot = slots_.at(key);
    assert(slot.row);
    slot.change = slot.change == Change::inserted ? Change::none : Change::erased;
    slot.row.reset();
  }

  const std::unordered_map<Key, Slot<Row>, KeyHash>& all() const { return slots_; }

 private:
  static std::int32_t guard_of(const Execution& row) { return row.version; }
  static std::int32_t guard_of(const Identity& row) { return row.revision; }
  template <class R>
  static std::int32_t guard_of(const R&) {
    return 0;
  }
  std::unordered_map<Key, Slot<Row>, KeyHash> slots_;
};

// Rows that exist or do not: ready, blocked, timer. Ordered by primary key; the last word of the batch wins.
enum class Presence : std::uint8_t { loaded, added, removed };

template <class Row>
class RowSet {
 public:
  void load(const Row& row) { rows_.try_emplace(row, Presence::loaded); }
  void add(const Row& row) { rows_[row] = Presence::added; }
  void remove(const Row& row) { rows_[row] = Presence::removed; }
  void take_back(const Row& row) { rows_.erase(row); }  // added by this batch, and only by it
  const std::map<Row, Presence>& all() const { return rows_; }

 private:
  std::map<Row, Presence> rows_;
};

// How much of the blocked rows of one concurrency key is loaded (in claim order).
struct BlockedWindow {
  std::int32_t loaded = 0;
  bool complete = false;  // the store holds no more than these
};

struct BlockedNeed {
  SlotKey key;
  std::int32_t limit = 0;
};
struct LedgerScan {
  IdentityKey after;
  std::int32_t limit = 0;
};
struct RetentionScan {
  ExecutionId after;
  ExecutionId before;
  std::int32_t limit = 0;
};

// Rows a decision still lacks. A backend answers all of it in one set-based, locking read.
struct Needs {
  std::vector<IdentityKey> identities;
  std::vector<ExecutionId> executions;
  std::vector<ExecutionId> payloads;
  std::vector<LaneId> lanes;
  std::vector<LaneName> lane_names;       // find or create
  std::vector<std::string> tenant_names;  // find or create
  std::vector<SlotKey> key_slots;
  std::vector<BlockedNeed> blocked;  // the first `limit` rows of the key
  std::vector<GroupId> groups;
  std::vector<SessionId> sessions;
  std::vector<ClaimId> leases;
  std::vector<ExecutionId> attention;
  std::int32_t timers_due = 0;             // how many due timers to load, earliest first; SKIP LOCKED
  std::int32_t leases_expired = 0;         // how many executions' worth of leases without a live session; SKIP LOCKED
  std::int32_t keys_expired = 0;           // how many identities with expires_at <= now; SKIP LOCKED
  std::optional<RetentionScan> retention;  // executions by ascending id, after < id < before
  std::optional<LedgerScan> ledger;        // ids with notes, ascending, after `after`
  std::optional<std::pair<LaneId, std::int32_t>> blocked_lane;  // first rows of a lane's blocked keys
  std::vector<std::int64_t> inbox;
  std::vector<ExecutionId> runs;
  std::vector<ExecutionId> mail;     // all mail of these runs
  std::vector<ExecutionId> watches;  // all that wait for these executions
  std::vector<SignalKey> signals;

  bool empty() const {
    return identities.empty() && executions.empty() && payloads.empty() && lanes.empty() && lane_names.empty() &&
           tenant_names.empty() && key_slots.empty() && blocked.empty() && groups.empty() && sessions.empty() &&
           leases.empty() && attention.empty() && timers_due == 0 && leases_expired == 0 && keys_expired == 0 &&
           !retention && !ledger && !blocked_lane && inbox.empty() && runs.empty() && mail.empty() && watches.empty() &&
           signals.empty();
  }
};

// A lane or tenant that read() found or created.
struct FoundLane {
  Lane lane;
  bool created = false;
};
struct FoundTenant {
  TenantId id{};
  bool created = false;
};

struct RowCache {
  SlotMap<IdentityKey, Identity> identities;
  SlotMap<ExecutionId, Execution> executions;
  SlotMap<ExecutionId, Payload> payloads;  // inserted with, and erased with, their execution
  SlotMap<LaneId, Lane> lanes;             // updated only
  SlotMap<SlotKey, KeySlot> key_slots;
  SlotMap<GroupId, Group> groups;
  SlotMap<SessionId, Session> sessions;
  SlotMap<ClaimId, Lease> leases;
  SlotMap<ExecutionId, Attention> attention;
  SlotMap<std::int64_t, InboxRow> inbox;  // updated (error) or erased
  std::unordered_map<LaneName, FoundLane, KeyHash> lane_names;
  std::unordered_map<std::string, FoundTenant, KeyHash> tenant_names;

  RowSet<ReadyRow> ready;
  RowSet<BlockedRow> blocked;
  RowSet<TimerRow> timers;
  std::unordered_map<SlotKey, BlockedWindow, KeyHash> blocked_windows;

  SlotMap<ExecutionId, Run> runs;              // erased with its execution, and with it its history, mail and watches
  std::vector<HistoryRow> history;             // appended
  SlotMap<MailKey, Mail> mail;                 // inserted and erased
  std::unordered_set<ExecutionId> mail_known;  // runs all of whose mail is in `mail`
  RowSet<Watch> watches;
  std::unordered_set<ExecutionId> watches_known;
  SlotMap<SignalKey, Signal> signals;    // inserted and updated
  std::vector<ExecutionId> chains_over;  // their last run was erased: all their signals go

  // Results of scans; none until asked for.
  std::optional<std::vector<TimerRow>> timers_due;
  std::optional<std::vector<ClaimId>> leases_expired;    // loaded into `leases`
  std::optional<std::vector<SessionId>> sessions_over;   // expired sessions that hold no lease; loaded into `sessions`
  std::optional<std::vector<IdentityKey>> keys_expired;  // loaded into `identities`
  std::optional<std::vector<ExecutionId>> retention;     // loaded into `executions`, ascending
  std::optional<std::vector<BlockedRow>> blocked_lane;
  struct Noted {
    IdentityKey id;
    Instant at{};  // of the newest note
  };
  std::optional<std::vector<Noted>> noted;

  // Written, never read in a batch.
  std::vector<LedgerNote> ledger;  // to add to the counters now
  std::vector<IdentityKey>
      ledger_forgotten;            // ascending: counts and notes go, unless somebody noted something meanwhile
  bool prune_batch_marks = false;  // drop marks older than an hour

  // Collected for the caller, not stored.
  std::vector<LedgerNote> notes;
  std::vector<ExecutionId> ended;
  std::optional<Execution> dropped;  // the latest row that ended and went at once, as it was at its end
  std::vector<ExecutionId> cancel_requested;
  std::vector<ExecutionId> mailed;  // owned runs that got mail
  struct Handed {
    ClaimId claim;
    ExecutionId execution;
    std::string tell;
  };
  std::vector<Handed> handed;  // claimed for the worker of another process
};

}  // namespace semel::core
