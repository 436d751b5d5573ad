// Hints between processes over LISTEN/NOTIFY. Lost hints cost latency only. The channel's name is a secret of the store
// (semel.meta): who cannot read the store's tables can neither listen to it nor speak on it.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "core/row_cache.h"
#include "store/port.h"
#include "store/postgres/connection.h"
#include "store/postgres/history.h"

namespace semel::store::postgres {

// `l1,7;e<id>,<id>;c<id>`; empty when there is nothing to say. Long lists are cut: `l*` is any lane, too many ended
// executions are left to the poll.
std::string encode_hint(const Wakes& wakes);
// `o<claim>,<session>,<lease>,<limit>,<worker>,<lane>,...`
std::string encode_offer(const core::TaskClaim& claim);
// `h<claim>,<session>,<task>,...` for every claim of cache.handed, by whom it is for; without tasks where they are too
// large for a hint.
std::map<std::string, std::string> encode_hand_over(const core::RowCache& cache);
// On which the process with that listening backend alone listens. TaskClaim::tell of an offer that was heard is the
// backend it came from.
std::string private_channel(const std::string& channel, std::string_view backend);
// Adds to `wakes`; false when the text means "look everywhere" or cannot be read.
bool decode_hint(std::string_view text, Wakes& wakes);

// The listening side, on a connection of its own. Reconnects with a growing pause, never spins.
class HintListener {
 public:
  // `is_own`: whether a backend belongs to this process.
  HintListener(PgOptions options, std::function<bool(int pid)> is_own, const KnownHistory& history);
  ~HintListener();

  Store::Hints wait(Duration timeout);
  void interrupt();
  // Sent by the thread that waits. Any thread.
  void offer(const core::TaskClaim& claim);
  int backend_pid() const { return pid_.load(std::memory_order_relaxed); }

 private:
  bool connect();
  void pause(Duration timeout);
  void clear_interrupt();
  void send_said();

  PgOptions options_;
  std::function<bool(int)> is_own_;
  const KnownHistory& known_;
  std::uint64_t history_ = 0;  // in which the connection was opened
  std::string channel_;        // of that
  std::mutex said_mutex_;
  std::vector<std::string> said_;
  std::unique_ptr<Connection> connection_;
  Duration next_pause_;
  std::atomic<int> pid_{0};
  int wake_fd_;
};

}  // namespace semel::store::postgres
