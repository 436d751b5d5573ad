// The probe for poolers. A pooler invents the process number that it tells a client at connect; asked by a statement,
// the server tells its own.
#include "store/postgres/pooler.h"

#include <memory>
#include <string>

namespace semel::store::postgres {
namespace {

constexpr int kRounds = 3;
constexpr Duration kSecondWaits = std::chrono::milliseconds(300);

int ask_backend(Connection& connection) {
  connection.queue_text("select pg_backend_pid()");
  return connection.run()[0].i32(0, 0);
}

// Of an open transaction, so that a pooler of any mode keeps it there.
int hold_backend(Connection& connection) {
  connection.queue_text("begin");
  connection.queue_text("select pg_backend_pid()");
  return connection.run()[1].i32(0, 0);
}

void let_go(Connection& connection) {
  connection.queue_text("rollback");
  connection.run();
}

Error refused(const std::string& how) {
  return make_error(ErrorCode::Unsupported,
                    "store: a connection pooler in transaction or statement mode (pgbouncer or its like) stands before "
                    "the server: " +
                        how +
                        "; nothing was set or written. Set pool_mode = session for this database, or give the server's "
                        "own address as the store URL (docs/poolers.md)");
}

Error no_second(const std::string& why) {
  return make_error(ErrorCode::StoreUnavailable,
                    "store: a connection pooler stands before the server and gives no second connection, which is "
                    "needed to learn its mode: " +
                        why);
}

enum class Second { apart, shared, gets_none };

// The first connection rests while the second one holds a server connection.
Second one_round(Connection& first, Connection& second, int own) {
  // Twice without a pause: a pooler that goes round its server connections takes the next one.
  if (ask_backend(first) != own || ask_backend(first) != own) return Second::shared;
  int held = 0;
  try {
    held = hold_backend(second);
  } catch (const PgError& error) {
    if (!error.timed_out) throw;
    // It waits for a server connection. Poolers serve in order of arrival: if the first connection is answered now,
    // then by a server connection that it need not wait for.
    return ask_backend(first) == own ? Second::gets_none : Second::shared;
  }
  if (held == own || ask_backend(first) != own) return Second::shared;
  let_go(second);
  return Second::apart;
}

Result<void> tell_mode(Connection& first, const PgOptions& options, int own) {
  PgOptions short_wait = options;
  short_wait.call_timeout = kSecondWaits;
  auto second = Connection::open_bare(short_wait, "semel probe");
  if (!second) return no_second(second.error().message);
  for (int round = 0; round < kRounds; ++round) {
    const Second found = one_round(first, **second, own);
    if (found == Second::shared) return refused("one server connection serves several of its clients");
    if (found == Second::gets_none) return {};
  }
  return {};
}

}  // namespace

Result<Reached> look_for_pooler(Connection& connection, const PgOptions& options) {
  try {
    const int own = ask_backend(connection);
    if (own == connection.announced_pid()) return Reached{own, false};
    if (auto session = tell_mode(connection, options, own); !session) return std::move(session).error();
    return Reached{own, true};
  } catch (const PgError& error) {
    if (error.message.find("statement pooling") != std::string::npos) return refused(error.message);
    return to_error(error);
  }
}

}  // namespace semel::store::postgres
