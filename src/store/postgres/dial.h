// Reaches a server: the parameters of a connection, and a connect with a deadline that a stop signal ends early.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "semel/result.h"
#include "store/postgres/options.h"

struct pg_conn;

namespace semel::store::postgres {

struct FinishConnection {
  void operator()(pg_conn* connection) const;
};
using PgHandle = std::unique_ptr<pg_conn, FinishConnection>;

// Connected and authenticated. Of several hosts in the URL, the first that takes writes. InvalidArgument,
// StoreNotFound, StoreUnavailable.
Result<PgHandle> dial(const PgOptions& options, std::string_view application);

// What libpq or the server says, on one line.
std::string trimmed(const char* text);

}  // namespace semel::store::postgres
