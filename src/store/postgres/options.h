// How to reach a PostgreSQL store and what to insist on.
#pragma once

#include <memory>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "semel/time.h"

namespace semel::store::postgres {

class StopSignal;

inline constexpr int kMaxLines = 8;

struct PgOptions {
  std::string url;       // postgres://..., postgresql://... or libpq's key=value form
  bool migrate = false;  // bring the schema up to date first
  bool unsafe = false;   // accept a server with fsync=off: acknowledged work may be lost
  int lines = 2;         // transactions of the writer that may run beside each other; 1 to kMaxLines
  int readers = 2;
  Duration writer_lock_timeout = std::chrono::milliseconds(100);  // then the batch moves to the slow lane
  Duration slow_lock_timeout = std::chrono::seconds(5);
  Duration call_timeout = std::chrono::seconds(10);  // of one round trip; then the connection is given up
  Duration connect_timeout = std::chrono::seconds(5);
  Duration reconnect_pause = std::chrono::milliseconds(50);  // doubles with every failure up to two seconds
  Duration read_patience = std::chrono::seconds(5);          // how long a read waits for a server that is away
  Duration long_transaction = std::chrono::minutes(5);       // of somebody else: an alarm
  bool hints = true;                       // send and hear NOTIFY; off: other processes find work by polling
  base::LogSink* log = &base::null_log();  // must outlive the store, as must:
  base::Clock* clock = nullptr;            // none: the database's clock
  std::shared_ptr<StopSignal> stop;        // ends the waits of all connections; a store makes its own
  std::shared_ptr<void> keep;              // released when the last connection of the store is closed
};

}  // namespace semel::store::postgres
