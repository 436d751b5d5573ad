// Hints between processes over LISTEN/NOTIFY. Lost hints cost latency only.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "store/port.h"
#include "store/postgres/connection.h"

namespace semel::store::postgres {

// `l1,7;e<id>,<id>;c<id>`; empty when there is nothing to say. Long lists are cut: `l*` is any lane, too many ended
// executions are left to the poll.
std::string encode_hint(const Wakes& wakes);
// Adds to `wakes`; false when the text means "look everywhere" or cannot be read.
bool decode_hint(std::string_view text, Wakes& wakes);

// The listening side, on a connection of its own. Reconnects with a growing pause, never spins.
class HintListener {
 public:
  // `is_own`: whether a backend belongs to this process.
  HintListener(PgOptions options, std::function<bool(int pid)> is_own);
  ~HintListener();

  Store::Hints wait(Duration timeout);
  void interrupt();
  int backend_pid() const { return pid_.load(std::memory_order_relaxed); }

 private:
  bool connect();
  void pause(Duration timeout);
  void clear_interrupt();

  PgOptions options_;
  std::function<bool(int)> is_own_;
  std::unique_ptr<Connection> connection_;
  Duration next_pause_;
  std::atomic<int> pid_{0};
  int wake_fd_;
};

}  // namespace semel::store::postgres
