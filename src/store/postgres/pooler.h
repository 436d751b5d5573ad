// Learns whether a pooler stands before the server, and of which mode, before anything is set or written there.
//
// A pooler in session mode gives a connection a server connection of its own: it is used like the server itself. In
// transaction or statement mode every transaction may run on another one, together with those of other programs: what a
// session sets there, prepares or listens to hits them. That is refused. docs/poolers.md.
#pragma once

#include "semel/result.h"
#include "store/postgres/connection.h"

namespace semel::store::postgres {

struct Reached {
  int backend = 0;      // the server's process behind the connection
  bool pooled = false;  // a pooler in session mode is between
};

// Asks on `connection` and, behind a pooler, on a second one; leaves nothing behind. Unsupported: a pooler in another
// mode than session. StoreUnavailable.
Result<Reached> look_for_pooler(Connection& connection, const PgOptions& options);

}  // namespace semel::store::postgres
