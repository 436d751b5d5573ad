// Which history of the data a server shows, and the one that this process works in.
//
// Numbers of tenants and lanes count only in the history in which they were read. Another one begins where a server
// takes over that lost a tail, where the schema is made anew, and where an older copy is restored
// (store::Store::history).
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "base/log.h"
#include "store/postgres/connection.h"

namespace semel::store::postgres {

struct History {
  std::int64_t system = 0;    // the cluster's own number
  std::int32_t timeline = 0;  // a promotion begins another one
  std::int64_t birth = 0;     // when the schema was made
  std::int64_t table = 0;     // the number of semel.meta: the schema may be made anew out of a dump
  std::int64_t generation = 0;
  bool operator==(const History&) const = default;
};
std::string to_string(const History& history);

struct FoundHistory {
  History history;
  std::string channel;  // of the hints
  bool noted = false;   // a writer was here before
};
// StoreReadOnly: a replica.
Result<FoundHistory> find_history(Connection& connection);

// $n, $n+1, $n+2 of the statements that raise in another history.
Params& add_history(Params& params, const History& history);
// What they raise.
inline constexpr std::string_view kAnotherHistory = "2201E";

// Of one process. Thread-safe.
class KnownHistory {
 public:
  explicit KnownHistory(base::LogSink& log) : log_(log) {}

  // Grows with every change; 0: the one that the store was opened in.
  std::uint64_t number() const { return number_.load(); }
  std::string channel() const;
  // What a new connection shows is the history that this process works in from now on. Answers its number.
  // StoreUnavailable: a server that was overtaken, as an old primary that is still alive.
  Result<std::uint64_t> meet(const FoundHistory& found);

 private:
  base::LogSink& log_;
  std::atomic<std::uint64_t> number_{0};
  mutable std::mutex mutex_;
  std::optional<FoundHistory> known_;
};

// The first writer in a history notes it in the store and voids what was leased before.
Result<void> note_history(Connection& connection, const History& history, base::LogSink& log);

}  // namespace semel::store::postgres
